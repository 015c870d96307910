// SPDX-License-Identifier: Apache-2.0
// CUDA's exported memory as cl_mem: cl_khr_external_memory with opaque descriptors.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/context.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda_opencl {
namespace detail {

// cl_khr_external_memory and its opaque descriptors: newer than some packaged headers.
inline constexpr std::string_view kExtension = "cl_khr_external_memory_opaque_fd";
inline constexpr cl_mem_properties kOpaqueFd = 0x2060;  ///< CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR.
using ExternalCall = cl_int(CL_API_CALL*)(cl_command_queue, cl_uint, const cl_mem*, cl_uint, const cl_event*,
                                          cl_event*);

/// The hand-over of a buffer between OpenCL and the API that made its memory. Null without the extension.
struct HandOver {
  ExternalCall acquire = nullptr, release = nullptr;
};
inline HandOver hand_over(const opencl::client::Native& native) {
  const auto find = [&](const char* name) {
    return reinterpret_cast<ExternalCall>(clGetExtensionFunctionAddressForPlatform(native.device.platform, name));
  };
  return {find("clEnqueueAcquireExternalMemObjectsKHR"), find("clEnqueueReleaseExternalMemObjectsKHR")};
}

/// A buffer over the memory behind `fd`, which is the driver's from then on, or still the caller's when this fails.
inline opencl::client::Handle<cl_mem> import_fd(const opencl::client::Native& native, int fd, std::size_t size) {
  const cl_mem_properties properties[] = {kOpaqueFd, static_cast<cl_mem_properties>(fd), 0};
  return opencl::client::Handle<cl_mem>(opencl::client::create(
      "clCreateBufferWithProperties",
      [&] { return "importing " + std::to_string(size) + " bytes of CUDA's memory on " + native.device.name; },
      clCreateBufferWithProperties, native.context.get(), static_cast<const cl_mem_properties*>(properties),
      cl_mem_flags{CL_MEM_READ_WRITE}, size, static_cast<void*>(nullptr)));
}

/// Whether the driver closes descriptors that it imports, as the extension says. Found out by a first import, which is
/// dropped: a driver that does not would leave one open for each import.
inline bool closes_descriptors(const opencl::client::Native& native, const UniqueFd& fd, std::size_t size) {
  static std::mutex mutex;
  static auto& known = *new std::map<cl_platform_id, bool>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(native.device.platform);
  if (found != known.end()) return found->second;
  UniqueFd given = fd.duplicate();
  import_fd(native, given.get(), size);
  const bool closed = ::fcntl(given.get(), F_GETFD) < 0;
  if (closed) static_cast<void>(given.release());
  return known[native.device.platform] = closed;
}

/// One import: acquired for OpenCL as long as it lives. NVIDIA's devices keep their memory coherent between APIs from
/// kernel to kernel, and points order the kernels: so it is not handed back between uses.
class Import {
 public:
  /// @param fd  Stays the caller's. @errors those of native calls; kDeadlineExceeded.
  Import(Ref<opencl::client::Native> native, const UniqueFd& fd, std::size_t size, Deadline deadline)
      : native_(std::move(native)), calls_(hand_over(*native_)) {
    const bool closes = closes_descriptors(*native_, fd, size);
    UniqueFd given = fd.duplicate();
    buffer_ = import_fd(*native_, given.get(), size);
    if (closes) static_cast<void>(given.release());
    if (!calls_.acquire || !calls_.release) return;  // An extension of its first drafts has no hand-over.
    const cl_mem buffer = buffer_.get();
    cl_event event = nullptr;
    opencl::client::check(opencl::client::call(calls_.acquire, native_->transfers.get(), cl_uint{1}, &buffer,
                                               cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
                          "clEnqueueAcquireExternalMemObjectsKHR", "taking CUDA's memory over");
    acquired_ = true;
    opencl::client::finish(opencl::client::Handle<cl_event>(event), deadline);
  }
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  ~Import() {
    if (!acquired_) return;
    const cl_mem buffer = buffer_.get();
    calls_.release(native_->transfers.get(), 1, &buffer, 0, nullptr, nullptr);
    clFlush(native_->transfers.get());
  }
  cl_mem buffer() const { return buffer_.get(); }

 private:
  Ref<opencl::client::Native> native_;
  HandOver calls_;
  opencl::client::Handle<cl_mem> buffer_;
  bool acquired_ = false;
};

}  // namespace detail
}  // namespace cuda_opencl
}  // namespace v1
}  // namespace tenon
