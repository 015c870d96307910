// SPDX-License-Identifier: Apache-2.0
// Short forms for making nodes in converters.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

#include <algorithm>

#include <tenon/graph/precise.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

Out op(std::string_view type, unsigned version, OutputVector inputs, Attributes attributes) {
  return make_node(type, version, std::move(inputs), std::move(attributes))->output(0);
}
OutputVector ops(std::string_view type, unsigned version, OutputVector inputs, Attributes attributes) {
  return make_node(type, version, std::move(inputs), std::move(attributes))->outputs();
}

Out ints(const Ints& values) {
  Tensor tensor(ElementType::kI64, Shape{values.size()});
  if (!values.empty()) std::copy(values.begin(), values.end(), tensor.data<std::int64_t>());
  return std::make_shared<op::v0::Constant>(tensor)->output(0);
}
Out int_scalar(std::int64_t value) {
  return std::make_shared<op::v0::Constant>(ElementType::kI64, Shape{}, Ints{value})->output(0);
}
Out scalar(ElementType type, double value) {
  return std::make_shared<op::v0::Constant>(type, Shape{}, std::vector<double>{value})->output(0);
}
Out scalar_like(const Out& x, double value) { return scalar(x.get_element_type(), value); }
Out texts(const std::vector<std::string>& values) {
  Tensor tensor(ElementType::kString, Shape{values.size()});
  if (!values.empty()) std::copy(values.begin(), values.end(), tensor.data<std::string>());
  return std::make_shared<op::v0::Constant>(tensor)->output(0);
}
Out reals(ElementType type, const std::vector<double>& values) {
  return std::make_shared<op::v0::Constant>(type, Shape{values.size()}, values)->output(0);
}

Out add(const Out& x, const Out& y) { return op("Add", 1, {x, y}); }
Out sub(const Out& x, const Out& y) { return op("Subtract", 1, {x, y}); }
Out mul(const Out& x, const Out& y) { return op("Multiply", 1, {x, y}); }
Out div(const Out& x, const Out& y) { return op("Divide", 1, {x, y}, {{"m_pythondiv", false}}); }
Out power(const Out& x, double exponent) { return op("Power", 1, {x, scalar_like(x, exponent)}); }
Out unary(std::string_view type, const Out& x) { return op(type, 1, {x}); }
Out select(const Out& condition, const Out& x, const Out& y) { return op("Select", 1, {condition, x, y}); }

Out convert(const Out& x, ElementType type) {
  if (x.get_element_type() == type) return x;
  return op("Convert", 1, {x}, {{"destination_type", type}});
}

Out reshape(const Out& x, const Out& shape) { return op("Reshape", 1, {x, shape}, {{"special_zero", false}}); }
Out reshape(const Out& x, const Ints& shape) { return reshape(x, ints(shape)); }
Out reshape_like(const Out& x, const Ints& shape) {
  return op("Reshape", 1, {x, ints(shape)}, {{"special_zero", true}});
}
Out unsqueeze(const Out& x, const Ints& axes) { return op("Unsqueeze", 1, {x, ints(axes)}); }
Out squeeze(const Out& x, const Ints& axes) { return op("Squeeze", 1, {x, ints(axes)}); }
Out transpose(const Out& x, const Ints& order) { return op("Transpose", 1, {x, ints(order)}); }
Out concat(const OutputVector& parts, std::int64_t axis) {
  return parts.size() == 1 ? parts[0] : op("Concat", 1, parts, {{"axis", axis}});
}
Out slice(const Out& x, std::int64_t begin, std::int64_t end, std::int64_t axis) {
  return op("Slice", 8, {x, ints({begin}), ints({end}), ints({1}), ints({axis})});
}
Out reinterpreted(const NodeContext& node, std::size_t index, ElementType type, const Shape& shape) {
  const auto& value = node.input(index).get_tensor().value();
  if (!value)
    unimplemented("input " + std::to_string(index) +
                  " is known only when the model runs; only a constant is supported");
  const auto size = checked_size_bytes(type, shape);
  if (!size || value->size_bytes() != *size || !value->is_contiguous())
    fail("input " + std::to_string(index) + " is " + std::string(name(value->element_type())) + " " +
         to_string(value->shape()) + " of " + std::to_string(value->size_bytes()) + " bytes, expected " +
         std::to_string(size.value_or(0)) + " bytes for " + std::string(name(type)) + " " + to_string(shape));
  return std::make_shared<op::v0::Constant>(
             Tensor(TensorInfo{type, shape, {}}, value->memory(), value->offset(), value->lease()))
      ->output(0);
}
Out reduce(std::string_view type, const Out& x, const Out& axes, bool keep_dims) {
  return op(type, type == "ReduceL1" || type == "ReduceL2" ? 4 : 1, {x, axes}, {{"keep_dims", keep_dims}});
}
Out broadcast_to(const Out& x, const Out& shape) { return op("Broadcast", 3, {x, shape}, {{"mode", "numpy"}}); }

// Computed from the value even if the shape is known: Model::reshape may change it. The tensor still knows its value.
Out shape_of(const Out& x) {
  if (as_type<op::v0::Constant>(x.get_node())) {
    Ints extents;
    for (const Dimension& dimension : x.get_partial_shape()) extents.push_back(dimension.get_length());
    return ints(extents);
  }
  return op("ShapeOf", 3, {x}, {{"output_type", ElementType::kI64}});
}

Out rank_of(const Out& x) {
  const Rank rank = x.get_partial_shape().rank();
  if (rank.is_static()) return int_scalar(rank.get_length());
  return squeeze(shape_of(shape_of(x)), {0});
}

Dimension dimension_of(const Out& x, std::int64_t axis) {
  const PartialShape& shape = x.get_partial_shape();
  if (shape.rank().is_dynamic()) return Dimension::dynamic();
  return shape[static_cast<std::size_t>(normalized_axis(axis, shape.rank().get_length()))];
}

Out extent_of(const Out& x, std::int64_t axis) {
  return op("Gather", 8, {shape_of(x), int_scalar(axis), int_scalar(0)}, {{"batch_dims", 0}});
}

Out product_of(const Out& x, std::int64_t begin, std::int64_t end) {
  return op("ReduceProd", 1, {slice(shape_of(x), begin, end, 0), ints({0})}, {{"keep_dims", true}});
}

Out all_axes(const Out& x) {
  const Rank rank = x.get_partial_shape().rank();
  if (rank.is_dynamic()) return range(int_scalar(0), rank_of(x), int_scalar(1), ElementType::kI64);
  Ints axes;
  for (std::int64_t axis = 0; axis < rank.get_length(); ++axis) axes.push_back(axis);
  return ints(axes);
}

Out range(const Out& start, const Out& stop, const Out& step, ElementType type) {
  return op("Range", 4, {start, stop, step}, {{"output_type", type}});
}

Out matmul(const Out& a, const Out& b, bool transpose_a, bool transpose_b) {
  return op("MatMul", 1, {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

Out precise(const Out& x) {
  mark_precise(*x.get_node());
  return x;
}

Out per_channel(const Out& x, const Out& like) {
  const Rank rank = like.get_partial_shape().rank();
  if (rank.is_dynamic()) unimplemented("a per-channel operand needs a known rank");
  Ints shape(static_cast<std::size_t>(std::max<std::int64_t>(rank.get_length(), 2)), 1);
  shape[1] = -1;
  return reshape(x, shape);
}

Ints channels_first(std::int64_t rank) {
  Ints order{0, rank - 1};
  for (std::int64_t axis = 1; axis + 1 < rank; ++axis) order.push_back(axis);
  return order;
}
Ints channels_last(std::int64_t rank) {
  Ints order{0};
  for (std::int64_t axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return order;
}

Out order_swapping(const Out& axis, std::int64_t place, std::int64_t rank) {
  const Out each = range(int_scalar(0), int_scalar(rank), int_scalar(1), ElementType::kI64), at = int_scalar(place);
  const Out wanted = op("FloorMod", 1, {convert(reshape(axis, Ints{}), ElementType::kI64), int_scalar(rank)});
  return select(op("Equal", 1, {each, wanted}), at, select(op("Equal", 1, {each, at}), wanted, each));
}

namespace {
constexpr const char* kTwoBits = "onnx_two_bits";
}
bool has_two_bits(const Out& x) { return x.get_node()->get_rt_info().count(kTwoBits) > 0; }
void mark_two_bits(const Out& x) { x.get_node()->get_rt_info()[kTwoBits] = true; }

Out cut_to_bits(const Out& x, ElementType type, int bits) {
  const bool is_real = info(x.get_element_type()).is_real, is_signed = type == ElementType::kI4;
  const Out whole = convert(is_real ? op("Round", 5, {x}, {{"mode", "half_to_even"}}) : x, ElementType::kI32);
  // The lower bits, counted from the least number of the type.
  const auto number = [](double value) { return scalar(ElementType::kI32, value); };
  const Out least = number(is_signed ? -(1 << bits) / 2 : 0);
  return convert(add(op("FloorMod", 1, {sub(whole, least), number(1 << bits)}), least), type);
}

std::optional<double> largest_small_float(ElementType type) {
  switch (type) {
    case ElementType::kF8E4M3:
      return 448;
    case ElementType::kF8E5M2:
    case ElementType::kF8E5M2Fnuz:
      return 57344;
    case ElementType::kF8E4M3Fnuz:
      return 240;
    case ElementType::kF4E2M1:
      return 6;
    default:
      return std::nullopt;
  }
}

std::int64_t normalized_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail("axis " + std::to_string(axis) + " is outside [" + std::to_string(-rank) + ", " + std::to_string(rank) + ")");
  }
  return axis < 0 ? axis + rank : axis;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
