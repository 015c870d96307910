// SPDX-License-Identifier: Apache-2.0
#include <tenon/engine/kernels/simd/parallel.hpp>

#include <algorithm>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

namespace tenon::inline v1::engine::kernels {

void parallel_ranges(std::size_t count, std::size_t grain, RangeBody body, Split split) {
#if defined(__SANITIZE_THREAD__)
  // oneTBB hands parts over inside a library that the sanitizer does not see into, so it reports each as a race: under it
  // the same parts run one after another.
  for (std::size_t begin = 0; begin < count; begin += grain) body(begin, std::min(begin + grain, count));
#else
  const tbb::blocked_range<std::size_t> whole(0, count, grain);
  const auto run = [body](const tbb::blocked_range<std::size_t>& part) { body(part.begin(), part.end()); };
  switch (split) {
    case Split::kEvenly:
      return tbb::parallel_for(whole, run, tbb::static_partitioner());
    case Split::kAsNeeded:
      return tbb::parallel_for(whole, run, tbb::auto_partitioner());
    case Split::kByGrain:
      return tbb::parallel_for(whole, run, tbb::simple_partitioner());
  }
#endif
}

void parallel(std::size_t count, std::size_t bytes, RangeBody body) {
  if (count <= 1 || bytes < kParallelBytes) return body(0, count);
  const std::size_t grain = std::max<std::size_t>(1, count * (kParallelBytes / 2) / bytes);
  parallel_ranges(count, grain, body, Split::kEvenly);
}

}  // namespace tenon::inline v1::engine::kernels
