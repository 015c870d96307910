// SPDX-License-Identifier: Apache-2.0
// ONNX: arithmetic, comparison, logic and bits, element by element.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

// Operations with the same meaning under another name.
struct Rename {
  const char* onnx;
  const char* type;
  unsigned version;
};

constexpr Rename kUnary[] = {{"Abs", "Abs", 1},
                             {"Acos", "Acos", 1},
                             {"Acosh", "Acosh", 4},
                             {"Asin", "Asin", 1},
                             {"Asinh", "Asinh", 4},
                             {"Atan", "Atan", 1},
                             {"Atanh", "Atanh", 4},
                             {"Ceil", "Ceiling", 1},
                             {"Cos", "Cos", 1},
                             {"Cosh", "Cosh", 1},
                             {"Erf", "Erf", 1},
                             {"Exp", "Exp", 1},
                             {"Floor", "Floor", 1},
                             {"Log", "Log", 1},
                             {"Neg", "Negative", 1},
                             {"Sign", "Sign", 1},
                             {"Sin", "Sin", 1},
                             {"Sinh", "Sinh", 1},
                             {"Sqrt", "Sqrt", 1},
                             {"Tan", "Tan", 1},
                             {"Not", "LogicalNot", 1},
                             {"IsNaN", "IsNaN", 10},
                             {"BitwiseNot", "BitwiseNot", 13}};

constexpr Rename kBinary[] = {{"Add", "Add", 1},
                              {"Sub", "Subtract", 1},
                              {"Mul", "Multiply", 1},
                              {"And", "LogicalAnd", 1},
                              {"Or", "LogicalOr", 1},
                              {"Xor", "LogicalXor", 1},
                              {"Equal", "Equal", 1},
                              {"Greater", "Greater", 1},
                              {"Less", "Less", 1},
                              {"GreaterOrEqual", "GreaterEqual", 1},
                              {"LessOrEqual", "LessEqual", 1},
                              {"BitwiseAnd", "BitwiseAnd", 13},
                              {"BitwiseOr", "BitwiseOr", 13},
                              {"BitwiseXor", "BitwiseXor", 13}};

template <std::size_t N>
const Rename& row(const Rename (&table)[N], const std::string& name) {
  for (const Rename& entry : table) {
    if (name == entry.onnx) return entry;
  }
  fail("no such operation");
}

OutputVector unary_converter(const NodeContext& node) {
  const Rename& entry = row(kUnary, node.op_type());
  return {op(entry.type, entry.version, {node.input(0)})};
}

// Before 7 the second operand may start at an axis of the first, and then gets axes of extent 1 behind its own.
Out second_operand(const NodeContext& node) {
  const Out& y = node.input(1);
  if (node.opset() >= 7 || node.get_int("broadcast", 0) == 0 || !node.has("axis")) return y;
  const std::int64_t rank = node.rank(0), own = node.rank(1), axis = normalized_axis(node.get_int("axis"), rank);
  if (axis + own > rank)
    fail("input 1 of rank " + std::to_string(own) + " does not fit into rank " + std::to_string(rank) + " from axis " +
         std::to_string(axis) + " on");
  Ints behind;
  for (std::int64_t i = own; i < rank - axis; ++i) behind.push_back(i);
  return behind.empty() ? y : unsqueeze(y, behind);
}

OutputVector binary_converter(const NodeContext& node) {
  const Rename& entry = row(kBinary, node.op_type());
  return {op(entry.type, entry.version, {node.input(0), second_operand(node)})};
}

OutputVector div_converter(const NodeContext& node) { return {div(node.input(0), second_operand(node))}; }

// Integer powers of another type are computed in the base's type, as ONNX requires; real exponents keep their fraction.
OutputVector pow_converter(const NodeContext& node) {
  const Out &base = node.input(0), exponent = second_operand(node);
  const ElementType type = base.get_element_type(), other = exponent.get_element_type();
  if (type == other) return {op("Power", 1, {base, exponent})};
  if (!info(type).is_real && info(other).is_real)
    return {convert(op("Power", 1, {convert(base, other), exponent}), type)};
  return {op("Power", 1, {base, convert(exponent, type)})};
}

OutputVector mod_converter(const NodeContext& node) {
  const bool truncates = node.get_int("fmod", 0) != 0;
  return {op(truncates ? "Mod" : "FloorMod", 1, {node.input(0), node.input(1)})};
}

OutputVector fold(const NodeContext& node, const char* type) {
  const OutputVector inputs = node.inputs();
  if (inputs.empty()) fail("has no inputs");
  Out result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) result = op(type, 1, {result, inputs[i]});
  return {result};
}
OutputVector max_converter(const NodeContext& node) { return fold(node, "Maximum"); }
OutputVector min_converter(const NodeContext& node) { return fold(node, "Minimum"); }
OutputVector sum_converter(const NodeContext& node) { return fold(node, "Add"); }
OutputVector mean_converter(const NodeContext& node) {
  const Out sum = fold(node, "Add")[0];
  return {div(sum, scalar_like(sum, static_cast<double>(node.input_count())))};
}

OutputVector reciprocal_converter(const NodeContext& node) {
  return {div(scalar_like(node.input(0), 1), node.input(0))};
}

OutputVector round_converter(const NodeContext& node) {
  return {op("Round", 5, {node.input(0)}, {{"mode", "half_to_even"}})};
}

OutputVector is_inf_converter(const NodeContext& node) {
  return {op("IsInf", 10, {node.input(0)},
             {{"detect_negative", node.get_int("detect_negative", 1) != 0},
              {"detect_positive", node.get_int("detect_positive", 1) != 0}})};
}

OutputVector bit_shift_converter(const NodeContext& node) {
  const std::string direction = node.get_string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") fail("direction is \"" + direction + "\", expected LEFT or RIGHT");
  return {op(direction == "LEFT" ? "BitwiseLeftShift" : "BitwiseRightShift", 15, {node.input(0), node.input(1)})};
}

OutputVector where_converter(const NodeContext& node) { return {select(node.input(0), node.input(1), node.input(2))}; }

/// A power of two, for scales. Above or below what the nearest one is, as asked for.
Out cast_to_scale(const NodeContext& node, const Out& x, ElementType type) {
  const std::string mode = node.get_string("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest")
    fail("round_mode \"" + mode + "\" is none of up, down and nearest");
  if (node.get_int("saturate", 1) == 0 && mode != "nearest")
    unimplemented("rounds to f8e8m0 by round_mode \"" + mode + "\" with saturate 0; only saturate 1 is written out");
  if (mode == "nearest") return convert(x, type);
  const ElementType own = ElementType::kF32;
  const auto within = [](const Out& value) { return op("Clamp", 1, {value}, {{"min", 0x1p-127}, {"max", 0x1p127}}); };
  const Out real = within(convert(x, own)), made = convert(convert(real, type), own);
  const bool up = mode == "up";
  const Out misses = op(up ? "Less" : "Greater", 1, {made, real});
  const Out next = within(mul(made, scalar(own, up ? 2 : 0.5)));
  return convert(select(misses, next, made), type);
}

// Reals outside the range of a 4-bit integer, which the standard leaves undefined, are clamped to it as the tests of set 21
// have it; those of set 24 on keep the lower bits, as ONNX Runtime does. With `saturate` those outside the range of an
// 8-bit float are clamped.
Out cast(const NodeContext& node, const Out& x, ElementType type) {
  if (const auto most = largest_small_float(type)) {
    const Out real = convert(x, ElementType::kF32);
    if (node.get_int("saturate", 1) == 0) return convert(real, type);
    const Out within = op("Clamp", 1, {real}, {{"min", -*most}, {"max", *most}});
    if (type != ElementType::kF4E2M1) return convert(within, type);
    // It has no NaN; the reference evaluator gives -0.
    return convert(select(op("IsNaN", 10, {real}), scalar(ElementType::kF32, -0.0), within), type);
  }
  if (type == ElementType::kF8E8M0) return cast_to_scale(node, x, type);
  const bool is_narrow = type == ElementType::kI4 || type == ElementType::kU4;
  if (!is_narrow || !info(x.get_element_type()).is_real) return convert(x, type);
  if (node.opset() >= 24) return cut_to_bits(x, type, 4);
  const bool is_signed = type == ElementType::kI4;
  const Out whole = op("Round", 5, {x}, {{"mode", "half_to_even"}});
  return convert(op("Clamp", 1, {whole}, {{"min", is_signed ? -8.0 : 0.0}, {"max", is_signed ? 7.0 : 15.0}}), type);
}

Out cast_to(const NodeContext& node, ElementType type, bool two_bits) {
  const Out& x = node.input(0);
  if (two_bits) {
    const Out made = cut_to_bits(x, type, 2);
    mark_two_bits(made);
    return made;
  }
  // Not the same value, which is known to have 2 bits.
  return cast(node, has_two_bits(x) ? convert(x, ElementType::kI8) : x, type);
}

OutputVector cast_converter(const NodeContext& node) {
  return {cast_to(node, node.get_type("to"), node.names_two_bits("to"))};
}

OutputVector cast_like_converter(const NodeContext& node) {
  return {cast_to(node, node.type(1), has_two_bits(node.input(1)))};
}

// The same bits as a type of the same width.
OutputVector bit_cast(const NodeContext& node) {
  const ElementType type = node.get_type("to");
  if (node.names_two_bits("to") || has_two_bits(node.input(0)))
    unimplemented("reads the bits of a type of 2 bits, which models here hold in 4");
  return {node.type(0) == type ? node.input(0) : op("BitCast", 1, {node.input(0)}, {{"destination_type", type}})};
}

// Bounds may be attributes (before 11) or inputs; either may be absent.
OutputVector clip_converter(const NodeContext& node) {
  Out x = node.input(0);
  if (node.opset() < 11) {
    if (node.has("min")) x = op("Maximum", 1, {x, scalar_like(x, node.get_float("min", 0))});
    if (node.has("max")) x = op("Minimum", 1, {x, scalar_like(x, node.get_float("max", 0))});
    return {x};
  }
  if (node.has_input(1)) x = op("Maximum", 1, {x, node.input(1)});
  if (node.has_input(2)) x = op("Minimum", 1, {x, node.input(2)});
  return {x};
}

OutputVector identity_converter(const NodeContext& node) { return {node.input(0)}; }

// At inference nothing is dropped, and the mask is all true.
OutputVector dropout_converter(const NodeContext& node) {
  const auto ratio = node.has_input(1) ? node.input(1).get_tensor().value() : nullptr;
  const bool drops_none = ratio && op::v0::Constant(*ratio).to_doubles() == std::vector<double>{0};
  if (node.has_input(2) && !drops_none) {
    const auto training = node.known_ints(2);
    if (!training || training->size() != 1 || (*training)[0] != 0)
      unimplemented("drops at random, since training_mode may be true: export the model for inference");
  }
  const Out& x = node.input(0);
  if (!node.wants_output(1)) return {x};
  const ElementType mask_type = node.opset() < 10 ? node.type(0) : ElementType::kBool;
  return {x, broadcast_to(scalar(mask_type, 1), shape_of(x))};
}

}  // namespace

void add_elementwise(ConverterTable& table) {
  for (const Rename& entry : kUnary) table[std::string(":") + entry.onnx] = unary_converter;
  for (const Rename& entry : kBinary) table[std::string(":") + entry.onnx] = binary_converter;
  table[":Div"] = div_converter;
  table[":Pow"] = pow_converter;
  table[":Mod"] = mod_converter;
  table[":Max"] = max_converter;
  table[":Min"] = min_converter;
  table[":Sum"] = sum_converter;
  table[":Mean"] = mean_converter;
  table[":Reciprocal"] = reciprocal_converter;
  table[":Round"] = round_converter;
  table[":IsInf"] = is_inf_converter;
  table[":BitShift"] = bit_shift_converter;
  table[":Where"] = where_converter;
  table[":Cast"] = cast_converter;
  table[":CastLike"] = cast_like_converter;
  table[":BitCast"] = bit_cast;
  table[":Clip"] = clip_converter;
  table[":Identity"] = identity_converter;
  table[":Dropout"] = dropout_converter;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
