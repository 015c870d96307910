// SPDX-License-Identifier: Apache-2.0
// CUDA devices, one CUcontext as Tenon uses it, and its events.
#include <tenon/frameworks/cuda/device.hpp>

#include <array>
#include <atomic>
#include <cstring>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

TENON_INLINE int attribute(int ordinal, int key) {
  int value = 0;
  check(call(driver().cuDeviceGetAttribute, &value, key, ordinal), "cuDeviceGetAttribute",
        [&] { return "asking for attribute " + std::to_string(key) + " of device " + std::to_string(ordinal); });
  return value;
}

TENON_INLINE abi::AllocationProperties exportable_on(int ordinal) {
  abi::AllocationProperties properties;
  properties.handle_types = abi::kHandleTypePosixFd;
  properties.location.id = ordinal;
  return properties;
}

TENON_INLINE Device read_device(int number) {
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
  device.group_bytes = static_cast<std::size_t>(attribute(device.ordinal, abi::kMostSharedBytes));
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

TENON_INLINE std::vector<Device> devices() {
  int count = 0;
  detail::check(detail::call(detail::driver().cuDeviceGetCount, &count), "cuDeviceGetCount", "counting devices");
  std::vector<Device> all;
  for (int number = 0; number < count; ++number) all.push_back(detail::read_device(number));
  return all;
}

namespace detail {

TENON_INLINE Current::Current(abi::ContextHandle context) {
  check(call(driver().cuCtxPushCurrent, context), "cuCtxPushCurrent", "making a context current");
  pushed_ = true;
}

TENON_INLINE Current::~Current() {
  abi::ContextHandle popped = nullptr;
  if (pushed_) driver().cuCtxPopCurrent(&popped);
}

TENON_INLINE ContextOwner ContextOwner::primary(const Device& device) {
  ContextOwner owner;
  check(call(driver().cuDevicePrimaryCtxRetain, &owner.context_, device.ordinal), "cuDevicePrimaryCtxRetain",
        [&] { return "using the primary context of " + device.name; });
  owner.retained_ = device.ordinal;
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
  return owner;
}

TENON_INLINE ContextOwner ContextOwner::borrow(abi::ContextHandle context) {
  ContextOwner owner;
  owner.context_ = context;
  return owner;
}

TENON_INLINE ContextOwner& ContextOwner::operator=(ContextOwner&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(retained_, other.retained_);
  return *this;
}

TENON_INLINE ContextOwner::~ContextOwner() {
  if (retained_ < 0) return;
  driver().cuDevicePrimaryCtxRelease(retained_);
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE abi::Event EventShelf::take() {
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

TENON_INLINE void EventShelf::give_back(abi::Event event) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMost) return idle_.push_back(event);  // There is room.
  }
  destroy(event);
}

TENON_INLINE void EventShelf::drop_idle() noexcept {
  const std::lock_guard lock(mutex_);
  for (const abi::Event event : idle_) destroy(event);
  idle_.clear();
}

TENON_INLINE void EventShelf::destroy(abi::Event event) noexcept {
  driver().cuEventDestroy(event);
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE std::uint32_t* WordShelf::take() {
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

TENON_INLINE void WordShelf::give_back(std::uint32_t* word) noexcept {
  const std::lock_guard lock(mutex_);
  idle_.push_back(word);  // There is room for all.
}

TENON_INLINE void WordShelf::drop_idle() noexcept {
  const std::lock_guard lock(mutex_);
  if (!page_ || idle_.size() != kWords) return;
  driver().cuMemFreeHost(std::exchange(page_, nullptr));
  idle_.clear();
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE void WordShelf::set(std::uint32_t* word, std::uint32_t value) noexcept {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

TENON_INLINE Native::Native(Device of, ContextOwner owner) : device(std::move(of)), context(std::move(owner)) {
  const Current current(handle());
  check(call(driver().cuStreamCreate, &transfers, abi::kStreamNonBlocking), "cuStreamCreate",
        [&] { return "making a stream for copies on " + device.name; });
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
}

TENON_INLINE Native::~Native() {
  if (!transfers) return;
  {
    const Current current(handle(), std::nothrow);
    events.drop_idle();
    words.drop_idle();
    driver().cuStreamDestroy(transfers);
  }
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE void Native::drop_idle() const noexcept {
  const Current current(handle(), std::nothrow);
  events.drop_idle();
  words.drop_idle();
}

}  // namespace detail
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
