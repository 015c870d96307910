// SPDX-License-Identifier: Apache-2.0
// The ring of spans behind Trace, and its Chrome JSON.
#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
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

}  // namespace detail

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

TENON_INLINE void Trace::write(const std::filesystem::path& path) {
  auto& ring = detail::trace_ring();
  std::lock_guard lock(ring.mutex);
  const std::string temporary = path.string() + ".part";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(temporary.c_str(), "w"), &std::fclose);
  if (!file) {
    throw Error(Code::kPermissionDenied, "trace: cannot write '" + path.string() + "': " + std::strerror(errno),
                "fopen", errno);
  }
  std::fputs("{\"traceEvents\":[", file.get());
  const std::size_t count = std::min(ring.recorded, ring.events.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& event = ring.events[(ring.recorded - count + i) % ring.events.size()];
    const auto us = [](auto duration) { return std::chrono::duration<double, std::micro>(duration).count(); };
    std::fprintf(file.get(),
                 "%s\n{\"ph\":\"X\",\"pid\":1,\"tid\":%llu,\"name\":\"%s\",\"cat\":\"%s\",\"ts\":%.3f,\"dur\":%.3f}",
                 i ? "," : "", static_cast<unsigned long long>(event.thread), event.name, event.category,
                 us(event.begin.time_since_epoch()), us(event.end - event.begin));
  }
  std::fputs("\n]}\n", file.get());
  const bool written = std::ferror(file.get()) == 0;
  file.reset();
  if (!written || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int code = errno;
    std::remove(temporary.c_str());
    throw Error(Code::kPermissionDenied, "trace: cannot write '" + path.string() + "': " + std::strerror(code),
                "rename", code);
  }
}

}  // namespace v1
}  // namespace tenon
