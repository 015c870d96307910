// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer for tests (OPENCL_LAYERS): gives a CPU's platform memory and semaphores of other APIs by descriptor. The
// memory is mapped and truly shared. Commands on it are refused unless it was acquired, as drivers may do. The process ends
// where NVIDIA's clReleaseContext would wait for ever (driver 580): when an import goes that was acquired and not released, or
// a user event that was not set. SVM that is being freed keeps it from giving any, as with that driver.
//
// Programs may make commands fail: tenon_layer_event_status.
//
// TENON_OPENCL_LAYER, a list of words, makes it another driver:
//   apart     memory moves only when it is acquired and released, like that of a device with caches of its own
//   elsewhere imports succeed and give other memory; device memory over host pointers is a copy
//   unified   the device is a GPU that has the host's memory
//   pictures  images over imported memory have plain rows, too
//   surfaces  shares VA surfaces: a "VADisplay" is the address of a number of surfaces, whose planes are images of their number
//   keeps     an import leaves the descriptor to the application; without it, it takes the descriptor over and closes it
//   late      copies between buffers begin some milliseconds after they were enqueued
//   cuda      the device is a GPU, the first one of frameworks/cuda's stand-in: it has that UUID, memory of its own, and programs whose binaries
//             the stand-in takes
//   holds     it takes the descriptor over, and closes it with the buffer, as NVIDIA's driver does
//   silent    it refuses callbacks, as Wine's does, so it does not say when a buffer is gone
//   blocks    acquiring and releasing wait on the host for their events, and for what is in their queue, as with that driver, whose
//             extension it names; the process ends when that takes long
#include <tenon/frameworks/opencl/testing/layer.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <tenon/frameworks/opencl/testing/semaphores.hpp>
#include <tenon/frameworks/opencl/testing/surfaces.hpp>

namespace {

constexpr cl_uint kOpaqueFd = 0x2060, kDmabuf = 0x2067;
constexpr cl_device_info kMemoryImports = 0x204F, kLinearImageImports = 0x2052;
constexpr std::chrono::milliseconds kLate{5}, kLongest{5000};

using layer::answer;
using layer::context_of;
using layer::mark;
using layer::next;
using layer::table;

bool asked_for(const char* word) {
  const char* words = std::getenv("TENON_OPENCL_LAYER");
  return words && std::string(words).find(word) != std::string::npos;
}

/// An imported buffer: where it is mapped, and, if it is apart, the device's own copy.
struct Import {
  void* mapped = nullptr;
  std::size_t size = 0;
  void* own = nullptr;
  int acquired = 0;
  int fd = -1;  ///< Closed with the buffer.
};
// Never destroyed, like all maps here: the driver's threads call back while the process ends.
std::mutex& mutex = *new std::mutex;
std::map<cl_mem, Import>& imports = *new std::map<cl_mem, Import>;
using Arguments = std::map<cl_kernel, std::map<cl_uint, cl_mem>>;
Arguments& arguments = *new Arguments;

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info key, size_t size, void* value,
                                   size_t* size_ret) {
  const cl_uint memory[] = {kOpaqueFd, kDmabuf}, semaphores[] = {layer::kSemaphoreOpaqueFd, layer::kSemaphoreSyncFd};
  switch (key) {
    case kMemoryImports:
      return answer(memory, 2, size, value, size_ret);
    case kLinearImageImports:
      return answer(memory + 1, asked_for("pictures") ? 1 : 0, size, value, size_ret);
    case layer::kSemaphoreImports:
      return answer(semaphores, 2, size, value, size_ret);
    case layer::kSemaphoreExports:
      return answer(semaphores, 1, size, value, size_ret);
    case CL_DEVICE_TYPE:
      if (asked_for("unified") || asked_for("cuda")) {
        const cl_device_type type = CL_DEVICE_TYPE_GPU;
        return answer(&type, 1, size, value, size_ret);
      }
      break;
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
      if (asked_for("cuda")) {
        const cl_bool is_unified = CL_FALSE;
        return answer(&is_unified, 1, size, value, size_ret);
      }
      break;
    case CL_DEVICE_LUID_VALID_KHR:
      if (asked_for("cuda")) {
        const cl_bool has_luid = CL_FALSE;
        return answer(&has_luid, 1, size, value, size_ret);
      }
      break;
    case CL_DEVICE_UUID_KHR:
      if (asked_for("cuda")) return answer("tenon stand-in ", CL_UUID_SIZE_KHR, size, value, size_ret);
      break;
    case CL_DEVICE_EXTENSIONS: {
      std::string names =
          " cl_khr_external_memory cl_khr_external_memory_opaque_fd cl_khr_external_memory_dma_buf cl_khr_semaphore "
          "cl_khr_external_semaphore cl_khr_external_semaphore_opaque_fd cl_khr_external_semaphore_sync_fd";
      if (asked_for("cuda")) names += " cl_khr_device_uuid";
      if (asked_for("surfaces")) names += " cl_intel_va_api_media_sharing";
      if (asked_for("blocks")) names += " cl_nv_device_attribute_query";
      return layer::answer_extensions(device, names, size, value, size_ret);
    }
    default:
      break;
  }
  return next->clGetDeviceInfo(device, key, size, value, size_ret);
}

/// Ends the process.
[[noreturn]] void never_ends(const char* what) {
  std::fprintf(stderr, "external_layer: %s: a driver waits for that for ever\n", what);
  std::abort();
}

void CL_CALLBACK forget(cl_mem buffer, void*) {
  std::lock_guard lock(mutex);
  const auto found = imports.find(buffer);
  if (found == imports.end()) return;
  if (found->second.acquired > 0) never_ends("an import goes that was acquired and not released");
  ::munmap(found->second.mapped, found->second.size);
  std::free(found->second.own);
  if (found->second.fd >= 0) ::close(found->second.fd);
  imports.erase(found);
}

/// @param rows  Null: a buffer.
struct Rows {
  const cl_image_format* format;
  const cl_image_desc* desc;
};
cl_mem import(cl_context context, cl_mem_flags flags, std::size_t size, int fd, cl_int* status,
              const Rows* rows = nullptr) {
  Import made;
  made.size = size;
  const off_t end = ::lseek(fd, 0, SEEK_END);
  if (end < 0 || static_cast<std::size_t>(end) < size) {
    *status = CL_INVALID_VALUE;
    return nullptr;
  }
  made.mapped = asked_for("elsewhere")
                    ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                    : ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (made.mapped == MAP_FAILED) {
    *status = CL_INVALID_VALUE;
    return nullptr;
  }
  if (asked_for("apart")) made.own = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  void* const bytes = made.own ? made.own : made.mapped;
  cl_mem buffer =
      rows ? next->clCreateImage(context, flags | CL_MEM_USE_HOST_PTR, rows->format, rows->desc, bytes, status)
           : next->clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, bytes, status);
  if (!buffer) {
    ::munmap(made.mapped, size);
    std::free(made.own);
    return nullptr;
  }
  if (asked_for("holds")) made.fd = fd;
  {
    std::lock_guard lock(mutex);
    imports[buffer] = made;
  }
  next->clSetMemObjectDestructorCallback(buffer, forget, nullptr);
  if (!asked_for("keeps") && !asked_for("holds")) ::close(fd);
  return buffer;
}

/// The descriptor among the properties; -1: there is none, -2: something else is there.
int descriptor_in(const cl_mem_properties* properties) {
  int fd = -1;
  for (const cl_mem_properties* p = properties; p && *p;) {
    if (*p == kOpaqueFd || *p == kDmabuf) {
      fd = static_cast<int>(p[1]);
      p += 2;
    } else if (*p == 0x2051) {  // The list of devices.
      for (++p; *p; ++p) {
      }
      ++p;
    } else {
      return -2;
    }
  }
  return fd;
}
cl_mem CL_API_CALL create_buffer_with_properties(cl_context context, const cl_mem_properties* properties,
                                                 cl_mem_flags flags, size_t size, void* host, cl_int* status) {
  cl_int ignored = CL_SUCCESS;
  if (!status) status = &ignored;
  const int fd = descriptor_in(properties);
  if (fd == -1) return next->clCreateBuffer(context, flags, size, host, status);
  if (fd >= 0) return import(context, flags, size, fd, status);
  *status = CL_INVALID_PROPERTY;
  return nullptr;
}
cl_mem CL_API_CALL create_image_with_properties(cl_context context, const cl_mem_properties* properties,
                                                cl_mem_flags flags, const cl_image_format* format,
                                                const cl_image_desc* desc, void* host, cl_int* status) {
  cl_int ignored = CL_SUCCESS;
  if (!status) status = &ignored;
  const int fd = descriptor_in(properties);
  if (fd == -1) return next->clCreateImage(context, flags, format, desc, host, status);
  const Rows rows{format, desc};
  if (fd >= 0) return import(context, flags, desc->image_row_pitch * desc->image_height, fd, status, &rows);
  *status = CL_INVALID_PROPERTY;
  return nullptr;
}

std::set<cl_event>& unset = *new std::set<cl_event>;  ///< The application's user events.
cl_event CL_API_CALL create_user_event(cl_context context, cl_int* status) {
  const cl_event made = next->clCreateUserEvent(context, status);
  std::lock_guard lock(mutex);
  if (made) unset.insert(made);
  return made;
}
cl_int CL_API_CALL set_user_event_status(cl_event event, cl_int execution_status) {
  {
    std::lock_guard lock(mutex);
    unset.erase(event);
  }
  return next->clSetUserEventStatus(event, execution_status);
}
cl_int CL_API_CALL release_event(cl_event event) {
  {
    std::lock_guard lock(mutex);
    cl_uint references = 0;
    if (unset.count(event) &&
        next->clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, nullptr) == CL_SUCCESS)
      if (references == 1) never_ends("a user event goes that was not set");
  }
  return next->clReleaseEvent(event);
}

/// Queues that free SVM, until a marker is behind that, with their contexts.
std::map<cl_command_queue, cl_context>& freeing = *new std::map<cl_command_queue, cl_context>;
cl_int CL_API_CALL free_svm(cl_command_queue queue, cl_uint count, void** pointers,
                            void(CL_CALLBACK* by)(cl_command_queue, cl_uint, void**, void*), void* data,
                            cl_uint after_count, const cl_event* after, cl_event* event) {
  {
    std::lock_guard lock(mutex);
    freeing[queue] = context_of(queue);
  }
  return next->clEnqueueSVMFree(queue, count, pointers, by, data, after_count, after, event);
}
cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_uint count, const cl_event* after, cl_event* event) {
  {
    std::lock_guard lock(mutex);
    freeing.erase(queue);
  }
  return next->clEnqueueMarkerWithWaitList(queue, count, after, event);
}
void* CL_API_CALL allocate_svm(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  {
    std::lock_guard lock(mutex);
    if (std::any_of(freeing.begin(), freeing.end(), [&](const auto& each) { return each.second == context; }))
      return nullptr;
  }
  return next->clSVMAlloc(context, flags, size, alignment);
}
cl_int CL_API_CALL release_queue(cl_command_queue queue) {
  {
    std::lock_guard lock(mutex);
    freeing.erase(queue);
  }
  return next->clReleaseCommandQueue(queue);
}

/// A driver that copies behind host pointers, and says nothing.
cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* status) {
  if ((asked_for("elsewhere") || asked_for("cuda")) && (flags & CL_MEM_USE_HOST_PTR))
    flags = (flags & ~static_cast<cl_mem_flags>(CL_MEM_USE_HOST_PTR)) | CL_MEM_COPY_HOST_PTR;
  return next->clCreateBuffer(context, flags, size, host, status);
}

/// A binary that says where the program is: frameworks/cuda/testing/driver.cpp runs its kernels.
cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info key, size_t size, void* value,
                                    size_t* size_ret) {
  if (!asked_for("cuda") || (key != CL_PROGRAM_BINARY_SIZES && key != CL_PROGRAM_BINARIES))
    return next->clGetProgramInfo(program, key, size, value, size_ret);
  char text[64] = "";
  std::snprintf(text, sizeof text, "//\n.version 8.0\n// program %p\n", static_cast<void*>(program));
  const std::size_t length = std::strlen(text) + 1;
  if (key == CL_PROGRAM_BINARY_SIZES) return answer(&length, 1, size, value, size_ret);
  if (!value || size < sizeof(char*)) return CL_INVALID_VALUE;
  std::memcpy(*static_cast<char**>(value), text, length);
  return CL_SUCCESS;
}

/// Whether commands may use it now.
bool is_ours(cl_mem buffer) {
  std::lock_guard lock(mutex);
  const auto found = imports.find(buffer);
  return found == imports.end() || found->second.acquired > 0;
}

/// Moves the bytes of buffers that are apart when `after` is over; the command's end is a user event.
struct Move {
  std::vector<Import> imports;
  std::vector<cl_mem> buffers;  ///< Retained until the command has run.
  bool in = false;
  cl_event done = nullptr;
};
void CL_CALLBACK run(cl_event, cl_int status, void* data) {
  auto* move = static_cast<Move*>(data);
  for (const Import& each : move->imports) {
    if (!each.own) continue;
    std::memcpy(move->in ? each.own : each.mapped, move->in ? each.mapped : each.own, each.size);
  }
  for (const cl_mem each : move->buffers) next->clReleaseMemObject(each);
  next->clSetUserEventStatus(move->done, status < 0 ? status : CL_COMPLETE);
  next->clReleaseEvent(move->done);
  delete move;
}

/// Waits for these events, and for what is in the queue.
void wait_on_host(cl_command_queue queue, cl_uint count, const cl_event* events) {
  std::vector<cl_event> all(events, events + count);
  cl_event earlier = nullptr;
  next->clEnqueueMarkerWithWaitList(queue, 0, nullptr, &earlier);
  next->clFlush(queue);
  all.push_back(earlier);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  for (const cl_event each : all) {
    cl_int status = CL_QUEUED;
    while (next->clGetEventInfo(each, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) ==
               CL_SUCCESS &&
           status > CL_COMPLETE) {
      if (std::chrono::steady_clock::now() > end) never_ends("acquiring or releasing waits on the host");
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  next->clReleaseEvent(earlier);
}

cl_int hand_over(cl_command_queue queue, cl_uint count, const cl_mem* buffers, cl_uint after_count,
                 const cl_event* after, cl_event* event, int change) {
  if (asked_for("blocks")) wait_on_host(queue, after_count, after);
  auto move = std::make_unique<Move>();
  move->in = change > 0;
  {
    std::lock_guard lock(mutex);
    for (cl_uint i = 0; i < count; ++i) {
      const auto found = imports.find(buffers[i]);
      if (found == imports.end()) return CL_INVALID_MEM_OBJECT;
      if (found->second.acquired + change < 0) return CL_INVALID_OPERATION;
    }
    for (cl_uint i = 0; i < count; ++i) {
      Import& each = imports[buffers[i]];
      each.acquired += change;
      move->imports.push_back(each);
    }
  }
  cl_int status = CL_SUCCESS;
  const cl_event done = next->clCreateUserEvent(context_of(queue), &status);
  if (!done) return status;
  cl_event before = nullptr;
  if ((status = mark(queue, after_count, after, &before)) != CL_SUCCESS) return status;
  next->clRetainEvent(done);
  move->done = done;
  move->buffers.assign(buffers, buffers + count);
  for (const cl_mem each : move->buffers) next->clRetainMemObject(each);
  next->clSetEventCallback(before, CL_COMPLETE, run, move.release());
  next->clReleaseEvent(before);
  status = mark(queue, 1, &done, event);
  next->clReleaseEvent(done);
  next->clFlush(queue);
  return status;
}
cl_int CL_API_CALL acquire(cl_command_queue queue, cl_uint count, const cl_mem* buffers, cl_uint after_count,
                           const cl_event* after, cl_event* event) {
  return hand_over(queue, count, buffers, after_count, after, event, 1);
}
cl_int CL_API_CALL release(cl_command_queue queue, cl_uint count, const cl_mem* buffers, cl_uint after_count,
                           const cl_event* after, cl_event* event) {
  return hand_over(queue, count, buffers, after_count, after, event, -1);
}

cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                               size_t size, cl_uint count, const cl_event* after, cl_event* event) {
  if (!is_ours(from) || !is_ours(to)) return CL_INVALID_OPERATION;
  if (!asked_for("late"))
    return next->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, count, after, event);
  cl_int status = CL_SUCCESS;
  const cl_event gate = next->clCreateUserEvent(context_of(queue), &status);
  if (!gate) return status;
  std::vector<cl_event> all(after, after + count);
  all.push_back(gate);
  status = next->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, count + 1, all.data(), event);
  std::thread([gate] {
    std::this_thread::sleep_for(kLate);
    next->clSetUserEventStatus(gate, CL_COMPLETE);
    next->clReleaseEvent(gate);
  }).detach();
  return status;
}
cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem from, cl_bool blocking, size_t offset, size_t size,
                               void* to, cl_uint count, const cl_event* after, cl_event* event) {
  if (!is_ours(from)) return CL_INVALID_OPERATION;
  return next->clEnqueueReadBuffer(queue, from, blocking, offset, size, to, count, after, event);
}
void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                             size_t size, cl_uint count, const cl_event* after, cl_event* event, cl_int* status) {
  if (!is_ours(buffer)) {
    if (status) *status = CL_INVALID_OPERATION;
    return nullptr;
  }
  return next->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, after, event, status);
}
cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  if (size == sizeof(cl_mem) && value) {
    std::lock_guard lock(mutex);
    cl_mem buffer = nullptr;
    std::memcpy(&buffer, value, sizeof buffer);
    arguments[kernel][index] = imports.count(buffer) ? buffer : nullptr;
  }
  return next->clSetKernelArg(kernel, index, size, value);
}
cl_int CL_API_CALL release_kernel(cl_kernel kernel) {
  cl_uint references = 0;
  next->clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof references, &references, nullptr);
  if (references == 1) {
    std::lock_guard lock(mutex);
    arguments.erase(kernel);
  }
  return next->clReleaseKernel(kernel);
}

cl_int CL_API_CALL run_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t* offset,
                              const size_t* global, const size_t* local, cl_uint count, const cl_event* after,
                              cl_event* event) {
  {
    std::lock_guard lock(mutex);
    for (const auto& [index, buffer] : arguments[kernel]) {
      const auto found = imports.find(buffer);
      if (found != imports.end() && found->second.acquired == 0) return CL_INVALID_OPERATION;
    }
  }
  return next->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, count, after, event);
}

void* CL_API_CALL extension_function(cl_platform_id platform, const char* name) {
  const std::map<std::string, void*> ours = {
      {"clEnqueueAcquireExternalMemObjectsKHR", reinterpret_cast<void*>(acquire)},
      {"clEnqueueReleaseExternalMemObjectsKHR", reinterpret_cast<void*>(release)},
      {"clCreateSemaphoreWithPropertiesKHR", reinterpret_cast<void*>(layer::create_semaphore)},
      {"clReleaseSemaphoreKHR", reinterpret_cast<void*>(layer::release_semaphore)},
      {"clEnqueueWaitSemaphoresKHR", reinterpret_cast<void*>(layer::wait_semaphores)},
      {"clEnqueueSignalSemaphoresKHR", reinterpret_cast<void*>(layer::signal_semaphores)},
      {"clGetSemaphoreHandleForTypeKHR", reinterpret_cast<void*>(layer::export_semaphore)},
      {"clGetDeviceIDsFromVA_APIMediaAdapterINTEL", reinterpret_cast<void*>(layer::devices_of_display)},
      {"clCreateFromVA_APIMediaSurfaceINTEL", reinterpret_cast<void*>(layer::from_surface)},
      {"clEnqueueAcquireVA_APIMediaSurfacesINTEL", reinterpret_cast<void*>(layer::acquire_surfaces)},
      {"clEnqueueReleaseVA_APIMediaSurfacesINTEL", reinterpret_cast<void*>(layer::release_surfaces)}};
  const auto found = ours.find(name);
  return found != ours.end() ? found->second : next->clGetExtensionFunctionAddressForPlatform(platform, name);
}

}  // namespace

/// Other than 0: commands end with this status, as if they had failed.
extern "C" {
__attribute__((visibility("default"))) std::atomic<cl_int> tenon_layer_event_status{0};
}

namespace {

cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info key, size_t size, void* value, size_t* size_ret) {
  const cl_int status = next->clGetEventInfo(event, key, size, value, size_ret);
  const cl_int failure = tenon_layer_event_status;
  if (status == CL_SUCCESS && key == CL_EVENT_COMMAND_EXECUTION_STATUS && value && failure != 0) {
    auto& reported = *static_cast<cl_int*>(value);
    if (reported == CL_COMPLETE) reported = failure;
  }
  return status;
}

cl_int CL_API_CALL refuse_memory_callback(cl_mem, void(CL_CALLBACK*)(cl_mem, void*), void*) {
  return CL_INVALID_OPERATION;
}
cl_int CL_API_CALL refuse_event_callback(cl_event, cl_int, void(CL_CALLBACK*)(cl_event, cl_int, void*), void*) {
  return CL_INVALID_OPERATION;
}

}  // namespace

void layer::install() {
  if (asked_for("silent")) {
    table.clSetMemObjectDestructorCallback = refuse_memory_callback;
    table.clSetEventCallback = refuse_event_callback;
  }
  table.clGetDeviceInfo = get_device_info;
  table.clCreateContext = create_context;
  table.clCreateBuffer = create_buffer;
  table.clGetProgramInfo = get_program_info;
  table.clCreateUserEvent = create_user_event;
  table.clSetUserEventStatus = set_user_event_status;
  table.clReleaseEvent = release_event;
  table.clEnqueueSVMFree = free_svm;
  table.clEnqueueMarkerWithWaitList = enqueue_marker;
  table.clSVMAlloc = allocate_svm;
  table.clReleaseCommandQueue = release_queue;
  table.clEnqueueCopyImageToBuffer = copy_image_to_buffer;
  table.clCreateBufferWithProperties = create_buffer_with_properties;
  table.clCreateImageWithProperties = create_image_with_properties;
  table.clEnqueueCopyBuffer = copy_buffer;
  table.clEnqueueReadBuffer = read_buffer;
  table.clEnqueueMapBuffer = map_buffer;
  table.clSetKernelArg = set_kernel_arg;
  table.clReleaseKernel = release_kernel;
  table.clGetEventInfo = get_event_info;
  table.clEnqueueNDRangeKernel = run_kernel;
  table.clGetExtensionFunctionAddressForPlatform = extension_function;
}
