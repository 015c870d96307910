// SPDX-License-Identifier: Apache-2.0
// Buffers over dma-bufs (cl_khr_external_memory_dma_buf), which the runtime lacks: it takes every property for a plain buffer. Sealed
// memfds are taken too. And memory that may be larger than the device's limit, which clients ask for on GPUs: the runtime refuses the
// flag, whatever the size.
#include <tenon/drivers/gpu/mapping.hpp>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::gpu_layer {
namespace {

// CL_EXTERNAL_MEMORY_HANDLE_*_KHR, and before them CL_DEVICE_HANDLE_LIST_KHR.
constexpr cl_mem_properties kDevices = 0x2051, kFirstHandle = 0x2060, kLastHandle = 0x2069;

/// CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL.
constexpr cl_mem_flags kUnrestrictedSize = cl_mem_flags{1} << 23;

cl_mem_flags known_flags(cl_context context, cl_mem_flags flags) {
  return flags & kUnrestrictedSize && is_presented(context) ? flags & ~kUnrestrictedSize : flags;
}
/// The descriptor among the properties. @return whether there is one; `status` if the list is not one of ours.
bool find_handle(const cl_mem_properties* properties, cl_mem_properties& handle, cl_int& status) {
  bool found = false;
  while (properties && *properties) {
    const cl_mem_properties key = *properties++;
    if (key == kDevices) {
      while (*properties) ++properties;
    } else if (key == kDmaBuf) {
      if (found) status = CL_INVALID_PROPERTY;
      handle = *properties;
      found = true;
    } else if (key >= kFirstHandle && key <= kLastHandle) {
      status = CL_INVALID_PROPERTY;  // A handle of a kind that is not imported.
    }
    ++properties;
  }
  return found;
}

cl_mem CL_API_CALL create_buffer(cl_context context, const cl_mem_properties* properties, cl_mem_flags flags,
                                 size_t size, void* host, cl_int* status_ret) {
  cl_mem_properties handle = 0;
  cl_int status = CL_SUCCESS;
  const bool found = find_handle(properties, handle, status);
  if ((!found && status == CL_SUCCESS) || !is_presented(context))
    return runtime.clCreateBufferWithProperties(context, properties, known_flags(context, flags), size, host,
                                                status_ret);
  constexpr cl_mem_flags kHost = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
  if (status == CL_SUCCESS && (host || (flags & kHost))) status = host ? CL_INVALID_HOST_PTR : CL_INVALID_VALUE;
  std::unique_ptr<Mapping> mapping(new (std::nothrow) Mapping);
  if (status == CL_SUCCESS) status = mapping ? mapping->map(static_cast<int>(handle), size) : CL_OUT_OF_HOST_MEMORY;
  cl_mem memory = nullptr;
  if (status == CL_SUCCESS)
    memory = runtime.clCreateBuffer(context, known_flags(context, flags) | CL_MEM_USE_HOST_PTR, size, mapping->address,
                                    &status);
  memory = with_mapping(memory, std::move(mapping), status);
  if (status_ret) *status_ret = status;
  return memory;
}

/// clEnqueueAcquireExternalMemObjectsKHR and Release: the memory is coherent, so that they only order commands.
cl_int CL_API_CALL acquire_or_release(cl_command_queue queue, cl_uint count, const cl_mem* memories, cl_uint waits,
                                      const cl_event* after, cl_event* event) {
  if ((count == 0) != (memories == nullptr)) return CL_INVALID_VALUE;
  return runtime.clEnqueueMarkerWithWaitList(queue, waits, after, event);
}

cl_mem CL_API_CALL create_plain_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                                       cl_int* status) {
  return runtime.clCreateBuffer(context, known_flags(context, flags), size, host, status);
}

/// The runtime's calls for USM, from when an application looks them up.
std::atomic<clHostMemAllocINTEL_fn> host_alloc;
std::atomic<clDeviceMemAllocINTEL_fn> device_alloc;
std::atomic<clSharedMemAllocINTEL_fn> shared_alloc;

/// Makes the call with the properties that the runtime knows.
template <typename Call>
void* with_known(const cl_mem_properties_intel* given, cl_int* status, Call call) {
  return guarded(status, [&] {
    std::vector<cl_mem_properties_intel> known;
    for (; given && *given; given += 2) {
      const bool flags = *given == CL_MEM_FLAGS;
      const cl_mem_properties_intel value = flags ? given[1] & ~kUnrestrictedSize : given[1];
      if (!flags || value != 0) known.insert(known.end(), {*given, value});
    }
    known.push_back(0);
    return call(known.size() > 1 ? known.data() : nullptr);
  });
}
void* CL_API_CALL alloc_host(cl_context context, const cl_mem_properties_intel* given, size_t size, cl_uint alignment,
                             cl_int* status) {
  return with_known(given, status, [&](const cl_mem_properties_intel* known) {
    return host_alloc.load()(context, known, size, alignment, status);
  });
}
void* CL_API_CALL alloc_device(cl_context context, cl_device_id device, const cl_mem_properties_intel* given,
                               size_t size, cl_uint alignment, cl_int* status) {
  return with_known(given, status, [&](const cl_mem_properties_intel* known) {
    return device_alloc.load()(context, device, known, size, alignment, status);
  });
}
void* CL_API_CALL alloc_shared(cl_context context, cl_device_id device, const cl_mem_properties_intel* given,
                               size_t size, cl_uint alignment, cl_int* status) {
  return with_known(given, status, [&](const cl_mem_properties_intel* known) {
    return shared_alloc.load()(context, device, known, size, alignment, status);
  });
}
/// Keeps the runtime's call, if it has it, and gives the layer's.
template <typename Call>
void* over(std::atomic<Call>& kept, void* found, Call own) {
  if (!found) return nullptr;
  kept = reinterpret_cast<Call>(found);
  return reinterpret_cast<void*>(own);
}
/// What an application gets for a call that the runtime's platform has.
void* known_function(std::string_view name, void* found) {
  if (name == "clHostMemAllocINTEL") return over(host_alloc, found, &alloc_host);
  if (name == "clDeviceMemAllocINTEL") return over(device_alloc, found, &alloc_device);
  if (name == "clSharedMemAllocINTEL") return over(shared_alloc, found, &alloc_shared);
  return found;
}

void* added_function(const char* name) {
  if (!name) return nullptr;
  const std::string_view wanted = name;
  return wanted == "clEnqueueAcquireExternalMemObjectsKHR" || wanted == "clEnqueueReleaseExternalMemObjectsKHR"
             ? reinterpret_cast<void*>(&acquire_or_release)
             : surface_function(wanted);
}
void* CL_API_CALL get_function_for_platform(cl_platform_id platform, const char* name) {
  const bool is_ours = name && is_presented(platform);  // Another platform has calls of its own under these names.
  if (void* added = is_ours ? added_function(name) : nullptr) return added;
  void* const found = runtime.clGetExtensionFunctionAddressForPlatform(platform, name);
  return is_ours ? known_function(name, found) : found;
}
void* CL_API_CALL get_function(const char* name) {
  void* added = added_function(name);
  return added ? added : runtime.clGetExtensionFunctionAddress(name);
}

void CL_CALLBACK destroy(cl_mem, void* mapping) { delete static_cast<Mapping*>(mapping); }

}  // namespace

Mapping::~Mapping() {
  if (address) ::munmap(address, bytes);
  if (dma_buf) sync(DMA_BUF_SYNC_END);
  if (fd >= 0) ::close(fd);
}

bool Mapping::sync(std::uint64_t when) const {
  dma_buf_sync range{};
  range.flags = when | DMA_BUF_SYNC_RW;
  return ::ioctl(fd, DMA_BUF_IOCTL_SYNC, &range) == 0;
}

// A file that another process cuts short would end this one: only what cannot shrink is mapped.
cl_int Mapping::map(int handle, std::size_t wanted) {
  fd = ::fcntl(handle, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return CL_INVALID_PROPERTY;
  dma_buf = sync(DMA_BUF_SYNC_START);
  const int seals = dma_buf ? 0 : ::fcntl(fd, F_GET_SEALS);
  if (!dma_buf && (seals < 0 || !(seals & F_SEAL_SHRINK))) return CL_INVALID_PROPERTY;
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size < 0) return CL_INVALID_PROPERTY;
  if (wanted == 0 || wanted > static_cast<std::size_t>(size)) return CL_INVALID_BUFFER_SIZE;
  void* mapped = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return CL_INVALID_PROPERTY;
  address = mapped;
  bytes = wanted;
  return CL_SUCCESS;
}

cl_mem with_mapping(cl_mem memory, std::unique_ptr<Mapping> mapping, cl_int& status) {
  if (!memory) return nullptr;
  status = runtime.clSetMemObjectDestructorCallback(memory, destroy, mapping.get());
  if (status == CL_SUCCESS) {
    mapping.release();
    return memory;
  }
  runtime.clReleaseMemObject(memory);
  return nullptr;
}

void install_memory(cl_icd_dispatch& table) {
  table.clCreateBuffer = create_plain_buffer;
  table.clCreateBufferWithProperties = create_buffer;
  table.clGetExtensionFunctionAddressForPlatform = get_function_for_platform;
  table.clGetExtensionFunctionAddress = get_function;
}

}  // namespace tenon::gpu_layer
