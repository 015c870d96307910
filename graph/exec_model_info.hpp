// SPDX-License-Identifier: Apache-2.0
// The runtime model of a device: the type of its nodes, and the keys of their run-time information.
#pragma once

#include <cstddef>
#include <memory>

#include <tenon/core/export.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {
namespace exec_model_info {

// OpenVINO's keys. All values are text.

/// Friendly names of the given model's nodes that the step computes, comma-separated; empty for steps that the device
/// inserted.
inline constexpr char ORIGINAL_NAMES[] = "originalLayersNames";
/// The kernel: "brgconv:avx512_core+relu".
inline constexpr char IMPL_TYPE[] = "primitiveType";
/// The element type of each output in memory, comma-separated.
inline constexpr char OUTPUT_PRECISIONS[] = "outputPrecisions";
/// The memory layout of each output, comma-separated: its axes a, b, c, ... in memory order, the innermost last
/// ("acdb": channels last). An axis that is split into blocks is a capital letter, and its blocks are at the end
/// ("aBcd16b").
inline constexpr char OUTPUT_LAYOUTS[] = "outputLayouts";
/// Microseconds, or kNotExecuted if nothing was measured.
inline constexpr char PERF_COUNTER[] = "execTimeMcs";
/// The step's position in the order of execution, from 0.
inline constexpr char EXECUTION_ORDER[] = "execOrder";
/// The step's type: "Convolution", "Reorder".
inline constexpr char LAYER_TYPE[] = "layerType";
/// Element type of its first input in memory.
inline constexpr char RUNTIME_PRECISION[] = "runtimePrecision";

// Tenon's own keys.

/// Friendly names of nodes that were folded into constants of the step when the model was compiled.
inline constexpr char FOLDED_NAMES[] = "foldedLayersNames";
/// Sizes of the tensors that the step reads, weights apart, and writes; a step that picks elements, as Gather does,
/// touches less.
inline constexpr char BYTES_READ[] = "bytesRead";
inline constexpr char BYTES_WRITTEN[] = "bytesWritten";
/// Size of the constants that it reads, in packed form.
inline constexpr char WEIGHT_BYTES[] = "weightBytes";
/// Number of multiply-adds of convolutions and matrix products, padding included; absent for other steps.
inline constexpr char MULTIPLY_ADDS[] = "multiplyAdds";
/// The time of PERF_COUNTER in nanoseconds; absent if nothing was measured.
inline constexpr char TIME_NS[] = "execTimeNs";
/// A key of the model: names of nodes that no step computes, because they are views, or were folded or removed.
inline constexpr char OPTIMIZED_OUT_NAMES[] = "optimizedOutLayersNames";

inline constexpr char kNotExecuted[] = "not_executed";

/// A step of a model as it is executed. It has no semantics: types and shapes of its outputs are set, not inferred, and
/// no device compiles it.
class TENON_API ExecutionNode final : public Node {
 public:
  explicit ExecutionNode(const OutputVector& arguments, std::size_t output_size = 1);
  static const DiscreteTypeInfo& get_type_info_static();
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override;
};

}  // namespace exec_model_info
}  // namespace v1
}  // namespace tenon
