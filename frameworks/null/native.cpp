// SPDX-License-Identifier: Apache-2.0
// The made-up library itself. A copy of this folder deletes it: its library is linked.
#include <tenon/frameworks/null/native.hpp>

#include <cstring>
#include <new>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace null::native {

struct Counts {
  std::atomic<std::size_t> live{0};
  std::atomic<long> countdown{0};
  std::atomic<bool> failed{false};
};
TENON_INLINE Counts& counts() {
  static Counts the_counts;
  return the_counts;
}

/// True when this call was chosen to fail.
TENON_INLINE bool injected() {
  Counts& at = counts();
  long left = at.countdown.load(std::memory_order_relaxed);
  while (left > 0) {
    if (at.countdown.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
      if (left == 1) at.failed.store(true);
      return left == 1;
    }
  }
  return false;
}

TENON_INLINE int null_create(std::size_t size, void* host, unsigned flags, Block** out) {
  if (!out) return kInvalidValue;
  if (injected()) return kInjected;
  if (reinterpret_cast<std::uintptr_t>(host) % kWrapAlignment != 0) return kInvalidValue;
  auto* block = new (std::nothrow) Block;
  if (!block) return kOutOfMemory;
  block->size = size;
  block->host_visible = host || (flags & kHostVisible) != 0;
  block->owned = !host;
  block->data =
      static_cast<std::byte*>(host ? host : ::operator new(size ? size : 1, std::align_val_t(4096), std::nothrow));
  if (!block->data) {
    delete block;
    return kOutOfMemory;
  }
  counts().live.fetch_add(1);
  *out = block;
  return kSuccess;
}

TENON_INLINE int null_retain(Block* block) {
  if (!block) return kInvalidValue;
  if (injected()) return kInjected;
  block->references.fetch_add(1);
  return kSuccess;
}

TENON_INLINE int null_release(Block* block) {
  if (!block) return kInvalidValue;
  if (block->references.fetch_sub(1) != 1) return kSuccess;
  if (block->owned) ::operator delete(block->data, std::align_val_t(4096));
  delete block;
  counts().live.fetch_sub(1);
  return kSuccess;
}

TENON_INLINE int null_map(Block* block, void** out) {
  if (!block || !out) return kInvalidValue;
  if (injected()) return kInjected;
  if (!block->host_visible) return kNotMappable;
  *out = block->data;
  return kSuccess;
}

TENON_INLINE int null_copy(Block* block, std::size_t offset, std::size_t size, void* host, Direction direction) {
  if (!block || (!host && size) || offset > block->size || size > block->size - offset) return kInvalidValue;
  if (injected()) return kInjected;
  if (size == 0) return kSuccess;
  if (direction == Direction::kToHost)
    std::memcpy(host, block->data + offset, size);
  else
    std::memcpy(block->data + offset, host, size);
  return kSuccess;
}

TENON_INLINE std::size_t live_blocks() { return counts().live.load(); }
TENON_INLINE void fail_call(std::size_t n) {
  counts().failed.store(false);
  counts().countdown.store(static_cast<long>(n));
}
TENON_INLINE bool call_failed() { return counts().failed.load(); }

}  // namespace null::native
}  // namespace v1
}  // namespace tenon
