// SPDX-License-Identifier: Apache-2.0
// ONNX: losses, which exporters sometimes leave in inference graphs.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

// log_prob [N, C, d...], target [N, d...]: minus the target's entry, weighted by its class; ignored targets have weight
// zero.
Out negative_log_likelihood(const NodeContext& node, const Out& log_prob) {
  const std::string reduction = node.get_string("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    fail("reduction \"" + reduction + "\" is none of none, sum, mean");
  Out target = convert(node.input(1), ElementType::kI64), ignored;
  if (node.has("ignore_index")) {
    ignored = op("Equal", 1, {target, int_scalar(node.get_int("ignore_index"))});
    target = select(ignored, int_scalar(0), target);
  }
  const Out picked = squeeze(op("GatherElements", 6, {log_prob, unsqueeze(target, {1})}, {{"axis", 1}}), {1});
  Out loss = unary("Negative", picked), weight;
  if (node.has_input(2)) weight = op("Gather", 8, {node.input(2), target, int_scalar(0)}, {{"batch_dims", 0}});
  if (ignored) {
    const Out one = weight ? weight : broadcast_to(scalar_like(loss, 1), shape_of(target));
    weight = select(ignored, scalar_like(loss, 0), one);
  }
  if (weight) loss = mul(loss, weight);
  if (reduction == "none") return loss;
  if (reduction == "mean" && !weight) return reduce("ReduceMean", loss, all_axes(loss), false);
  const Out sum = reduce("ReduceSum", loss, all_axes(loss), false);
  return reduction == "sum" ? sum : div(sum, reduce("ReduceSum", weight, all_axes(weight), false));
}

OutputVector nll_loss(const NodeContext& node) { return {negative_log_likelihood(node, node.input(0))}; }

OutputVector softmax_cross_entropy(const NodeContext& node) {
  const Out log_prob = op("LogSoftmax", 5, {node.input(0)}, {{"axis", 1}});
  return {negative_log_likelihood(node, log_prob), log_prob};
}

}  // namespace

void add_losses(ConverterTable& table) {
  table[":NegativeLogLikelihoodLoss"] = nll_loss;
  table[":SoftmaxCrossEntropyLoss"] = softmax_cross_entropy;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
