// SPDX-License-Identifier: Apache-2.0
// ONNX: constants, ranges, windows and identity matrices.
#include <numbers>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

OutputVector constant(const NodeContext& node) {
  if (node.has("value")) return {std::make_shared<op::v0::Constant>(node.get_tensor("value"))->output(0)};
  if (node.has("value_float")) return {scalar(ElementType::kF32, node.get_float("value_float", 0))};
  if (node.has("value_floats")) return {reals(ElementType::kF32, node.get_floats("value_floats"))};
  if (node.has("value_int")) return {int_scalar(node.get_int("value_int"))};
  if (node.has("value_ints")) return {ints(node.get_ints("value_ints"))};
  if (node.has("sparse_value"))
    return {std::make_shared<op::v0::Constant>(node.get_sparse_tensor("sparse_value"))->output(0)};
  if (node.has("value_string")) return {reshape(texts({node.get_string("value_string", "")}), Ints{})};
  if (node.has("value_strings")) return {texts(node.get_strings("value_strings"))};
  fail("has no value: one of value, sparse_value, value_int(s), value_float(s), value_string(s) is needed");
}

OutputVector constant_of_shape(const NodeContext& node) {
  Out value = scalar(ElementType::kF32, 0);
  if (node.has("value"))
    value = reshape(std::make_shared<op::v0::Constant>(node.get_tensor("value"))->output(0), Ints{});
  return {op("Broadcast", 3, {value, node.input(0)}, {{"mode", "numpy"}})};
}

OutputVector range_converter(const NodeContext& node) {
  const auto single = [&](std::size_t index) { return reshape(node.input(index), Ints{}); };
  return {range(single(0), single(1), single(2), node.type(0))};
}

OutputVector eye_like(const NodeContext& node) {
  const Out& x = node.input(0);
  const ElementType type = node.has("dtype") ? node.get_type("dtype") : node.type(0);
  const Out rows = unsqueeze(range(int_scalar(0), extent_of(x, 0), int_scalar(1), ElementType::kI64), {1});
  const Out columns = unsqueeze(range(int_scalar(0), extent_of(x, 1), int_scalar(1), ElementType::kI64), {0});
  return {convert(op("Equal", 1, {add(rows, int_scalar(node.get_int("k", 0))), columns}), type)};
}

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N); N is one less unless periodic.
Out cosine_window(const NodeContext& node, double a0, double a1, double a2) {
  const ElementType type = node.has("output_datatype") ? node.get_type("output_datatype") : ElementType::kF32;
  const ElementType real = ElementType::kF64;
  const Out size = convert(reshape(node.input(0), Ints{}), ElementType::kI64);
  const Out steps = convert(range(int_scalar(0), size, int_scalar(1), ElementType::kI64), real);
  Out length = convert(size, real);
  if (node.get_int("periodic", 1) == 0) length = sub(length, scalar(real, 1));
  const auto wave = [&](double factor, double turns) {
    return mul(scalar(real, factor), unary("Cos", div(mul(steps, scalar(real, 2 * turns * std::numbers::pi)), length)));
  };
  Out window = sub(scalar(real, a0), wave(a1, 1));
  if (a2 != 0) window = add(window, wave(a2, 2));
  return convert(window, type);
}

OutputVector hann_window(const NodeContext& node) { return {cosine_window(node, 0.5, 0.5, 0)}; }
OutputVector hamming_window(const NodeContext& node) { return {cosine_window(node, 25.0 / 46, 21.0 / 46, 0)}; }
OutputVector blackman_window(const NodeContext& node) { return {cosine_window(node, 0.42, 0.5, 0.08)}; }

}  // namespace

void add_generators(ConverterTable& table) {
  table[":Constant"] = constant;
  table[":ConstantOfShape"] = constant_of_shape;
  table[":Range"] = range_converter;
  table[":EyeLike"] = eye_like;
  table[":HannWindow"] = hann_window;
  table[":HammingWindow"] = hamming_window;
  table[":BlackmanWindow"] = blackman_window;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
