// SPDX-License-Identifier: Apache-2.0
// Passes: named transformations of a model, run in order, with a hook that sees each result.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

/// Changes a model in place; run() returns whether it changed anything. A pass keeps the values of all results, the
/// friendly and tensor names of results and parameters, and the friendly name of the last node that it replaces.
struct Pass {
  std::string name;
  std::function<bool(Model&)> run;
};

/// Called after each pass, for dumps and timing.
using Hook = std::function<void(const Model& model, const std::string& pass, bool changed)>;

class TENON_API Manager {
 public:
  Manager& add(Pass pass);
  void set_hook(Hook hook) { hook_ = std::move(hook); }
  /// Runs every pass once, in order; infers types and shapes again after each pass that changed something.
  /// @errors exceptions of a pass or of inference, with the pass named.
  bool run(const std::shared_ptr<Model>& model) const;
  const std::vector<Pass>& passes() const { return passes_; }

 private:
  std::vector<Pass> passes_;
  Hook hook_;
};

struct FoldOptions {
  /// Keep Convert(f16 or bf16 Constant -> f32), marked by rt_info "decompression", so that devices that compute in half
  /// precision or convert while packing never get the weights inflated.
  bool keep_decompression = true;
  /// Keep scale * (Convert(Constant of 4 or 8 bits) - zero point) and FakeQuantize of a Constant, from which devices that
  /// multiply such numbers read weights and scales.
  bool keep_dequantization = false;
  /// A result larger than this and larger than all its inputs together is not folded.
  std::size_t max_growth_bytes = std::size_t{1} << 20;
  /// Called before each node is computed, which may take seconds; what it throws ends the pass, as when a limit of time is over.
  std::function<void()> check = {};
};
/// Replaces nodes that depend on no input by their values, including shape computations of static models.
TENON_API Pass fold_constants(FoldOptions options = {});
/// Removes Reshape, Transpose, Convert, Concat, Pad, Squeeze, Unsqueeze, Broadcast, Tile that change nothing,
/// transposes that cancel, and reshapes of reshapes.
TENON_API Pass eliminate_no_ops();
/// BatchNormInference with constant parameters: folds it into the weights of the preceding convolution and an Add, or
/// otherwise replaces it by Multiply and Add.
TENON_API Pass fold_batch_norm();
/// x * Sigmoid(x) to Swish.
TENON_API Pass fuse_swish();
/// 0.5 * x * (1 + Erf(x / sqrt(2))), in any order of factors, to Gelu.
TENON_API Pass fuse_gelu();
/// Pre-processing of an image (a u8 input, or NV12 and I420 planes, then conversions of type and colour, crop, linear
/// or nearest resize, layout, channel order, mean and scale, padding) to one InputStage with the same results, for
/// devices that have it as a kernel. Only for batches of one and static shapes.
/// @param before_resizes  Also folds steps before another resize, for devices whose resize kernel cannot compute its
/// input on the fly.
TENON_API Pass fold_input_stage(bool before_resizes = true);

/// 0.5 * x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), in any order of factors, to Gelu.
TENON_API Pass fuse_gelu_tanh();
/// Minimum(Maximum(x, a), b) of numbers a <= b, in either order, to Clamp; Maximum(x, 0) to Relu.
TENON_API Pass fuse_clamp();
/// x * Clamp(x + 3, 0, 6) / 6 to HSwish.
TENON_API Pass fuse_hswish();
/// (x - mean) / sqrt(variance + epsilon), with its means as ReduceMean, to MVN.
TENON_API Pass fuse_layer_norm();
/// Softmax(queries * keys [* scale] [+ mask]) * values, with static shapes, to ScaledDotProductAttention, for devices
/// with such a kernel.
TENON_API Pass fuse_attention();
/// The same with open shapes of known rank. Shape inference refuses the operation once a mask is larger than the scores.
TENON_API Pass fuse_moving_attention();
/// QuantizeLinear followed by DequantizeLinear with the same scale and zero point, as the ONNX reader expands them, to
/// FakeQuantize. Run it before constant folding.
TENON_API Pass fuse_quantize_dequantize();

/// Unrolls a Loop or TensorIterator of known iteration count into copies of its body, for devices without control flow.
/// Loops within bodies need another run.
/// @param most_nodes  Limit for all runs of this pass together: a loop that would exceed it is kept.
TENON_API Pass unroll_loops(std::size_t most_nodes = 20000);

/// Peels a Loop that its body ends: the first iteration, then an If on the body's condition that contains the rest of
/// the loop. For devices that decide branches on the host; run it again when the condition is known. Loops that read
/// slices are kept, as are those whose condition or trip count is not known yet.
TENON_API Pass peel_loops();
/// Whether peel_loops() takes the node apart, once its condition and trip count are known.
TENON_API bool can_peel(const Node& node);

/// Computes f16 and bf16 values in f32, for devices that compute in f32: a file's type only says how it is stored.
/// Parameters, results and states keep their types, with conversions added; so do constants, which a device converts
/// once. A conversion to a narrow type rounds only if nothing but conversions and outputs read it.
TENON_API Pass widen_reals();

/// The passes that every device needs, in a suitable order.
TENON_API Manager common_passes(FoldOptions options = {});

// Matching helpers for passes and devices.

/// The Constant that feeds input i, also through a decompression Convert; it then holds the compressed values.
TENON_API std::shared_ptr<op::v0::Constant> constant_input(const Node& node, std::size_t index);
/// Reads a constant input of one element (f16 decompressed). @return false for other inputs.
TENON_API bool scalar_input(const Node& node, std::size_t index, double& value);
/// The only reader of a node with one output; null if there is none, or if there are several.
TENON_API std::shared_ptr<Node> only_user(const Node& node);
/// For a convolution whose only reader adds a constant per output channel: that Add, and its constant input's index.
struct BiasMatch {
  std::shared_ptr<Node> add;
  std::size_t constant_index = 0;
};
TENON_API bool match_bias(const Node& convolution, BiasMatch& match);

/// Transfers the consumers, tensor names and friendly name of a node with one output to `replacement`.
TENON_API void replace_node(const std::shared_ptr<Node>& node, const Output<Node>& replacement);

}  // namespace pass
}  // namespace v1
}  // namespace tenon
