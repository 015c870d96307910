// SPDX-License-Identifier: Apache-2.0
// Counts allocations of the process, those of Tenon's own code apart from those of the libraries under it.
#pragma once

#include <cstdint>

namespace tenon::tool {

struct AllocationCounts {
  std::uint64_t own = 0;        ///< Asked for by a module of Tenon's, if through the standard library.
  std::uint64_t libraries = 0;  ///< By anything else: oneDNN, TBB, libc.
};

/// Whether malloc and operator new of this program are ours: not under sanitizers, which have their own.
bool can_count_allocations();
/// Counts from here on, in all threads. Walks the stack of each allocation (microseconds): for counting, not for
/// timing.
void start_counting_allocations();
/// @thread start and stop from one thread; nothing may load modules in between.
AllocationCounts stop_counting_allocations();

}  // namespace tenon::tool
