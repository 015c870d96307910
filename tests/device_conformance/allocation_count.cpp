// SPDX-License-Identifier: Apache-2.0
// operator new and delete with counters, for the whole program.
#include "allocation_count_internal.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> made{0};
std::atomic<std::int64_t> freed{0};

void* take(std::size_t size, std::size_t alignment) {
  made.fetch_add(1, std::memory_order_relaxed);
  // aligned_alloc wants a multiple of the alignment.
  void* memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(size ? size : 1)
                     : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
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
std::int64_t own_allocations() { return made.load(std::memory_order_relaxed); }
std::int64_t live_allocations() { return made.load(std::memory_order_relaxed) - freed.load(std::memory_order_relaxed); }
}  // namespace tenon::testing

void* operator new(std::size_t size) { return take(size, 1); }
void* operator new[](std::size_t size) { return take(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { give(memory); }
void operator delete[](void* memory) noexcept { give(memory); }
void operator delete(void* memory, std::size_t) noexcept { give(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give(memory); }
