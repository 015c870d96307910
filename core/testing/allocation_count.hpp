// SPDX-License-Identifier: Apache-2.0
// How often this test program or benchmark has allocated: allocation_count.cpp among its sources counts, or file_test.cpp in core's.
#pragma once

#include <cstddef>

namespace tenon_test {

/// Calls of operator new by this thread so far.
std::size_t allocations_of_this_thread();

}  // namespace tenon_test
