// SPDX-License-Identifier: Apache-2.0
// What a program has in the rt_info of models, nodes and outputs, layouts among it.
#include <iterator>
#include <mutex>
#include <utility>

#include <openvino/core/attribute_visitor.hpp>
#include <openvino/core/layout.hpp>
#include <openvino/core/node.hpp>
#include <openvino/core/preprocess/input_tensor_info.hpp>
#include <openvino/core/rt_info.hpp>
#include <tenon/graph/layout.hpp>

#include "graph.hpp"

namespace ov {

using detail::from;
using detail::guarded;
using detail::Lock;
using detail::to;

namespace detail {
namespace {
/// Layouts and memory types are classes of ov; Tenon has them as files spell them.
template <typename T, typename Value>
Any attribute_from(const Any& value, const char* member) {
  const AnyMap& members = value.as<AnyMap>();
  const auto found = members.find(member);
  if (found == members.end()) return value;
  return T(Value(found->second.as<std::string>()));
}
Any rt_value_from(const std::string& key, const tenon::Any& value) {
  Any result = from(value);
  if (!result.is<AnyMap>()) return result;
  if (key == "layout_0") return attribute_from<LayoutAttribute, Layout>(result, "layout");
  if (key == "memory_type_0") return attribute_from<preprocess::TensorInfoMemoryType, std::string>(result, "value");
  return result;
}
tenon::Any rt_value_to(const Any& value) {
  const auto members = [](const char* name, const char* member, const std::string& text) {
    return tenon::AnyMap{{"name", std::string(name)}, {"version", std::string("0")}, {member, text}};
  };
  if (value.is<LayoutAttribute>()) return members("layout", "layout", value.as<LayoutAttribute>().value.to_string());
  if (value.is<preprocess::TensorInfoMemoryType>())
    return members("memory_type", "value", value.as<preprocess::TensorInfoMemoryType>().value);
  return to(value);
}
}  // namespace
RTMap& read_rt_info(RTMap& map, bool& read, const tenon::RTMap& source) {
  const Lock lock(wrappers_mutex());
  if (std::exchange(read, true)) return map;
  map.clear();
  for (const auto& [key, value] : source) map[key] = rt_value_from(key, value);
  return map;
}
void store(const RTMap& map, bool& read, tenon::RTMap& target) {
  if (!read) return;
  for (auto entry = target.begin(); entry != target.end();)
    entry = map.count(entry->first) ? std::next(entry) : target.erase(entry);
  for (const auto& [key, value] : map) {
    const auto old = target.find(key);
    // What Tenon has is kept if it looks the same, since it may have a type that ov has no word for.
    if (old == target.end() || rt_value_from(key, old->second).as<std::string>() != value.as<std::string>())
      target[key] = rt_value_to(value);
  }
}
}  // namespace detail

// ---------------------------------------------------------------- layouts
Layout::Layout() : impl_(std::make_shared<Impl>()) {}
Layout::Layout(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Layout::Layout(const std::string& text)
    : impl_(guarded([&] { return std::make_shared<Impl>(Impl{tenon::Layout(text)}); })) {}
Layout detail::from(tenon::Layout layout) {
  return Layout(std::make_shared<const Layout::Impl>(Layout::Impl{std::move(layout)}));
}
Layout Layout::scalar() { return detail::from(tenon::Layout::scalar()); }
bool Layout::operator==(const Layout& other) const { return impl_->layout == other.impl_->layout; }
bool Layout::has_name(const std::string& name) const { return impl_->layout.has_name(name); }
std::int64_t Layout::get_index_by_name(const std::string& name) const {
  return guarded([&] { return impl_->layout.get_index_by_name(name); });
}
std::string Layout::to_string() const { return impl_->layout.to_string(); }
namespace layout {
#define OV_TENON_AXIS(name)                                                               \
  bool has_##name(const Layout& layout) { return tenon::layout::has_##name(to(layout)); } \
  std::int64_t name##_idx(const Layout& layout) {                                         \
    return guarded([&] { return tenon::layout::name##_idx(to(layout)); });                \
  }
OV_TENON_AXIS(batch)
OV_TENON_AXIS(channels)
OV_TENON_AXIS(depth)
OV_TENON_AXIS(height)
OV_TENON_AXIS(width)
#undef OV_TENON_AXIS
namespace {
/// What the program wrote counts.
template <typename T>
descriptor::Tensor::Impl& stored(const Output<T>& output) {
  descriptor::Tensor::Impl& impl = output.get_tensor().impl();
  detail::store(impl.rt_info, impl.rt_read, impl.tensor->get_rt_info());
  return impl;
}
template <typename T>
Layout layout_of(const Output<T>& output) {
  const Lock lock(detail::wrappers_mutex());
  return guarded([&] {
    stored(output);
    return from(tenon::layout::get_layout(to(output)));
  });
}
}  // namespace
void set_layout(Output<Node> output, const Layout& layout) {
  const Lock lock(detail::wrappers_mutex());
  descriptor::Tensor::Impl& impl = stored(output);
  guarded([&] { tenon::layout::set_layout(to(output), to(layout)); });
  impl.rt_read = false;
}
Layout get_layout(const Output<Node>& output) { return layout_of(output); }
Layout get_layout(const Output<const Node>& output) { return layout_of(output); }
}  // namespace layout

bool LayoutAttribute::visit_attributes(AttributeVisitor& visitor) {
  std::string text = value.to_string();
  visitor.on_attribute("layout", text);
  value = Layout(text);
  return true;
}
preprocess::TensorInfoMemoryType::~TensorInfoMemoryType() = default;
bool preprocess::TensorInfoMemoryType::visit_attributes(AttributeVisitor& visitor) {
  visitor.on_attribute("value", value);
  return true;
}

void copy_runtime_info(const NodeVector& from, NodeVector to) {
  RTMap joined;
  for (const auto& node : from) {
    OPENVINO_ASSERT(node, "a node is null");
    for (const auto& [key, value] : node->get_rt_info()) {
      const auto* own =
          value.is<std::shared_ptr<RuntimeAttribute>>() ? &value.as<std::shared_ptr<RuntimeAttribute>>() : nullptr;
      if (!own || !*own || (*own)->is_copyable()) joined.emplace(key, value);
    }
  }
  for (const auto& node : to) {
    OPENVINO_ASSERT(node, "a node is null");
    for (const auto& [key, value] : joined) node->get_rt_info()[key] = value;
  }
}
void copy_runtime_info(const std::shared_ptr<Node>& from, const std::shared_ptr<Node>& to) {
  copy_runtime_info(NodeVector{from}, NodeVector{to});
}
void copy_runtime_info(const std::shared_ptr<Node>& from, NodeVector to) {
  copy_runtime_info(NodeVector{from}, std::move(to));
}
void copy_runtime_info(const NodeVector& from, const std::shared_ptr<Node>& to) {
  copy_runtime_info(from, NodeVector{to});
}
void copy_output_runtime_info(const OutputVector& from, OutputVector to) {
  for (auto& target : to)
    for (const auto& source : from)
      target.get_rt_info().insert(source.get_rt_info().begin(), source.get_rt_info().end());
}

}  // namespace ov
