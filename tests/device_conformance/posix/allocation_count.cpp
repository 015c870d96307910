// SPDX-License-Identifier: Apache-2.0
// operator new and delete with counters, for the whole program.
#include <tenon/tests/device_conformance/allocation_count.hpp>

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<std::int64_t> made{0};
std::atomic<std::int64_t> freed{0};
std::atomic<std::int64_t> own{0};

/// File name of the program or library that contains the address; null if unknown.
const char* object_of(const void* address) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE  // glibc 2.35 and later.
  // dladdr also searches all symbols: with a large library each allocation would take 0.1 ms.
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(address), &found) != 0 || !found.dlfo_link_map) return nullptr;
  return found.dlfo_link_map->l_name;
#else
  Dl_info info{};
  return dladdr(address, &info) ? info.dli_fname : nullptr;
#endif
}

/// Ours: the program itself and Tenon's libraries, and allocations of libstdc++ on their behalf. Allocations of oneDNN,
/// TBB and the like within a call are theirs.
bool is_ours(const void* caller) {
  const char* path = object_of(caller);
  if (!path) return true;
  const char* slash = std::strrchr(path, '/');
  const char* file = slash ? slash + 1 : path;
  const bool is_library = std::strncmp(file, "lib", 3) == 0;
  return !is_library || std::strncmp(file, "libtenon", 8) == 0 || std::strncmp(file, "libstdc++", 9) == 0;
}

void* take_or_null(std::size_t size, std::size_t alignment, const void* caller) noexcept {
  made.fetch_add(1, std::memory_order_relaxed);
  if (is_ours(caller)) own.fetch_add(1, std::memory_order_relaxed);
  // aligned_alloc requires a multiple of the alignment.
  return alignment <= alignof(std::max_align_t)
             ? std::malloc(size ? size : 1)
             : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* take(std::size_t size, std::size_t alignment, const void* caller) {
  void* memory = take_or_null(size, alignment, caller);
  if (!memory) throw std::bad_alloc();
  return memory;
}

void give(void* memory) noexcept {
  if (!memory) return;
  freed.fetch_add(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

namespace tenon::testing {
std::int64_t own_allocations() { return own.load(std::memory_order_relaxed); }
std::int64_t live_allocations() { return made.load(std::memory_order_relaxed) - freed.load(std::memory_order_relaxed); }
}  // namespace tenon::testing

void* operator new(std::size_t size) { return take(size, 1, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return take(size, 1, __builtin_return_address(0)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return take_or_null(size, 1, __builtin_return_address(0));
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return take_or_null(size, 1, __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take_or_null(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take_or_null(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { give(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { give(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give(memory); }
void operator delete(void* memory) noexcept { give(memory); }
void operator delete[](void* memory) noexcept { give(memory); }
void operator delete(void* memory, std::size_t) noexcept { give(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give(memory); }
