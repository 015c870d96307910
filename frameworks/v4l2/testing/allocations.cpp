// SPDX-License-Identifier: Apache-2.0
// Counts this program's allocations. In a file of its own, so that no compiler pairs these functions with its own.
#include <tenon/frameworks/v4l2/testing/allocations.hpp>

#include <cstdlib>
#include <new>

namespace {
thread_local std::size_t count = 0;
}

std::size_t tenon_test::allocations() { return count; }

void* operator new(std::size_t size) {
  ++count;
  if (void* const made = std::malloc(size ? size : 1)) return made;
  throw std::bad_alloc();
}
void operator delete(void* made) noexcept { std::free(made); }
void operator delete(void* made, std::size_t) noexcept { std::free(made); }
