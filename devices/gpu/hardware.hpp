// SPDX-License-Identifier: Apache-2.0
// The OpenCL devices of this machine as GPU.0, GPU.1..., and what kernels need to know of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/native.hpp>
#include <tenon/devices/gpu/plan/command_buffer.hpp>
#include <tenon/devices/gpu/program/library.hpp>
#include <tenon/devices/gpu/target.hpp>
#include <tenon/devices/gpu/twin/twin.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::gpu_device {

/// Memory of the device's.
struct DeviceBuffer {
  std::shared_ptr<const TwinMemory> shared;  ///< What the buffer is, if the device's twin has it, too.
  client::Handle<cl_mem> buffer;
  std::size_t size_bytes = 0;
  TwinAddress address = 0;  ///< 0: the twin does not have it.
};

/// One device with a cl_context: the device's own, or an application's.
/// @thread const members from any thread.
class Gpu {
 public:
  /// @param context  A context of OpenCL buffers.
  /// @param id  "0", "1"...: as it is named after "GPU."; empty: a device that is none of all_gpus().
  /// @param shares_queue  The context's queue is the application's: all inferences go to it, in the application's order.
  Gpu(Context context, std::string id, bool shares_queue);

  const Context& context() const { return context_; }
  const client::Native& native() const { return *native_; }
  const Ref<client::Native>& native_ref() const { return native_; }
  const std::string& id() const { return id_; }
  std::string device_name() const { return id_.empty() ? "GPU" : "GPU." + id_; }
  const Target& target() const { return target_; }
  bool shares_queue() const { return shares_queue_; }
  /// Maps tensors to the context.
  Router& router() const { return router_; }
  /// clSetKernelArgMemPointerINTEL; null on platforms without USM, where pointers are SVM.
  const clSetKernelArgMemPointerINTEL_fn* set_usm_argument() const {
    return set_usm_argument_ ? &set_usm_argument_ : nullptr;
  }
  /// Null calls on devices without cl_khr_command_buffer.
  const CommandBufferCalls& command_buffers() const { return command_buffers_; }
  KernelLibrary& library() const { return *library_; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  /// The size of all buffers that count_memory() was told of and that still exist; 0 where the platform refuses to say when
  /// one is gone (Native::tells_of_release).
  std::uint64_t held_bytes() const { return held_->load(); }
  /// Memory of the device's, which it counts. @param bytes  At least; 0 as 1. @param from  What it begins with; null: anything.
  /// @param use  For the twin. @errors kResourceExhausted; those of native calls.
  std::shared_ptr<const DeviceBuffer> make_buffer(std::size_t bytes, const void* from, const char* what,
                                                  TwinUse use = TwinUse::kOwn) const;
  /// A tensor that users fill and read: the device's where it has the host's memory.
  Tensor make_host_tensor(element::Type type, const Shape& shape) const;
  /// As many bytes, and half as many more if the device allocates so much at once: for what grows step by step.
  std::size_t with_room(std::size_t bytes) const {
    const std::size_t most = native().device.max_allocation;
    return bytes + (bytes < most ? std::min(bytes / 2, most - bytes) : 0);
  }
  /// From now on, memory is made so that the device's twin has it, too. @param why  Gets the reason if there is none.
  /// @return null where there is none. @cost the first time some 100 ms, since another driver is started.
  std::shared_ptr<Twin> use_twin(std::string* why = nullptr) const;
  /// Null until use_twin() found it.
  Twin* twin() const noexcept { return used_twin_.load(std::memory_order_acquire); }
  /// The buffer belongs to the device from now on, until it is gone.
  void count_memory(cl_mem buffer, std::size_t bytes) const;
  std::uint32_t cache_line_bytes() const { return cache_line_bytes_; }
  std::uint32_t compute_units() const { return static_cast<std::uint32_t>(target_.compute_units); }

 private:
  Context context_;
  Ref<client::Native> native_;
  std::string id_;
  Target target_;
  bool shares_queue_;
  std::uint64_t memory_bytes_ = 0;
  std::uint32_t cache_line_bytes_ = 0;
  std::shared_ptr<std::atomic<std::uint64_t>> held_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  clSetKernelArgMemPointerINTEL_fn set_usm_argument_ = nullptr;
  CommandBufferCalls command_buffers_;
  mutable Router router_;
  std::unique_ptr<KernelLibrary> library_;
  mutable std::once_flag twin_once_;
  mutable std::shared_ptr<Twin> twin_;
  mutable std::string why_no_twin_;
  mutable std::atomic<Twin*> used_twin_{nullptr};
};

/// A queue of a request's own. @param priority, throttle  MEDIUM: the driver's default.
/// @errors kUnimplemented: the device has no such hints.
client::Handle<cl_command_queue> make_queue(const Gpu& gpu, bool has_times, hint::Priority priority,
                                            hint::Priority throttle);

/// All devices, numbered as client::find_devices() orders them, GPUs before CPUs; the same objects for the whole process. Devices that fail
/// keep their numbers, and are tried again at the next call. Empty without a platform.
/// @errors kUnavailable: there is none because calls failed, which it names with their codes.
std::vector<std::shared_ptr<const Gpu>> all_gpus();

/// As all_gpus() numbers it; a sub-device has the number of its whole device. Empty: it is none of them.
std::string id_of(cl_device_id device);

/// @param id  "" is the first; "0.1" is the second part of device 0: what shares a cache or memory, or else one half.
/// @errors kUnavailable: there is none; kInvalidArgument: no such one, with those that are.
std::shared_ptr<const Gpu> find_gpu(const std::string& id);

}  // namespace tenon::inline v1::gpu_device
