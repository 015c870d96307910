// SPDX-License-Identifier: Apache-2.0
// Lowers caches that grow in place: see plan/growth.hpp.
#pragma once

#include <cstddef>
#include <memory>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/plan/descriptions.hpp>
#include <tenon/engine/plan/planning.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Layout of a tensor in memory with room along an axis.
md with_room(ElementType type, const Shape& shape, std::size_t axis, std::size_t capacity);
/// Defines the value as the cache at `place`, in the layout that `growth` says. The next step may write there.
void define_cache(PlanBuilder& builder, Value& value, const Growth& growth, BufferSlice place);
/// The Concat: writes the new elements behind those that are there.
void lower_append(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Growth& growth);
/// The Gather before it: moves rows in place, if it is told to.
void lower_reorder_rows(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Growth& growth);

}  // namespace tenon::inline v1::engine
