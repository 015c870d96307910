// SPDX-License-Identifier: Apache-2.0
// Helpers of edges whose views stay valid: each view is made once, and mapping again needs no work.
#pragma once

#include <memory>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// `source` as seen from `to`: through an existing view, or through a new one from `make`, which is kept.
/// @param make  Returns a std::unique_ptr<View> over the whole memory, for the widest access.
/// @thread any; if two threads make a view at once, both get the one that is kept.
template <typename Make>
Tensor standing_view(const Edge& edge, const Tensor& source, const Context& to, MemoryKind kind, Access access,
                     Make&& make) {
  const Memory& memory = *source.memory();
  const View* view = memory.find_view(*to, kind, access);
  if (!view) {
    std::unique_ptr<View> made = std::forward<Make>(make)();
    made->set_standing(edge.id());
    view = &memory.add_view(std::move(made));
  }
  return source.through(view);
}

/// Host address at which the memory's view starts; null if the host cannot reach it.
inline void* host_base(const Tensor& source) { return source.view() ? source.view()->host() : source.memory()->host(); }

}  // namespace v1
}  // namespace tenon
