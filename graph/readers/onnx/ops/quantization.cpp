// SPDX-License-Identifier: Apache-2.0
// ONNX: quantisation.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

// Scale or zero point, one for all or one per index of `axis`, broadcastable against x. Since 21 also one per
// block.
Out spread(const NodeContext& node, const Out& values, const Out& x) {
  const PartialShape& shape = values.get_partial_shape();
  if (shape.rank() == Rank(0) || (shape.is_static() && element_count(shape.to_shape()) == 1))
    return reshape(values, Ints{});
  const std::int64_t rank = node.rank(0), block = node.get_int("block_size", 0);
  // How many values there are may be unknown, and one alone has no axis.
  if (rank < 2 && block <= 0) return reshape(values, Ints(static_cast<std::size_t>(rank), -1));
  const std::int64_t axis = normalized_axis(node.get_int("axis", 1), rank);
  if (block > 0) {
    // Each value repeats `block` times along the axis; a shorter last block is cut.
    Ints tiles(static_cast<std::size_t>(rank) + 1, 1);
    tiles[static_cast<std::size_t>(axis) + 1] = block;
    Out repeated = op("Tile", 1, {unsqueeze(values, {axis + 1}), ints(tiles)});
    Out target = shape_of(values);
    Ints factor(static_cast<std::size_t>(rank), 1);
    factor[static_cast<std::size_t>(axis)] = block;
    repeated = reshape(repeated, mul(target, ints(factor)));
    return op("Slice", 8, {repeated, ints({0}), reshape(extent_of(x, axis), Ints{1}), ints({1}), ints({axis})});
  }
  Ints target(static_cast<std::size_t>(rank), 1);
  target[static_cast<std::size_t>(axis)] = -1;
  return reshape(values, target);
}

std::pair<double, double> limits(ElementType type, bool two_bits) {
  if (two_bits) return type == ElementType::kI4 ? std::pair{-2.0, 1.0} : std::pair{0.0, 3.0};
  switch (type) {
    case ElementType::kU8:
      return {0, 255};
    case ElementType::kI8:
      return {-128, 127};
    case ElementType::kU16:
      return {0, 65535};
    case ElementType::kI16:
      return {-32768, 32767};
    case ElementType::kU4:
      return {0, 15};
    case ElementType::kI4:
      return {-8, 7};
    default:
      unimplemented(
          "quantises to " + std::string(name(type)) +
          "; the forms that are written out are those to 2 and 4 bits, i8, u8, i16, u16 and floats of 4 and 8 "
          "bits: store the "
          "tensor in one of these, or unquantised");
  }
}

OutputVector quantize_linear(const NodeContext& node) {
  const Out scale = convert(node.input(1), ElementType::kF32);
  const Out x = convert(node.input(0), ElementType::kF32);
  ElementType target = ElementType::kU8;
  if (node.has_input(2))
    target = node.type(2);
  else if (node.get_int("output_dtype", 0) != 0)
    target = node.get_type("output_dtype");
  if (const auto most = largest_small_float(target)) {
    Out y = div(x, spread(node, scale, x));
    if (node.has_input(2)) y = add(y, spread(node, convert(node.input(2), ElementType::kF32), x));
    const bool saturates = node.get_int("saturate", 1) != 0;
    return {convert(saturates ? op("Clamp", 1, {y}, {{"min", -*most}, {"max", *most}}) : y, target)};
  }
  const bool two_bits = node.has_input(2) ? has_two_bits(node.input(2)) : node.names_two_bits("output_dtype");
  const auto [low, high] = limits(target, two_bits);
  Out y = op("Round", 5, {div(x, spread(node, scale, x))}, {{"mode", "half_to_even"}});
  if (node.has_input(2)) y = add(y, spread(node, convert(node.input(2), ElementType::kF32), x));
  const Out made = convert(op("Clamp", 1, {y}, {{"min", low}, {"max", high}}), target);
  if (two_bits) mark_two_bits(made);
  return {made};
}

/// A constant of whole blocks, with a separate axis for the values within a block: scales and zero points are then
/// small, and devices find weights that they can keep packed.
std::optional<Out> dequantized_by_blocks(const NodeContext& node, ElementType type) {
  const std::int64_t block = node.get_int("block_size", 0);
  const auto& value = node.input(0).get_tensor().value();
  if (block <= 0 || !value) return std::nullopt;
  Shape shape = value->shape();
  const auto axis =
      static_cast<std::size_t>(normalized_axis(node.get_int("axis", 1), static_cast<std::int64_t>(shape.size())));
  const auto size = static_cast<std::size_t>(block);
  if (shape[axis] % size != 0) return std::nullopt;
  const Ints whole(shape.begin(), shape.end());
  shape[axis] /= size;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, size);
  const Ints within{static_cast<std::int64_t>(axis) + 1};
  Out centred = convert(reinterpreted(node, 0, value->element_type(), shape), type);
  if (node.has_input(2)) centred = sub(centred, unsqueeze(convert(node.input(2), type), within));
  return reshape(mul(centred, unsqueeze(node.input(1), within)), whole);
}

OutputVector dequantize_linear(const NodeContext& node) {
  const Out& scale = node.input(1);
  const ElementType type = scale.get_element_type();
  if (const auto by_blocks = dequantized_by_blocks(node, type)) return {*by_blocks};
  const Out x = convert(node.input(0), type);
  Out centred = x;
  if (node.has_input(2)) centred = sub(x, spread(node, convert(node.input(2), type), x));
  return {mul(centred, spread(node, scale, x))};
}

// Scale and zero point of u8 from the values' own range, extended to include 0.
OutputVector dynamic_quantize_linear(const NodeContext& node) {
  const Out &x = node.input(0), zero = scalar_like(x, 0), steps = scalar_like(x, 255);
  const Out low = op("Minimum", 1, {reduce("ReduceMin", x, all_axes(x), false), zero});
  const Out high = op("Maximum", 1, {reduce("ReduceMax", x, all_axes(x), false), zero});
  // If all values are 0 any scale works; ONNX Runtime uses 1.
  const Out span = div(sub(high, low), steps);
  const Out scale = select(op("Equal", 1, {span, zero}), scalar_like(x, 1), span);
  const auto round = [](const Out& value) { return op("Round", 5, {value}, {{"mode", "half_to_even"}}); };
  const auto clamp = [](const Out& value) { return op("Clamp", 1, {value}, {{"min", 0.0}, {"max", 255.0}}); };
  const Out zero_point = round(clamp(sub(zero, div(low, scale))));
  const Out y = clamp(add(round(div(x, scale)), zero_point));
  return {convert(y, ElementType::kU8), scale, convert(zero_point, ElementType::kU8)};
}

}  // namespace

void add_quantization(ConverterTable& table) {
  // ONNX Runtime's own domain has both with the same rules, and had 16 bits before the standard.
  for (const char* domain : {"", "com.microsoft"}) {
    table[std::string(domain) + ":QuantizeLinear"] = quantize_linear;
    table[std::string(domain) + ":DequantizeLinear"] = dequantize_linear;
  }
  table[":DynamicQuantizeLinear"] = dynamic_quantize_linear;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
