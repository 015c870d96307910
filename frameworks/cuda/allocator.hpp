// SPDX-License-Identifier: Apache-2.0
// An allocator for libraries that take one (torch.cuda.memory.CUDAPluggableAllocator): its memory has a descriptor, so that
// other APIs on the device use the library's tensors in place.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/cuda/contexts.hpp>
#include <tenon/frameworks/cuda/event.hpp>
#include <tenon/frameworks/cuda/make.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

namespace detail {

/// What pluggable_malloc() gave out.
struct GivenOut {
  std::mutex mutex;
  std::map<std::uintptr_t, Ref<Memory>> memories;
  static GivenOut& process() {
    static auto* const given = new GivenOut;  // Outlives static destructors.
    return *given;
  }
};

}  // namespace detail

/// New exported memory of a device's primary context; null when there is none, as C's callers expect. Each call makes at
/// least Device::export_granularity (2 MiB) and costs some 100 us: put a pool before it, as torch.cuda.MemPool is one.
/// @thread any.
inline void* pluggable_malloc(ssize_t size, int device, abi::Stream /*stream*/) noexcept {
  try {
    for (const Context& context : contexts()) {
      auto& cuda = *context.as<CudaContext>();
      if (cuda.native().device.ordinal != device) continue;
      Requirements wanted;
      wanted.size_bytes = static_cast<std::size_t>(size);
      Ref<Memory> made = cuda.allocate_exported(wanted);
      const auto data = static_cast<std::uintptr_t>(static_cast<const CudaMemory&>(*made).data());
      detail::GivenOut& given = detail::GivenOut::process();
      const std::lock_guard lock(given.mutex);
      given.memories.emplace(data, std::move(made));
      return reinterpret_cast<void*>(data);
    }
  } catch (const std::exception&) {
    // The caller reports it as "out of memory".
  }
  return nullptr;
}

/// Frees it when the work that is in `stream` now is done. Unknown pointers are ignored. @thread any.
inline void pluggable_free(void* data, ssize_t /*size*/, int /*device*/, abi::Stream stream) noexcept {
  detail::GivenOut& given = detail::GivenOut::process();
  Ref<Memory> memory;
  {
    const std::lock_guard lock(given.mutex);
    const auto found = given.memories.find(reinterpret_cast<std::uintptr_t>(data));
    if (found == given.memories.end()) return;
    memory = std::move(found->second);
    given.memories.erase(found);
  }
  try {
    memory->hazards().wrote(detail::record(memory->context().as<CudaContext>()->native_ref(), stream));
  } catch (const std::exception&) {
    // The driver is shutting down: nothing runs any more.
  }
}

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
