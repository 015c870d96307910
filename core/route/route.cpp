// SPDX-License-Identifier: Apache-2.0
// Routes: the search over descriptions (Dijkstra), the plan cache, and explanations as text.
#include <tenon/core/router.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

inline constexpr std::size_t kMaxCachedPlans = 1024;

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

TENON_INLINE std::uint64_t hash_of(const FrameDescription& d, const Context& target, Access access, ZeroCopy policy) {
  std::uint64_t hash = d.plane_count + 1;
  for (std::size_t p = 0; p < d.plane_count; ++p) {
    hash = hash * 0xd6e8feb86659fd93ull + hash_of(d.planes[p], target, access, policy) + d.first_in_memory[p];
  }
  return hash ^ (std::uint64_t{d.info.format.fourcc} << 32 | d.info.width_px << 16 | d.info.height_px);
}

TENON_INLINE bool same(const FrameDescription& a, const FrameDescription& b) {
  return a.info == b.info && a.first_in_memory == b.first_in_memory &&
         std::equal(a.planes.begin(), a.planes.begin() + a.plane_count, b.planes.begin(),
                    b.planes.begin() + b.plane_count, [](const auto& x, const auto& y) { return same(x, y); });
}

/// Whether `a` is usable wherever `b` is.
TENON_INLINE bool serves_as(const Description& a, const Description& b) {
  return a.context == b.context && a.kind == b.kind && a.info == b.info && a.offset == b.offset &&
         a.memory_bytes == b.memory_bytes && a.modifier == b.modifier && a.alignment >= b.alignment &&
         a.fd.serves(b.fd) && (a.host_addressable || !b.host_addressable) && (!a.read_only || b.read_only) &&
         (!a.exporter || same_exporter(a, b));
}
TENON_INLINE bool serves_as(const FrameDescription& a, const FrameDescription& b) {
  bool serves = a.first_in_memory == b.first_in_memory;
  for (std::size_t p = 0; p < a.plane_count && serves; ++p) serves = serves_as(a.planes[p], b.planes[p]);
  return serves;
}

/// The cost by which ways are compared: under ZeroCopy::kPrefer every sharing way comes before any copying one.
TENON_INLINE double penalised_ns(const Reached& reached, std::size_t planes, ZeroCopy policy) {
  constexpr double kCopyPenaltyNs = 1e15;
  const bool penalty = reached.copies && policy == ZeroCopy::kPrefer;
  return reached.total_ns() + (penalty ? kCopyPenaltyNs * static_cast<double>(planes) : 0);
}

/// One way to reach a place. A place can have several that are worth following: a cheap one whose memory has no
/// descriptor must not hide a dearer one whose memory has.
template <typename Described>
struct Label {
  Described at;
  double cost = 0;
  int parent = -1;
  Hop hop;
  bool settled = false;
};
/// More labels than any real setup needs; bounds the search if descriptions never repeat.
inline constexpr std::size_t kMaxLabels = 4096;

/// @name Accessors that the search uses for descriptions of tensors and of frames alike.
TENON_INLINE const Description& first_plane(const Description& d) { return d; }
TENON_INLINE const Description& first_plane(const FrameDescription& d) { return d.planes[0]; }
TENON_INLINE std::size_t plane_count(const Description&) { return 1; }
TENON_INLINE std::size_t plane_count(const FrameDescription& d) { return d.plane_count; }
TENON_INLINE bool is_read_only(const Description& d) { return d.read_only; }
TENON_INLINE bool is_read_only(const FrameDescription& d) {
  return std::any_of(d.planes.begin(), d.planes.begin() + d.plane_count, [](const auto& p) { return p.read_only; });
}
TENON_INLINE Step judge(const Edge& edge, const Description& from, const Context& to, Access access) {
  return edge.step(from, to, access);
}
TENON_INLINE FrameStep judge(const Edge& edge, const FrameDescription& from, const Context& to, Access access) {
  return edge.step_frame(from, to, access);
}
TENON_INLINE Reached reached_by(const Reached& reached) { return reached; }
TENON_INLINE Reached reached_by(const ReachedFrame& reached) {
  return {reached.result.planes[0], reached.copies, reached.cost_ns, 0};
}

/// Unspecified work in a context, for can_wait_for().
class WorkOf final : public Timeline {
 public:
  explicit WorkOf(const Context& context) : context_(context) {}
  std::string_view name() const override { return context_->name(); }
  PointState query(std::uint64_t) const override { return PointState::kReached; }
  void wait(std::uint64_t, Deadline) const override {}

 private:
  Context context_;
};

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

TENON_INLINE FrameStep Edge::step_frame(const FrameDescription& from, const Context& to, Access access) const {
  ReachedFrame whole{from, false, 0};
  std::size_t copied = 0;
  for (std::size_t p = 0; p < from.plane_count; ++p) {
    Step step = this->step(from.planes[p], to, access);
    if (auto* refusal = std::get_if<Refusal>(&step)) {
      if (p == 0) return *std::move(refusal);
      return Refusal{"plane " + std::to_string(p) + ": " + refusal->reason};
    }
    Reached& reached = std::get<Reached>(step);
    copied += reached.copies;
    if (copied != 0 && copied != p + 1) {
      return Refusal{"it would copy plane " + std::to_string(reached.copies ? p : 0) + " and share plane " +
                     std::to_string(reached.copies ? 0 : p)};
    }
    whole.cost_ns += reached.total_ns();
    // Each plane is copied into memory of its own.
    if (reached.copies) whole.result.first_in_memory[p] = static_cast<std::uint8_t>(p);
    whole.result.planes[p] = std::move(reached.result);
  }
  whole.copies = copied != 0;
  return whole;
}

TENON_INLINE bool Route::copies() const {
  return std::any_of(hops_.begin(), hops_.end(), [](const Hop& hop) { return hop.reached.copies; }) ||
         std::any_of(planes_.begin(), planes_.end(), [](const auto& plane) { return plane->copies(); });
}

TENON_INLINE double Route::cost_ns() const {
  double total = 0;
  for (const Hop& hop : hops_) total += hop.reached.total_ns();
  for (const auto& plane : planes_) total += plane->cost_ns();
  return total;
}

TENON_INLINE double Route::rank() const {
  double total = 0;
  for (const Hop& hop : hops_) total += detail::penalised_ns(hop.reached, frame_ ? frame_->plane_count : 1, policy_);
  for (const auto& plane : planes_) total += plane->rank();
  return total;
}

TENON_INLINE void Route::find_host_wait() {
  const Description* from = &source_;
  for (std::size_t i = 0; i < hops_.size() && !host_wait_; ++i) {
    const std::string_view reason =
        hops_[i].reached.copies ? "it copies, and begins when the writers are done" : hops_[i].edge->host_wait(*from);
    if (!reason.empty()) host_wait_ = HostWait{i, std::string(reason)};
    from = &hops_[i].reached.result;
  }
  // Before the first hop the router waits for all work that the target's commands cannot wait for.
  const auto work = make_ref<detail::WorkOf>(source_.context);
  if (!host_wait_ && !hops_.empty() && !target_->can_wait_for(*work)) {
    host_wait_ = HostWait{hops_.size() - 1, std::string(target_->name()) + " cannot wait for points of " +
                                                std::string(source_.context->name())};
  }
}

TENON_INLINE std::string Route::title() const {
  if (frame_) {
    return to_string(frame_->info.format) + " " + std::to_string(frame_->info.width_px) + "x" +
           std::to_string(frame_->info.height_px);
  }
  return std::string(name(source_.info.type)) + " " + to_string(source_.info.shape);
}

namespace detail {

/// The operation of a hop, as a verb. A converting edge yields other pixels, in other memory, without a copy.
TENON_INLINE const char* verb(const Reached& hop, const Description& from) {
  if (hop.copies) return "copies";
  return hop.result.info.type == from.info.type && hop.result.info.shape == from.info.shape ? "shares" : "converts";
}

}  // namespace detail

TENON_INLINE std::string Route::explain() const {
  std::string text = title() + " from " + std::string(source_.context->name()) + " (" +
                     std::string(source_.kind.name()) + ") to " + std::string(target_->name()) + " (" +
                     std::string(target_->kind().name()) + "): ";
  if (!possible_) {
    text += "no way";
    if (policy_ == ZeroCopy::kRequire) text += " without a copy";
    if (writes(access_)) text += " that can be written";
  } else if (hops_.empty() && planes_.empty()) {
    text += "already there";
  } else {
    char cost[32];
    std::snprintf(cost, sizeof cost, "%.0f ns", cost_ns());
    text += std::string(copies()        ? "copies"
                        : hops_.empty() ? "shares"
                                        : detail::verb(hops_.back().reached, source_)) +
            ", estimated " + cost;
  }
  const Description* from = &source_;
  for (const Hop& hop : hops_) {
    char cost[32];
    std::snprintf(cost, sizeof cost, "%.0f ns", hop.reached.total_ns());
    text += "\n  takes   " + std::string(hop.edge->name()) + " into " + std::string(hop.to->name()) + ", " +
            detail::verb(hop.reached, *from) + ", " + cost;
    from = &hop.reached.result;
  }
  if (host_wait_) {
    text += "\n  waits   on the host at " + std::string(hops_[host_wait_->hop].edge->name()) +
            ", for unfinished work: " + host_wait_->reason;
  }
  for (std::size_t p = 0; p < planes_.size(); ++p) {
    text += "\nplane " + std::to_string(p) + " goes its own way: " + planes_[p]->explain();
  }
  for (const std::string& refusal : refusals_) text += "\n  refused " + refusal;
  for (const std::string& missing : missing_) text += "\n  missing " + missing;
  if (!possible_ && planes_.empty() && refusals_.empty() && missing_.empty()) {
    text += "\n  no edge known to this router leads there; add the framework's context or its bridge";
  }
  if (const std::string_view remedy = source_.context->remedy();
      (!possible_ || copies()) && planes_.empty() && !remedy.empty())
    text += "\n  remedy  " + std::string(remedy);
  return text;
}

namespace detail {

/// One search. `Described` is Description or FrameDescription.
struct RouteSearch {
  const Router& router;
  const Context& target;
  Access access;
  ZeroCopy policy;
  bool single_planes = false;  ///< Excludes edges that take frames only as a whole.

  template <typename Described>
  Ref<Route> start(const Described& source) const {
    auto plan = make_ref<Route>();
    plan->source_ = first_plane(source);
    if constexpr (std::is_same_v<Described, FrameDescription>) plan->frame_ = source;
    plan->target_ = target;
    plan->access_ = access;
    plan->policy_ = policy;
    return plan;
  }

  /// The reason why the policy forbids a step that an edge supports; empty if it is allowed.
  std::string forbids(bool copies, bool read_only) const {
    if (copies && policy == ZeroCopy::kRequire) return "it copies, and the policy requires zero copy";
    if (writes(access) && copies) return "it copies: writes would not reach the source";
    if (writes(access) && read_only) return "it yields read-only memory, and write access was requested";
    return {};
  }

  template <typename Described>
  Ref<Route> find(const Described& source) const {
    Ref<Route> plan = start(source);
    std::vector<Context> places = router.contexts_;
    if (std::find(places.begin(), places.end(), target) == places.end()) places.push_back(target);
    // The search also includes edges that only the target's or the source's framework provides.
    std::vector<const Edge*> edges = router.edges_;
    for (const Context& end : {first_plane(source).context, target}) {
      for (const Edge* edge : end->edges()) {
        if (std::find(edges.begin(), edges.end(), edge) == edges.end()) edges.push_back(edge);
      }
    }
    std::vector<Label<Described>> labels;
    labels.reserve(places.size() + 1);
    labels.push_back({source, 0, -1, {}, false});
    for (int best = cheapest(labels); best >= 0; best = cheapest(labels)) {
      labels[best].settled = true;
      if (first_plane(labels[best].at).context == target) {
        for (int i = best; labels[i].parent >= 0; i = labels[i].parent) plan->hops_.push_back(labels[i].hop);
        std::reverse(plan->hops_.begin(), plan->hops_.end());
        plan->possible_ = true;
        break;
      }
      for (const Edge* edge : edges) {
        if (!(edge->from() == first_plane(labels[best].at).kind)) continue;
        for (const Context& place : places) {
          // An edge ends in contexts of its kind; returning to a context would be a cycle.
          if (!(place->kind() == edge->to()) || passed(labels, best, place)) continue;
          follow(*plan, labels, best, *edge, place);
        }
      }
    }
    if (!plan->possible_) plan->missing_ = missing_contexts(first_plane(source), target, edges, places);
    plan->find_host_wait();
    return plan;
  }

  /// Finds a way for each plane on its own.
  Ref<Route> find_apart(const FrameDescription& source) const {
    Ref<Route> plan = start(source);
    plan->possible_ = true;
    RouteSearch alone = *this;
    alone.single_planes = true;
    for (std::size_t p = 0; p < source.plane_count; ++p) {
      Ref<Route> own = alone.find(source.planes[p]);
      plan->possible_ = plan->possible_ && own->possible_;
      plan->planes_.emplace_back(own.get());
    }
    return plan;
  }

  Ref<Route> best(const Description& source) const { return find(source); }
  Ref<Route> best(const FrameDescription& source) const {
    const bool together = std::all_of(source.planes.begin(), source.planes.begin() + source.plane_count,
                                      [&](const Description& p) { return p.context == source.planes[0].context; });
    if (!together) return find_apart(source);
    Ref<Route> whole = find(source);
    if (source.plane_count == 1 || (whole->possible_ && !whole->copies())) return whole;
    Ref<Route> apart = find_apart(source);
    if (!apart->possible_) return whole;
    return !whole->possible_ || apart->rank() < whole->rank() ? apart : whole;
  }

 private:
  template <typename Described>
  static int cheapest(const std::vector<Label<Described>>& labels) {
    int best = -1;
    for (int i = 0; i < static_cast<int>(labels.size()); ++i) {
      if (!labels[i].settled && (best < 0 || labels[i].cost < labels[best].cost)) best = i;
    }
    return best;
  }
  template <typename Described>
  static bool passed(const std::vector<Label<Described>>& labels, int at, const Context& place) {
    for (; at >= 0; at = labels[static_cast<std::size_t>(at)].parent) {
      if (first_plane(labels[static_cast<std::size_t>(at)].at).context == place) return true;
    }
    return false;
  }
  /// Adds a label unless an equally good one costs no more; drops labels that are no better and cost more.
  template <typename Described>
  static void reach(std::vector<Label<Described>>& labels, Label<Described>&& made) {
    for (const auto& known : labels) {
      if (known.cost <= made.cost && serves_as(known.at, made.at)) return;
    }
    for (auto& known : labels) {
      if (known.settled || made.cost > known.cost || !serves_as(made.at, known.at)) continue;
      known = std::move(made);
      return;
    }
    if (labels.size() < kMaxLabels) labels.push_back(std::move(made));
  }
  template <typename Described>
  void follow(Route& plan, std::vector<Label<Described>>& labels, int from, const Edge& edge,
              const Context& place) const {
    std::string refusal;
    if (single_planes && !edge.takes_single_planes()) {
      refusal = "it takes frames only as a whole";
    } else {
      auto step = judge(edge, labels[from].at, place, access);
      if (auto* refused = std::get_if<Refusal>(&step)) {
        refusal = std::move(refused->reason);
      } else {
        auto& made = std::get<0>(step);
        const Reached reached = reached_by(made);
        refusal = forbids(reached.copies, is_read_only(made.result));
        if (refusal.empty()) {
          const double cost = labels[from].cost + penalised_ns(reached, plane_count(made.result), policy);
          reach(labels, {std::move(made.result), cost, from, {&edge, place, reached}, false});
        }
      }
    }
    if (refusal.empty()) return;
    std::string line = std::string(edge.name()) + " into " + std::string(place->name()) + ": " + refusal;
    if (std::find(plan.refusals_.begin(), plan.refusals_.end(), line) == plan.refusals_.end())
      plan.refusals_.push_back(std::move(line));
  }
};

}  // namespace detail

struct Router::Cache {
  std::shared_mutex mutex;
  /// By hash_of() what is planned; a collision is planned anew.
  std::unordered_map<std::uint64_t, Ref<const Route>> plans;
};

TENON_INLINE Router::Router() : cache_(std::make_unique<Cache>()) {}
TENON_INLINE Router::~Router() = default;

TENON_INLINE void Router::forget_plans() {
  std::unique_lock lock(cache_->mutex);
  cache_->plans.clear();
}

template <typename Described>
Ref<const Route> Router::plan_cached(const Described& source, const Context& target, Access access,
                                     ZeroCopy policy) const {
  const auto is_for = [&](const Route& plan) {
    if (!(plan.target_ == target) || plan.access_ != access || plan.policy_ != policy) return false;
    if constexpr (std::is_same_v<Described, FrameDescription>)
      return plan.frame_ && detail::same(*plan.frame_, source);
    else
      return !plan.frame_ && detail::same(plan.source_, source);
  };
  const std::uint64_t key = detail::hash_of(source, target, access, policy);
  {
    std::shared_lock lock(cache_->mutex);
    if (auto hit = cache_->plans.find(key); hit != cache_->plans.end() && is_for(*hit->second)) return hit->second;
  }
  const detail::RouteSearch search{*this, target, access, policy};
  Ref<const Route> found(search.best(source).get());
  std::unique_lock lock(cache_->mutex);
  if (cache_->plans.size() >= detail::kMaxCachedPlans) cache_->plans.clear();
  cache_->plans.insert_or_assign(key, found);
  return found;
}

TENON_INLINE Ref<const Route> Router::plan(const Description& source, const Context& target, Access access,
                                           ZeroCopy policy) const {
  if (!target || !source.context) throw Error(Code::kInvalidArgument, "router: cannot plan from or to a null context");
  return plan_cached(source, target, access, policy);
}

TENON_INLINE Ref<const Route> Router::plan(const FrameDescription& source, const Context& target, Access access,
                                           ZeroCopy policy) const {
  if (source.plane_count == 0) throw Error(Code::kInvalidArgument, "router: cannot plan for a frame without planes");
  for (std::size_t p = 0; p < source.plane_count; ++p) {
    if (!target || !source.planes[p].context)
      throw Error(Code::kInvalidArgument, "router: cannot plan from or to a null context");
  }
  return plan_cached(source, target, access, policy);
}

TENON_INLINE std::string Router::explain(const Description& source, const Context& target, Access access,
                                         ZeroCopy policy) const {
  return plan(source, target, access, policy)->explain();
}

TENON_INLINE std::string Router::explain(const FrameDescription& source, const Context& target, Access access,
                                         ZeroCopy policy) const {
  return plan(source, target, access, policy)->explain();
}

}  // namespace v1
}  // namespace tenon
