// SPDX-License-Identifier: Apache-2.0
// How values lie, for kernels that take strides.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/plan/descriptions.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Strides in elements of a layout without blocks. @return false for others.
bool strides_of(const md& desc, std::size_t rank, std::vector<std::size_t>& strides);
std::vector<std::size_t> packed_strides(const Shape& shape);
/// The order of axes of a Transpose, none negative. @return false if it is not constant.
bool transpose_order(PlanBuilder& builder, const std::shared_ptr<Node>& node, std::vector<std::size_t>& order);
/// The layout in which the result's only reader, a transposition, wants it, so that it moves nothing; undefined if
/// there is none.
md transposed_result(PlanBuilder& builder, const std::shared_ptr<Node>& node, ElementType type);

}  // namespace tenon::inline v1::engine
