// SPDX-License-Identifier: Apache-2.0
// A CUDA driver of software, for tests on machines without a GPU: two devices whose memory the host reaches at no address
// that CUDA gives out (an access faults), streams that are threads, events, and exports as memfds. Kernels are those of OpenCL programs
// of this process (frameworks/opencl/testing/external_layer.cpp gives binaries that name the program); such kernels run in graphs only.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <tenon/frameworks/cuda/abi.hpp>

namespace abi = tenon::cuda::abi;

struct CUctx_st {
  int device = 0;
  int retained = 0;
};

namespace {

constexpr int kDevices = 2;
constexpr std::size_t kGrain = 2 << 20, kSpace = std::size_t{64} << 30, kDevicePage = 4096,
                      kLargest = std::size_t{8} << 30;

/// Memory behind a handle of the virtual memory API, or behind one allocation.
struct Physical {
  int fd = -1;
  std::byte* bytes = nullptr;
  std::size_t size = 0;
  int device = 0, handle_types = 0;
  Physical(std::size_t of, int on, int types) : size(of), device(on), handle_types(types) {
    fd = ::memfd_create("cuda stand-in", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(size)) != 0) return;
    void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) bytes = static_cast<std::byte*>(mapped);
    if (types == 0) ::close(fd), fd = -1;
  }
  /// Another API's memory: the descriptor is the driver's from now on.
  Physical(int of, std::size_t whole, int on) : size(whole), device(on) {
    const off_t end = ::lseek(of, 0, SEEK_END);
    if (end < 0 || static_cast<std::size_t>(end) < whole) return;
    void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, of, 0);
    if (mapped == MAP_FAILED) return;
    bytes = static_cast<std::byte*>(mapped);
    fd = of;
  }
  Physical(const Physical&) = delete;
  ~Physical() {
    if (bytes) ::munmap(bytes, size);
    if (fd >= 0) ::close(fd);
  }
};

/// What lies at an address that CUDA gave out, or pinned.
struct Range {
  std::size_t size = 0;
  unsigned type = abi::kMemoryTypeDevice;
  bool is_managed = false, is_virtual = false, is_registered = false;
  int device = 0;
  std::shared_ptr<Physical> physical;  ///< Null: host memory.
};

struct Machine {
  std::mutex mutex;
  CUctx_st contexts[kDevices];
  std::map<abi::DevicePointer, Range> ranges;
  std::map<abi::DevicePointer, std::size_t> reserved;
  std::map<abi::AllocationHandle, std::shared_ptr<Physical>> handles;  ///< Each with one reference of a caller.
  std::map<Physical*, std::pair<abi::AllocationHandle, int>> numbers;
  std::set<CUstream_st*> streams;
  abi::AllocationHandle next_handle = 1;
  abi::DevicePointer space = 0, next = 0;
  bool is_up = false;
};
Machine& machine() {
  static auto* const made = new Machine;
  return *made;
}
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

/// The range that contains [data, data + size); null when there is none.
const std::pair<const abi::DevicePointer, Range>* find(abi::DevicePointer data, std::size_t size = 1) {
  auto& ranges = machine().ranges;
  auto range = ranges.upper_bound(data);
  if (range == ranges.begin()) return nullptr;
  --range;
  const std::size_t at = data - range->first;
  return at < range->second.size && size <= range->second.size - at ? &*range : nullptr;
}

/// Where the bytes really are. Plain host memory is where it is; an unknown address of the device's space is null.
std::byte* resolve(abi::DevicePointer data, std::size_t size, std::shared_ptr<Physical>& keep) {
  Machine& m = machine();
  const auto* range = find(data, size);
  if (range && range->second.physical) {
    keep = range->second.physical;
    return keep->bytes + (data - range->first);
  }
  if (data >= m.space && data < m.space + kSpace) return nullptr;
  return reinterpret_cast<std::byte*>(data);
}

}  // namespace

struct CUextMemory_st {
  std::shared_ptr<Physical> physical;
};

struct CUevent_st {
  std::mutex mutex;
  std::shared_ptr<std::atomic<bool>> done = std::make_shared<std::atomic<bool>>(true);
};

/// Work in order, on a thread of its own.
struct CUstream_st {
  explicit CUstream_st(abi::ContextHandle of) : context(of), thread([this] { run(); }) {}
  ~CUstream_st() {
    push([this] { ending = true; });
    thread.join();
  }
  void push(std::function<void()> work) {
    const std::lock_guard lock(mutex);
    queue.push_back(std::move(work));
    changed.notify_one();
  }
  bool is_idle() {
    const std::lock_guard lock(mutex);
    return queue.empty() && !busy;
  }
  abi::ContextHandle context;

 private:
  void run() {
    while (!ending) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !queue.empty(); });
      const std::function<void()> work = std::move(queue.front());
      queue.pop_front();
      busy = true;
      lock.unlock();
      work();
      lock.lock();
      busy = false;
    }
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool ending = false, busy = false;
  std::thread thread;
};

namespace {

/// The default streams of each device are one here.
CUstream_st* stream_of(abi::Stream stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) > 2) return machine().streams.count(stream) ? stream : nullptr;
  static auto* const defaults = new CUstream_st* [kDevices] {};
  const int device = device_now();
  if (device < 0) return nullptr;
  if (!defaults[device]) defaults[device] = new CUstream_st(&machine().contexts[device]);
  return defaults[device];
}

template <typename Done>
void wait_until(Done done) {
  while (!done()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

abi::Result write(void* to, std::size_t size, const void* from) {
  std::memcpy(to, from, size);
  return abi::kSuccess;
}
template <typename T>
abi::Result give(void* to, T value) {
  return write(to, sizeof value, &value);
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

#define ENTRY extern "C" __attribute__((visibility("default"))) abi::Result
#define LOCKED const std::lock_guard lock(machine().mutex)

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

namespace {

/// OpenCL's functions, which the process has loaded.
template <typename Function>
Function* opencl(Function*, const char* name) {
  static void* const library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(::dlsym(library, name));
}
#define CL(function) opencl(static_cast<decltype(function)*>(nullptr), #function)

}  // namespace

struct CUfunc_st {
  cl_program program = nullptr;
  std::string name;
  cl_uint arguments = 0;
};
struct CUmod_st {
  cl_program program = nullptr;
  std::map<std::string, CUfunc_st> functions;
};
/// A kernel, and what it was told.
struct CUgraphNode_st {
  CUfunc_st* function = nullptr;
  std::array<std::size_t, 3> global{}, local{};
  std::vector<std::uint64_t> arguments;
};
struct CUgraph_st {
  std::deque<CUgraphNode_st> nodes;
};
struct CUgraphExec_st {
  std::map<CUgraphNode_st*, std::size_t> places;
  std::vector<CUgraphNode_st> nodes;
};

namespace {

/// @return whether the parameters are those of the function.
bool take(CUgraphNode_st& node, const abi::KernelNode& from) {
  if (!from.function || !from.arguments) return false;
  node.function = from.function;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (from.groups[axis] == 0 || from.local[axis] == 0) return false;
    node.local[axis] = from.local[axis];
    node.global[axis] = std::size_t{from.local[axis]} * from.groups[axis];
  }
  node.arguments.clear();
  for (std::size_t i = 0; i < from.function->arguments; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, from.arguments[i], sizeof value);  // Tenon gives each argument 8 bytes.
    node.arguments.push_back(value);
  }
  return true;
}

/// Runs the kernel on the memory where it really lies. @param kept  Gets that memory.
bool run(const CUgraphNode_st& node, cl_command_queue queue, std::vector<std::shared_ptr<Physical>>& kept) {
  const cl_kernel kernel = CL(clCreateKernel)(node.function->program, node.function->name.c_str(), nullptr);
  if (!kernel) return false;
  bool is_right = true;
  for (cl_uint i = 0; is_right && i < node.arguments.size(); ++i) {
    const std::uint64_t value = node.arguments[i];
    if (find(value)) {  // No number is one of the device's addresses.
      const std::byte* const memory = resolve(value, 1, kept.emplace_back());
      is_right = memory && CL(clSetKernelArgSVMPointer)(kernel, i, memory) == CL_SUCCESS;
    } else {
      is_right = CL(clSetKernelArg)(kernel, i, sizeof(cl_ulong), &value) == CL_SUCCESS ||
                 CL(clSetKernelArg)(kernel, i, sizeof(cl_int), &value) == CL_SUCCESS;
    }
  }
  is_right = is_right && CL(clEnqueueNDRangeKernel)(queue, kernel, 3, nullptr, node.global.data(), node.local.data(), 0,
                                                    nullptr, nullptr) == CL_SUCCESS;
  CL(clReleaseKernel)(kernel);
  return is_right;
}

bool run(const std::vector<CUgraphNode_st>& nodes) {
  if (nodes.empty()) return true;
  const cl_program program = nodes.front().function->program;
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  CL(clGetProgramInfo)(program, CL_PROGRAM_CONTEXT, sizeof context, &context, nullptr);
  CL(clGetProgramInfo)(program, CL_PROGRAM_DEVICES, sizeof device, &device, nullptr);
  const cl_command_queue queue = CL(clCreateCommandQueueWithProperties)(context, device, nullptr, nullptr);
  std::vector<std::shared_ptr<Physical>> kept;
  bool is_right = queue != nullptr;
  for (const CUgraphNode_st& node : nodes) {
    LOCKED;
    is_right = is_right && run(node, queue, kept);
  }
  if (queue) {
    is_right = CL(clFinish)(queue) == CL_SUCCESS && is_right;
    CL(clReleaseCommandQueue)(queue);
  }
  return is_right;
}

}  // namespace

ENTRY cuModuleLoadData(abi::Module* out, const void* image) {
  void* program = nullptr;
  const char* const found = image ? std::strstr(static_cast<const char*>(image), "// program ") : nullptr;
  if (!out || !found || std::sscanf(found, "// program %p", &program) != 1) return abi::kInvalidValue;
  auto* const made = new CUmod_st;
  made->program = static_cast<cl_program>(program);
  CL(clRetainProgram)(made->program);
  return give(out, made);
}
ENTRY cuModuleUnload(abi::Module module) {
  if (!module) return abi::kInvalidHandle;
  CL(clReleaseProgram)(module->program);
  delete module;
  return abi::kSuccess;
}
ENTRY cuModuleGetFunction(abi::Function* out, abi::Module module, const char* name) {
  if (!out || !module || !name) return abi::kInvalidValue;
  const cl_kernel kernel = CL(clCreateKernel)(module->program, name, nullptr);
  if (!kernel) return abi::kInvalidValue;
  CUfunc_st& function = module->functions[name];
  function.program = module->program;
  function.name = name;
  CL(clGetKernelInfo)(kernel, CL_KERNEL_NUM_ARGS, sizeof function.arguments, &function.arguments, nullptr);
  CL(clReleaseKernel)(kernel);
  return give(out, &function);
}
ENTRY cuFuncSetAttribute(abi::Function function, int, int) { return function ? abi::kSuccess : abi::kInvalidHandle; }
ENTRY cuGraphCreate(abi::Graph* out, unsigned flags) {
  return out && flags == 0 ? give(out, new CUgraph_st) : abi::kInvalidValue;
}
ENTRY cuGraphDestroy(abi::Graph graph) {
  delete graph;
  return abi::kSuccess;
}
/// Nodes follow each other: a graph of this driver is a list.
ENTRY cuGraphAddKernelNode(abi::GraphNode* out, abi::Graph graph, const abi::GraphNode* after, std::size_t count,
                           const abi::KernelNode* node) {
  if (!out || !graph || !node) return abi::kInvalidValue;
  const bool is_next = graph->nodes.empty() ? count == 0 : count == 1 && after && *after == &graph->nodes.back();
  CUgraphNode_st made;
  if (!is_next || !take(made, *node)) return abi::kInvalidValue;
  return give(out, &graph->nodes.emplace_back(std::move(made)));
}
ENTRY cuGraphInstantiateWithFlags(abi::GraphExec* out, abi::Graph graph, unsigned long long) {
  if (!out || !graph) return abi::kInvalidValue;
  auto* const made = new CUgraphExec_st;
  for (CUgraphNode_st& node : graph->nodes) {
    made->places[&node] = made->nodes.size();
    made->nodes.push_back(node);
  }
  return give(out, made);
}
ENTRY cuGraphExecDestroy(abi::GraphExec exec) {
  delete exec;
  return abi::kSuccess;
}
ENTRY cuGraphExecKernelNodeSetParams(abi::GraphExec exec, abi::GraphNode node, const abi::KernelNode* params) {
  if (!exec || !node || !params) return abi::kInvalidValue;
  const auto found = exec->places.find(node);
  return found != exec->places.end() && take(exec->nodes[found->second], *params) ? abi::kSuccess : abi::kInvalidValue;
}
ENTRY cuGraphUpload(abi::GraphExec exec, abi::Stream stream) {
  LOCKED;
  return exec && stream_of(stream) ? abi::kSuccess : abi::kInvalidHandle;
}
ENTRY cuGraphLaunch(abi::GraphExec exec, abi::Stream stream) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  if (!exec || !queue) return abi::kInvalidHandle;
  queue->push([nodes = exec->nodes] {
    if (run(nodes)) return;
    std::fprintf(stderr, "cuda stand-in: a graph's kernels do not run\n");
    std::abort();
  });
  return abi::kSuccess;
}
