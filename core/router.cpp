// SPDX-License-Identifier: Apache-2.0
// Search over descriptions (Dijkstra), the plan cache, and performing the hops.
#include <tenon/core/router.hpp>
#include <tenon/core/trace_name.hpp>

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

inline constexpr std::size_t kMaxCachedPlans = 1024;
/// Under kPrefer, ranks every sharing way before any copying one.
inline constexpr double kCopyPenaltyNs = 1e15;

/// A sum of independent products, which the processor computes in parallel. A chain of mixing steps is 3 times slower,
/// and this look-up is done per frame.
TENON_INLINE std::uint64_t hash_of(const Description& d, const Context& target, Access access, ZeroCopy policy) {
  const std::uint64_t flags = d.alignment << 16 | static_cast<std::uint64_t>(d.info.type) << 9 |
                              std::uint64_t{d.host_addressable} << 6 | std::uint64_t{d.read_only} << 5 |
                              static_cast<std::uint64_t>(access) << 3 | static_cast<std::uint64_t>(policy);
  std::uint64_t hash = d.context->id() * 0x9e3779b97f4a7c15ull + target->id() * 0xbf58476d1ce4e5b9ull +
                       d.kind.hash() * 0x94d049bb133111ebull + d.offset * 0xd6e8feb86659fd93ull +
                       d.memory_bytes * 0xa0761d6478bd642full + d.modifier * 0xe7037ed1a0b428dbull +
                       d.fd.hash() * 0x2545f4914f6cdd1dull + flags * 0x8ebc6af09c88c6e3ull;
  std::uint64_t factor = 0x589965cc75374cc3ull;
  for (std::size_t extent : d.info.shape) hash += (extent + 1) * (factor += 0x1d8e4e27c47d124eull);
  for (std::ptrdiff_t stride : d.info.strides) {
    hash += static_cast<std::uint64_t>(stride) * (factor += 0x1d8e4e27c47d124eull);
  }
  return hash ^ hash >> 32;
}

TENON_INLINE bool same_exporter(const Description& a, const Description& b) {
  return a.exporter == b.exporter || (a.exporter && b.exporter && *a.exporter == *b.exporter);
}

TENON_INLINE bool same(const Description& a, const Description& b) {
  return a.context == b.context && a.kind == b.kind && a.info == b.info && a.offset == b.offset &&
         a.memory_bytes == b.memory_bytes && a.alignment == b.alignment && a.modifier == b.modifier && a.fd == b.fd &&
         a.host_addressable == b.host_addressable && a.read_only == b.read_only && same_exporter(a, b);
}

/// One way to reach a place. A place can have several that are worth following: a cheap one whose memory has no
/// descriptor must not hide a dearer one whose memory has.
struct Label {
  Description at;
  double cost = 0;
  int parent = -1;
  Hop hop;
  bool settled = false;
};
/// More of them than any real setup has; the search stays bounded if descriptions never repeat.
inline constexpr std::size_t kMaxLabels = 4096;

/// Whether whatever can be done with `b` can be done with `a`.
TENON_INLINE bool serves_as(const Description& a, const Description& b) {
  return a.context == b.context && a.kind == b.kind && a.info == b.info && a.offset == b.offset &&
         a.memory_bytes == b.memory_bytes && a.modifier == b.modifier && a.alignment >= b.alignment &&
         a.fd.serves(b.fd) && (a.host_addressable || !b.host_addressable) && (!a.read_only || b.read_only) &&
         (!a.exporter || same_exporter(a, b));
}

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

TENON_INLINE bool Route::copies() const {
  return std::any_of(hops_.begin(), hops_.end(), [](const Hop& hop) { return hop.reached.copies; });
}

TENON_INLINE double Route::cost_ns() const {
  double total = 0;
  for (const Hop& hop : hops_) total += hop.reached.total_ns();
  return total;
}

TENON_INLINE std::string Route::explain() const {
  std::string text = std::string(name(source_.info.type)) + " " + to_string(source_.info.shape) + " from " +
                     std::string(source_.context->name()) + " (" + std::string(source_.kind.name()) + ") to " +
                     std::string(target_->name()) + " (" + std::string(target_->kind().name()) + "): ";
  if (!possible_) {
    text += "no way";
    if (policy_ == ZeroCopy::kRequire) text += " without a copy";
    if (writes(access_)) text += " that can be written";
  } else if (hops_.empty()) {
    text += "already there";
  } else {
    char cost[32];
    std::snprintf(cost, sizeof cost, "%.0f ns", cost_ns());
    text += std::string(copies() ? "copies" : "shares") + ", estimated " + cost;
  }
  for (const Hop& hop : hops_) {
    char cost[32];
    std::snprintf(cost, sizeof cost, "%.0f ns", hop.reached.total_ns());
    text += "\n  takes   " + std::string(hop.edge->name()) + " into " + std::string(hop.to->name()) +
            (hop.reached.copies ? ", copies, " : ", shares, ") + cost;
  }
  for (const std::string& refusal : refusals_) text += "\n  refused " + refusal;
  for (const std::string& missing : missing_) text += "\n  missing " + missing;
  if (!possible_ && refusals_.empty() && missing_.empty()) {
    text += "\n  no edge known to this router leads there; add the framework's context or its bridge";
  }
  if (const std::string_view remedy = source_.context->remedy(); (!possible_ || copies()) && !remedy.empty())
    text += "\n  remedy  " + std::string(remedy);
  return text;
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

/// Contexts that are missing from the router: finds the shortest way from `source` to `target` by the kinds that
/// `edges` connect, and names each kind on it that is not in `places`, with the edge that leads there.
TENON_INLINE std::vector<std::string> missing_contexts(const Description& source, const Context& target,
                                                       const std::vector<const Edge*>& edges,
                                                       const std::vector<Context>& places) {
  struct Reached {
    MemoryKind kind;
    const Edge* by;
    std::size_t from;
  };
  std::vector<Reached> reached{{source.kind, nullptr, 0}};
  const auto known = [&](MemoryKind kind) {
    return std::any_of(reached.begin(), reached.end(), [&](const Reached& r) { return r.kind == kind; });
  };
  for (std::size_t i = 0; i < reached.size() && !known(target->kind()); ++i) {
    for (const Edge* edge : edges)
      if (edge->from() == reached[i].kind && !known(edge->to())) reached.push_back({edge->to(), edge, i});
  }
  std::vector<std::string> missing;
  const auto end =
      std::find_if(reached.begin() + 1, reached.end(), [&](const Reached& r) { return r.kind == target->kind(); });
  if (end == reached.end()) return missing;
  for (std::size_t i = end->from; i != 0; i = reached[i].from) {
    const MemoryKind kind = reached[i].kind;
    if (std::any_of(places.begin(), places.end(), [&](const Context& place) { return place->kind() == kind; }))
      continue;
    missing.insert(missing.begin(), "a context of kind " + std::string(kind.name()) + ", where " +
                                        std::string(reached[i].by->name()) + " leads: add(" +
                                        (kind == kCpuMemory ? "host_context()" : "the framework's context") + ")");
  }
  return missing;
}

}  // namespace detail

TENON_INLINE Ref<const Route> Router::search(const Description& source, const Context& target, Access access,
                                             ZeroCopy policy) const {
  auto plan = make_ref<Route>();
  plan->source_ = source;
  plan->target_ = target;
  plan->access_ = access;
  plan->policy_ = policy;

  std::vector<Context> places = contexts_;
  if (std::find(places.begin(), places.end(), target) == places.end()) places.push_back(target);
  // The search also includes edges that only the target's or the source's framework provides.
  std::vector<const Edge*> edges = edges_;
  for (const Context& end : {source.context, target}) {
    for (const Edge* edge : end->edges()) {
      if (std::find(edges.begin(), edges.end(), edge) == edges.end()) edges.push_back(edge);
    }
  }

  std::vector<detail::Label> labels;
  labels.reserve(places.size() + 1);
  labels.push_back({source, 0, -1, {}, false});
  /// Adds a label, unless one that is as good costs no more; drops those that are no better and cost more.
  const auto reach = [&](detail::Label&& made) {
    for (detail::Label& known : labels) {
      if (known.cost <= made.cost && detail::serves_as(known.at, made.at)) return;
    }
    for (detail::Label& known : labels) {
      if (known.settled || made.cost > known.cost || !detail::serves_as(made.at, known.at)) continue;
      known = std::move(made);
      return;
    }
    if (labels.size() < detail::kMaxLabels) labels.push_back(std::move(made));
  };
  const auto passed = [&](int at, const Context& place) {
    for (; at >= 0; at = labels[static_cast<std::size_t>(at)].parent) {
      if (labels[static_cast<std::size_t>(at)].at.context == place) return true;
    }
    return false;
  };
  while (true) {
    int best = -1;
    for (int i = 0; i < static_cast<int>(labels.size()); ++i) {
      if (!labels[i].settled && (best < 0 || labels[i].cost < labels[best].cost)) best = i;
    }
    if (best < 0) break;
    labels[best].settled = true;
    if (labels[best].at.context == target) {
      for (int i = best; labels[i].parent >= 0; i = labels[i].parent) plan->hops_.push_back(labels[i].hop);
      std::reverse(plan->hops_.begin(), plan->hops_.end());
      plan->possible_ = true;
      break;
    }
    for (const Edge* edge : edges) {
      if (!(edge->from() == labels[best].at.kind)) continue;
      for (const Context& place : places) {
        // An edge ends in contexts of its kind; returning to a context would be a cycle.
        if (!(place->kind() == edge->to()) || passed(best, place)) continue;
        Step step = edge->step(labels[best].at, place, access);
        std::string refusal;
        if (auto* refused = std::get_if<Refusal>(&step)) {
          refusal = refused->reason;
        } else {
          Reached& reached = std::get<Reached>(step);
          if (reached.copies && policy == ZeroCopy::kRequire) {
            refusal = "it copies, and the policy requires zero copy";
          } else if (writes(access) && reached.copies) {
            refusal = "it copies: writes would not reach the source";
          } else if (writes(access) && reached.result.read_only) {
            refusal = "it yields read-only memory, and write access was asked for";
          } else {
            const double penalty = reached.copies && policy == ZeroCopy::kPrefer ? detail::kCopyPenaltyNs : 0;
            const double cost = labels[best].cost + reached.total_ns() + penalty;
            reach({reached.result, cost, best, {edge, place, reached}, false});
          }
        }
        if (refusal.empty()) continue;
        std::string line = std::string(edge->name()) + " into " + std::string(place->name()) + ": " + refusal;
        if (std::find(plan->refusals_.begin(), plan->refusals_.end(), line) == plan->refusals_.end())
          plan->refusals_.push_back(std::move(line));
      }
    }
  }
  if (!plan->possible_) plan->missing_ = detail::missing_contexts(source, target, edges, places);
  return Ref<const Route>(plan.get());
}

TENON_INLINE Ref<const Route> Router::plan(const Description& source, const Context& target, Access access,
                                           ZeroCopy policy) const {
  if (!target || !source.context) throw Error(Code::kInvalidArgument, "router: cannot plan from or to a null context");
  const std::uint64_t key = detail::hash_of(source, target, access, policy);
  {
    std::shared_lock lock(mutex_);
    if (auto hit = cache_.find(key); hit != cache_.end() && detail::same(hit->second.source, source) &&
                                     hit->second.plan->target_ == target && hit->second.plan->access_ == access &&
                                     hit->second.plan->policy_ == policy) {
      return hit->second.plan;
    }
  }
  Ref<const Route> found = search(source, target, access, policy);
  std::unique_lock lock(mutex_);
  if (cache_.size() >= detail::kMaxCachedPlans) cache_.clear();
  cache_.insert_or_assign(key, CachedPlan{source, found});
  return found;
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

/// Whether the planes of a frame can travel together: over the same edges, all sharing or all copying.
TENON_INLINE bool same_way(const Route& a, const Route& b) {
  return std::equal(a.hops().begin(), a.hops().end(), b.hops().begin(), b.hops().end(), [](const Hop& x, const Hop& y) {
    return x.edge == y.edge && x.to == y.to && x.reached.copies == y.reached.copies;
  });
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

/// Maps each plane by its own way: one plane may be shareable (alignment, size) when another is not.
TENON_INLINE Frame map_planes(const Router& router, const Frame& source, const Context& target,
                              const MapOptions& options) {
  std::array<Tensor, 4> planes;
  const std::size_t count = source.plane_count();
  for (std::size_t p = 0; p < count; ++p) planes[p] = router.map(source.plane(p), target, options);
  return source.with_planes(std::span(planes).first(count));
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
  MapOptions settled = options;
  settled.settled = true;
  Tensor current = source;
  for (const Hop& hop : plan->hops()) {
    const detail::HopSpan span(hop);
    const std::size_t views = hop.reached.copies ? 0 : current.memory()->view_count();
    Tensor next = hop.edge->map(current, hop.to, settled);
    const bool hit = !hop.reached.copies && next.memory() == current.memory() && next.view() &&
                     current.memory()->view_count() == views;
    detail::book(ledger, hop, hit, source.size_bytes());
    current = std::move(next);
  }
  return current;
}

TENON_INLINE Frame Router::map(const Frame& source, const Context& target, const MapOptions& options) const {
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
      detail::require_way(this->plan(describe(source.plane(0)), target, options.access, options.policy));
  for (std::size_t p = 1; p < source.plane_count(); ++p) {
    const Ref<const Route> own =
        detail::require_way(this->plan(describe(source.plane(p)), target, options.access, options.policy));
    if (!detail::same_way(*plan, *own)) return detail::map_planes(*this, source, target, options);
  }
  MapOptions settled = options;
  settled.settled = true;
  Frame current = source;
  for (const Hop& hop : plan->hops()) {
    const detail::HopSpan span(hop);
    const std::size_t views = hop.reached.copies ? 0 : current.plane(0).memory()->view_count();
    Frame next = hop.edge->map_frame(current, hop.to, settled);
    const bool hit = !hop.reached.copies && next.plane(0).memory() == current.plane(0).memory() &&
                     next.plane(0).view() && current.plane(0).memory()->view_count() == views;
    detail::book(ledger, hop, hit, source.size_bytes());
    current = std::move(next);
  }
  return current;
}

TENON_INLINE std::string Router::explain(const Description& source, const Context& target, Access access,
                                         ZeroCopy policy) const {
  return plan(source, target, access, policy)->explain();
}

}  // namespace v1
}  // namespace tenon
