// SPDX-License-Identifier: Apache-2.0
// Accesses of a command to client memory, with DMA_BUF_IOCTL_SYNC brackets for dma-bufs.
#pragma once

#include <cstdint>
#include <span>

#include <level_zero/ze_api.h>

#include <tenon/drivers/npu/objects/memory.hpp>
#include <tenon/drivers/npu/run/graph_object.hpp>

namespace tenon::npu {

/// One allocation that a command reads, or reads and writes.
struct MemoryUse {
  const Allocation* memory = nullptr;
  bool writes = false;
  bool is_open = false;  ///< The bracket has begun.
};

/// Before a command: checks that files still have all of their memory, waits until other devices have finished with
/// dma-bufs (for reading: their writers, for writing: all users), and begins one CPU access per dma-buf, even if
/// several uses name it. The destructor ends the accesses that were begun.
/// @thread one; blocks in begin(), in the thread that runs the command.
class MemoryAccess {
 public:
  /// How long another device may hold a dma-buf. The kernel's own fences last no longer than that.
  static constexpr std::uint64_t kFenceLimitNs = 10'000'000'000;

  /// @param uses  must outlive this.
  explicit MemoryAccess(std::span<MemoryUse> uses) noexcept : uses_(uses) {}
  MemoryAccess(const MemoryAccess&) = delete;
  MemoryAccess& operator=(const MemoryAccess&) = delete;
  ~MemoryAccess() { (void)end(); }

  /// @return ZE_RESULT_ERROR_INVALID_SIZE: a file was shrunk; ZE_RESULT_ERROR_DEVICE_LOST: another device did not finish
  /// within kFenceLimitNs; ZE_RESULT_ERROR_UNKNOWN: the kernel refuses the access; kStopped if `stop` ended the wait.
  ze_result_t begin(StopCheck stop) noexcept;
  /// @return ZE_RESULT_ERROR_UNKNOWN: the written data may not have reached the memory.
  ze_result_t end() noexcept;

 private:
  std::span<MemoryUse> uses_;
};

/// Runs body() within the access. @return its result, or the first failure of the access.
template <class Body>
ze_result_t with_memory(std::span<MemoryUse> uses, StopCheck stop, Body body) {
  MemoryAccess access(uses);
  if (const ze_result_t result = access.begin(stop)) return result;
  const ze_result_t result = body();
  const ze_result_t ended = access.end();
  return result != ZE_RESULT_SUCCESS ? result : ended;
}

}  // namespace tenon::npu
