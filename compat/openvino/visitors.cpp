// SPDX-License-Identifier: Apache-2.0
// Visitors of attributes, and what a program declares of its own.
#include <algorithm>
#include <cctype>

#include <openvino/core/attribute_adapter.hpp>
#include <openvino/core/attribute_visitor.hpp>
#include <openvino/core/op_extension.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/op/util/make.hpp>
#include <openvino/runtime/core.hpp>

#include "convert.hpp"

namespace ov {

ValueAccessor<void>::~ValueAccessor() = default;
void ValueAccessor<void>::set_as_any(const Any&) { OPENVINO_NOT_IMPLEMENTED; }

AttributeVisitor::~AttributeVisitor() = default;
#define OV_TENON_ON_ADAPTER(...)                                                                    \
  void AttributeVisitor::on_adapter(const std::string& name, ValueAccessor<__VA_ARGS__>& adapter) { \
    on_adapter(name, static_cast<ValueAccessor<void>&>(adapter));                                   \
  }
OV_TENON_EACH_ACCESSED(OV_TENON_ON_ADAPTER)
#undef OV_TENON_ON_ADAPTER
void AttributeVisitor::on_adapter(const std::string& name, VisitorAdapter& adapter) {
  start_structure(name);
  adapter.visit_attributes(*this);
  finish_structure();
}
std::string AttributeVisitor::get_name_with_context() {
  std::string name;
  for (const std::string& each : m_context) name += (name.empty() ? "" : ".") + each;
  return name;
}
void AttributeVisitor::start_structure(const std::string& name) { m_context.push_back(name); }
std::string AttributeVisitor::finish_structure() {
  OPENVINO_ASSERT(!m_context.empty(), "finish_structure without start_structure");
  std::string name = std::move(m_context.back());
  m_context.pop_back();
  return name;
}
void AttributeVisitor::register_node(const std::shared_ptr<Node>& node, node_id_t id) {
  OPENVINO_ASSERT(node, "register_node of null");
  if (id == invalid_node_id) id = node->get_friendly_name();
  m_node_id_map[node] = id;
  m_id_node_map[id] = node;
}
std::shared_ptr<Node> AttributeVisitor::get_registered_node(node_id_t id) {
  const auto found = m_id_node_map.find(id);
  return found == m_id_node_map.end() ? nullptr : found->second;
}
AttributeVisitor::node_id_t AttributeVisitor::get_registered_node_id(const std::shared_ptr<Node>& node) {
  const auto found = m_node_id_map.find(node);
  return found == m_node_id_map.end() ? invalid_node_id : found->second;
}

namespace {
/// Shows a value to the visitor, and keeps what it makes of it.
template <typename Shown>
void show(AttributeVisitor& visitor, const std::string& name, Shown value, const Node& node) {
  const Shown before = value;
  visitor.on_attribute(name, value);
  if (value == before) return;
  if constexpr (std::is_same_v<Shown, PartialShape>)
    detail::set_attribute(node, name.c_str(), value.to_string());
  else
    detail::set_attribute(node, name.c_str(), value);
}
/// A Constant's memory, which a visitor reads.
class Bytes final : public ValueAccessor<void*> {
 public:
  explicit Bytes(const op::v0::Constant& constant) : constant_(constant) {}
  OPENVINO_RTTI("AttributeAdapter<Constant>")
  void* get_ptr() override { return const_cast<void*>(constant_.get_data_ptr()); }
  std::size_t size() override { return constant_.get_byte_size(); }

 private:
  const op::v0::Constant& constant_;
};
bool visit_constant(AttributeVisitor& visitor, const op::v0::Constant& constant) {
  element::Type type = constant.get_element_type();
  Shape shape = constant.get_shape();
  visitor.on_attribute("element_type", type);
  visitor.on_attribute("shape", shape);
  Bytes bytes(constant);
  visitor.on_adapter("value", static_cast<ValueAccessor<void>&>(bytes));
  return true;
}
}  // namespace
bool Node::visit_attributes(AttributeVisitor& visitor) {
  if (const auto* constant = dynamic_cast<const op::v0::Constant*>(this)) return visit_constant(visitor, *constant);
  if (auto* parameter = dynamic_cast<op::v0::Parameter*>(this)) {
    PartialShape shape = parameter->get_partial_shape();
    element::Type type = parameter->get_element_type();
    visitor.on_attribute("shape", shape);
    visitor.on_attribute("element_type", type);
    parameter->set_partial_shape(shape);
    parameter->set_element_type(type);
    return true;
  }
  return detail::guarded([&] {
    const tenon::Attributes attributes = impl_->node->get_attributes();  // The visitor may change the node's.
    for (const auto& [name, attribute] : attributes) {
      std::visit(
          [&, &key = name](const auto& value) {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, tenon::ElementType>)
              show(visitor, key, detail::from(value), *this);
            else if constexpr (std::is_same_v<T, tenon::PartialShape>)
              show(visitor, key, detail::from(value), *this);
            else if constexpr (std::is_same_v<T, std::vector<double>>)
              show(visitor, key, std::vector<float>(value.begin(), value.end()), *this);
            else
              show(visitor, key, value, *this);
          },
          attribute.value());
    }
    return true;
  });
}

namespace detail {
bool same_ignoring_case(const std::string& a, const std::string& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](unsigned char x, unsigned char y) {
           return std::tolower(x) == std::tolower(y);
         });
}
}  // namespace detail

Extension::~Extension() = default;
BaseOpExtension::~BaseOpExtension() = default;
namespace {
[[noreturn]] void refuse_extension(const std::string& what) {
  OPENVINO_THROW_NOT_IMPLEMENTED(
      what,
      " is refused: Tenon's devices compute the operations of openvino/op/ops.hpp, and know no "
      "kernel of an extension's. Build it of these operations");
}
}  // namespace
namespace detail {
void refuse_extension(const std::shared_ptr<Extension>& extension) {
  ov::refuse_extension(extension ? std::string("the extension ") + extension->get_type_info().name
                                 : "a null extension");
}
void refuse_extension(const std::filesystem::path& library) {
  ov::refuse_extension("the library of extensions " + library.string());
}
}  // namespace detail
void Core::add_extension(const std::filesystem::path& library_path) { detail::refuse_extension(library_path); }
void Core::add_extension(const std::shared_ptr<Extension>& extension) { detail::refuse_extension(extension); }
void Core::add_extension(const std::vector<std::shared_ptr<Extension>>& extensions) {
  for (const auto& extension : extensions) detail::refuse_extension(extension);
}
op::Op::Op() : Node(nullptr) {}
op::Op::Op(const OutputVector&) : Node(nullptr) {}

}  // namespace ov
