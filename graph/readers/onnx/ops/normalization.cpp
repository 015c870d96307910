// SPDX-License-Identifier: Apache-2.0
// ONNX: normalisation.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

Ints axes_from(std::int64_t first, std::int64_t rank) {
  Ints axes;
  for (std::int64_t axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Out mean_variance(const Out& x, const Ints& axes, double epsilon, bool inside) {
  return op("MVN", 6, {x, ints(axes)},
            {{"normalize_variance", true}, {"eps", epsilon}, {"eps_mode", inside ? "INSIDE_SQRT" : "OUTSIDE_SQRT"}});
}

ElementType stash_type(const NodeContext& node) {
  return node.has("stash_type") ? node.get_type("stash_type") : ElementType::kF32;
}

OutputVector batch_normalization(const NodeContext& node) {
  const Out& x = node.input(0);
  const double epsilon = node.get_float("epsilon", 1e-5);
  const bool training = node.get_int("training_mode", 0) != 0;
  if (!training) {
    if (node.opset() < 9 && node.get_int("spatial", 1) == 0)
      unimplemented(
          "has statistics per position (spatial 0), which operation set 9 dropped: convert the file to set 9");
    return {op("BatchNormInference", 5, {x, node.input(1), node.input(2), node.input(3), node.input(4)},
               {{"epsilon", epsilon}})};
  }
  // Training: uses this batch's own statistics, and moves the running ones towards them.
  Ints axes{0};
  for (std::int64_t axis = 2; axis < node.rank(0); ++axis) axes.push_back(axis);
  const Out mean = reduce("ReduceMean", x, ints(axes), false), centred = sub(x, per_channel(mean, x));
  const Out variance = reduce("ReduceMean", mul(centred, centred), ints(axes), false);
  const double momentum = node.get_float("momentum", 0.9);
  const auto moved = [&](const Out& running, const Out& now) {
    return add(mul(running, scalar_like(running, momentum)), mul(now, scalar_like(now, 1 - momentum)));
  };
  return {op("BatchNormInference", 5, {x, node.input(1), node.input(2), mean, variance}, {{"epsilon", epsilon}}),
          moved(node.input(3), mean), moved(node.input(4), variance)};
}

OutputVector instance_normalization(const NodeContext& node) {
  const Out& x = node.input(0);
  const Out normal = mean_variance(x, axes_from(2, node.rank(0)), node.get_float("epsilon", 1e-5), true);
  return {add(mul(normal, per_channel(node.input(1), x)), per_channel(node.input(2), x))};
}

OutputVector layer_normalization(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t rank = node.rank(0);
  const Ints axes = axes_from(normalized_axis(node.get_int("axis", -1), rank), rank);
  const double epsilon = node.get_float("epsilon", 1e-5);
  Out y = mul(mean_variance(x, axes, epsilon, true), node.input(1));
  if (node.has_input(2)) y = add(y, node.input(2));
  if (!node.wants_output(1) && !node.wants_output(2)) return {y};
  // Statistics have a type of their own, and are computed in it.
  const Out wide = convert(x, stash_type(node));
  const Out mean = reduce("ReduceMean", wide, ints(axes), true), centred = sub(wide, mean);
  const Out variance = reduce("ReduceMean", mul(centred, centred), ints(axes), true);
  const Out deviation = unary("Sqrt", add(variance, scalar_like(wide, epsilon)));
  return {y, mean, div(scalar_like(wide, 1), deviation)};
}

// Normalises each group of channels together. Scale and bias are per group before 21, per channel since then.
OutputVector group_normalization(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t rank = node.rank(0), groups = node.get_int("num_groups");
  if (rank < 2 || groups < 1)
    fail("num_groups is " + std::to_string(groups) + " for an input of rank " + std::to_string(rank));
  const Out shape = shape_of(x);
  const Out batch = slice(shape, 0, 1, 0);
  const Out split = reshape(x, concat({batch, ints({groups, -1})}, 0));
  Out y = mean_variance(split, {2}, node.get_float("epsilon", 1e-5), true);
  if (node.opset() < 21) {
    y = add(mul(y, per_channel(node.input(1), y)), per_channel(node.input(2), y));
    return {reshape(y, shape)};
  }
  y = reshape(y, shape);
  return {add(mul(y, per_channel(node.input(1), x)), per_channel(node.input(2), x))};
}

OutputVector mean_variance_normalization(const NodeContext& node) {
  return {mean_variance(node.input(0), node.get_ints("axes", {0, 2, 3}), 1e-9, false)};
}

OutputVector lp_normalization(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t p = node.get_int("p", 2);
  if (p != 1 && p != 2) fail("p is " + std::to_string(p) + ", expected 1 or 2");
  const Out norm = reduce(p == 1 ? "ReduceL1" : "ReduceL2", x, ints({node.get_int("axis", -1)}), true);
  // Zeros stay zeros.
  return {div(x, select(op("Equal", 1, {norm, scalar_like(x, 0)}), scalar_like(x, 1), norm))};
}

// Each element is divided by (bias + alpha * mean)^beta, where the mean is of squares over `size` channels: those before
// it are rounded down, those behind it up. The table's operation takes as many on both sides.
OutputVector lrn(const NodeContext& node) {
  const Out& x = node.input(0);
  const double alpha = node.get_float("alpha", 1e-4), beta = node.get_float("beta", 0.75);
  const double bias = node.get_float("bias", 1);
  const std::int64_t size = node.get_int("size");
  if (size % 2 != 0)
    return {op("LRN", 1, {x, ints({1})}, {{"alpha", alpha}, {"beta", beta}, {"bias", bias}, {"size", size}})};
  if (size < 2) fail("size is " + std::to_string(size) + ", expected at least 1");
  const Out shape = shape_of(x);
  const Out planes = concat({slice(shape, 0, 1, 0), ints({1}), slice(shape, 1, 2, 0), ints({-1})}, 0);
  const Out mean = op("AvgPool", 14, {reshape(mul(x, x), planes)},
                      {{"kernel", Ints{size, 1}},
                       {"strides", Ints{1, 1}},
                       {"pads_begin", Ints{size / 2 - 1, 0}},
                       {"pads_end", Ints{size / 2, 0}},
                       {"exclude-pad", false},
                       {"rounding_type", "floor"}});
  const Out base = add(mul(reshape(mean, shape), scalar_like(x, alpha)), scalar_like(x, bias));
  return {div(x, power(base, beta))};
}

// Squares of narrow reals would leave their range, so the mean and the quotient have a type of their own.
OutputVector rms_normalization(const NodeContext& node) {
  const Out& given = node.input(0);
  const std::int64_t rank = node.rank(0);
  const Ints axes = axes_from(normalized_axis(node.get_int("axis", -1), rank), rank);
  const ElementType type = given.get_element_type();
  const Out x = type == ElementType::kF64 ? given : convert(given, stash_type(node));
  const Out mean = reduce("ReduceMean", mul(x, x), ints(axes), true);
  const Out normal = div(x, unary("Sqrt", add(mean, scalar_like(x, node.get_float("epsilon", 1e-5)))));
  return {mul(convert(normal, type), node.input(1))};
}

}  // namespace

void add_normalization(ConverterTable& table) {
  table[":BatchNormalization"] = batch_normalization;
  table[":InstanceNormalization"] = instance_normalization;
  table[":LayerNormalization"] = layer_normalization;
  table[":GroupNormalization"] = group_normalization;
  table[":MeanVarianceNormalization"] = mean_variance_normalization;
  table[":LpNormalization"] = lp_normalization;
  table[":LRN"] = lrn;
  table[":RMSNormalization"] = rms_normalization;
  // ONNX Runtime's optimiser writes it, without a domain.
  table[":SimplifiedLayerNormalization"] = rms_normalization;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
