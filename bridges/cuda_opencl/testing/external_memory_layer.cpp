// SPDX-License-Identifier: Apache-2.0
// A layer of the OpenCL loader for tests: PoCL's device as a discrete GPU with cl_khr_external_memory, which imports the
// memfds that CUDA's stand-in exports. Its identity is only the UUID of the stand-in's first device.
// It ends the process when a buffer goes that was acquired and not released: NVIDIA's driver (580) waits for such for ever
// when the cl_context is released.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

const cl_icd_dispatch* below = nullptr;
cl_icd_dispatch layer{};

constexpr cl_device_info kImportTypes = 0x204F, kUuid = 0x106A, kLuidValid = 0x106C;
constexpr cl_mem_properties kOpaqueFd = 0x2060;

cl_int give(const void* value, std::size_t size, std::size_t room, void* out, std::size_t* needed) {
  if (needed) *needed = size;
  if (!out) return CL_SUCCESS;
  if (room < size) return CL_INVALID_VALUE;
  std::memcpy(out, value, size);
  return CL_SUCCESS;
}

cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info key, std::size_t room, void* out,
                               std::size_t* needed) {
  switch (key) {
    case CL_DEVICE_EXTENSIONS: {
      std::size_t size = 0;
      const cl_int status = below->clGetDeviceInfo(device, key, 0, nullptr, &size);
      if (status != CL_SUCCESS) return status;
      std::string text(size, '\0');
      below->clGetDeviceInfo(device, key, size, text.data(), nullptr);
      text.resize(std::strlen(text.c_str()));
      text += " cl_khr_device_uuid cl_khr_external_memory cl_khr_external_memory_opaque_fd";
      return give(text.c_str(), text.size() + 1, room, out, needed);
    }
    case CL_DEVICE_TYPE: {
      const cl_device_type type = CL_DEVICE_TYPE_GPU;
      return give(&type, sizeof type, room, out, needed);
    }
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
    case kLuidValid: {
      const cl_bool no = CL_FALSE;
      return give(&no, sizeof no, room, out, needed);
    }
    case kUuid:
      return give("tenon stand-in ", 16, room, out, needed);
    case kImportTypes: {
      const cl_uint type = static_cast<cl_uint>(kOpaqueFd);
      return give(&type, sizeof type, room, out, needed);
    }
    default:
      return below->clGetDeviceInfo(device, key, room, out, needed);
  }
}

std::mutex mutex;
std::map<cl_mem, int> acquired;  ///< How often, of imported buffers.

struct Mapping {
  void* bytes;
  std::size_t size;
  int fd;  ///< As NVIDIA's driver does it (580): the descriptor is the driver's, which closes it with the buffer.
};

cl_mem CL_API_CALL create_buffer(cl_context context, const cl_mem_properties* properties, cl_mem_flags flags,
                                 std::size_t size, void* host, cl_int* status) {
  if (!properties || properties[0] != kOpaqueFd)
    return below->clCreateBufferWithProperties(context, properties, flags, size, host, status);
  const int fd = static_cast<int>(properties[1]);
  struct stat about {};
  const auto fail = [&] {
    if (status) *status = CL_INVALID_VALUE;
    return static_cast<cl_mem>(nullptr);
  };
  if (::fstat(fd, &about) != 0 || static_cast<std::size_t>(about.st_size) < size) return fail();
  void* const bytes = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (bytes == MAP_FAILED) return fail();
  cl_mem made = below->clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, bytes, status);
  if (!made) {
    ::munmap(bytes, size);
    return nullptr;
  }
  below->clSetMemObjectDestructorCallback(
      made,
      [](cl_mem buffer, void* data) {
        {
          const std::lock_guard lock(mutex);
          if (acquired[buffer] != 0) {
            std::fprintf(stderr, "external_memory_layer: a buffer goes that was acquired and not released\n");
            std::abort();
          }
          acquired.erase(buffer);
        }
        const auto* mapping = static_cast<Mapping*>(data);
        ::munmap(mapping->bytes, mapping->size);
        ::close(mapping->fd);
        delete mapping;
      },
      new Mapping{bytes, size, fd});
  return made;
}

cl_int hand_over(cl_command_queue queue, cl_uint count, const cl_mem* buffers, cl_uint waits, const cl_event* list,
                 cl_event* event, int change) {
  if (count == 0 || !buffers) return CL_INVALID_VALUE;
  {
    const std::lock_guard lock(mutex);
    for (cl_uint i = 0; i < count; ++i)
      if (acquired[buffers[i]] + change < 0) return CL_INVALID_OPERATION;
    for (cl_uint i = 0; i < count; ++i) acquired[buffers[i]] += change;
  }
  return below->clEnqueueMarkerWithWaitList(queue, waits, list, event);
}
cl_int CL_API_CALL acquire(cl_command_queue queue, cl_uint count, const cl_mem* buffers, cl_uint waits,
                           const cl_event* list, cl_event* event) {
  return hand_over(queue, count, buffers, waits, list, event, 1);
}
cl_int CL_API_CALL release(cl_command_queue queue, cl_uint count, const cl_mem* buffers, cl_uint waits,
                           const cl_event* list, cl_event* event) {
  return hand_over(queue, count, buffers, waits, list, event, -1);
}

void* CL_API_CALL extension(cl_platform_id platform, const char* name) {
  if (std::strcmp(name, "clEnqueueAcquireExternalMemObjectsKHR") == 0) return reinterpret_cast<void*>(&acquire);
  if (std::strcmp(name, "clEnqueueReleaseExternalMemObjectsKHR") == 0) return reinterpret_cast<void*>(&release);
  return below->clGetExtensionFunctionAddressForPlatform(platform, name);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info key, std::size_t room,
                                                                                    void* out, std::size_t* needed) {
  if (key != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  return give(&version, sizeof version, room, out, needed);
}

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(cl_uint /*entries*/,
                                                                                 const cl_icd_dispatch* target,
                                                                                 cl_uint* entries,
                                                                                 const cl_icd_dispatch** out) {
  below = target;
  layer.clGetDeviceInfo = device_info;
  layer.clCreateBufferWithProperties = create_buffer;
  layer.clGetExtensionFunctionAddressForPlatform = extension;
  *entries = sizeof layer / sizeof(void*);
  *out = &layer;
  return CL_SUCCESS;
}
