// SPDX-License-Identifier: Apache-2.0
// Counts what operator new hands out in this process.
#pragma once

#include <cstdint>

namespace tenon::testing {

/// Calls of operator new so far, from all threads, that Tenon's code or this program made; not those inside oneDNN,
/// TBB...
std::int64_t own_allocations();
/// Objects of anybody that are not deleted yet.
std::int64_t live_allocations();

}  // namespace tenon::testing
