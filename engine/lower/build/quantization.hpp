// SPDX-License-Identifier: Apache-2.0
// 8-bit values and weights, as a model's FakeQuantize nodes and dequantised constants describe them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/engine/lower/build/affine.hpp>  // IWYU pragma: export
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/plan/plan.hpp>
#include <tenon/engine/plan/planning.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/planning/quantization.hpp>

namespace tenon::inline v1::engine {

/// The 8-bit numbers to which a FakeQuantize with one range for the whole tensor rounds; nothing if it has other
/// ranges, other levels, or limits that are not whole steps away from zero.
std::optional<Quantization> quantization_of(PlanBuilder& builder, const std::shared_ptr<Node>& node);
/// The nodes up to `last` that make 8-bit numbers real, if a product or convolution reads them from `last`: in 8 bits,
/// there is nothing to be done for these. Nothing else.
std::optional<planning::Dequantized> dequantized_of(PlanBuilder& builder, const std::shared_ptr<Node>& last);
/// Lowers them.
bool lower_dequantized(PlanBuilder& builder, const Chain& chain);
/// Whether output 0 of `node` holds such numbers: it is such a FakeQuantize or dequantises others, or only moves these.
bool is_quantized(PlanBuilder& builder, const std::shared_ptr<Node>& node);

/// Weights on input 1 of a convolution, if this CPU sums their products exactly.
std::optional<planning::QuantizedWeights> quantized_filter(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                                                           std::size_t channels);
/// The same on input 1 of a matrix product whose columns lie along `axis`.
std::optional<planning::QuantizedWeights> quantized_matrix(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                                                           std::size_t axis);

/// Tells the kernel to multiply by scales (of the argument's own index along `mask`) and to subtract the zero point.
void describe_scale(dnnl::primitive_attr& attributes, int argument, int mask = 0);
void describe_zero_point(dnnl::primitive_attr& attributes, int argument, std::int32_t zero_point);
/// Adds their values as constants of the plan.
void add_scales(PlanBuilder& builder, PrimitiveStep& step, int argument, const std::vector<float>& scales);
void add_zero_point(PlanBuilder& builder, PrimitiveStep& step, int argument, std::int32_t zero_point);

}  // namespace tenon::inline v1::engine
