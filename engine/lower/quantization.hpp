// SPDX-License-Identifier: Apache-2.0
// 8-bit values and weights: what a model's FakeQuantize and dequantised constants say of them.
#pragma once

#include <optional>
#include <vector>

#include <tenon/engine/lower/affine.hpp>
#include <tenon/engine/lower/builder.hpp>

namespace tenon::inline v1::engine {

/// The 8-bit numbers that a FakeQuantize with one range for the whole tensor rounds to; nothing when it has other
/// ranges, other levels, or limits that are not whole steps away from zero.
std::optional<Quantization> quantization_of(PlanBuilder& builder, const std::shared_ptr<Node>& node);
/// The graph says that output 0 of `node` holds such numbers: it is such a FakeQuantize, or only moves what one made.
bool is_quantized(PlanBuilder& builder, const Node* node);

/// Constant weights in 8 bits with a scale for all, or one per output channel.
struct QuantizedWeights {
  Tensor values;              ///< i8, of the shape that the operation reads.
  std::vector<float> scales;  ///< One, or one per output channel.
};
/// What feeds input 1 of a convolution, which has the output channels outermost (grouped: groups, then channels).
std::optional<QuantizedWeights> quantized_filter(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                                                 std::size_t channels);
/// What feeds input 1 of a matrix product whose columns lie along `axis`.
std::optional<QuantizedWeights> quantized_matrix(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                                                 std::size_t axis);

/// The kernel shall multiply by scales (of the argument's own index along `mask`) and subtract the zero point.
void describe_scale(dnnl::primitive_attr& attributes, int argument, int mask = 0);
void describe_zero_point(dnnl::primitive_attr& attributes, int argument, std::int32_t zero_point);
/// Their values, as constants of the plan.
void add_scales(PlanBuilder& builder, PrimitiveStep& step, int argument, const std::vector<float>& scales);
void add_zero_point(PlanBuilder& builder, PrimitiveStep& step, int argument, std::int32_t zero_point);

}  // namespace tenon::inline v1::engine
