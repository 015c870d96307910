// SPDX-License-Identifier: Apache-2.0
// An operator new that counts, in a file of its own so that no compiler pairs these functions with malloc and free
// elsewhere. All forms are replaced, because a sanitizer's own forms would not match the operator delete below.
#include <tenon/core/testing/allocation_count.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

thread_local std::size_t count = 0;

void* take(std::size_t size) noexcept {
  ++count;
  return std::malloc(size ? size : 1);
}

void* take(std::size_t size, std::align_val_t alignment) noexcept {
  ++count;
  // Not aligned_alloc, which Windows lacks: the address to free stands before the memory.
  const auto align = static_cast<std::size_t>(alignment);
  void* const whole = std::malloc(size + align + sizeof(void*));
  if (!whole) return nullptr;
  const auto begin = (reinterpret_cast<std::uintptr_t>(whole) + sizeof(void*) + align - 1) / align * align;
  std::memcpy(reinterpret_cast<void*>(begin - sizeof(void*)), &whole, sizeof whole);
  return reinterpret_cast<void*>(begin);
}

void give_back_aligned(void* memory) noexcept {
  if (!memory) return;
  void* whole = nullptr;
  std::memcpy(&whole, static_cast<char*>(memory) - sizeof(void*), sizeof whole);
  std::free(whole);
}

void* or_throw(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

std::size_t tenon_test::allocations_of_this_thread() { return count; }

void* operator new(std::size_t size) { return or_throw(take(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return or_throw(take(size, alignment)); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(size, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back_aligned(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back_aligned(memory); }
