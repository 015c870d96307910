// SPDX-License-Identifier: Apache-2.0
// operator new and delete with counters. A DLL has its own operator new, so that what is counted is the program's own: its code and what it has
// inlined of Tenon's headers. Aligned memory is left to the C++ library, whose DLL frees it by other functions than malloc's.
#include <tenon/tests/device_conformance/allocation_count.hpp>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> made{0};
std::atomic<std::int64_t> freed{0};

void* take(std::size_t size) noexcept {
  made.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size ? size : 1);
}

}  // namespace

namespace tenon::testing {
std::int64_t own_allocations() { return made.load(std::memory_order_relaxed); }
std::int64_t live_allocations() { return made.load(std::memory_order_relaxed) - freed.load(std::memory_order_relaxed); }
}  // namespace tenon::testing

void* operator new(std::size_t size) {
  void* const memory = take(size);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void operator delete(void* memory) noexcept {
  if (!memory) return;
  freed.fetch_add(1, std::memory_order_relaxed);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
