// SPDX-License-Identifier: Apache-2.0
// ONNX: activation functions.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

#include <algorithm>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

OutputVector relu(const NodeContext& node) { return {unary("Relu", node.input(0))}; }
OutputVector sigmoid(const NodeContext& node) { return {unary("Sigmoid", node.input(0))}; }
OutputVector tanh(const NodeContext& node) { return {unary("Tanh", node.input(0))}; }
OutputVector hard_swish(const NodeContext& node) { return {op("HSwish", 4, {node.input(0)})}; }
OutputVector mish(const NodeContext& node) { return {op("Mish", 4, {node.input(0)})}; }
OutputVector softplus(const NodeContext& node) { return {op("SoftPlus", 4, {node.input(0)})}; }
OutputVector elu(const NodeContext& node) {
  return {op("Elu", 1, {node.input(0)}, {{"alpha", node.get_float("alpha", 1)}})};
}

OutputVector softsign(const NodeContext& node) {
  const Out& x = node.input(0);
  return {div(x, add(scalar_like(x, 1), unary("Abs", x)))};
}

OutputVector leaky_relu(const NodeContext& node) {
  const Out& x = node.input(0);
  return {op("PRelu", 1, {x, reals(x.get_element_type(), {node.get_float("alpha", 0.01)})})};
}

// ONNX broadcasts the slope like any operand, the table's PRelu along channels: both agree only for a single
// slope.
OutputVector prelu(const NodeContext& node) {
  const Out& x = node.input(0);
  const Out zero = scalar_like(x, 0);
  // Before 7 there is a slope for each channel.
  const Out slope = node.opset() < 7 ? per_channel(node.input(1), x) : node.input(1);
  const PartialShape& shape = slope.get_partial_shape();
  if (shape.is_static() && element_count(shape.to_shape()) == 1 && info(x.get_element_type()).is_real) {
    return {op("PRelu", 1, {x, reshape(slope, Ints{1})})};
  }
  return {select(op("Less", 1, {x, zero}), mul(x, slope), x)};
}

OutputVector swish(const NodeContext& node) {
  const Out& x = node.input(0);
  const double alpha = node.get_float("alpha", 1);
  return {alpha == 1 ? op("Swish", 4, {x}) : op("Swish", 4, {x, scalar_like(x, alpha)})};
}

// Inputs are two projections; the first is the gate.
OutputVector swiglu(const NodeContext& node) { return {mul(swish(node)[0], node.input(1))}; }

OutputVector selu(const NodeContext& node) {
  const Out& x = node.input(0);
  return {op("Selu", 1,
             {x, scalar_like(x, node.get_float("alpha", 1.67326319217681884765625)),
              scalar_like(x, node.get_float("gamma", 1.05070102214813232421875))})};
}

OutputVector hard_sigmoid(const NodeContext& node) {
  const Out& x = node.input(0);
  return {op("HardSigmoid", 1,
             {x, scalar_like(x, node.get_float("alpha", 0.2)), scalar_like(x, node.get_float("beta", 0.5))})};
}

OutputVector thresholded_relu(const NodeContext& node) {
  const Out& x = node.input(0);
  return {select(op("Greater", 1, {x, scalar_like(x, node.get_float("alpha", 1))}), x, scalar_like(x, 0))};
}

OutputVector celu(const NodeContext& node) {
  const Out& x = node.input(0);
  const Out alpha = scalar_like(x, node.get_float("alpha", 1)), zero = scalar_like(x, 0);
  const Out curve = mul(alpha, sub(unary("Exp", div(x, alpha)), scalar_like(x, 1)));
  return {add(op("Maximum", 1, {zero, x}), op("Minimum", 1, {zero, curve}))};
}

OutputVector gelu(const NodeContext& node) {
  const bool is_tanh = node.get_string("approximate", "none") == "tanh";
  return {op("Gelu", 7, {node.input(0)}, {{"approximation_mode", is_tanh ? "TANH" : "ERF"}})};
}

OutputVector shrink(const NodeContext& node) {
  // Integers are compared with the limit, and moved by the bias, as reals.
  const ElementType type = node.input(0).get_element_type();
  const Out x = info(type).is_real ? node.input(0) : convert(node.input(0), ElementType::kF64);
  const double bias = node.get_float("bias", 0), limit = node.get_float("lambd", 0.5);
  const Out low = op("Less", 1, {x, scalar_like(x, -limit)}), high = op("Greater", 1, {x, scalar_like(x, limit)});
  const Out y =
      select(low, add(x, scalar_like(x, bias)), select(high, sub(x, scalar_like(x, bias)), scalar_like(x, 0)));
  return {convert(y, type)};
}

// Before 13 the input is treated as a matrix, split at the axis.
Out coerced(const NodeContext& node, const Out& x, Out (*function)(const Out&, std::int64_t)) {
  if (node.opset() >= 13) return function(x, node.get_int("axis", -1));
  const std::int64_t rank = node.rank(0);
  const std::int64_t axis = rank == 0 ? 0 : normalized_axis(node.get_int("axis", 1), std::max<std::int64_t>(rank, 2));
  if (axis == rank - 1 || rank <= 1) return function(x, -1);
  // Both extents are written, since one that is 0 does not tell the other.
  return reshape(function(reshape(x, concat({product_of(x, 0, axis), product_of(x, axis, rank)}, 0)), 1), shape_of(x));
}

Out softmax_of(const Out& x, std::int64_t axis) {
  if (x.get_partial_shape().rank() == Rank(0)) return broadcast_to(scalar_like(x, 1), ints({}));
  return op("Softmax", 8, {x}, {{"axis", axis}});
}
Out log_softmax_of(const Out& x, std::int64_t axis) { return op("LogSoftmax", 5, {x}, {{"axis", axis}}); }

// One at the first maximum along the axis, zero elsewhere. An axis of no elements has no maximum.
Out hardmax_of(const Out& x, std::int64_t axis) {
  if (x.get_partial_shape().rank() == Rank(0)) return broadcast_to(scalar_like(x, 1), ints({}));
  const std::int64_t rank = x.get_partial_shape().rank().get_length();
  const auto place = static_cast<std::size_t>(normalized_axis(axis, rank));
  const Out count = op("Minimum", 1, {extent_of(x, axis), int_scalar(1)});
  const OutputVector top = ops("TopK", 11, {x, count},
                               {{"axis", axis},
                                {"mode", "max"},
                                {"sort", "value"},
                                {"stable", true},
                                {"index_element_type", ElementType::kI64}});
  const Out positions = range(int_scalar(0), extent_of(x, axis), int_scalar(1), ElementType::kI64);
  Ints shape(static_cast<std::size_t>(rank), 1);
  shape[place] = -1;
  return convert(op("Equal", 1, {reshape(positions, shape), top[1]}), x.get_element_type());
}

OutputVector softmax(const NodeContext& node) { return {coerced(node, node.input(0), softmax_of)}; }
OutputVector log_softmax(const NodeContext& node) { return {coerced(node, node.input(0), log_softmax_of)}; }
OutputVector hardmax(const NodeContext& node) {
  node.rank(0);
  return {coerced(node, node.input(0), hardmax_of)};
}

}  // namespace

void add_activations(ConverterTable& table) {
  table[":Relu"] = relu;
  table[":Sigmoid"] = sigmoid;
  table[":Tanh"] = tanh;
  table[":HardSwish"] = hard_swish;
  table[":Mish"] = mish;
  table[":Softplus"] = softplus;
  table[":Softsign"] = softsign;
  table[":Elu"] = elu;
  table[":LeakyRelu"] = leaky_relu;
  table[":PRelu"] = prelu;
  table[":Swish"] = swish;
  table[":SwiGLU"] = swiglu;
  table[":Selu"] = selu;
  table[":HardSigmoid"] = hard_sigmoid;
  table[":ThresholdedRelu"] = thresholded_relu;
  table[":Celu"] = celu;
  table[":Gelu"] = gelu;
  table[":Shrink"] = shrink;
  table[":Softmax"] = softmax;
  table[":LogSoftmax"] = log_softmax;
  table[":Hardmax"] = hardmax;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
