// SPDX-License-Identifier: Apache-2.0
// What a device executes, as a model: the type of its nodes, and the keys of what their run-time information says.
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
/// Of each output, comma-separated: the type in which it lies in memory.
inline constexpr char OUTPUT_PRECISIONS[] = "outputPrecisions";
/// Of each output, comma-separated: its axes a, b, c, ... as they follow each other in memory, the innermost last
/// ("acdb": channels last); an axis that is split into blocks is a capital, and its blocks stand at the end ("aBcd16b").
inline constexpr char OUTPUT_LAYOUTS[] = "outputLayouts";
/// Microseconds, or kNotExecuted if nothing was measured.
inline constexpr char PERF_COUNTER[] = "execTimeMcs";
/// Its place in the order of execution, from 0.
inline constexpr char EXECUTION_ORDER[] = "execOrder";
/// The step's type: "Convolution", "Reorder".
inline constexpr char LAYER_TYPE[] = "layerType";
/// Type in which its first input lies.
inline constexpr char RUNTIME_PRECISION[] = "runtimePrecision";

// Keys of Tenon's own.

/// Friendly names of nodes whose values were known when the model was compiled, and which the step has as constants.
inline constexpr char FOLDED_NAMES[] = "foldedLayersNames";
/// Sizes of the tensors that the step reads, weights apart, and writes; a step that picks elements, as Gather does,
/// touches less.
inline constexpr char BYTES_READ[] = "bytesRead";
inline constexpr char BYTES_WRITTEN[] = "bytesWritten";
/// Of constants that it reads, as they are packed.
inline constexpr char WEIGHT_BYTES[] = "weightBytes";
/// Of convolutions and matrix products, padding included; absent elsewhere.
inline constexpr char MULTIPLY_ADDS[] = "multiplyAdds";
/// Nanoseconds, of what PERF_COUNTER has in whole microseconds; absent if nothing was measured.
inline constexpr char TIME_NS[] = "execTimeNs";
/// Of the model: names of nodes that no step computes, because they are views, or were folded or removed.
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
