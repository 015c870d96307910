// SPDX-License-Identifier: Apache-2.0
// Replaces operator new of a test program, so that one allocation of a driver fails. Only one source of a program may include it.
#pragma once

#include <dlfcn.h>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tenon::handles::test {

/// The allocations of one library. It may lie in memory that processes share.
struct Allocations {
  const char* library = "";      ///< A part of the library's file name.
  std::atomic<long> count{0};    ///< How many there were.
  std::atomic<long> failing{0};  ///< The number of the one that fails, from 1; 0: none.
};
/// Those that are counted; null: none.
inline std::atomic<Allocations*> counted{nullptr};

inline void* allocate(std::size_t size, const void* caller) {
  Allocations* const allocations = counted;
  Dl_info from{};
  if (allocations && ::dladdr(caller, &from) && from.dli_fname && std::strstr(from.dli_fname, allocations->library) &&
      ++allocations->count == allocations->failing)
    throw std::bad_alloc();
  if (void* data = std::malloc(size ? size : 1)) return data;
  throw std::bad_alloc();
}

}  // namespace tenon::handles::test

// The driver's calls of operator new end here, since it does not define its own.
void* operator new(std::size_t size) { return tenon::handles::test::allocate(size, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return tenon::handles::test::allocate(size, __builtin_return_address(0)); }
// Not inlined: the compiler would warn about free() for memory from operator new.
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete[](void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete[](void* data, std::size_t) noexcept { std::free(data); }
