// SPDX-License-Identifier: Apache-2.0
// How often this thread has allocated.
#pragma once

#include <cstddef>

namespace tenon_test {

std::size_t allocations();

}  // namespace tenon_test
