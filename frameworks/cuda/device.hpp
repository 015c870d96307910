// SPDX-License-Identifier: Apache-2.0
// CUDA devices, one CUcontext as Tenon uses it, and its events.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/device_identity.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/cuda/native.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

/// Facts about one device, read once.
struct Device {
  int ordinal = 0;
  std::string name;                    ///< The driver's name for it.
  bool integrated = false;             ///< It works on the host's memory.
  bool managed = false;                ///< Managed memory may be accessed by the host while the device works.
  bool registers_host = false;         ///< The caller's pages can be pinned in place.
  bool exports_fd = false;             ///< The virtual memory API makes memory that is exported as a POSIX fd.
  std::size_t export_granularity = 0;  ///< Such memory comes in multiples of this, bytes.
  DeviceIdentity identity;
};

namespace detail {

inline int attribute(int ordinal, int key) {
  int value = 0;
  check(call(driver().cuDeviceGetAttribute, &value, key, ordinal), "cuDeviceGetAttribute",
        [&] { return "asking for attribute " + std::to_string(key) + " of device " + std::to_string(ordinal); });
  return value;
}

inline abi::AllocationProperties exportable_on(int ordinal) {
  abi::AllocationProperties properties;
  properties.handle_types = abi::kHandleTypePosixFd;
  properties.location.id = ordinal;
  return properties;
}

inline Device read_device(int number) {
  const Driver& driver = detail::driver();
  const auto what = [&] { return "asking what device " + std::to_string(number) + " is"; };
  Device device;
  check(call(driver.cuDeviceGet, &device.ordinal, number), "cuDeviceGet", what);
  std::array<char, 256> name{};
  check(call(driver.cuDeviceGetName, name.data(), static_cast<int>(name.size()) - 1, device.ordinal), "cuDeviceGetName",
        what);
  device.name = name.data();
  abi::Uuid uuid{};
  check(call(driver.cuDeviceGetUuid, &uuid, device.ordinal), "cuDeviceGetUuid", what);
  device.identity.set(kDeviceUuid, std::to_array(uuid.bytes));
  device.identity.set(kPciAddress,
                      PciAddress{static_cast<std::uint32_t>(attribute(device.ordinal, abi::kPciDomainId)),
                                 static_cast<std::uint32_t>(attribute(device.ordinal, abi::kPciBusId)),
                                 static_cast<std::uint32_t>(attribute(device.ordinal, abi::kPciDeviceId)), 0});
  const auto has = [&](int key) { return attribute(device.ordinal, key) != 0; };
  if (!has(abi::kUnifiedAddressing))
    throw Error(Code::kUnavailable, "cuda: " + device.name + " has no unified addressing, which Tenon needs");
  device.integrated = has(abi::kIntegrated);
  device.managed = has(abi::kManagedMemory) && has(abi::kConcurrentManagedAccess);
  device.registers_host = has(abi::kHostRegisterSupported);
  device.exports_fd = has(abi::kVirtualMemoryManagement) && has(abi::kPosixFdSupported);
  if (device.exports_fd) {
    const abi::AllocationProperties wanted = exportable_on(device.ordinal);
    check(call(driver.cuMemGetAllocationGranularity, &device.export_granularity, &wanted, abi::kGranularityMinimum),
          "cuMemGetAllocationGranularity", what);
  }
  return device;
}

}  // namespace detail

/// The devices of this machine, in the driver's order. @errors kUnavailable: no driver; those of native calls.
inline std::vector<Device> devices() {
  int count = 0;
  detail::check(detail::call(detail::driver().cuDeviceGetCount, &count), "cuDeviceGetCount", "counting devices");
  std::vector<Device> all;
  for (int number = 0; number < count; ++number) all.push_back(detail::read_device(number));
  return all;
}

namespace detail {

/// Makes a CUcontext current for this thread, as long as it lives: the caller's comes back afterwards.
class Current {
 public:
  /// @errors those of cuCtxPushCurrent.
  explicit Current(abi::ContextHandle context) {
    check(call(driver().cuCtxPushCurrent, context), "cuCtxPushCurrent", "making a context current");
    pushed_ = true;
  }
  /// For destructors: a driver that is shutting down refuses, and then so does what is called next.
  Current(abi::ContextHandle context, std::nothrow_t) noexcept
      : pushed_(driver().cuCtxPushCurrent(context) == abi::kSuccess) {}
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    abi::ContextHandle popped = nullptr;
    if (pushed_) driver().cuCtxPopCurrent(&popped);
  }

 private:
  bool pushed_ = false;
};

/// A CUcontext: a device's primary one, retained, or a user's, borrowed.
class ContextOwner {
 public:
  ContextOwner() = default;
  /// @errors those of cuDevicePrimaryCtxRetain.
  static ContextOwner primary(const Device& device) {
    ContextOwner owner;
    check(call(driver().cuDevicePrimaryCtxRetain, &owner.context_, device.ordinal), "cuDevicePrimaryCtxRetain",
          [&] { return "using the primary context of " + device.name; });
    owner.retained_ = device.ordinal;
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
    return owner;
  }
  static ContextOwner borrow(abi::ContextHandle context) {
    ContextOwner owner;
    owner.context_ = context;
    return owner;
  }
  ContextOwner(ContextOwner&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)), retained_(std::exchange(other.retained_, -1)) {}
  ContextOwner& operator=(ContextOwner&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(retained_, other.retained_);
    return *this;
  }
  ~ContextOwner() {
    if (retained_ < 0) return;
    driver().cuDevicePrimaryCtxRelease(retained_);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  abi::ContextHandle get() const { return context_; }

 private:
  abi::ContextHandle context_ = nullptr;
  abi::Device retained_ = -1;
};

/// Events of one CUcontext that nobody uses now. CUDA lets an event be recorded anew while a stream still waits for its
/// last recording. @thread all members from any thread.
class EventShelf {
 public:
  EventShelf() { idle_.reserve(kMost); }
  /// With the context current. @errors those of cuEventCreate.
  abi::Event take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        const abi::Event event = idle_.back();
        idle_.pop_back();
        return event;
      }
    }
    abi::Event event = nullptr;
    check(call(driver().cuEventCreate, &event, abi::kEventDisableTiming), "cuEventCreate", "making an event");
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
    return event;
  }
  void give_back(abi::Event event) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (idle_.size() < kMost) return idle_.push_back(event);  // There is room.
    }
    destroy(event);
  }
  /// With the context current.
  void drop_idle() noexcept {
    const std::lock_guard lock(mutex_);
    for (const abi::Event event : idle_) destroy(event);
    idle_.clear();
  }

 private:
  static constexpr std::size_t kMost = 64;
  static void destroy(abi::Event event) noexcept {
    driver().cuEventDestroy(event);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  std::mutex mutex_;
  std::vector<abi::Event> idle_;
};

/// Words of pinned memory for which streams wait, and which the host sets: so a stream waits for work of any API.
/// @thread all members from any thread.
class WordShelf {
 public:
  static constexpr std::size_t kWords = 256;
  /// A word that holds 0, or null when all are in use: then the host waits. With the context current.
  /// @errors those of cuMemHostAlloc.
  std::uint32_t* take() {
    const std::lock_guard lock(mutex_);
    if (!page_) {
      void* page = nullptr;
      check(call(driver().cuMemHostAlloc, &page, kWords * sizeof(std::uint32_t), abi::kHostAllocPortable),
            "cuMemHostAlloc", "making words for which streams wait");
      Probe::handles.fetch_add(1, std::memory_order_relaxed);
      page_ = static_cast<std::uint32_t*>(page);
      idle_.reserve(kWords);
      for (std::size_t i = 0; i < kWords; ++i) idle_.push_back(page_ + i);
    }
    if (idle_.empty()) return nullptr;
    std::uint32_t* const word = idle_.back();
    idle_.pop_back();
    set(word, 0);
    return word;
  }
  void give_back(std::uint32_t* word) noexcept {
    const std::lock_guard lock(mutex_);
    idle_.push_back(word);  // There is room for all.
  }
  /// Frees the page if no word is in use. With the context current.
  void drop_idle() noexcept {
    const std::lock_guard lock(mutex_);
    if (!page_ || idle_.size() != kWords) return;
    driver().cuMemFreeHost(std::exchange(page_, nullptr));
    idle_.clear();
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  static void set(std::uint32_t* word, std::uint32_t value) noexcept {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
  }

 private:
  std::mutex mutex_;
  std::uint32_t* page_ = nullptr;
  std::vector<std::uint32_t*> idle_;
};

/// The native objects behind a context. @thread members from any thread once constructed.
class Native final : public RefCounted {
 public:
  explicit Native(Device of, ContextOwner owner) : device(std::move(of)), context(std::move(owner)) {
    const Current current(handle());
    check(call(driver().cuStreamCreate, &transfers, abi::kStreamNonBlocking), "cuStreamCreate",
          [&] { return "making a stream for copies on " + device.name; });
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }
  ~Native() override {
    if (!transfers) return;
    {
      const Current current(handle(), std::nothrow);
      events.drop_idle();
      words.drop_idle();
      driver().cuStreamDestroy(transfers);
    }
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  abi::ContextHandle handle() const { return context.get(); }
  /// Releases what is kept for reuse.
  void drop_idle() const noexcept {
    const Current current(handle(), std::nothrow);
    events.drop_idle();
    words.drop_idle();
  }

  const Device device;
  const ContextOwner context;
  abi::Stream transfers = nullptr;  ///< Ours alone: Tenon's copies never wait behind a user's work.
  mutable EventShelf events;
  mutable WordShelf words;
};

}  // namespace detail
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
