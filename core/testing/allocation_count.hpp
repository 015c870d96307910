// SPDX-License-Identifier: Apache-2.0
// How often this test program has allocated: its operator new counts (file_test.cpp).
#pragma once

#include <cstddef>

namespace tenon_test {

/// Calls of operator new by this thread so far.
std::size_t allocations_of_this_thread();

}  // namespace tenon_test
