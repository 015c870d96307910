// SPDX-License-Identifier: Apache-2.0
// NT handles of sections, which a device that works in the host's memory has by its pages.
#include <tenon/devices/gpu/remote/described_memory.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/handle.hpp>
#include <tenon/core/host.hpp>
#include <tenon/devices/gpu/public/remote_properties.hpp>
#include <tenon/devices/gpu/remote/params.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::gpu_device {

Tensor described_memory(const Gpu& gpu, const AnyMap& params, std::size_t size) {
  const Any* handle = find(params, intel_gpu::os_handle.name());
  const Any* pointer = find(params, intel_gpu::mem_handle.name());
  // 32 bits of a handle are significant.
  const std::intptr_t number = handle    ? handle->as<int>()
                               : pointer ? reinterpret_cast<std::intptr_t>(pointer->as<void*>())
                                         : -1;
  if (number <= 0 || number > std::numeric_limits<int>::max())
    throw AssertFailure("[GPU] External memory handle must be a valid NT handle");
  if (gpu.native().coherency != opencl::Coherency::kStanding)
    throw NotImplemented(
        "GPU: " + gpu.native().device.name +
        " has memory of its own and imports no NT handle: cl_khr_external_memory_win32 is not among "
        "what Tenon knows. Map the memory (SharedMemory::import) and give the request a Tensor over it");
  const std::size_t bytes = std::max<std::size_t>(size, 1);
  UniqueHandle own = UniqueHandle::duplicate(UniqueHandle::from_number(static_cast<int>(number)));
  const Tensor section({element::u8, Shape{bytes}, {}}, SharedMemory::import(std::move(own), bytes));
  section.memory()->wait_for(Access::kReadWrite, default_deadline());
  MapOptions options;
  options.access = section.is_writable() ? Access::kReadWrite : Access::kRead;
  options.policy = ZeroCopy::kRequire;
  return gpu.router().map(section, gpu.context(), options);
}

}  // namespace tenon::inline v1::gpu_device
