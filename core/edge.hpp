// SPDX-License-Identifier: Apache-2.0
// Edges: each leads from one kind of memory to another, and describes its result or the reason of its refusal.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// Description of a tensor without access to its memory. Routes are searched over descriptions, so hop 2 is judged
/// before hop 1 runs.
struct Description {
  Context context;
  MemoryKind kind;
  TensorInfo info;
  std::size_t offset = 0;        ///< Byte offset of the first element in its memory.
  std::size_t memory_bytes = 0;  ///< Size of the whole allocation.
  std::size_t alignment = 1;     ///< Alignment of the allocation's first byte.
  std::uint64_t modifier = kModifierLinear;
  FdKind fd = FdKind::kNone;
  bool host_addressable = false;
  bool read_only = false;
  std::shared_ptr<const DeviceIdentity> exporter{};  ///< See Memory::exporter().
};
TENON_API Description describe(const Tensor& tensor);

/// The result of an edge for a tensor.
struct Reached {
  Description result;
  bool copies = false;
  double cost_ns = 0;
  double ns_per_byte = 0;  ///< Per byte of the tensor's packed size.
  double total_ns() const {
    return cost_ns +
           ns_per_byte * static_cast<double>(checked_size_bytes(result.info.type, result.info.shape).value_or(0));
  }
};
using Step = std::variant<Reached, Refusal>;

/// Description of a frame without access to its memory: format, modifier, colour and size, and the location of each
/// plane. Edges that can only take all planes of one memory together judge this description.
struct FrameDescription {
  FrameInfo info;
  std::size_t plane_count = 0;
  std::array<Description, 4> planes;
  /// For each plane, the index of the first plane that lies in the same allocation.
  std::array<std::uint8_t, 4> first_in_memory{};
  /// Whether all planes lie in one allocation.
  bool in_one_memory() const { return first_in_memory == std::array<std::uint8_t, 4>{}; }
};
/// @errors kInvalidArgument: a frame without planes.
TENON_API FrameDescription describe(const Frame& frame);

/// The result of an edge for a frame.
struct ReachedFrame {
  FrameDescription result;
  bool copies = false;  ///< All planes are copied, or none.
  double cost_ns = 0;   ///< Sum over all planes.
};
using FrameStep = std::variant<ReachedFrame, Refusal>;

/// Options that travel along a route.
struct MapOptions {
  Access access = Access::kRead;
  ZeroCopy policy = ZeroCopy::kPrefer;
  Ledger* ledger = nullptr;             ///< Null: the process ledger.
  Deadline deadline = Deadline::max();  ///< Max: default_deadline() from the start of each wait.
  /// Waits until the host may use the bytes, even where commands of the target could wait by themselves.
  bool host_ready = false;
  /// The queue that will use the memory: it is made to wait, and the host waits only for points that it cannot take.
  Stream* stream = nullptr;
  /// The map is judged and the use ordered already: check_step() and settle() have nothing to do. The router sets it for
  /// the edges of its plans.
  bool planned = false;
};
/// The ledger in which a map and its waits are booked.
inline Ledger& ledger_of(const MapOptions& options) { return options.ledger ? *options.ledger : Ledger::process(); }

/// When the waits of a map end: the caller's deadline, else default_deadline() from now.
inline Deadline deadline_of(const MapOptions& options) {
  return options.deadline == Deadline::max() ? default_deadline() : options.deadline;
}

namespace detail {
/// The slow part of settle(), out of line: maps of memory without work are the steady state.
TENON_API void settle_work(const Tensor& source, const Context& to, const MapOptions& options);
}  // namespace detail

/// Orders a use of `source` in `to` after the work on its memory: options.stream waits, or commands of `to` wait, or
/// else the host waits. The router calls it for every map; sharing edges call it for callers that use an edge directly.
/// A map for writing only promises to replace all bytes of `source`, so earlier failures to write them are forgotten.
/// @errors as Hazards::wait_for. @cost two loads where no work is known.
inline void settle(const Tensor& source, const Context& to, const MapOptions& options) {
  const Memory& memory = *source.memory();
  if (options.planned || !memory.has_hazards() || !memory.hazards().has_points()) return;
  detail::settle_work(source, to, options);
}

/// One way between two kinds of memory. Edges are static, stateless objects of their framework. `step` and `map` agree:
/// map returns the result that step describes, and throws kFailedPrecondition if step refuses. The router has ordered
/// the use in the last context after the work on the memory (settle()); an edge that touches bytes on the way waits
/// itself.
/// @thread any.
class TENON_API Edge {
 public:
  virtual ~Edge() = default;
  /// Name in the ledger, the matrix and explanations, such as "cpu->null.block".
  virtual std::string_view name() const = 0;
  virtual MemoryKind from() const = 0;
  virtual MemoryKind to() const = 0;
  /// Judges a hop without access to memory: describes the result in `to`, or refuses (*cannot*).
  virtual Step step(const Description& from, const Context& to, Access access) const = 0;
  /// Performs the hop. A sharing edge returns a view of the same memory; a copying edge returns new memory, after
  /// waiting for the source's last write. @errors those of the native call (*failed*).
  virtual Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const = 0;
  /// Judges a whole frame, as map_frame takes it. The default asks step() for each plane and refuses the frame if any
  /// plane is refused, or if only some planes are copied. An edge whose API takes frames, or whose planes belong
  /// together, overrides it.
  virtual FrameStep step_frame(const FrameDescription& from, const Context& to, Access access) const;
  /// Whether a plane of a frame may also go its own way. False: planes belong together, only step_frame() judges them.
  virtual bool takes_single_planes() const { return true; }
  /// The reason why a map of `from` waits on the host for unfinished work although commands of the target could wait;
  /// for explanations. Empty: a sharing map does not wait by itself. Copying maps always wait.
  virtual std::string_view host_wait(const Description& /*from*/) const { return {}; }
  /// Whether every view that map() makes in `to` is standing (View::set_standing), whatever part of a memory is mapped.
  /// For a frame, the router then maps one plane per memory and reaches the other planes through its view: map_frame()
  /// is not called.
  virtual bool makes_standing_views(const Context& /*to*/) const { return false; }
  /// Maps all planes. The default maps them one by one; an edge whose API exports whole frames overrides it.
  virtual Frame map_frame(const Frame& source, const Context& to, const MapOptions& options) const;

  /// The ledger's number for this edge.
  EdgeId id() const;

 private:
  mutable std::atomic<std::uint32_t> id_{0};
};

}  // namespace v1
}  // namespace tenon
