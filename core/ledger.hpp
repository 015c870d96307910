// SPDX-License-Identifier: Apache-2.0
// The ledger: counts of maps, copies, conversions, transfers and waits, per edge, always on.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Number of an edge or of any other code that books; assigned once per name and process.
using EdgeId = std::uint16_t;
inline constexpr std::size_t kMaxEdges = 256;

/// The id of `name`, registered on first use. @errors kResourceExhausted past kMaxEdges names. @thread any.
TENON_API EdgeId register_edge(std::string_view name);
TENON_API std::string edge_name(EdgeId edge);
/// The entry under which host waits are booked: "host-wait".
TENON_API EdgeId host_wait();

/// Counts of one edge: bytes, except for maps, view_hits and waits.
struct LedgerEntry {
  EdgeId edge = 0;
  std::string name;
  std::uint64_t maps = 0;         ///< How often the edge was taken.
  std::uint64_t view_hits = 0;    ///< How often the memory already had the view.
  std::uint64_t copied = 0;       ///< Moved, packed or laid out anew, by any code.
  std::uint64_t converted = 0;    ///< Read to compute other values (colour, size, type).
  std::uint64_t transferred = 0;  ///< To or from a device's own memory.
  std::uint64_t waits = 0;        ///< Host waits that blocked.
  std::uint64_t wait_ns = 0;
};

/// Counters per edge. Booking costs one or two relaxed additions on the thread's own cache line, in this ledger and in
/// each parent; it allocates only when an edge books here for the first time. A ledger with a parent is a scope:
/// requests, routers and streams each carry one.
/// @thread all members from any thread; a snapshot taken while others book is consistent per counter only.
class TENON_API Ledger {
 public:
  explicit Ledger(Ledger* parent = nullptr);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// The ledger of the process, usable as the parent of others.
  static Ledger& process();

  void book_map(EdgeId edge, bool view_hit) {
    add(edge, view_hit ? kViewHits : kFirstMaps, 1);  // maps is their sum: one addition per map.
  }
  void book_copied(EdgeId edge, std::uint64_t bytes) { add(edge, kCopied, bytes); }
  void book_converted(EdgeId edge, std::uint64_t bytes) { add(edge, kConverted, bytes); }
  void book_transferred(EdgeId edge, std::uint64_t bytes) { add(edge, kTransferred, bytes); }
  void book_wait(EdgeId edge, std::chrono::nanoseconds duration) {
    add(edge, kWaits, 1);
    add(edge, kWaitNs, static_cast<std::uint64_t>(duration.count()));
  }

  /// Entries that are not zero, by edge id.
  std::vector<LedgerEntry> snapshot() const;
  /// Sum over all edges; name is "total".
  LedgerEntry total() const;
  void reset();
  /// The snapshot as a table for people, one line per edge.
  std::string report() const;

 private:
  enum Counter : std::size_t { kFirstMaps, kViewHits, kCopied, kConverted, kTransferred, kWaits, kWaitNs, kCounters };
  static constexpr std::size_t kShards = 8;
  struct alignas(64) Shard {
    std::array<std::atomic<std::uint64_t>, kCounters> counts{};
  };
  using Slot = std::array<Shard, kShards>;

  void add(EdgeId edge, Counter counter, std::uint64_t amount) {
    for (Ledger* ledger = this; ledger; ledger = ledger->parent_) {
      Slot* slot = ledger->slots_[edge].load(std::memory_order_acquire);
      if (!slot) slot = ledger->make_slot(edge);
      (*slot)[thread_shard()].counts[counter].fetch_add(amount, std::memory_order_relaxed);
    }
  }
  Slot* make_slot(EdgeId edge);
  static std::size_t thread_shard();

  Ledger* parent_;
  std::array<std::atomic<Slot*>, kMaxEdges> slots_{};
};

/// Spans of time in a bounded ring, written as a Chrome trace. Off by default; a span then costs one relaxed load.
class TENON_API Trace {
 public:
  /// Starts recording at most `capacity` spans; the oldest are overwritten. @thread any; restarts an open trace.
  static void start(std::size_t capacity = 65536);
  static void stop();
  static bool is_open() noexcept { return open_.load(std::memory_order_relaxed); }
  /// Writes the recorded spans as Chrome trace JSON, atomically. @errors those of NewFile, naming the path.
  /// @param path  A std::filesystem::path converts to it.
  static void write(const std::string& path);
  /// `name` and `category` must be literals.
  static void record(const char* name, const char* category, std::chrono::steady_clock::time_point begin,
                     std::chrono::steady_clock::time_point end);

 private:
  static std::atomic<bool> open_;
};

/// Records the lifetime of a scope while a trace is open.
class TraceSpan {
 public:
  TraceSpan(const char* name, const char* category) : name_(name), category_(category), on_(Trace::is_open()) {
    if (on_) begin_ = std::chrono::steady_clock::now();
  }
  ~TraceSpan() {
    if (on_) Trace::record(name_, category_, begin_, std::chrono::steady_clock::now());
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  const char* name_;
  const char* category_;
  bool on_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace v1
}  // namespace tenon
