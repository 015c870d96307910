// SPDX-License-Identifier: Apache-2.0
// Edges: one way from a kind of memory to another, what comes out of it, or why it cannot be taken.
#pragma once

#include <string_view>
#include <variant>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>

namespace tenon {
inline namespace v1 {

/// What is known of a tensor without touching it: routes search over descriptions, so that hop 2 is judged before hop 1
/// runs.
struct Description {
  Context context;
  MemoryKind kind;
  TensorInfo info;
  std::size_t offset = 0;        ///< Of the first element in its memory, bytes.
  std::size_t memory_bytes = 0;  ///< Of the whole allocation.
  std::size_t alignment = 1;     ///< Of the first byte of the allocation.
  std::uint64_t modifier = kModifierLinear;
  FdKind fd = FdKind::kNone;
  bool host_addressable = false;
  bool read_only = false;
};
TENON_API Description describe(const Tensor& tensor);

/// What an edge yields.
struct Reached {
  Description result;
  bool copies = false;
  double cost_ns = 0;
  double ns_per_byte = 0;  ///< Of the tensor's packed size.
  double total_ns() const {
    return cost_ns +
           ns_per_byte * static_cast<double>(checked_size_bytes(result.info.type, result.info.shape).value_or(0));
  }
};
using Step = std::variant<Reached, Refusal>;

/// What travels along a route.
struct MapOptions {
  Access access = Access::kRead;
  ZeroCopy policy = ZeroCopy::kPrefer;
  Ledger* ledger = nullptr;             ///< Null: the process's.
  Deadline deadline = Deadline::max();  ///< Max: default_deadline() from the moment of each wait.
};
/// Where what happens on the way is booked, waits too.
inline Ledger& ledger_of(const MapOptions& options) { return options.ledger ? *options.ledger : Ledger::process(); }

/// One way. Edges are static, stateless objects of their framework; `step` and `map` agree: what step reaches, map
/// yields, and what step refuses, map throws kFailedPrecondition for.
/// @thread any.
class TENON_API Edge {
 public:
  virtual ~Edge() = default;
  /// "cpu->null.block": the name in ledger, matrix and explanations.
  virtual std::string_view name() const = 0;
  virtual MemoryKind from() const = 0;
  virtual MemoryKind to() const = 0;
  /// Judges without touching anything: the description of what comes out in `to`, or a refusal (*cannot*).
  virtual Step step(const Description& from, const Context& to, Access access) const = 0;
  /// Performs it. A sharing edge returns a view of the same memory; a copying one new memory, after waiting for the
  /// source's last write. @errors what the native call gave (*failed*).
  virtual Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const = 0;
  /// All planes at once. The default maps them one by one; an edge whose API exports a frame as a whole overrides it.
  virtual Frame map_frame(const Frame& source, const Context& to, const MapOptions& options) const;

  /// The ledger's number for this edge.
  EdgeId id() const;

 private:
  mutable std::atomic<std::uint32_t> id_{0};
};

}  // namespace v1
}  // namespace tenon
