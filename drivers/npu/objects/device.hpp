// SPDX-License-Identifier: Apache-2.0
// The driver, its devices and its contexts, to which every other object belongs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <tenon/drivers/npu/objects/activity.hpp>
#include <tenon/drivers/npu/objects/memory.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/objects/platform.hpp>
#include <tenon/drivers/npu/objects/tile_scheduler.hpp>

namespace tenon::npu {

class Executor;

/// Lives as long as the process.
class Device final : public Object {
 public:
  using Handle = ze_device_handle_t;
  static constexpr Kind kKind = Kind::kDevice;

  Device(const Platform& platform, std::uint32_t index);
  const Platform& platform() const noexcept { return platform_; }
  std::uint32_t index() const noexcept { return index_; }
  std::array<std::uint8_t, ZE_MAX_DEVICE_UUID_SIZE> uuid() const noexcept;
  TileScheduler& workers() noexcept { return workers_; }
  Activity& activity() noexcept { return activity_; }
  /// Counts the device and shared memory that clients allocated on it.
  const std::shared_ptr<MemoryAccount>& memory() const noexcept { return memory_; }
  ze_device_handle_t handle() const noexcept { return static_cast<ze_device_handle_t>(Object::handle()); }

 private:
  const Platform& platform_;
  const std::uint32_t index_;
  TileScheduler workers_;
  Activity activity_;
  std::shared_ptr<MemoryAccount> memory_ = std::make_shared<MemoryAccount>();
};

/// Lives as long as the process.
class Driver final : public Object {
 public:
  using Handle = ze_driver_handle_t;
  static constexpr Kind kKind = Kind::kDriver;

  Driver();
  /// Created by the first call, which reads TENON_NPU_PLATFORM. Null if memory ran out; the next call tries again.
  static Driver* get() noexcept;
  std::span<Device* const> devices() const noexcept { return devices_; }
  ze_driver_handle_t handle() const noexcept { return static_cast<ze_driver_handle_t>(Object::handle()); }
  /// Executors of the queues and immediate lists that still exist. @thread any
  void add_executor(std::weak_ptr<Executor> executor);
  /// @param lock  If given, no executor is added while it is held.
  std::vector<std::shared_ptr<Executor>> executors(std::unique_lock<std::mutex>* lock = nullptr) const;

 private:
  std::vector<Device*> devices_;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Executor>> executors_;
};

/// A part of a context that can free memory which its next use allocates again.
class Prunable {
 public:
  /// Frees what is not in use. @thread any
  virtual void prune() noexcept = 0;

 protected:
  ~Prunable() = default;
};

/// @thread all members from any thread.
class Context final : public Object {
 public:
  using Handle = ze_context_handle_t;
  static constexpr Kind kKind = Kind::kContext;

  explicit Context(Driver& driver) : driver_(driver) {}
  ~Context() override;
  Driver& driver() const noexcept { return driver_; }
  ze_context_handle_t handle() const noexcept { return static_cast<ze_context_handle_t>(Object::handle()); }
  /// Counts this context's host memory, and its device memory on any device.
  const std::shared_ptr<MemoryAccount>& memory() const noexcept { return memory_; }
  /// Bits of abi::ContextOption.
  std::atomic<std::uint32_t> options{1};
  /// Bits of the devices, by index, whose metric group the client activated.
  std::atomic<std::uint64_t> metric_devices{0};

  /// @errors std::bad_alloc
  void add(Prunable* part);
  void remove(Prunable* part) noexcept;
  void prune() noexcept;
  /// Time without work after which prune() is called; 0: never, which is the default, or the option is off.
  std::uint64_t idle_timeout_ns() const noexcept;
  void set_idle_timeout_ns(std::uint64_t timeout_ns) noexcept { idle_timeout_ns_.store(timeout_ns); }
  void note_work() noexcept;
  /// Calls prune() if there was no work for idle_timeout_ns().
  void prune_if_idle() noexcept;

 private:
  Driver& driver_;
  std::mutex mutex_;
  std::vector<Prunable*> parts_;
  std::atomic<std::uint64_t> idle_timeout_ns_{0}, last_work_ns_{0};
  std::shared_ptr<MemoryAccount> memory_ = std::make_shared<MemoryAccount>();
};

inline ze_result_t acquire_driver(ze_driver_handle_t handle, Ref<Driver>* driver) noexcept {
  return acquire(handle, driver);
}
inline ze_result_t acquire_device(ze_device_handle_t handle, Ref<Device>* device) noexcept {
  return acquire(handle, device);
}
inline ze_result_t acquire_context(ze_context_handle_t handle, Ref<Context>* context) noexcept {
  return acquire(handle, context);
}

}  // namespace tenon::npu
