// SPDX-License-Identifier: Apache-2.0
// Router: finds the cheapest way from where memory is to where it is needed, and performs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// One edge, and the context that it leads to.
struct Hop {
  const Edge* edge = nullptr;
  Context to;
  Reached reached;  ///< For a frame: the result of its first plane, with the cost of all planes.
};

/// The place on a way where the host waits for unfinished work, because no queue can wait for it. Later hops find the
/// work finished.
struct HostWait {
  std::size_t hop = 0;  ///< Index into Route::hops().
  std::string reason;
};

namespace detail {
struct RouteSearch;
}

/// The result of a search: a way, or the reasons why there is none. Immutable; shared by all caches that hold it.
class TENON_API Route : public RefCounted {
 public:
  bool possible() const { return possible_; }
  /// Empty when the memory is already where it is needed.
  const std::vector<Hop>& hops() const { return hops_; }
  bool copies() const;
  double cost_ns() const;
  /// One route per plane, when the planes of a frame take different ways; hops() is then empty. Empty in all other
  /// cases.
  const std::vector<Ref<const Route>>& planes() const { return planes_; }
  /// The hop at which a map without a caller's stream waits on the host for unfinished work on the memory. Nothing if
  /// no wait is needed, if only queues wait, or if there are no hops. Each route in planes() has its own.
  const std::optional<HostWait>& host_wait() const { return host_wait_; }
  /// Every refusal met in the search, one per line. When no way was found, the missing contexts are listed too.
  std::string explain() const;

 private:
  friend class Router;
  friend struct detail::RouteSearch;
  std::string title() const;
  void find_host_wait();
  /// The cost by which ways are compared: under ZeroCopy::kPrefer each copied plane counts more than any sharing way.
  double rank() const;

  Description source_;  ///< For a frame: its first plane.
  std::optional<FrameDescription> frame_;
  Context target_;
  Access access_ = Access::kRead;
  ZeroCopy policy_ = ZeroCopy::kPrefer;
  bool possible_ = false;
  std::vector<Hop> hops_;
  std::vector<Ref<const Route>> planes_;
  std::optional<HostWait> host_wait_;
  std::vector<std::string> refusals_;
  std::vector<std::string> missing_;
};

/// One allocation for several consumers of one source: which context should allocate, and the way to each consumer.
struct AllocationPlan {
  bool possible = false;
  Context allocator;
  /// The requirements of all consumers and of the allocator, joined, with the size that the tensor or frame needs. The
  /// size is in whole pages if any party wants a descriptor or page-aligned memory. Pass them to allocator->allocate()
  /// and, for a frame, to Frame::over().
  Requirements requirements;
  std::vector<Ref<const Route>> routes;  ///< One per consumer, in their order.
  double cost_ns = 0;                    ///< Sum over all routes, with the one from the source's context.
  std::string explanation;               ///< Every candidate with its cost or refusal.
};

/// One party in a pipeline: its context and its requirements there.
struct Party {
  Context context;
  Requirements requirements;
  Access access = Access::kRead;
};

/// Knows contexts and bridges; plans, maps and explains. Plans are cached by description.
/// @thread plan and map from any thread; add() while no other thread uses the router.
class TENON_API Router {
 public:
  Router();
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Adds a context with the edges of its framework. Adding it twice does nothing.
  void add(const Context& context);
  /// Adds edges that need two frameworks (bridges): static objects.
  void add(std::span<const Edge* const> edges);
  const std::vector<Context>& contexts() const { return contexts_; }

  /// The cheapest way for tensors like `source` into `target`. Does not throw if there is none: see Route::possible().
  /// kRequire admits sharing edges only; kPrefer any sharing way before any copying one; kAllow the lowest cost.
  /// @cost a look-up when planned before, else a search over descriptions.
  Ref<const Route> plan(const Description& source, const Context& target, Access access = Access::kRead,
                        ZeroCopy policy = ZeroCopy::kPrefer) const;
  /// The cheapest way for frames like `source`: all planes over the same edges, which judge the frame as a whole
  /// (Edge::step_frame), or each plane by its own way where that copies less. Else as above.
  Ref<const Route> plan(const FrameDescription& source, const Context& target, Access access = Access::kRead,
                        ZeroCopy policy = ZeroCopy::kPrefer) const;
  /// Plans one allocation for all: `source` writes it (or it may come from any known context), `consumers` read it.
  /// @errors kInvalidArgument, kOutOfRange: a tensor that no memory can hold.
  AllocationPlan plan(const Party& source, std::span<const Party> consumers, const TensorInfo& tensor,
                      ZeroCopy policy = ZeroCopy::kPrefer) const;
  /// The same for frames. The layout is that of Frame::over() under the joined requirements: rows and heights are
  /// aligned for every party, no row exceeds the smallest max_pitch, and the routes are those of the whole frame.
  /// @errors kInvalidArgument: extents of 0 or past the limit; kUnimplemented: unknown format.
  AllocationPlan plan(const Party& source, std::span<const Party> consumers, const FrameInfo& frame,
                      ZeroCopy policy = ZeroCopy::kPrefer) const;

  /// The tensor as seen from `target`. Memory that already has a view there costs a look-up.
  /// @errors kFailedPrecondition with Route::explain() when no way is allowed; kPermissionDenied for write access to
  /// read-only memory or to a buffer that a decoder still reads; the errors of native calls.
  Tensor map(const Tensor& source, const Context& target, const MapOptions& options = {}) const;
  Tensor map(const Tensor& source, const Context& target, Access access) const;
  /// Maps all planes, in one export where the edge supports it. If no way serves all planes (one is aligned, another is
  /// not), each plane takes its own. All planes are judged before any is mapped. For a batch, all frames are mapped,
  /// each by its own way.
  /// @cost a batch allocates the list of its frames.
  Frame map(const Frame& source, const Context& target, const MapOptions& options = {}) const;
  Frame map(const Frame& source, const Context& target, Access access) const;

  /// plan() as text for people: the way chosen, its hops and costs, and every refused alternative.
  std::string explain(const Description& source, const Context& target, Access access = Access::kRead,
                      ZeroCopy policy = ZeroCopy::kPrefer) const;
  std::string explain(const FrameDescription& source, const Context& target, Access access = Access::kRead,
                      ZeroCopy policy = ZeroCopy::kPrefer) const;

 private:
  friend struct detail::RouteSearch;
  struct Cache;
  void forget_plans();
  template <typename Described>
  Ref<const Route> plan_cached(const Described& source, const Context& target, Access access, ZeroCopy policy) const;
  template <typename Planned>
  AllocationPlan plan_allocation(const Party& source, std::span<const Party> consumers, const Planned& planned,
                                 ZeroCopy policy) const;
  Frame map_batch(const Frame& source, const Context& target, const MapOptions& options) const;
  void check_frame(const Frame& source, const Context& target, const MapOptions& options) const;

  std::vector<Context> contexts_;
  std::vector<const Edge*> edges_;
  const std::unique_ptr<Cache> cache_;
};

}  // namespace v1
}  // namespace tenon
