// SPDX-License-Identifier: Apache-2.0
// What edges share whose views stay valid: each is made once, and mapping again needs no work.
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

/// `source` as `to` sees its memory: by the view that is there, or one that `make` makes and that stays.
/// @param make  Gives a std::unique_ptr<View> over the whole memory, for the widest access.
/// @thread any; of two threads that make a view at once, both get the one that stays.
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

/// Where the memory's view starts for the host; null if the host does not reach it.
inline void* host_base(const Tensor& source) { return source.view() ? source.view()->host() : source.memory()->host(); }

}  // namespace v1
}  // namespace tenon
