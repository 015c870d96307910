// SPDX-License-Identifier: Apache-2.0
// Physical devices, one VkDevice as Tenon uses it, and its queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/device_identity.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/vulkan/native.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {

/// What a physical device is and can do.
struct Device {
  std::string name;
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  std::uint32_t version = 0;  ///< VK_MAKE_API_VERSION.
  /// The hardware: UUID, PCI address, DRM node, LUID, as far as known. A device that is the CPU is the host's.
  DeviceIdentity identity;
  /// The only importer of its opaque descriptors: deviceUUID. A CPU has several drivers, so its identity does not say it.
  DeviceIdentity exporter;
  std::uint8_t driver_uuid[VK_UUID_SIZE] = {};
  std::vector<std::string> extensions;
  std::size_t host_alignment = 0;  ///< That imported host pages need; 0: none are imported.
  std::size_t largest_allocation = SIZE_MAX, largest_image_px = 0;
  bool timeline_semaphores = false, ycbcr = false;

  bool is_cpu() const { return type == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  /// Whether the host and the device have one memory: copies then cross no bus.
  bool host_unified() const { return is_cpu() || type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU; }
  bool has(const char* extension) const;
};

/// The caller's objects, which live as long as the context and its memory.
struct Handles {
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;  ///< Has Vulkan 1.2, and the feature timelineSemaphore.
  VkQueue queue = VK_NULL_HANDLE;    ///< Tenon's copies run in it.
  std::uint32_t queue_family = 0;    ///< Has graphics, compute or transfers.
  /// The extensions that the device was made with, which Vulkan does not tell. What is not named is not used.
  std::vector<std::string> extensions;
  /// Locked while Tenon submits, because a VkQueue takes one caller at a time. Null: Tenon's submissions alone are in turn.
  std::mutex* queue_lock = nullptr;
  /// Null: that of libvulkan.so.1.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
};

namespace detail {

/// Reads what a physical device is. @errors those of native calls.
Device read_device(const InstanceCalls& calls, VkPhysicalDevice physical);

/// A VkInstance that Tenon made. @thread as Vulkan's.
class Instance final : public RefCounted {
 public:
  /// The process's only one: layers and drivers do not like several. @errors kUnavailable; those of vkCreateInstance.
  static Ref<Instance> process();
  ~Instance() override;
  VkInstance handle() const { return handle_; }
  const InstanceCalls& calls() const { return calls_; }
  /// @errors those of vkEnumeratePhysicalDevices.
  std::vector<VkPhysicalDevice> devices() const;

 private:
  Instance() = default;
  VkInstance handle_ = VK_NULL_HANDLE;
  InstanceCalls calls_;
};

class SemaphoreTimeline;

/// A semaphore with a value, as vkQueueSubmit takes it.
struct SemaphoreValue {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  std::uint64_t value = 0;  ///< Ignored for binary semaphores.
};

/// Memory of the host that the device copies from and to.
struct Staging {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::byte* data = nullptr;
  std::size_t size = 0;
};

/// One VkDevice with one of its queues, shared by its contexts and all that they make.
/// @thread all members from any thread.
class Native final : public RefCounted {
 public:
  /// A VkDevice of our own over `physical`. @errors kUnavailable: it lacks what is needed (named); those of native calls.
  static Ref<Native> make(Ref<Instance> instance, VkPhysicalDevice physical);
  /// Over the caller's. @errors kInvalidArgument: a null handle, a family without copies; those of native calls.
  static Ref<Native> over(const Handles& handles);
  ~Native() override;

  const Device& device() const { return device_; }
  const DeviceCalls& calls() const { return calls_; }
  const InstanceCalls& instance_calls() const { return instance_calls_; }
  const Handles& handles() const { return handles_; }
  VkDevice handle() const { return handles_.device; }
  /// Whether the VkDevice was made with an extension.
  bool enabled(const char* extension) const;
  const VkPhysicalDeviceMemoryProperties& memories() const { return memories_; }
  /// A memory type among `allowed` that has `wanted`, and rather `better` too; nothing when there is none.
  std::optional<std::uint32_t> find_memory(std::uint32_t allowed, VkMemoryPropertyFlags wanted,
                                           VkMemoryPropertyFlags better = 0) const;

  /// Submits what `record` records, to run when `after` is over, and returns its end.
  /// @errors those of native calls.
  TimelinePoint submit(const std::function<void(VkCommandBuffer)>& record, std::span<const SemaphoreValue> after = {},
                       const SemaphoreValue* also_signal = nullptr);
  /// A timeline semaphore. @errors those of native calls.
  VkSemaphore make_semaphore(std::uint64_t value, const void* next = nullptr) const;
  void destroy_semaphore(VkSemaphore semaphore) const noexcept;

  /// @name Staging memory of at least `size` bytes; one idle piece is kept. @errors those of native calls.
  Staging take_staging(std::size_t size);
  void give_back_staging(Staging staging) noexcept;
  void drop_idle() noexcept;

  /// Why dma-bufs, or memfds that stand in for them, are not imported; empty when they are. The first call tries it.
  /// @errors those of tests' injected failures.
  const std::string& dmabuf_obstacle(bool stand_in);
  /// What the device's own dma-bufs are: kDmabuf, kMemfd (a test's layer), or kNone where it exports none.
  FdKind dmabuf_export();

 private:
  Native() = default;
  void open_queue();
  void destroy_staging(Staging& staging) noexcept;
  std::string try_dmabuf();
  void judge_dmabuf();

  Ref<Instance> instance_;  // Null for a caller's.
  bool owns_device_ = false;
  Handles handles_;
  Device device_;
  InstanceCalls instance_calls_;
  DeviceCalls calls_;
  VkPhysicalDeviceMemoryProperties memories_{};

  std::mutex mutex_, own_queue_lock_;
  // Guarded by mutex_.
  VkCommandPool pool_ = VK_NULL_HANDLE;
  struct Commands {
    VkCommandBuffer buffer = VK_NULL_HANDLE;
    std::uint64_t until = 0;  ///< It may be recorded anew from this value on.
  };
  std::vector<Commands> commands_;
  VkSemaphore progress_ = VK_NULL_HANDLE;
  std::uint64_t submitted_ = 0;
  Staging idle_;
  std::once_flag dmabuf_once_;
  bool tried_stand_in_ = false;
  std::string dmabuf_obstacle_;
  std::string stand_in_obstacle_;
  FdKind dmabuf_export_;
};

/// All that comes later in the queue waits for all that is in it.
void full_barrier(const Native& native, VkCommandBuffer commands);

/// Owns one object of a VkDevice.
template <typename Handle>
class Owned {
 public:
  using Destroy = void (*)(VkDevice, Handle, const VkAllocationCallbacks*);
  Owned() = default;
  Owned(const Native& native, Handle handle, Destroy destroy)
      : device_(native.handle()), handle_(handle), destroy_(destroy) {
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }
  Owned(Owned&& other) noexcept { swap(other); }
  Owned& operator=(Owned&& other) noexcept {
    Owned moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Owned() {
    if (handle_ == VK_NULL_HANDLE) return;
    destroy_(device_, handle_, nullptr);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  Handle get() const { return handle_; }

 private:
  void swap(Owned& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
  }
  VkDevice device_ = VK_NULL_HANDLE;
  Handle handle_ = VK_NULL_HANDLE;
  Destroy destroy_ = nullptr;
};

/// Why a physical device cannot be used; empty when it can.
std::string device_obstacle(const Device& device);

/// "NVIDIA H200" gives "nvidia-h200".
std::string typable(const std::string& name);

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
