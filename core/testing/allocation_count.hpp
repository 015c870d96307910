// SPDX-License-Identifier: Apache-2.0
// Number of allocations of this test program or benchmark, counted by allocation_count.cpp among its sources (in core's
// tests by file_test.cpp).
#pragma once

#include <cstddef>

namespace tenon_test {

/// Number of calls of operator new by this thread so far.
std::size_t allocations_of_this_thread();

}  // namespace tenon_test
