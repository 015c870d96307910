// SPDX-License-Identifier: Apache-2.0
// Describing memory, one allocation for several parties, and performing the hops.
#include <tenon/core/router.hpp>
#include <tenon/core/trace_name.hpp>
#include <tenon/core/view_count.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
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
  const std::span<const Tensor> planes = frame.planes();
  for (std::size_t p = 0; p < d.plane_count; ++p) {
    d.planes[p] = describe(planes[p]);
    std::size_t first = 0;
    while (planes[first].memory() != planes[p].memory()) ++first;
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
  forget_plans();
}

namespace detail {

/// Memory as a context offers it, before it is allocated. Used for descriptions only: its host address must not be
/// touched.
class OfferedMemory final : public Memory {
 public:
  OfferedMemory(const Context& candidate, const Offer& offer, std::size_t size_bytes)
      : Memory(candidate, candidate->kind(), properties(offer, size_bytes)) {}

 private:
  static Properties properties(const Offer& offer, std::size_t size_bytes) {
    Properties properties;
    properties.size_bytes = size_bytes;
    if (offer.host_addressable) properties.host = reinterpret_cast<void*>(offer.alignment);
    properties.fd = offer.fd;
    properties.modifier = offer.modifier;
    return properties;
  }
};

/// The memory that `candidate` would allocate for `wanted`.
TENON_INLINE std::variant<Ref<Memory>, Refusal> offered_by(const Context& candidate, const Requirements& wanted) {
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
  return Ref<Memory>(make_ref<OfferedMemory>(candidate, offer, wanted.size_bytes + wanted.tail_padding));
}

/// `size_bytes`, rounded up to whole pages where needed: memory with a descriptor consists of pages, and an importer
/// that wants page-aligned memory may accept only whole pages.
TENON_INLINE std::size_t in_whole_pages(std::size_t size_bytes, const Requirements& wanted) {
  constexpr std::size_t kPage = 4096;
  if (wanted.fd == FdKind::kNone && wanted.alignment < kPage) return size_bytes;
  return (size_bytes + wanted.tail_padding + kPage - 1) / kPage * kPage - wanted.tail_padding;
}

/// @name The object to be allocated: its own requirements, its size under the joined requirements, and its form in such
/// memory.
struct PlannedTensor {
  const TensorInfo& info;

  Requirements requirements() const { return {}; }
  std::size_t size_bytes(const Requirements&) const { return checked_extent_bytes(info).value_or(0); }
  std::variant<Description, Refusal> in(const Ref<Memory>& memory, const Requirements&) const {
    return describe(Tensor(info, memory));
  }
};
struct PlannedFrame {
  const FrameInfo& info;

  Requirements requirements() const {
    Requirements wanted;
    if (info.format.modifier != kModifierLinear) wanted.modifiers.push_back(info.format.modifier);
    return wanted;
  }
  std::size_t size_bytes(const Requirements& wanted) const {
    return Frame::size_bytes_for(info, wanted) - wanted.tail_padding;  // The tail is allocated beyond the size.
  }
  std::variant<FrameDescription, Refusal> in(const Ref<Memory>& memory, const Requirements& wanted) const {
    if (memory->modifier() != info.format.modifier)
      return Refusal{"its memory is laid out by another DRM modifier than the frame"};
    const Frame frame = Frame::over(info, memory, wanted);
    std::size_t end = 0;
    for (const Tensor& plane : frame.planes()) {
      const auto pitch = static_cast<std::size_t>(plane.byte_strides()[0]);
      if (pitch > wanted.max_pitch)
        return Refusal{"its rows take " + std::to_string(pitch) +
                       " bytes with the alignment of all parties, and one party accepts rows of at most " +
                       std::to_string(wanted.max_pitch)};
      if (wanted.contiguous && (!plane.is_contiguous() || plane.offset() != end))
        return Refusal{"one takes no padding, and another wants rows aligned to " +
                       std::to_string(wanted.pitch_alignment) + " bytes and planes to " +
                       std::to_string(wanted.height_alignment) + " rows"};
      end = plane.offset() + plane.size_bytes();
    }
    return describe(frame);
  }
};

}  // namespace detail

template <typename Planned>
AllocationPlan Router::plan_allocation(const Party& source, std::span<const Party> consumers, const Planned& planned,
                                       ZeroCopy policy) const {
  AllocationPlan best;
  double best_rank = 0;
  std::vector<Context> candidates;
  if (source.context) candidates.push_back(source.context);
  for (const Context& context : contexts_) {
    if (std::find(candidates.begin(), candidates.end(), context) == candidates.end()) candidates.push_back(context);
  }
  std::string explanation;
  for (const Context& candidate : candidates) {
    const std::string label = "\n  in " + std::string(candidate->name()) + ": ";
    std::variant<Requirements, Refusal> joined = planned.requirements();
    const auto join = [&](const Requirements& other) {
      if (const auto* requirements = std::get_if<Requirements>(&joined)) joined = requirements->join(other);
    };
    join(candidate->requirements());
    join(source.requirements);
    for (const Party& consumer : consumers) join(consumer.requirements);
    if (auto* refusal = std::get_if<Refusal>(&joined)) {
      explanation += label + refusal->reason;
      continue;
    }
    Requirements& wanted = std::get<Requirements>(joined);
    wanted.size_bytes = detail::in_whole_pages(std::max(wanted.size_bytes, planned.size_bytes(wanted)), wanted);
    const auto offered = detail::offered_by(candidate, wanted);
    if (const auto* refusal = std::get_if<Refusal>(&offered)) {
      explanation += label + refusal->reason;
      continue;
    }
    const auto made = planned.in(std::get<Ref<Memory>>(offered), wanted);
    if (const auto* refusal = std::get_if<Refusal>(&made)) {
      explanation += label + refusal->reason;
      continue;
    }
    AllocationPlan plan{true, candidate, wanted, {}, 0, {}};
    double rank = 0;
    std::vector<Party> parties(consumers.begin(), consumers.end());
    if (source.context) parties.insert(parties.begin(), {source.context, source.requirements, Access::kWrite});
    for (std::size_t i = 0; i < parties.size() && plan.possible; ++i) {
      Ref<const Route> route = this->plan(std::get<0>(made), parties[i].context, parties[i].access, policy);
      plan.possible = route->possible();
      plan.cost_ns += route->cost_ns();
      rank += route->rank();
      if (!plan.possible) explanation += label + route->explain();
      if (!source.context || i > 0) plan.routes.push_back(route);
    }
    if (!plan.possible) continue;
    explanation += label + "serves all, estimated " + std::to_string(std::llround(plan.cost_ns)) + " ns";
    if (best.possible && rank >= best_rank) continue;
    best = std::move(plan);
    best_rank = rank;
  }
  best.explanation =
      (best.possible ? "allocate in " + std::string(best.allocator->name()) : std::string("no allocation serves all")) +
      explanation;
  return best;
}

TENON_INLINE AllocationPlan Router::plan(const Party& source, std::span<const Party> consumers,
                                         const TensorInfo& tensor, ZeroCopy policy) const {
  return plan_allocation(source, consumers, detail::PlannedTensor{tensor}, policy);
}

TENON_INLINE AllocationPlan Router::plan(const Party& source, std::span<const Party> consumers, const FrameInfo& frame,
                                         ZeroCopy policy) const {
  return plan_allocation(source, consumers, detail::PlannedFrame{frame}, policy);
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

template <typename Mapped>
void book(Ledger& ledger, const Hop& hop, bool view_hit, const Mapped& source) {
  ledger.book_map(hop.edge->id(), view_hit);
  if (hop.reached.copies) ledger.book_copied(hop.edge->id(), source.size_bytes());
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

TENON_INLINE Tensor take(const Hop& hop, const Tensor& from, const MapOptions& options) {
  return hop.edge->map(from, hop.to, options);
}
TENON_INLINE Frame take(const Hop& hop, const Frame& from, const MapOptions& options) {
  return hop.edge->map_frame(from, hop.to, options);
}

/// `hops`, at least one. Recursive, so that every result is made where it stays: frames are large.
/// @param source  Where the way begins; `from` is where `hops` do.
/// @param books  Whether the maps are booked. When planes are mapped one by one, one of them counts for the frame.
template <typename Mapped>
Mapped follow(std::span<const Hop> hops, const Mapped& source, const Mapped& from, const MapOptions& options,
              bool books = true) {
  const Hop& hop = hops.front();
  const auto next_place = [&] {
    const HopSpan span(hop);
    const std::uint64_t made = views_made();
    Mapped next = take(hop, from, options);
    const bool hit = !hop.reached.copies && made == views_made() && is_view(from, next);
    if (books) book(ledger_of(options), hop, hit, source);
    return next;
  };
  return hops.size() == 1 ? next_place() : follow(hops.subspan(1), source, next_place(), options, books);
}

/// The hops of `plan`. The use has been ordered before. `Mapped` is Tensor or Frame.
template <typename Mapped>
Mapped follow(const Route& plan, const Mapped& source, const MapOptions& options) {
  if (plan.hops().empty()) return source;
  MapOptions planned = options;
  planned.planned = true;
  return follow(std::span(plan.hops()), source, source, planned);
}

/// As above, for routes on which every hop makes standing views: one plane per memory is mapped, and no intermediate
/// frames are made.
TENON_INLINE Frame follow_views(const Route& plan, const Frame& source, const MapOptions& options) {
  MapOptions planned = options;
  planned.planned = true;
  const std::span<const Tensor> planes = source.planes();
  std::array<const View*, 4> views{};
  for (std::size_t p = 0; p < planes.size(); ++p) {
    std::size_t first = 0;
    while (planes[first].memory() != planes[p].memory() || planes[first].view() != planes[p].view()) ++first;
    views[p] = first < p ? views[first] : follow(plan.hops(), planes[p], planes[p], planned, p == 0).view();
  }
  return source.through({views.data(), planes.size()});
}

TENON_INLINE bool makes_standing_views(const Route& plan) {
  return !plan.hops().empty() && std::all_of(plan.hops().begin(), plan.hops().end(),
                                             [](const Hop& hop) { return hop.edge->makes_standing_views(hop.to); });
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
  if (std::all_of(source.planes().begin(), source.planes().end(),
                  [&](const Tensor& plane) { return plane.context() == target; })) {
    detail::settle_planes(source, target, options);
    return source;
  }
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
      detail::settle_planes(source, target, options);
      ledger_of(options).book_map(static_cast<EdgeId>(first->standing_edge()), true);
      return source.through({views.data(), source.plane_count()});
    }
  }
  const Ref<const Route> plan =
      detail::require_way(this->plan(describe(source), target, options.access, options.policy));
  detail::settle_planes(source, target, options);  // Only now: a refused map must not wait.
  if (plan->planes().empty()) {
    return detail::makes_standing_views(*plan) ? detail::follow_views(*plan, source, options)
                                               : detail::follow(*plan, source, options);
  }
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
