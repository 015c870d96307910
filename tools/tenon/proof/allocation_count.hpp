// SPDX-License-Identifier: Apache-2.0
// Counts allocations of the process, separately for Tenon's own code and for the libraries under it.
#pragma once

#include <cstdint>

namespace tenon::tool {

struct AllocationCounts {
  std::uint64_t own = 0;        ///< By Tenon's modules, also through the standard library.
  std::uint64_t libraries = 0;  ///< By anything else: oneDNN, TBB, libc.
};

/// Whether this program uses our malloc and operator new; sanitizers bring their own.
bool can_count_allocations();
/// Counts from now on, in all threads. Walks the stack of each allocation (microseconds): for counting, not for
/// timing.
void start_counting_allocations();
/// @thread start and stop from one thread; nothing may load modules in between.
AllocationCounts stop_counting_allocations();

}  // namespace tenon::tool
