// SPDX-License-Identifier: Apache-2.0
// A CUDA driver of software, for tests on machines without a GPU: two devices whose memory the host reaches at no address
// that CUDA gives out (an access faults), streams that are threads, events, and exports as memfds. Kernels run in graphs:
// driver_graphs.cpp.
#include <tenon/frameworks/cuda/testing/driver.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace cuda_stand_in;

Machine& cuda_stand_in::machine() {
  static auto* const made = new Machine;
  return *made;
}

namespace {

constexpr std::size_t kGrain = 2 << 20, kSpace = std::size_t{64} << 30, kDevicePage = 4096,
                      kLargest = std::size_t{8} << 30;

thread_local std::vector<abi::ContextHandle> current;

int device_now() { return current.empty() ? -1 : current.back()->device; }

/// An address of the device's space: reserved, so that nothing else lies there, and inaccessible.
abi::DevicePointer take_space(std::size_t size, std::size_t alignment) {
  Machine& m = machine();
  alignment = std::max(alignment, kDevicePage);
  m.next = (m.next + alignment - 1) / alignment * alignment;
  if (m.next + size > m.space + kSpace) m.next = (m.space + alignment - 1) / alignment * alignment;
  const abi::DevicePointer at = m.next;
  m.next += (size + kDevicePage - 1) / kDevicePage * kDevicePage;
  return at;
}

}  // namespace

const std::pair<const abi::DevicePointer, Range>* cuda_stand_in::find(abi::DevicePointer data, std::size_t size) {
  auto& ranges = machine().ranges;
  auto range = ranges.upper_bound(data);
  if (range == ranges.begin()) return nullptr;
  --range;
  const std::size_t at = data - range->first;
  return at < range->second.size && size <= range->second.size - at ? &*range : nullptr;
}

std::byte* cuda_stand_in::resolve(abi::DevicePointer data, std::size_t size, std::shared_ptr<Physical>& keep) {
  Machine& m = machine();
  const auto* range = find(data, size);
  if (range && range->second.physical) {
    keep = range->second.physical;
    return keep->bytes + (data - range->first);
  }
  if (data >= m.space && data < m.space + kSpace) return nullptr;
  return reinterpret_cast<std::byte*>(data);
}

CUstream_st* cuda_stand_in::stream_of(abi::Stream stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) > 2) return machine().streams.count(stream) ? stream : nullptr;
  static auto* const defaults = new CUstream_st* [kDevices] {};
  const int device = device_now();
  if (device < 0) return nullptr;
  if (!defaults[device]) defaults[device] = new CUstream_st(&machine().contexts[device]);
  return defaults[device];
}

struct CUextMemory_st {
  std::shared_ptr<Physical> physical;
};

struct CUevent_st {
  std::mutex mutex;
  std::shared_ptr<std::atomic<bool>> done = std::make_shared<std::atomic<bool>>(true);
};

namespace {

template <typename Done>
void wait_until(Done done) {
  while (!done()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

abi::Result allocate(abi::DevicePointer* out, std::size_t size, bool managed) {
  if (!out || size == 0) return abi::kInvalidValue;
  if (device_now() < 0) return abi::kInvalidContext;
  if (size > kLargest) return abi::kOutOfMemory;
  auto physical = std::make_shared<Physical>(size, device_now(), 0);
  if (!physical->bytes) return abi::kOutOfMemory;
  Range range{size, abi::kMemoryTypeDevice, managed, false, false, device_now(), physical};
  *out = managed ? reinterpret_cast<std::uintptr_t>(physical->bytes) : take_space(size, 256);
  machine().ranges[*out] = range;
  return abi::kSuccess;
}

}  // namespace

ENTRY cuInit(unsigned) {
  LOCKED;
  Machine& m = machine();
  if (m.is_up) return abi::kSuccess;
  void* const space = ::mmap(nullptr, kSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return abi::kOutOfMemory;
  m.space = m.next = reinterpret_cast<std::uintptr_t>(space);
  for (int i = 0; i < kDevices; ++i) m.contexts[i].device = i;
  m.is_up = true;
  return abi::kSuccess;
}
ENTRY cuDriverGetVersion(int* version) { return give(version, 12080); }
ENTRY cuGetErrorName(abi::Result result, const char** name) {
  const std::map<abi::Result, const char*> names{{abi::kSuccess, "CUDA_SUCCESS"},
                                                 {abi::kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                 {abi::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                 {abi::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
                                                 {abi::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
                                                 {abi::kNotReady, "CUDA_ERROR_NOT_READY"}};
  const auto found = names.find(result);
  *name = found == names.end() ? nullptr : found->second;
  return *name ? abi::kSuccess : abi::kInvalidValue;
}
ENTRY cuGetErrorString(abi::Result result, const char** text) { return cuGetErrorName(result, text); }
ENTRY cuDeviceGetCount(int* count) { return give(count, kDevices); }
ENTRY cuDeviceGet(abi::Device* device, int number) {
  return number < 0 || number >= kDevices ? abi::kInvalidDevice : give(device, number);
}
ENTRY cuDeviceGetName(char* name, int size, abi::Device) {
  std::strncpy(name, "CUDA stand-in", static_cast<std::size_t>(size));
  return abi::kSuccess;
}
ENTRY cuDeviceGetUuid(abi::Uuid* uuid, abi::Device device) {
  abi::Uuid value{};
  std::memcpy(value.bytes, "tenon stand-in ", 15);
  value.bytes[15] = static_cast<std::uint8_t>(device);
  return give(uuid, value);
}
ENTRY cuDeviceGetAttribute(int* value, int key, abi::Device device) {
  switch (key) {
    case abi::kPciBusId:
      return give(value, 0x40 + device);
    case abi::kIntegrated:
    case abi::kPciDeviceId:
    case abi::kPciDomainId:
      return give(value, 0);
    default:
      return give(value, 1);
  }
}
ENTRY cuDevicePrimaryCtxRetain(abi::ContextHandle* context, abi::Device device) {
  LOCKED;
  ++machine().contexts[device].retained;
  return give(context, &machine().contexts[device]);
}
ENTRY cuDevicePrimaryCtxRelease_v2(abi::Device device) {
  LOCKED;
  return --machine().contexts[device].retained < 0 ? abi::kInvalidContext : abi::kSuccess;
}
ENTRY cuCtxPushCurrent_v2(abi::ContextHandle context) {
  if (!context) return abi::kInvalidContext;
  current.push_back(context);
  return abi::kSuccess;
}
ENTRY cuCtxPopCurrent_v2(abi::ContextHandle* context) {
  if (current.empty()) return abi::kInvalidContext;
  *context = current.back();
  current.pop_back();
  return abi::kSuccess;
}
ENTRY cuCtxGetDevice(abi::Device* device) {
  return device_now() < 0 ? abi::kInvalidContext : give(device, device_now());
}

ENTRY cuMemAlloc_v2(abi::DevicePointer* out, std::size_t size) {
  LOCKED;
  return allocate(out, size, false);
}
ENTRY cuMemAllocManaged(abi::DevicePointer* out, std::size_t size, unsigned) {
  LOCKED;
  return allocate(out, size, true);
}
ENTRY cuMemFree_v2(abi::DevicePointer data) {
  LOCKED;
  const auto range = machine().ranges.find(data);
  if (range == machine().ranges.end() || !range->second.physical || range->second.is_virtual) return abi::kInvalidValue;
  machine().ranges.erase(range);
  return abi::kSuccess;
}
ENTRY cuMemHostAlloc(void** out, std::size_t size, unsigned) {
  LOCKED;
  if (!out || size == 0) return abi::kInvalidValue;
  if (device_now() < 0) return abi::kInvalidContext;
  void* const host = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  if (!host) return abi::kOutOfMemory;
  machine().ranges[reinterpret_cast<std::uintptr_t>(host)] = {size,  abi::kMemoryTypeHost, false, false,
                                                              false, device_now(),         {}};
  return give(out, host);
}
ENTRY cuMemFreeHost(void* host) {
  LOCKED;
  const auto range = machine().ranges.find(reinterpret_cast<std::uintptr_t>(host));
  if (range == machine().ranges.end() || range->second.physical || range->second.is_registered)
    return abi::kInvalidValue;
  machine().ranges.erase(range);
  std::free(host);
  return abi::kSuccess;
}
ENTRY cuMemHostRegister_v2(void* host, std::size_t size, unsigned) {
  LOCKED;
  if (!host || size == 0) return abi::kInvalidValue;
  const auto begin = reinterpret_cast<std::uintptr_t>(host);
  for (const auto& [data, range] : machine().ranges)
    if (data < begin + size && begin < data + range.size) return abi::kHostMemoryAlreadyRegistered;
  machine().ranges[begin] = {size, abi::kMemoryTypeHost, false, false, true, std::max(device_now(), 0), {}};
  return abi::kSuccess;
}
ENTRY cuMemHostUnregister(void* host) {
  LOCKED;
  const auto range = machine().ranges.find(reinterpret_cast<std::uintptr_t>(host));
  if (range == machine().ranges.end() || !range->second.is_registered) return abi::kInvalidValue;
  machine().ranges.erase(range);
  return abi::kSuccess;
}
ENTRY cuMemHostGetDevicePointer_v2(abi::DevicePointer* out, void* host, unsigned) {
  LOCKED;
  const auto data = reinterpret_cast<std::uintptr_t>(host);
  return find(data) ? give(out, abi::DevicePointer{data}) : abi::kInvalidValue;
}
ENTRY cuPointerGetAttribute(void* out, int key, abi::DevicePointer data) {
  LOCKED;
  const auto* found = find(data);
  if (!found) return abi::kInvalidValue;
  const Range& range = found->second;
  switch (key) {
    case abi::kMemoryType:
      return give(out, range.type);
    case abi::kIsManaged:
      return give(out, range.is_managed ? 1u : 0u);
    case abi::kDeviceOrdinal:
      return give(out, range.device);
    case abi::kRangeStart:
    case abi::kMappingBase:
      return key == abi::kMappingBase && !range.is_virtual ? abi::kInvalidValue : give(out, found->first);
    case abi::kRangeSize:
    case abi::kMappingSize:
      return key == abi::kMappingSize && !range.is_virtual ? abi::kInvalidValue : give(out, range.size);
    case abi::kAllowedHandleTypes:
      return give(out, static_cast<unsigned>(range.physical ? range.physical->handle_types : 0));
    default:
      return abi::kInvalidValue;
  }
}

ENTRY cuMemGetAllocationGranularity(std::size_t* out, const abi::AllocationProperties*, int) {
  return give(out, kGrain);
}
ENTRY cuMemCreate(abi::AllocationHandle* out, std::size_t size, const abi::AllocationProperties* wanted,
                  unsigned long long) {
  LOCKED;
  if (!out || !wanted || size == 0 || size % kGrain != 0 || wanted->location.type != 1 || wanted->type != 1)
    return abi::kInvalidValue;
  auto physical = std::make_shared<Physical>(size, wanted->location.id, wanted->handle_types);
  if (!physical->bytes) return abi::kOutOfMemory;
  *out = machine().next_handle++;
  machine().numbers[physical.get()] = {*out, 1};
  machine().handles[*out] = std::move(physical);
  return abi::kSuccess;
}
ENTRY cuMemRelease(abi::AllocationHandle handle) {
  LOCKED;
  const auto found = machine().handles.find(handle);
  if (found == machine().handles.end()) return abi::kInvalidValue;
  auto& number = machine().numbers[found->second.get()];
  if (--number.second == 0) {
    machine().numbers.erase(found->second.get());
    machine().handles.erase(found);
  }
  return abi::kSuccess;
}
ENTRY cuMemRetainAllocationHandle(abi::AllocationHandle* out, void* at) {
  LOCKED;
  const auto* found = find(reinterpret_cast<std::uintptr_t>(at));
  if (!found || !found->second.is_virtual) return abi::kInvalidValue;
  auto& number = machine().numbers[found->second.physical.get()];
  if (number.second == 0) number.first = machine().next_handle++;
  ++number.second;
  machine().handles[number.first] = found->second.physical;
  return give(out, number.first);
}
ENTRY cuMemAddressReserve(abi::DevicePointer* out, std::size_t size, std::size_t alignment, abi::DevicePointer,
                          unsigned long long) {
  LOCKED;
  if (size == 0 || size % kGrain != 0) return abi::kInvalidValue;
  *out = take_space(size, std::max(alignment, kGrain));
  machine().reserved[*out] = size;
  return abi::kSuccess;
}
ENTRY cuMemAddressFree(abi::DevicePointer data, std::size_t size) {
  LOCKED;
  const auto found = machine().reserved.find(data);
  if (found == machine().reserved.end() || found->second != size || find(data)) return abi::kInvalidValue;
  machine().reserved.erase(found);
  return abi::kSuccess;
}
ENTRY cuMemMap(abi::DevicePointer data, std::size_t size, std::size_t offset, abi::AllocationHandle handle,
               unsigned long long) {
  LOCKED;
  const auto found = machine().handles.find(handle);
  if (found == machine().handles.end() || offset != 0 || size != found->second->size || find(data))
    return abi::kInvalidValue;
  machine().ranges[data] = {size, abi::kMemoryTypeDevice, false, true, false, found->second->device, found->second};
  return abi::kSuccess;
}
ENTRY cuMemUnmap(abi::DevicePointer data, std::size_t size) {
  LOCKED;
  const auto range = machine().ranges.find(data);
  if (range == machine().ranges.end() || !range->second.is_virtual || range->second.size != size)
    return abi::kInvalidValue;
  machine().ranges.erase(range);
  return abi::kSuccess;
}
ENTRY cuMemSetAccess(abi::DevicePointer data, std::size_t size, const abi::AccessDescriptor* access,
                     std::size_t count) {
  LOCKED;
  return find(data, size) && count == 1 && access->flags == 3 ? abi::kSuccess : abi::kInvalidValue;
}
ENTRY cuMemExportToShareableHandle(void* out, abi::AllocationHandle handle, int type, unsigned long long) {
  LOCKED;
  const auto found = machine().handles.find(handle);
  if (found == machine().handles.end() || (found->second->handle_types & type) == 0) return abi::kInvalidValue;
  const int fd = ::dup(found->second->fd);
  return fd < 0 ? abi::kOutOfMemory : give(out, fd);
}

ENTRY cuImportExternalMemory(abi::External* out, const abi::ExternalMemory* wanted) {
  LOCKED;
  if (!out || !wanted || wanted->type != 1 || wanted->size == 0) return abi::kInvalidValue;
  if (device_now() < 0) return abi::kInvalidContext;
  auto physical = std::make_shared<Physical>(wanted->handle.fd, static_cast<std::size_t>(wanted->size), device_now());
  if (!physical->bytes) return abi::kInvalidValue;
  *out = new CUextMemory_st{std::move(physical)};
  return abi::kSuccess;
}
ENTRY cuExternalMemoryGetMappedBuffer(abi::DevicePointer* out, abi::External memory, const abi::ExternalBuffer* part) {
  LOCKED;
  if (part->offset != 0 || part->size > memory->physical->size) return abi::kInvalidValue;
  const std::size_t size = static_cast<std::size_t>(part->size);
  *out = take_space(size, 256);
  machine().ranges[*out] = {size,  abi::kMemoryTypeDevice,   false,           false,
                            false, memory->physical->device, memory->physical};
  return abi::kSuccess;
}
ENTRY cuDestroyExternalMemory(abi::External memory) {
  LOCKED;
  // Mapped buffers are to be freed before.
  for (const auto& [at, range] : machine().ranges)
    if (range.physical == memory->physical) return abi::kInvalidValue;
  delete memory;
  return abi::kSuccess;
}

ENTRY cuMemcpyAsync(abi::DevicePointer to, abi::DevicePointer from, std::size_t size, abi::Stream stream) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  std::shared_ptr<Physical> keep_to, keep_from;
  std::byte* const dst = resolve(to, size, keep_to);
  const std::byte* const src = resolve(from, size, keep_from);
  if (!queue) return abi::kInvalidHandle;
  if (!dst || !src) return abi::kInvalidValue;
  queue->push([=] {
    std::memcpy(dst, src, size);
    static_cast<void>(keep_to), static_cast<void>(keep_from);  // Freed memory stays until the work on it is done.
  });
  return abi::kSuccess;
}
ENTRY cuMemcpy2DAsync_v2(const abi::Copy2D* copy, abi::Stream stream) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  if (!queue) return abi::kInvalidHandle;
  if (copy->width_bytes > copy->src_pitch || copy->width_bytes > copy->dst_pitch || copy->height == 0)
    return abi::kInvalidValue;
  const auto whole = [&](std::size_t pitch) { return pitch * (copy->height - 1) + copy->width_bytes; };
  const auto address = [](unsigned type, const void* host, abi::DevicePointer device) {
    return type == abi::kMemoryTypeHost ? reinterpret_cast<std::uintptr_t>(host) : device;
  };
  std::shared_ptr<Physical> keep_to, keep_from;
  std::byte* const dst =
      resolve(address(copy->dst_type, copy->dst_host, copy->dst_device), whole(copy->dst_pitch), keep_to);
  const std::byte* const src =
      resolve(address(copy->src_type, copy->src_host, copy->src_device), whole(copy->src_pitch), keep_from);
  if (!dst || !src) return abi::kInvalidValue;
  queue->push([=, c = *copy] {
    for (std::size_t y = 0; y < c.height; ++y) std::memcpy(dst + y * c.dst_pitch, src + y * c.src_pitch, c.width_bytes);
    static_cast<void>(keep_to), static_cast<void>(keep_from);
  });
  return abi::kSuccess;
}

ENTRY cuStreamCreate(abi::Stream* out, unsigned) {
  LOCKED;
  if (device_now() < 0) return abi::kInvalidContext;
  auto* const made = new CUstream_st(current.back());
  machine().streams.insert(made);
  return give(out, made);
}
ENTRY cuStreamDestroy_v2(abi::Stream stream) {
  {
    LOCKED;
    if (machine().streams.erase(stream) == 0) return abi::kInvalidHandle;
  }
  delete stream;
  return abi::kSuccess;
}
ENTRY cuStreamQuery(abi::Stream stream) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  return !queue ? abi::kInvalidHandle : queue->is_idle() ? abi::kSuccess : abi::kNotReady;
}
ENTRY cuStreamGetCtx(abi::Stream stream, abi::ContextHandle* context) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  return queue ? give(context, queue->context) : abi::kInvalidHandle;
}
ENTRY cuStreamWaitEvent(abi::Stream stream, abi::Event event, unsigned) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  if (!queue || !event) return abi::kInvalidHandle;
  const std::lock_guard event_lock(event->mutex);
  queue->push([done = event->done] { wait_until([&] { return done->load(); }); });
  return abi::kSuccess;
}
ENTRY cuStreamWaitValue32_v2(abi::Stream stream, abi::DevicePointer at, std::uint32_t value, unsigned flags) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  std::shared_ptr<Physical> keep;
  const auto* const word = reinterpret_cast<const std::uint32_t*>(resolve(at, sizeof value, keep));
  if (!queue) return abi::kInvalidHandle;
  if (!word || flags != abi::kWaitValueEqual || !find(at, sizeof value)) return abi::kInvalidValue;
  queue->push([=] { wait_until([&] { return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value; }); });
  return abi::kSuccess;
}
ENTRY cuStreamWriteValue32_v2(abi::Stream stream, abi::DevicePointer at, std::uint32_t value, unsigned flags) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  std::shared_ptr<Physical> keep;
  std::byte* const word = resolve(at, sizeof value, keep);
  if (!queue) return abi::kInvalidHandle;
  if (!word || flags != 0 || at % sizeof value != 0) return abi::kInvalidValue;
  queue->push([=] {
    std::memcpy(word, &value, sizeof value);
    static_cast<void>(keep);
  });
  return abi::kSuccess;
}
/// CUDA's own: a host function as work of a stream, by which tests make a stream late.
ENTRY cuLaunchHostFunc(abi::Stream stream, void (*function)(void*), void* data) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  if (!queue) return abi::kInvalidHandle;
  queue->push([=] { function(data); });
  return abi::kSuccess;
}
ENTRY cuEventCreate(abi::Event* out, unsigned) { return give(out, new CUevent_st); }
ENTRY cuEventRecord(abi::Event event, abi::Stream stream) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  if (!queue || !event) return abi::kInvalidHandle;
  const std::lock_guard event_lock(event->mutex);
  event->done = std::make_shared<std::atomic<bool>>(false);
  queue->push([done = event->done] { done->store(true); });
  return abi::kSuccess;
}
ENTRY cuEventQuery(abi::Event event) {
  const std::lock_guard event_lock(event->mutex);
  return event->done->load() ? abi::kSuccess : abi::kNotReady;
}
ENTRY cuEventDestroy_v2(abi::Event event) {
  delete event;
  return abi::kSuccess;
}
