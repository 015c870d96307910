// SPDX-License-Identifier: Apache-2.0
// Describing memory, one allocation for several parties, and performing the hops.
#include <tenon/core/router.hpp>
#include <tenon/core/trace_name.hpp>
#include <tenon/core/view_count.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <limits>
#include <optional>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

/// Alignment up to a page; more makes no difference to any edge.
TENON_INLINE std::size_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return bits == 0 ? 1 : std::size_t{1} << std::min(std::countr_zero(bits), 12);
}

}  // namespace detail

TENON_INLINE Description describe(const Tensor& tensor) {
  if (!tensor) throw Error(Code::kInvalidArgument, "router: an empty tensor cannot be routed");
  const Memory& memory = *tensor.memory();
  Description d;
  d.context = tensor.context();
  d.kind = tensor.kind();
  d.info = tensor.info();
  d.offset = tensor.offset();
  d.memory_bytes = memory.size_bytes();
  void* host = tensor.view() ? tensor.view()->host() : memory.host();
  d.alignment = detail::alignment_of(host);
  d.fd = tensor.view() && tensor.view()->fd_kind() != FdKind::kNone ? tensor.view()->fd_kind() : memory.fd_kind();
  d.modifier = memory.modifier();
  d.host_addressable = host != nullptr;
  d.read_only = !tensor.is_writable();
  d.exporter = memory.exporter();
  return d;
}

TENON_INLINE FrameDescription describe(const Frame& frame) {
  if (frame.plane_count() == 0) throw Error(Code::kInvalidArgument, "router: a frame without planes cannot be routed");
  FrameDescription d;
  d.info = frame.info();
  d.plane_count = frame.plane_count();
  for (std::size_t p = 0; p < d.plane_count; ++p) {
    d.planes[p] = describe(frame.plane(p));
    std::size_t first = 0;
    while (frame.plane(first).memory() != frame.plane(p).memory()) ++first;
    d.first_in_memory[p] = static_cast<std::uint8_t>(first);
  }
  return d;
}

TENON_INLINE void detail::settle_work(const Tensor& source, const Context& to, const MapOptions& options) {
  const Memory& memory = *source.memory();
  memory.wait_for(options.access, deadline_of(options), options.ledger, [&](const TimelinePoint& point) {
    if (options.host_ready) return false;
    return options.stream ? options.stream->wait_for(point) : to->can_wait_for(*point.timeline());
  });
  if (options.access == Access::kWrite) memory.hazards().wrote(TimelinePoint::ready(), written_bytes(source));
}

TENON_INLINE EdgeId Edge::id() const {
  std::uint32_t id = id_.load(std::memory_order_acquire);
  if (id == 0) {
    id = register_edge(name()) + 1u;  // 0 means "not yet".
    id_.store(id, std::memory_order_release);
  }
  return static_cast<EdgeId>(id - 1);
}

TENON_INLINE Frame Edge::map_frame(const Frame& source, const Context& to, const MapOptions& options) const {
  std::array<Tensor, 4> planes;
  const std::size_t count = source.plane_count();
  for (std::size_t p = 0; p < count; ++p) planes[p] = map(source.plane(p), to, options);
  return source.with_planes(std::span(planes).first(count));
}

TENON_INLINE void Router::add(const Context& context) {
  if (!context) throw Error(Code::kInvalidArgument, "router: cannot add a null context");
  if (std::find(contexts_.begin(), contexts_.end(), context) != contexts_.end()) return;
  contexts_.push_back(context);
  add(context->edges());
}

TENON_INLINE void Router::add(std::span<const Edge* const> edges) {
  for (const Edge* edge : edges) {
    if (std::find(edges_.begin(), edges_.end(), edge) == edges_.end()) edges_.push_back(edge);
  }
  std::unique_lock lock(mutex_);
  cache_.clear();
}

namespace detail {

/// What `candidate` would allocate for `wanted`, as a tensor.
TENON_INLINE std::variant<Description, Refusal> offered_by(const Context& candidate, const Requirements& wanted,
                                                           const TensorInfo& tensor) {
  if (!wanted.kinds.empty() &&
      std::find(wanted.kinds.begin(), wanted.kinds.end(), candidate->kind()) == wanted.kinds.end())
    return Refusal{"its memory is of kind " + std::string(candidate->kind().name()) + ", which not all accept"};
  const auto offered = candidate->offer(wanted);
  if (const auto* refusal = std::get_if<Refusal>(&offered)) return *refusal;
  const Offer& offer = std::get<Offer>(offered);
  const bool accepted = wanted.modifiers.empty() ? offer.modifier == kModifierLinear
                                                 : std::find(wanted.modifiers.begin(), wanted.modifiers.end(),
                                                             offer.modifier) != wanted.modifiers.end();
  if (!accepted) return Refusal{"its memory is laid out by another DRM modifier than all accept"};
  Description made;
  made.context = candidate;
  made.kind = candidate->kind();
  made.info = tensor;
  if (made.info.strides.empty()) made.info.strides = packed_strides(tensor.type, tensor.shape);
  made.memory_bytes = wanted.size_bytes + wanted.tail_padding;
  made.alignment = offer.host_addressable ? std::min<std::size_t>(offer.alignment, 4096) : 1;
  made.fd = offer.fd;
  made.modifier = offer.modifier;
  made.host_addressable = offer.host_addressable;
  return made;
}

}  // namespace detail

TENON_INLINE AllocationPlan Router::plan(const Party& source, std::span<const Party> consumers,
                                         const TensorInfo& tensor, ZeroCopy policy) const {
  AllocationPlan best;
  const std::size_t bytes = checked_extent_bytes(tensor).value_or(0);
  std::vector<Context> candidates;
  if (source.context) candidates.push_back(source.context);
  for (const Context& context : contexts_) {
    if (std::find(candidates.begin(), candidates.end(), context) == candidates.end()) candidates.push_back(context);
  }
  std::string explanation;
  for (const Context& candidate : candidates) {
    const std::string label = "\n  in " + std::string(candidate->name()) + ": ";
    std::variant<Requirements, Refusal> joined = candidate->requirements().join(source.requirements);
    for (const Party& consumer : consumers) {
      if (auto* requirements = std::get_if<Requirements>(&joined)) joined = requirements->join(consumer.requirements);
    }
    if (auto* refusal = std::get_if<Refusal>(&joined)) {
      explanation += label + refusal->reason;
      continue;
    }
    Requirements& wanted = std::get<Requirements>(joined);
    wanted.size_bytes = std::max(wanted.size_bytes, bytes);
    const std::variant<Description, Refusal> offered = detail::offered_by(candidate, wanted, tensor);
    if (const auto* refusal = std::get_if<Refusal>(&offered)) {
      explanation += label + refusal->reason;
      continue;
    }
    const Description& made = std::get<Description>(offered);
    AllocationPlan plan{true, candidate, wanted, {}, 0, {}};
    std::vector<Party> parties(consumers.begin(), consumers.end());
    if (source.context) parties.insert(parties.begin(), {source.context, source.requirements, Access::kWrite});
    for (std::size_t i = 0; i < parties.size() && plan.possible; ++i) {
      Ref<const Route> route = this->plan(made, parties[i].context, parties[i].access, policy);
      plan.possible = route->possible();
      plan.cost_ns += route->cost_ns() + (route->copies() && policy == ZeroCopy::kPrefer ? detail::kCopyPenaltyNs : 0);
      if (!plan.possible) explanation += label + route->explain();
      if (!source.context || i > 0) plan.routes.push_back(route);
    }
    if (!plan.possible) continue;
    explanation += label + "serves all";
    if (!best.possible || plan.cost_ns < best.cost_ns) best = std::move(plan);
  }
  best.explanation =
      (best.possible ? "allocate in " + std::string(best.allocator->name()) : std::string("no allocation serves all")) +
      explanation;
  return best;
}

namespace detail {

[[noreturn, gnu::cold]] TENON_INLINE void refuse_access(const Tensor& source) {
  if (!source) throw Error(Code::kInvalidArgument, "router: an empty tensor cannot be mapped");
  throw Error(Code::kPermissionDenied,
              "cannot map " + to_string(source) + " for writing: " +
                  (source.lease() && !source.lease()->writable()
                       ? "a decoder still refers to this buffer; map it for reading, or copy it"
                       : "its memory is read-only"));
}

/// Inlined, like standing_view(): each call between functions of a shared library goes through its table, and a
/// repeated map has little else to do.
[[gnu::always_inline]] inline void check_access(const Tensor& source, Access access) {
  if (!source || (writes(access) && !source.is_writable())) refuse_access(source);
}

/// A repeated map of a standing view needs neither plan nor edge: the steady state.
[[gnu::always_inline]] inline const View* standing_view(const Tensor& source, const Context& target, Access access) {
  const View* view = source.memory()->find_view(*target, target->kind(), access);
  return view && view->standing_edge() >= 0 ? view : nullptr;
}

TENON_INLINE Ref<const Route> require_way(Ref<const Route> plan) {
  if (!plan->possible()) throw Error(Code::kFailedPrecondition, plan->explain());
  return plan;
}

/// A trace span for one hop, named after its edge.
struct HopSpan : TraceSpan {
  explicit HopSpan(const Hop& hop) : TraceSpan(Trace::is_open() ? trace_name(edge_name(hop.edge->id())) : "", "map") {}
};

TENON_INLINE void book(Ledger& ledger, const Hop& hop, bool view_hit, std::size_t bytes) {
  ledger.book_map(hop.edge->id(), view_hit);
  if (hop.reached.copies) ledger.book_copied(hop.edge->id(), bytes);
}

/// Once for each memory: planes mostly share one.
TENON_INLINE void settle_planes(const Frame& source, const Context& target, const MapOptions& options) {
  const Memory* settled = nullptr;
  for (const Tensor& plane : source.planes()) {
    if (plane.memory().get() != settled) settle(plane, target, options);
    settled = plane.memory().get();
  }
}

/// Whether `mapped` is the memory of `source`, through a view.
TENON_INLINE bool is_view(const Tensor& source, const Tensor& mapped) {
  return mapped.memory() == source.memory() && mapped.view();
}
TENON_INLINE bool is_view(const Frame& source, const Frame& mapped) {
  for (std::size_t p = 0; p < source.plane_count(); ++p) {
    if (!is_view(source.plane(p), mapped.plane(p))) return false;
  }
  return true;
}

/// The hops of `plan`, each booked. The use has been ordered before. `Mapped` is Tensor or Frame.
template <typename Mapped, typename Map>
Mapped follow(const Route& plan, const Mapped& source, const MapOptions& options, Map map) {
  MapOptions settled = options;
  settled.settled = true;
  Mapped current = source;
  for (const Hop& hop : plan.hops()) {
    const HopSpan span(hop);
    const std::uint64_t made = views_made();
    Mapped next = map(*hop.edge, current, hop.to, settled);
    const bool hit = !hop.reached.copies && made == views_made() && is_view(current, next);
    book(ledger_of(options), hop, hit, source.size_bytes());
    current = std::move(next);
  }
  return current;
}

TENON_INLINE Tensor follow(const Route& plan, const Tensor& source, const MapOptions& options) {
  return follow(plan, source, options,
                [](const Edge& edge, const Tensor& from, const Context& to, const MapOptions& with) {
                  return edge.map(from, to, with);
                });
}

TENON_INLINE Frame follow(const Route& plan, const Frame& source, const MapOptions& options) {
  return follow(plan, source, options,
                [](const Edge& edge, const Frame& from, const Context& to, const MapOptions& with) {
                  return edge.map_frame(from, to, with);
                });
}

}  // namespace detail

TENON_INLINE Tensor Router::map(const Tensor& source, const Context& target, Access access) const {
  MapOptions options;
  options.access = access;
  return map(source, target, options);
}

TENON_INLINE Frame Router::map(const Frame& source, const Context& target, Access access) const {
  MapOptions options;
  options.access = access;
  return map(source, target, options);
}

TENON_INLINE Tensor Router::map(const Tensor& source, const Context& target, const MapOptions& options) const {
  detail::check_access(source, options.access);
  Ledger& ledger = ledger_of(options);
  if (source.context() == target) {
    settle(source, target, options);
    return source;
  }
  if (const View* view = detail::standing_view(source, target, options.access)) {
    settle(source, target, options);
    ledger.book_map(static_cast<EdgeId>(view->standing_edge()), true);
    return source.through(view);
  }
  const Ref<const Route> plan =
      detail::require_way(this->plan(describe(source), target, options.access, options.policy));
  settle(source, target, options);
  return detail::follow(*plan, source, options);
}

TENON_INLINE Frame Router::map(const Frame& source, const Context& target, const MapOptions& options) const {
  if (!source.batch().empty()) return map_batch(source, target, options);
  if (source.plane_count() == 0) throw Error(Code::kInvalidArgument, "router: an empty frame cannot be mapped");
  for (const Tensor& plane : source.planes()) detail::check_access(plane, options.access);
  detail::settle_planes(source, target, options);
  if (std::all_of(source.planes().begin(), source.planes().end(),
                  [&](const Tensor& plane) { return plane.context() == target; })) {
    return source;
  }
  Ledger& ledger = ledger_of(options);
  if (const View* first = detail::standing_view(source.plane(0), target, options.access)) {
    bool standing = true;
    std::array<const View*, 4> views{};
    for (std::size_t p = 0; p < source.plane_count(); ++p) {
      const Tensor& plane = source.plane(p);
      views[p] =
          plane.memory() == source.plane(0).memory() ? first : detail::standing_view(plane, target, options.access);
      standing = standing && views[p];
    }
    if (standing) {
      ledger.book_map(static_cast<EdgeId>(first->standing_edge()), true);
      return source.through({views.data(), source.plane_count()});
    }
  }
  const Ref<const Route> plan =
      detail::require_way(this->plan(describe(source), target, options.access, options.policy));
  if (plan->planes().empty()) return detail::follow(*plan, source, options);
  std::array<Tensor, 4> planes;
  for (std::size_t p = 0; p < source.plane_count(); ++p)
    planes[p] = detail::follow(*plan->planes()[p], source.plane(p), options);
  return source.with_planes(std::span(planes).first(source.plane_count()));
}

TENON_INLINE void Router::check_frame(const Frame& source, const Context& target, const MapOptions& options) const {
  for (const Frame& frame : source.batch()) check_frame(frame, target, options);
  if (!source.batch().empty()) return;
  for (const Tensor& plane : source.planes()) detail::check_access(plane, options.access);
  detail::require_way(plan(describe(source), target, options.access, options.policy));
}

TENON_INLINE Frame Router::map_batch(const Frame& source, const Context& target, const MapOptions& options) const {
  const std::vector<Frame>& batch = source.batch();
  // All are judged before any is mapped.
  for (std::size_t i = 0; i < batch.size(); ++i) {
    try {
      check_frame(batch[i], target, options);
    } catch (const Error& error) {
      throw Error(error.code(), "router: frame " + std::to_string(i) + " of a batch of " +
                                    std::to_string(batch.size()) + " cannot be mapped: " + error.what());
    }
  }
  std::vector<Frame> mapped;
  mapped.reserve(batch.size());
  for (const Frame& frame : batch) mapped.push_back(map(frame, target, options));
  Frame result(std::move(mapped));
  result.set_timestamp_ns(source.timestamp_ns());
  if (!source.metadata().empty()) result.metadata() = source.metadata();
  return result;
}

}  // namespace v1
}  // namespace tenon
