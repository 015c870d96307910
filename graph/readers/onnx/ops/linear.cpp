// SPDX-License-Identifier: Apache-2.0
// ONNX: matrix products.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

OutputVector mat_mul(const NodeContext& node) { return {matmul(node.input(0), node.input(1))}; }

OutputVector gemm(const NodeContext& node) {
  const Out &a = node.input(0), &b = node.input(1);
  Out product = matmul(a, b, node.get_int("transA", 0) != 0, node.get_int("transB", 0) != 0);
  const double alpha = node.get_float("alpha", 1), beta = node.get_float("beta", 1);
  if (alpha != 1) product = mul(product, scalar_like(product, alpha));
  if (!node.has_input(2) || beta == 0) return {product};
  const Out& c = node.input(2);
  return {add(product, beta == 1 ? c : mul(c, scalar_like(c, beta)))};
}

Out without_zero_point(const NodeContext& node, std::size_t index, std::size_t zero_point, bool by_rows) {
  const Out x = convert(node.input(index), ElementType::kF32);
  if (!node.has_input(zero_point)) return x;
  Out zero = convert(node.input(zero_point), ElementType::kF32);
  const PartialShape& shape = zero.get_partial_shape();
  // One zero point per row of A: made a column.
  if (by_rows && shape.rank() == Rank(1) && shape[0] != Dimension(1)) zero = unsqueeze(zero, {1});
  return sub(x, zero);
}

OutputVector matmul_integer(const NodeContext& node) {
  return {
      convert(matmul(without_zero_point(node, 0, 2, true), without_zero_point(node, 1, 3, false)), ElementType::kI32)};
}

// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
OutputVector qlinear_matmul(const NodeContext& node) {
  Out y = matmul(without_zero_point(node, 0, 2, true), without_zero_point(node, 3, 5, false));
  const auto real = [&](std::size_t index) { return convert(node.input(index), ElementType::kF32); };
  y = mul(y, div(mul(real(1), real(4)), real(6)));
  y = add(op("Round", 5, {y}, {{"mode", "half_to_even"}}), real(7));
  const bool is_signed = node.type(7) == ElementType::kI8;
  y = op("Clamp", 1, {y}, {{"min", is_signed ? -128.0 : 0.0}, {"max", is_signed ? 127.0 : 255.0}});
  return {convert(y, node.type(7))};
}

}  // namespace

void add_linear(ConverterTable& table) {
  table[":MatMul"] = mat_mul;
  table[":Gemm"] = gemm;
  table[":MatMulInteger"] = matmul_integer;
  table[":QLinearMatMul"] = qlinear_matmul;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
