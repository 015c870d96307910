// SPDX-License-Identifier: Apache-2.0
// The "library" that frameworks/null adapts: heap blocks behind reference-counted handles; functions return codes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

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

/// Makes a block of `size` bytes with one reference. With a null `host` it has its own memory; otherwise it wraps
/// `host`, which the caller keeps alive. Blocks over host memory are host-visible.
int null_create(std::size_t size, void* host, unsigned flags, Block** out);
int null_retain(Block* block);
/// Releases one reference; the last one frees the block. Never fails on a valid block.
int null_release(Block* block);
/// Host address of a host-visible block, valid as long as the block.
int null_map(Block* block, void** out);
/// Copies between the block and host memory; complete when it returns.
int null_copy(Block* block, std::size_t offset, std::size_t size, void* host, Direction direction);

/// For tests: number of live blocks; makes the n-th call from now fail with kInjected (0: none); whether it did.
std::size_t live_blocks();
void fail_call(std::size_t n);
bool call_failed();

}  // namespace null::native
}  // namespace v1
}  // namespace tenon
