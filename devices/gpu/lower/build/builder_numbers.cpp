// SPDX-License-Identifier: Apache-2.0
// Values that lie as 8-bit numbers.
#include <tenon/devices/gpu/lower/build/builder.hpp>

namespace tenon::inline v1::gpu_device {

void Builder::set_rounded(const Node& node, const ExpressionRef& root, const planning::Quantization& meaning) {
  const bool is_signed = meaning.type == ElementType::kI8;
  const auto number = [](double value) { return Expression::number(ElementType::kF32, value); };
  unrounded_ = root;
  set(node, 0,
      Expression::call(ElementType::kF32, "($1 * (clamp(rint($0 / $1) + $2, $3, $4) - $2))",
                       {root, number(meaning.scale), number(meaning.zero_point), number(is_signed ? -128 : 0),
                        number(is_signed ? 127 : 255)}));
}

bool Builder::has_numbers(const Output<Node>& output) {
  const Value& value = value_of(output);
  return value.view ? value.view->numbers.has_value() : value.numbers.has_value();
}

View Builder::moved(const Output<Node>& output) { return has_numbers(output) ? made(output) : source(output); }

View Builder::numbers(const Output<Node>& output, const planning::Quantization& meaning) {
  const View view = made(output);
  if (view.numbers == meaning && !view.source) return view;
  View copy = scratch(meaning.type, view.shape);
  copy.numbers = meaning;
  if (!view.source && !view.repeats()) copy.strides = packed_as(view);
  launching_ = {{output.get_node()->get_friendly_name(), output.get_node()->get_type_name()}};
  this->copy(view, copy, *output.get_node());
  return copy;
}

std::optional<View> Builder::lying_as(const Output<Node>& output, const planning::Quantization& meaning) {
  const auto& view = value_of(output).view;
  return view && view->numbers == meaning ? view : std::nullopt;
}

}  // namespace tenon::inline v1::gpu_device
