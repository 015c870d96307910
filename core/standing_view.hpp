// SPDX-License-Identifier: Apache-2.0
// Helpers of edges whose views stay valid: each view is made once, and mapping again needs no work.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/host_edge.hpp>
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

/// An edge that shares by views that stay: each is made once. In the context that the memory came from it needs no view.
class StandingEdge : public Edge {
 public:
  StandingEdge(std::string name, MemoryKind from, MemoryKind to) : name_(std::move(name)), from_(from), to_(to) {}
  std::string_view name() const final { return name_; }
  MemoryKind from() const final { return from_; }
  MemoryKind to() const final { return to_; }
  bool makes_standing_views(const Context&) const override { return true; }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const final {
    check_step(*this, source, to, options);
    if (source.memory()->context() == to) return source.through(nullptr);
    return standing_view(*this, source, to, to_, options.access, [&] { return make_view(source, to); });
  }

 private:
  /// A view of the whole memory of `source` for widest_access(). @errors those of native calls.
  virtual std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const = 0;

  const std::string name_;
  const MemoryKind from_, to_;
};

}  // namespace v1
}  // namespace tenon
