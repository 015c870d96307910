// SPDX-License-Identifier: Apache-2.0
// Dma-bufs, memfds and opaque descriptors.
#include <tenon/devices/gpu/remote/described_memory.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include <tenon/devices/gpu/public/remote_properties.hpp>
#include <tenon/devices/gpu/remote/params.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/opencl/external.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::gpu_device {

Tensor described_memory(const Gpu& gpu, const AnyMap& params, std::size_t size) {
  const Any* handle = find(params, intel_gpu::os_handle.name());
  const Any* pointer = find(params, intel_gpu::mem_handle.name());
  const std::intptr_t number = handle    ? handle->as<int>()
                               : pointer ? reinterpret_cast<std::intptr_t>(pointer->as<void*>())
                                         : -1;
  if (number < 0 || number > std::numeric_limits<int>::max() || ::fcntl(static_cast<int>(number), F_GETFD) < 0)
    throw AssertFailure("[GPU] External memory handle must be a valid file descriptor");
  const int fd = static_cast<int>(number);
  const bool sealed = ::fcntl(fd, F_GET_SEALS) >= 0;  // A memfd, which stands in for a dma-buf on kernels without.
  const FdKind kind = dmabuf::client::is_dmabuf(fd) ? FdKind::kDmabuf : sealed ? FdKind::kMemfd : FdKind::kOpaqueFd;
  const std::size_t bytes = std::max<std::size_t>(size, 1);
  Tensor imported = opencl::import_fd(gpu.context(), fd, kind, bytes, {element::u8, Shape{bytes}, {}});
  imported.memory()->wait_for(Access::kReadWrite, default_deadline());
  return imported;
}

}  // namespace tenon::inline v1::gpu_device
