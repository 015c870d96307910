// SPDX-License-Identifier: Apache-2.0
// What an output's values are at least, and at most.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

#include <openvino/core/node.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>

#include "graph.hpp"

namespace ov {

using detail::from;
using detail::guarded;
using detail::Lock;

namespace {
/// The least or the greatest values that shape inference found for an output; none: there are some that it does not know.
tenon::Tensor found_bound(const tenon::descriptor::Tensor& tensor, bool upper) {
  if (tensor.value()) return *tensor.value();
  const auto& bounds = tensor.bounds();
  const auto& shape = tensor.get_partial_shape();
  if (bounds.empty() || !shape.is_static() || tenon::element_count(shape.to_shape()) != bounds.size()) return {};
  const auto type = static_cast<tenon::ElementType>(tensor.get_element_type());
  std::vector<std::int64_t> values;
  for (const tenon::ValueBound& each : bounds) {
    std::int64_t value = upper ? each.max : each.min;
    if (!upper && value == std::numeric_limits<std::int64_t>::min()) return {};
    if (type == tenon::ElementType::kI32)
      value = std::min<std::int64_t>(value, std::numeric_limits<std::int32_t>::max());
    values.push_back(value);
  }
  return tenon::op::v0::Constant(tensor.get_element_type(), shape.to_shape(), values).get_tensor();
}
bool same_values(const ov::Tensor& known, const tenon::Tensor& now) {
  if (!known) return false;
  const tenon::Tensor& before = detail::to(known);
  if (before.data() == now.data() && before.element_type() == now.element_type()) return before.shape() == now.shape();
  return before.element_type() == now.element_type() && before.shape() == now.shape() && before.is_contiguous() &&
         now.is_contiguous() && now.element_type() != tenon::ElementType::kString &&
         std::memcmp(before.data(), now.data(), now.size_bytes()) == 0;
}
const ov::Tensor& bound_of(const ov::Tensor& said, ov::Tensor& found, const tenon::descriptor::Tensor& tensor,
                           bool upper) {
  if (said) return said;
  return guarded([&]() -> const ov::Tensor& {
    const Lock lock(detail::wrappers_mutex());
    const tenon::Tensor now = found_bound(tensor, upper);
    // Other threads may have the reference that was returned before: it is only written where the values are other ones.
    if (now ? !same_values(found, now) : static_cast<bool>(found)) found = now ? from(now) : ov::Tensor();
    return found;
  });
}
}  // namespace
const Tensor& descriptor::Tensor::get_lower_value() const {
  return bound_of(impl_->lower, impl_->found_lower, *impl_->tensor, false);
}
const Tensor& descriptor::Tensor::get_upper_value() const {
  return bound_of(impl_->upper, impl_->found_upper, *impl_->tensor, true);
}
void descriptor::Tensor::set_lower_value(const ov::Tensor& value) { impl_->lower = value; }
void descriptor::Tensor::set_upper_value(const ov::Tensor& value) { impl_->upper = value; }
void descriptor::Tensor::invalidate_values() { impl_->lower = impl_->upper = ov::Tensor(); }
bool descriptor::Tensor::has_and_set_bound() const {
  if (impl_->lower || impl_->upper) return impl_->lower && impl_->upper && impl_->lower.data() == impl_->upper.data();
  return impl_->tensor->value() != nullptr;
}
void Node::invalidate_values() {
  for (const auto& output : outputs()) output.get_tensor().invalidate_values();
}
namespace {
/// Whether an output is never less where the input's values are greater. Indices, shapes and axes are no such inputs.
bool grows_with(const Node& node, std::size_t input) {
  static constexpr std::string_view kWithAll[] = {"Add", "Concat", "Maximum", "Minimum"};
  static constexpr std::string_view kWithFirst[] = {
      "Broadcast", "Clamp",     "Convert",      "Gather", "GatherElements", "GatherND",        "Pad",
      "ReduceMax", "ReduceMin", "ReduceSum",    "Relu",   "Reshape",        "ShuffleChannels", "Slice",
      "Split",     "Squeeze",   "StridedSlice", "Tile",   "Transpose",      "Unsqueeze",       "VariadicSplit"};
  const std::string_view type = node.get_type_name();
  const auto is_it = [&](std::string_view each) { return each == type; };
  if (std::any_of(std::begin(kWithAll), std::end(kWithAll), is_it)) return true;
  if (type == "Select") return input != 0;
  if (type == "Pad" && input == 3) return true;  // The value around.
  return input == 0 && std::any_of(std::begin(kWithFirst), std::end(kWithFirst), is_it);
}
/// Computes with the bounds of inputs; those that the output does not grow with have to be known whole.
bool evaluate_bound(const Node& node, TensorVector& outputs, bool upper) {
  TensorVector found;
  for (const auto& output : node.outputs()) {
    const auto& tensor = *output.get_tensor().impl().tensor;
    const tenon::Tensor value = guarded([&] { return found_bound(tensor, upper); });
    if (!value) break;
    found.push_back(from(value));
  }
  if (found.size() != node.get_output_size()) {
    TensorVector inputs;
    for (const auto& input : node.inputs()) {
      const descriptor::Tensor& tensor = input.get_tensor();
      const Tensor& value = upper ? tensor.get_upper_value() : tensor.get_lower_value();
      if (!value || !(grows_with(node, input.get_index()) || tensor.has_and_set_bound())) return false;
      inputs.push_back(value);
    }
    return node.get_input_size() != 0 && node.evaluate(outputs, inputs);
  }
  outputs.resize(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (outputs[i])
      found[i].copy_to(outputs[i]);
    else
      outputs[i] = found[i];
  }
  return true;
}
}  // namespace
bool Node::evaluate_lower(TensorVector& output_values) const { return evaluate_bound(*this, output_values, false); }
bool Node::evaluate_upper(TensorVector& output_values) const { return evaluate_bound(*this, output_values, true); }

}  // namespace ov
