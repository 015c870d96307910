// SPDX-License-Identifier: Apache-2.0
// Fences and brackets of imported dma-bufs.
#include <cerrno>
#include <cstring>
#include <string>

#include <poll.h>

#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/drivers/npu/objects/wait.hpp>
#include <tenon/drivers/npu/run/memory_use.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>

namespace tenon::npu {
namespace {

/// Interval at which a command that waits for another device checks whether it must stop.
constexpr int kSliceMs = 10;

ze_result_t wait_for_fences(const Allocation& memory, bool writes, StopCheck stop) noexcept {
  static const bool waits = is_offered("fences");
  if (!waits) return ZE_RESULT_SUCCESS;
  pollfd entry = {memory.borrow_dma_buf(), static_cast<short>(writes ? POLLOUT : POLLIN), 0};
  int ready = ::poll(&entry, 1, 0);
  if (ready > 0) return ZE_RESULT_SUCCESS;  // The usual case, without reading the clock.
  for (const Deadline limit = Deadline::in(MemoryAccess::kFenceLimitNs); ready <= 0;
       ready = ::poll(&entry, 1, kSliceMs)) {
    if (ready < 0 && errno != EINTR && errno != EAGAIN) return fail(ZE_RESULT_ERROR_UNKNOWN, std::strerror(errno));
    if (stop.asked && stop.asked(stop.context)) return kStopped;
    if (limit.passed())
      return fail(ZE_RESULT_ERROR_DEVICE_LOST,
                  "another device had not finished with an imported dma-buf within 10 s: it is late or gone");
  }
  return ZE_RESULT_SUCCESS;
}

/// Elements between the written ones must survive, so a writing command also reads.
Access access_of(const MemoryUse& use) noexcept { return use.writes ? Access::kReadWrite : Access::kRead; }

}  // namespace

ze_result_t MemoryAccess::begin(StopCheck stop) noexcept {
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    MemoryUse& use = uses_[i];
    use.is_open = false;
    if (!use.memory) continue;
    if (const ze_result_t result = check_intact(*use.memory)) return result;
    if (use.writes && !use.memory->writable())
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the memory was made read-only since the command was recorded");
    for (MemoryUse& earlier : uses_.first(i)) {
      if (earlier.memory != use.memory) continue;
      earlier.writes |= use.writes;
      use.memory = nullptr;
      break;
    }
  }
  for (const MemoryUse& use : uses_)
    if (use.memory && use.memory->is_dma_buf())
      if (const ze_result_t result = wait_for_fences(*use.memory, use.writes, stop)) return result;
  for (MemoryUse& use : uses_) {
    if (!use.memory || !use.memory->is_dma_buf()) continue;
    if (dmabuf::client::start_access(use.memory->borrow_dma_buf(), access_of(use)) != 0)
      return fail(ZE_RESULT_ERROR_UNKNOWN, "DMA_BUF_IOCTL_SYNC (start) of an imported dma-buf failed");
    use.is_open = true;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t MemoryAccess::end() noexcept {
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (MemoryUse& use : uses_) {
    if (!use.is_open) continue;
    use.is_open = false;
    if (dmabuf::client::end_access(use.memory->borrow_dma_buf(), access_of(use)) != 0)
      result = fail(ZE_RESULT_ERROR_UNKNOWN, "DMA_BUF_IOCTL_SYNC (end) of an imported dma-buf failed");
  }
  return result;
}

}  // namespace tenon::npu
