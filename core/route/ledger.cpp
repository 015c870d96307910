// SPDX-License-Identifier: Apache-2.0
// Edge names, sharded counters, and their report.
#include <tenon/core/ledger.hpp>

#include <tenon/core/error.hpp>

#include <cstdio>
#include <memory>
#include <mutex>

namespace tenon {
inline namespace v1 {
namespace detail {

struct EdgeNames {
  std::mutex mutex;
  std::vector<std::string> names;
};
TENON_INLINE EdgeNames& edge_names() {
  static EdgeNames* names = new EdgeNames;  // Never destroyed: used until the very end of the process.
  return *names;
}

}  // namespace detail

TENON_INLINE EdgeId register_edge(std::string_view name) {
  auto& registry = detail::edge_names();
  std::lock_guard lock(registry.mutex);
  for (std::size_t i = 0; i < registry.names.size(); ++i) {
    if (registry.names[i] == name) return static_cast<EdgeId>(i);
  }
  if (registry.names.size() == kMaxEdges) {
    throw Error(Code::kResourceExhausted, "ledger: cannot register edge '" + std::string(name) + "', all " +
                                              std::to_string(kMaxEdges) +
                                              " names are taken; name edges by type, not by object");
  }
  registry.names.emplace_back(name);
  return static_cast<EdgeId>(registry.names.size() - 1);
}

TENON_INLINE EdgeId host_wait() {
  static const EdgeId id = register_edge("host-wait");
  return id;
}

TENON_INLINE std::string edge_name(EdgeId edge) {
  auto& registry = detail::edge_names();
  std::lock_guard lock(registry.mutex);
  return edge < registry.names.size() ? registry.names[edge] : "?";
}

TENON_INLINE Ledger::Ledger(Ledger* parent) : parent_(parent) {}

TENON_INLINE Ledger::~Ledger() {
  for (auto& slot : slots_) delete slot.load(std::memory_order_relaxed);
}

TENON_INLINE Ledger& Ledger::process() {
  static Ledger* ledger = new Ledger;
  return *ledger;
}

TENON_INLINE std::size_t Ledger::thread_shard() {
  static std::atomic<std::size_t> next{0};
  constinit thread_local std::size_t shard = kShards;  // Constant, so that reading it runs no initialiser.
  if (shard == kShards) shard = next.fetch_add(1, std::memory_order_relaxed) % kShards;
  return shard;
}

TENON_INLINE Ledger::Slot* Ledger::make_slot(EdgeId edge) {
  auto made = std::make_unique<Slot>();
  Slot* expected = nullptr;
  if (slots_[edge].compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) return made.release();
  return expected;
}

TENON_INLINE std::vector<LedgerEntry> Ledger::snapshot() const {
  std::vector<LedgerEntry> entries;
  for (std::size_t edge = 0; edge < kMaxEdges; ++edge) {
    const Slot* slot = slots_[edge].load(std::memory_order_acquire);
    if (!slot) continue;
    std::array<std::uint64_t, kCounters> sums{};
    for (const Shard& shard : *slot) {
      for (std::size_t c = 0; c < kCounters; ++c) sums[c] += shard.counts[c].load(std::memory_order_relaxed);
    }
    bool any = false;
    for (std::uint64_t sum : sums) any |= sum != 0;
    if (!any) continue;
    entries.push_back({static_cast<EdgeId>(edge), edge_name(static_cast<EdgeId>(edge)),
                       sums[kFirstMaps] + sums[kViewHits], sums[kViewHits], sums[kCopied], sums[kConverted],
                       sums[kTransferred], sums[kWaits], sums[kWaitNs]});
  }
  return entries;
}

TENON_INLINE LedgerEntry Ledger::total() const {
  LedgerEntry total;
  total.name = "total";
  for (const LedgerEntry& entry : snapshot()) {
    total.maps += entry.maps;
    total.view_hits += entry.view_hits;
    total.copied += entry.copied;
    total.converted += entry.converted;
    total.transferred += entry.transferred;
    total.waits += entry.waits;
    total.wait_ns += entry.wait_ns;
  }
  return total;
}

TENON_INLINE void Ledger::reset() {
  for (auto& pointer : slots_) {
    Slot* slot = pointer.load(std::memory_order_acquire);
    if (!slot) continue;
    for (Shard& shard : *slot) {
      for (auto& count : shard.counts) count.store(0, std::memory_order_relaxed);
    }
  }
}

TENON_INLINE std::string Ledger::report() const {
  char line[256];
  std::snprintf(line, sizeof line, "%-34s %10s %10s %14s %14s %14s %8s %10s\n", "edge", "maps", "view hits", "copied B",
                "converted B", "transferred B", "waits", "wait ms");
  std::string text = line;
  auto entries = snapshot();
  entries.push_back(total());
  for (const LedgerEntry& e : entries) {
    std::snprintf(line, sizeof line, "%-34s %10llu %10llu %14llu %14llu %14llu %8llu %10.3f\n", e.name.c_str(),
                  static_cast<unsigned long long>(e.maps), static_cast<unsigned long long>(e.view_hits),
                  static_cast<unsigned long long>(e.copied), static_cast<unsigned long long>(e.converted),
                  static_cast<unsigned long long>(e.transferred), static_cast<unsigned long long>(e.waits),
                  static_cast<double>(e.wait_ns) * 1e-6);
    text += line;
  }
  return text;
}

}  // namespace v1
}  // namespace tenon
