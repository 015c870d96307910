// SPDX-License-Identifier: Apache-2.0
// The "library" that frameworks/null adapts: heap blocks behind reference-counted handles; functions return codes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace tenon {
inline namespace v1 {
namespace null::native {

/// In a real framework this is the vendor's header. This one has what most have: reference-counted handles, host memory
/// that can be wrapped, private memory that only the library can access, and codes instead of exceptions.
/// @thread all functions from any thread.
enum Status : int { kSuccess = 0, kInvalidValue = -1, kOutOfMemory = -2, kNotMappable = -3, kInjected = -99 };
enum Flags : unsigned { kPrivate = 0, kHostVisible = 1 };
enum class Direction { kToHost, kFromHost };

/// Host pointers must have this alignment to be wrapped.
inline constexpr std::size_t kWrapAlignment = 16;

struct Block {
  std::byte* data = nullptr;
  std::size_t size = 0;
  bool host_visible = false;
  bool owned = false;
  std::atomic<std::uint32_t> references{1};
};

namespace detail {
inline std::atomic<std::size_t> live{0};
inline std::atomic<long> countdown{0};
inline std::atomic<bool> failed{false};

/// True when this call was chosen to fail.
inline bool injected() {
  long left = countdown.load(std::memory_order_relaxed);
  while (left > 0) {
    if (countdown.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
      if (left == 1) failed.store(true);
      return left == 1;
    }
  }
  return false;
}
}  // namespace detail

/// Makes a block of `size` bytes with one reference. With a null `host` it has its own memory; otherwise it wraps
/// `host`, which the caller keeps alive. Blocks over host memory are host-visible.
inline int null_create(std::size_t size, void* host, unsigned flags, Block** out) {
  if (!out) return kInvalidValue;
  if (detail::injected()) return kInjected;
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
  detail::live.fetch_add(1);
  *out = block;
  return kSuccess;
}

inline int null_retain(Block* block) {
  if (!block) return kInvalidValue;
  if (detail::injected()) return kInjected;
  block->references.fetch_add(1);
  return kSuccess;
}

/// Releases one reference; the last one frees the block. Never fails on a valid block.
inline int null_release(Block* block) {
  if (!block) return kInvalidValue;
  if (block->references.fetch_sub(1) != 1) return kSuccess;
  if (block->owned) ::operator delete(block->data, std::align_val_t(4096));
  delete block;
  detail::live.fetch_sub(1);
  return kSuccess;
}

/// Host address of a host-visible block, valid as long as the block.
inline int null_map(Block* block, void** out) {
  if (!block || !out) return kInvalidValue;
  if (detail::injected()) return kInjected;
  if (!block->host_visible) return kNotMappable;
  *out = block->data;
  return kSuccess;
}

/// Copies between the block and host memory; complete when it returns.
inline int null_copy(Block* block, std::size_t offset, std::size_t size, void* host, Direction direction) {
  if (!block || (!host && size) || offset > block->size || size > block->size - offset) return kInvalidValue;
  if (detail::injected()) return kInjected;
  if (size == 0) return kSuccess;
  if (direction == Direction::kToHost)
    std::memcpy(host, block->data + offset, size);
  else
    std::memcpy(block->data + offset, host, size);
  return kSuccess;
}

/// For tests: number of live blocks; makes the n-th call from now fail with kInjected (0: none); whether it did.
inline std::size_t live_blocks() { return detail::live.load(); }
inline void fail_call(std::size_t n) {
  detail::failed.store(false);
  detail::countdown.store(static_cast<long>(n));
}
inline bool call_failed() { return detail::failed.load(); }

}  // namespace null::native
}  // namespace v1
}  // namespace tenon
