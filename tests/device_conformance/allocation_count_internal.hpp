// SPDX-License-Identifier: Apache-2.0
// Counts what operator new hands out in this process.
#pragma once

#include <cstdint>

namespace tenon::testing {

/// Calls of operator new so far, from all threads and libraries that use the C++ heap: Tenon's code and its C++
/// dependencies.
std::int64_t own_allocations();
/// Those not deleted yet.
std::int64_t live_allocations();

}  // namespace tenon::testing
