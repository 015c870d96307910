// SPDX-License-Identifier: Apache-2.0
// Semaphores of other APIs for an OpenCL layer of tests: eventfds, which count, and fences, which stay signalled.
#pragma once

#include <tenon/frameworks/opencl/testing/layer.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

struct _cl_semaphore_khr {
  std::atomic<int> references{1};
  cl_context context = nullptr;
  int fd = -1;
  bool counts = true;  // An eventfd; else a fence, which stays signalled.
};

namespace layer {

using Semaphore = _cl_semaphore_khr;

constexpr cl_uint kSemaphoreOpaqueFd = 0x2055, kSemaphoreSyncFd = 0x2058;
constexpr cl_device_info kSemaphoreImports = 0x204D, kSemaphoreExports = 0x204E;
constexpr int kFenceTimeout_ms = 20'000;

static Semaphore* CL_API_CALL create_semaphore(cl_context context, const cl_properties* properties, cl_int* status) {
  auto made = std::make_unique<Semaphore>();
  made->context = context;
  cl_int result = CL_SUCCESS;
  for (const cl_properties* p = properties; *p; p += 2) {
    if (*p == 0x203D) continue;  // Its type: there is only one.
    if (*p == kSemaphoreOpaqueFd || *p == kSemaphoreSyncFd) {
      made->fd = static_cast<int>(p[1]);
      made->counts = *p == kSemaphoreOpaqueFd;
      if (::fcntl(made->fd, F_GETFD) < 0) result = CL_INVALID_VALUE;
    } else if (*p == 0x203F) {  // What it can be exported as: a list.
      if (p[1] != kSemaphoreOpaqueFd || p[2] != 0) result = CL_INVALID_VALUE;
      made->fd = ::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
      ++p;
    } else {
      result = CL_INVALID_PROPERTY;
    }
    if (result != CL_SUCCESS) break;
  }
  if (status) *status = result;
  return result == CL_SUCCESS ? made.release() : nullptr;
}
static cl_int CL_API_CALL release_semaphore(Semaphore* semaphore) {
  if (--semaphore->references == 0) {
    ::close(semaphore->fd);
    delete semaphore;
  }
  return CL_SUCCESS;
}

static cl_int CL_API_CALL wait_semaphores(cl_command_queue queue, cl_uint count, Semaphore* const* semaphores,
                                          const cl_ulong*, cl_uint after_count, const cl_event* after,
                                          cl_event* event) {
  cl_int status = CL_SUCCESS;
  std::vector<cl_event> all(after, after + after_count);
  for (cl_uint i = 0; i < count; ++i) {
    const cl_event signalled = next->clCreateUserEvent(context_of(queue), &status);
    if (!signalled) return status;
    all.push_back(signalled);
    next->clRetainEvent(signalled);
    ++semaphores[i]->references;
    std::thread([semaphore = semaphores[i], signalled] {
      struct pollfd entry = {semaphore->fd, POLLIN, 0};
      const bool ready = ::poll(&entry, 1, kFenceTimeout_ms) == 1;
      std::uint64_t taken = 0;
      if (ready && semaphore->counts && ::read(semaphore->fd, &taken, sizeof taken) != sizeof taken) taken = 0;
      next->clSetUserEventStatus(signalled, ready ? CL_COMPLETE : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
      next->clReleaseEvent(signalled);
      release_semaphore(semaphore);
    }).detach();
  }
  status = mark(queue, static_cast<cl_uint>(all.size()), all.data(), event);
  for (std::size_t i = after_count; i < all.size(); ++i) next->clReleaseEvent(all[i]);
  return status;
}
static void CL_CALLBACK set_semaphore(cl_event, cl_int, void* data) {
  auto* semaphore = static_cast<Semaphore*>(data);
  const std::uint64_t one = 1;
  if (::write(semaphore->fd, &one, sizeof one) < 0) std::abort();
  release_semaphore(semaphore);
}
static cl_int CL_API_CALL signal_semaphores(cl_command_queue queue, cl_uint count, Semaphore* const* semaphores,
                                            const cl_ulong*, cl_uint after_count, const cl_event* after,
                                            cl_event* event) {
  cl_event done = nullptr;
  const cl_int status = next->clEnqueueMarkerWithWaitList(queue, after_count, after, &done);
  if (status != CL_SUCCESS) return status;
  for (cl_uint i = 0; i < count; ++i) {
    ++semaphores[i]->references;
    next->clSetEventCallback(done, CL_COMPLETE, set_semaphore, semaphores[i]);
  }
  if (event)
    *event = done;
  else
    next->clReleaseEvent(done);
  return CL_SUCCESS;
}
static cl_int CL_API_CALL export_semaphore(Semaphore* semaphore, cl_device_id, cl_uint type, size_t size, void* value,
                                           size_t* size_ret) {
  if (type != kSemaphoreOpaqueFd || !semaphore->counts) return CL_INVALID_VALUE;
  const int fd = ::fcntl(semaphore->fd, F_DUPFD_CLOEXEC, 0);
  return fd < 0 ? CL_OUT_OF_RESOURCES : answer(&fd, 1, size, value, size_ret);
}

}  // namespace layer
