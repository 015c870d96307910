// SPDX-License-Identifier: Apache-2.0
// Counts allocations by operator new in this process.
#pragma once

#include <cstdint>

namespace tenon::testing {

/// Calls of operator new so far, from all threads, by Tenon's code or this program; without those inside oneDNN,
/// TBB...
std::int64_t own_allocations();
/// Objects that are not deleted yet, wherever they were allocated.
std::int64_t live_allocations();

}  // namespace tenon::testing
