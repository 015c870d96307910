// SPDX-License-Identifier: Apache-2.0
// The ring of spans behind Trace, and its Chrome JSON.
#include <tenon/core/file.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/trace_name.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace tenon {
inline namespace v1 {
namespace detail {

struct TraceEvent {
  const char* name;
  const char* category;
  std::chrono::steady_clock::time_point begin, end;
  std::uint64_t thread;
};
struct TraceRing {
  std::mutex mutex;
  std::vector<TraceEvent> events;
  std::size_t recorded = 0;
};
TENON_INLINE TraceRing& trace_ring() {
  static TraceRing* ring = new TraceRing;
  return *ring;
}

struct TraceNames {
  std::mutex mutex;
  std::set<std::string, std::less<>> names;
};
TENON_INLINE TraceNames& trace_names() {
  static TraceNames* names = new TraceNames;
  return *names;
}

}  // namespace detail

TENON_INLINE const char* trace_name(std::string_view text) {
  constexpr std::size_t kMax = 65536;
  auto& known = detail::trace_names();
  std::lock_guard lock(known.mutex);
  if (const auto found = known.names.find(text); found != known.names.end()) return found->c_str();
  if (known.names.size() >= kMax) return "(more names)";
  return known.names.emplace(text).first->c_str();
}

TENON_INLINE std::atomic<bool> Trace::open_{false};

TENON_INLINE void Trace::start(std::size_t capacity) {
  auto& ring = detail::trace_ring();
  std::lock_guard lock(ring.mutex);
  ring.events.assign(std::max<std::size_t>(capacity, 1), {});
  ring.recorded = 0;
  open_.store(true, std::memory_order_relaxed);
}

TENON_INLINE void Trace::stop() { open_.store(false, std::memory_order_relaxed); }

TENON_INLINE void Trace::record(const char* name, const char* category, std::chrono::steady_clock::time_point begin,
                                std::chrono::steady_clock::time_point end) {
  if (!is_open()) return;
  auto& ring = detail::trace_ring();
  std::lock_guard lock(ring.mutex);
  ring.events[ring.recorded++ % ring.events.size()] = {
      name, category, begin, end, std::hash<std::thread::id>{}(std::this_thread::get_id()) % 100000};
}

TENON_INLINE void Trace::write(const std::string& path) {
  auto& ring = detail::trace_ring();
  std::lock_guard lock(ring.mutex);
  NewFile file(path);
  std::string text = "{\"traceEvents\":[";
  const std::size_t count = std::min(ring.recorded, ring.events.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& event = ring.events[(ring.recorded - count + i) % ring.events.size()];
    const auto us = [](auto duration) { return std::chrono::duration<double, std::micro>(duration).count(); };
    char times[96];
    std::snprintf(times, sizeof times, ",\"ts\":%.3f,\"dur\":%.3f}", us(event.begin.time_since_epoch()),
                  us(event.end - event.begin));
    text += (i ? ",\n" : "\n") + ("{\"ph\":\"X\",\"pid\":1,\"tid\":" + std::to_string(event.thread)) +
            ",\"name\":" + metadata::json_string(event.name) + ",\"cat\":" + metadata::json_string(event.category) +
            times;
  }
  text += "\n]}\n";
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace v1
}  // namespace tenon
