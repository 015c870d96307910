// SPDX-License-Identifier: Apache-2.0
// The queue of one VkDevice: submissions with their ends as points, staging memory, and a try of dma-bufs.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/vulkan/device.hpp>
#include <tenon/frameworks/vulkan/memory.hpp>
#include <tenon/frameworks/vulkan/timeline.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

TENON_INLINE void Native::open_queue() {
  instance_calls_.vkGetPhysicalDeviceMemoryProperties(handles_.physical_device, &memories_);
  if (!handles_.queue_lock) handles_.queue_lock = &own_queue_lock_;
  auto pool = typed<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = handles_.queue_family;
  check(call(calls_.vkCreateCommandPool, handles_.device, &pool, nullptr, &pool_), "vkCreateCommandPool",
        "preparing for copies");
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
  progress_ = make_semaphore(0);
}

TENON_INLINE Native::~Native() {
  if (handles_.device && calls_.vkDestroyDevice) {
    if (progress_) {
      // What was submitted holds a reference to this, unless its end was forgotten: then it is waited for.
      auto info = typed<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
      info.semaphoreCount = 1, info.pSemaphores = &progress_, info.pValues = &submitted_;
      calls_.vkWaitSemaphores(handles_.device, &info, 10'000'000'000ull);
      destroy_semaphore(progress_);
    }
    destroy_staging(idle_);
    if (pool_) {
      calls_.vkDestroyCommandPool(handles_.device, pool_, nullptr);
      Probe::handles.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  if (owns_device_) {
    if (calls_.vkDestroyDevice) calls_.vkDestroyDevice(handles_.device, nullptr);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
}

TENON_INLINE VkSemaphore Native::make_semaphore(std::uint64_t value, const void* next) const {
  auto type = typed<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, next);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  type.initialValue = value;
  const auto info = typed<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type);
  VkSemaphore made = VK_NULL_HANDLE;
  check(call(calls_.vkCreateSemaphore, handles_.device, &info, nullptr, &made), "vkCreateSemaphore",
        "making a timeline semaphore");
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
  return made;
}

TENON_INLINE void Native::destroy_semaphore(VkSemaphore semaphore) const noexcept {
  if (!semaphore) return;
  calls_.vkDestroySemaphore(handles_.device, semaphore, nullptr);
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE TimelinePoint Native::submit(const std::function<void(VkCommandBuffer)>& record,
                                          std::span<const SemaphoreValue> after, const SemaphoreValue* also_signal) {
  const std::lock_guard lock(mutex_);
  std::uint64_t done = 0;
  check(call(calls_.vkGetSemaphoreCounterValue, handles_.device, progress_, &done), "vkGetSemaphoreCounterValue",
        "asking how far the queue is");
  auto idle =
      std::find_if(commands_.begin(), commands_.end(), [&](const Commands& each) { return each.until <= done; });
  if (idle == commands_.end()) {
    auto info = typed<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    Commands made;
    check(call(calls_.vkAllocateCommandBuffers, handles_.device, &info, &made.buffer), "vkAllocateCommandBuffers",
          "preparing a copy");
    idle = commands_.insert(commands_.end(), made);
  }
  auto begin = typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(call(calls_.vkBeginCommandBuffer, idle->buffer, &begin), "vkBeginCommandBuffer", "recording a copy");
  record(idle->buffer);
  // Ended in any case, also where a test lets that fail: a buffer that is being recorded cannot be begun again.
  const VkResult ended = calls_.vkEndCommandBuffer(idle->buffer);
  check(Probe::injected() ? kInjected : ended, "vkEndCommandBuffer", "recording a copy");

  std::vector<VkSemaphore> waits;
  std::vector<std::uint64_t> values;
  for (const SemaphoreValue& each : after) waits.push_back(each.semaphore), values.push_back(each.value);
  const std::vector<VkPipelineStageFlags> stages(waits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  std::array<VkSemaphore, 2> signals{progress_, also_signal ? also_signal->semaphore : VK_NULL_HANDLE};
  std::array<std::uint64_t, 2> ends{submitted_ + 1, also_signal ? also_signal->value : 0};
  auto timeline = typed<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  timeline.waitSemaphoreValueCount = static_cast<std::uint32_t>(values.size());
  timeline.pWaitSemaphoreValues = values.data();
  timeline.signalSemaphoreValueCount = also_signal ? 2 : 1;
  timeline.pSignalSemaphoreValues = ends.data();
  auto info = typed<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO, &timeline);
  info.waitSemaphoreCount = static_cast<std::uint32_t>(waits.size());
  info.pWaitSemaphores = waits.data();
  info.pWaitDstStageMask = stages.data();
  info.commandBufferCount = 1;
  info.pCommandBuffers = &idle->buffer;
  info.signalSemaphoreCount = also_signal ? 2 : 1;
  info.pSignalSemaphores = signals.data();
  Ref<SemaphoreTimeline> end = SemaphoreTimeline::over(Ref<Native>(this), progress_, false);
  {
    const std::lock_guard turn(*handles_.queue_lock);
    check(call(calls_.vkQueueSubmit, handles_.queue, 1u, &info, VkFence{}), "vkQueueSubmit",
          [&] { return "submitting a copy to " + device_.name; });
  }
  idle->until = ++submitted_;
  return TimelinePoint(std::move(end), submitted_);
}

TENON_INLINE void full_barrier(const Native& native, VkCommandBuffer commands) {
  auto barrier = typed<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  native.calls().vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                      0, 1, &barrier, 0, nullptr, 0, nullptr);
}

TENON_INLINE Staging Native::take_staging(std::size_t size) {
  {
    const std::lock_guard lock(mutex_);
    if (idle_.size >= size) return std::exchange(idle_, {});
  }
  Staging made;
  try {
    auto info = typed<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
    info.size = size;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    const auto what = [&] { return "making staging memory of " + std::to_string(size) + " bytes"; };
    check(call(calls_.vkCreateBuffer, handles_.device, &info, nullptr, &made.buffer), "vkCreateBuffer", what);
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
    VkMemoryRequirements needs{};
    calls_.vkGetBufferMemoryRequirements(handles_.device, made.buffer, &needs);
    // Vulkan promises a type that is visible and coherent. Cached memory is read many times faster.
    const auto type =
        find_memory(needs.memoryTypeBits, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                    VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    auto allocation = typed<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = type.value();
    check(call(calls_.vkAllocateMemory, handles_.device, &allocation, nullptr, &made.memory), "vkAllocateMemory", what);
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
    void* data = nullptr;
    check(call(calls_.vkMapMemory, handles_.device, made.memory, VkDeviceSize{0}, VkDeviceSize{VK_WHOLE_SIZE},
               VkMemoryMapFlags{0}, &data),
          "vkMapMemory", what);
    check(call(calls_.vkBindBufferMemory, handles_.device, made.buffer, made.memory, VkDeviceSize{0}),
          "vkBindBufferMemory", what);
    made.data = static_cast<std::byte*>(data);
    made.size = size;
  } catch (...) {
    destroy_staging(made);
    throw;
  }
  return made;
}

TENON_INLINE void Native::give_back_staging(Staging staging) noexcept {
  constexpr std::size_t kMost = 64 << 20;
  {
    const std::lock_guard lock(mutex_);
    if (staging.size <= kMost && staging.size > idle_.size) std::swap(staging, idle_);
  }
  destroy_staging(staging);
}

TENON_INLINE void Native::destroy_staging(Staging& staging) noexcept {
  if (staging.buffer) {
    calls_.vkDestroyBuffer(handles_.device, staging.buffer, nullptr);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  if (staging.memory) {
    calls_.vkFreeMemory(handles_.device, staging.memory, nullptr);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  staging = {};
}

TENON_INLINE void Native::drop_idle() noexcept {
  Staging dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped = std::exchange(idle_, {});
  }
  destroy_staging(dropped);
}

/// Writes by the host and copies by the device, through one dma-buf or its stand-in: extensions promise more than some
/// drivers keep. Empty when all is well.
TENON_INLINE std::string Native::try_dmabuf() {
  constexpr std::size_t kSize = 4096;
  const dmabuf::Allocator best = dmabuf::allocators().front();
  tried_stand_in_ = best.kind == dmabuf::Allocator::Kind::kStandIn;
  try {
    const Ref<Memory> memory = dmabuf::allocate(best, kSize);
    const Tensor bytes({ElementType::kU8, {kSize}, {}}, memory);
    const BufferBlock block = import_block(Ref<Native>(this), memory->borrow_fd(), Origin::kDmabuf, kSize);
    const auto copy = [&](const Staging& staging, bool out) {
      const VkBufferCopy whole{0, 0, kSize};
      submit([&](VkCommandBuffer commands) {
        external_barrier(*this, commands, block, true);
        calls_.vkCmdCopyBuffer(commands, out ? block.buffer.get() : staging.buffer,
                               out ? staging.buffer : block.buffer.get(), 1, &whole);
        external_barrier(*this, commands, block, false);
      }).wait();
    };
    const auto on_host = [&](auto&& use) {
      dmabuf::CpuAccess access(bytes, Access::kReadWrite);
      const bool result = use(static_cast<std::byte*>(access.data()));
      access.end();
      return result;
    };
    const Staging staging = take_staging(kSize);
    bool same = true;
    try {
      on_host([](std::byte* data) { return std::memset(data, 0x5a, kSize) != nullptr; });
      copy(staging, true);
      const auto holds = [](const std::byte* data, int value) {
        return std::all_of(data, data + kSize, [&](std::byte b) { return b == static_cast<std::byte>(value); });
      };
      same = holds(staging.data, 0x5a);
      std::memset(staging.data, 0xc3, kSize);
      copy(staging, false);
      same = on_host([&](const std::byte* data) { return holds(data, 0xc3); }) && same;
    } catch (...) {
      give_back_staging(staging);
      throw;
    }
    give_back_staging(staging);
    if (!same) return device_.name + " says that it imports dma-bufs, and has other memory than theirs (an alias test)";
  } catch (const Error& error) {
    if (error.native_code() == kInjected) throw;
    return device_.name + " says that it imports dma-bufs, and a test did not succeed: " + error.what();
  }
  return {};
}

TENON_INLINE void Native::judge_dmabuf() {
  std::call_once(dmabuf_once_, [this] {
    if (!enabled(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME) || !enabled(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME) ||
        !calls_.vkGetMemoryFdKHR || !calls_.vkGetMemoryFdPropertiesKHR) {
      dmabuf_obstacle_ = stand_in_obstacle_ =
          device_.name + (device_.has(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME)
                              ? " was opened without VK_EXT_external_memory_dma_buf (Handles::extensions)"
                              : " lacks VK_EXT_external_memory_dma_buf");
      return;
    }
    std::string obstacle = try_dmabuf();
    FdKind exported;
    if (exports(*this, VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT)) {
      try {
        const BufferBlock block = allocate_block(Ref<Native>(this), 4096, MemoryType::kDevice, 1,
                                                 VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT);
        exported = dmabuf::client::is_dmabuf(block.fd.get()) ? FdKind::kDmabuf : FdKind::kMemfd;
      } catch (const Error& error) {
        if (error.native_code() == kInjected) throw;  // Else it exports none, whatever it promises.
      }
    }
    if (tried_stand_in_) {
      stand_in_obstacle_ = std::move(obstacle);
    } else {
      dmabuf_obstacle_ = std::move(obstacle);
      stand_in_obstacle_ = device_.name + " imports dma-bufs, and a memfd is none";
    }
    dmabuf_export_ = exported;
  });
}

TENON_INLINE const std::string& Native::dmabuf_obstacle(bool stand_in) {
  judge_dmabuf();
  return stand_in ? stand_in_obstacle_ : dmabuf_obstacle_;
}

TENON_INLINE FdKind Native::dmabuf_export() {
  judge_dmabuf();
  return dmabuf_export_;
}

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
