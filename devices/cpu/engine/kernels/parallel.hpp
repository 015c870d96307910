// SPDX-License-Identifier: Apache-2.0
// A loop split over the workers of the arena that calls it.
#pragma once

#include <cstddef>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

// oneTBB hands work over inside a library that the thread sanitizer does not see into: the hand-over is told to it
// here.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#endif

namespace tenon::inline v1::engine::kernels {

#if defined(__SANITIZE_THREAD__)
// Global: a token that a worker reached through the task would be read before it is taken over.
inline char begun, done;
inline void hand_over(char& token) { __tsan_release(&token); }
inline void take_over(char& token) { __tsan_acquire(&token); }
#else
inline constexpr char begun = 0, done = 0;
inline void hand_over(const char&) {}
inline void take_over(const char&) {}
#endif

/// Calls body(begin, end) over parts of [0, count) of at least about `grain` each, in any order, and returns when all
/// are done.
template <typename Body, typename Partitioner>
void parallel_ranges(std::size_t count, std::size_t grain, const Body& body, const Partitioner& partitioner) {
  hand_over(begun);
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, count, grain),
      [&](const tbb::blocked_range<std::size_t>& range) {
        take_over(begun);
        body(range.begin(), range.end());
        hand_over(done);
      },
      partitioner);
  take_over(done);
}

}  // namespace tenon::inline v1::engine::kernels
