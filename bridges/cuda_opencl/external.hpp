// SPDX-License-Identifier: Apache-2.0
// One import of CUDA's exported memory into a cl_context.
#pragma once

#include <cstddef>
#include <utility>

#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/opencl/client.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda_opencl {
namespace detail {

/// Acquired for OpenCL as long as it lives. NVIDIA's devices keep their memory coherent between APIs from kernel to
/// kernel, and points order the kernels: so, other than what OpenCL imports on its own, it is not handed back between
/// uses, and its views are standing.
class Import {
 public:
  /// @param fd  Stays the caller's. The caller has asked import_obstacle().
  /// @errors those of native calls; kDeadlineExceeded.
  Import(Ref<opencl::client::Native> native, int fd, std::size_t size, Deadline deadline)
      : native_(std::move(native)), buffer_(opencl::client::import_buffer(*native_, fd, FdKind::kCudaFd, size)) {
    const cl_mem buffer = buffer_.get();
    cl_event event = nullptr;
    opencl::client::check(opencl::client::call(native_->extensions.acquire, native_->transfers.get(), cl_uint{1},
                                               &buffer, cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
                          "clEnqueueAcquireExternalMemObjectsKHR", "taking CUDA's memory over");
    opencl::client::Handle<cl_event> taken(event);
    try {
      opencl::client::finish(std::move(taken), deadline);
    } catch (...) {
      give_back();
      throw;
    }
  }
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  ~Import() { give_back(); }
  cl_mem buffer() const { return buffer_.get(); }

 private:
  /// NVIDIA's clReleaseContext waits for ever for a buffer that was acquired and went without being released.
  void give_back() noexcept {
    const cl_mem buffer = buffer_.get();
    native_->extensions.release(native_->transfers.get(), 1, &buffer, 0, nullptr, nullptr);
    clFlush(native_->transfers.get());
  }

  Ref<opencl::client::Native> native_;
  opencl::client::Handle<cl_mem> buffer_;
};

}  // namespace detail
}  // namespace cuda_opencl
}  // namespace v1
}  // namespace tenon
