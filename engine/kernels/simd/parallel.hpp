// SPDX-License-Identifier: Apache-2.0
// A loop split over the workers of the arena that calls it.
#pragma once

#include <cstddef>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

namespace tenon::inline v1::engine::kernels {

/// Calls body(begin, end) over parts of [0, count) of at least about `grain` each, in any order, and returns when all
/// are done.
template <typename Body, typename Partitioner>
void parallel_ranges(std::size_t count, std::size_t grain, const Body& body, const Partitioner& partitioner) {
#if defined(__SANITIZE_THREAD__)
  // oneTBB's templates hand parts over inside a library that the sanitizer does not see into, so it reports each
  // as a race: under it the same parts run one after another.
  for (std::size_t begin = 0; begin < count; begin += grain) body(begin, std::min(begin + grain, count));
#else
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, count, grain),
      [&](const tbb::blocked_range<std::size_t>& range) { body(range.begin(), range.end()); }, partitioner);
#endif
}

}  // namespace tenon::inline v1::engine::kernels
