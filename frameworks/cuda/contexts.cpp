// SPDX-License-Identifier: Apache-2.0
// The contexts of the process, and the allocator for libraries that take one.
#include <tenon/frameworks/cuda/contexts.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/native_calls.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/cuda/allocator.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

TENON_INLINE std::vector<Context> find_contexts() {
  std::vector<Context> found;
  std::vector<std::string> names;
  if (!loaded().missing.empty()) return found;
  for (const Device& device : devices()) {
    try {
      found.push_back(make_context(device, distinct_name(names, typable(device.name))));
    } catch (const Error&) {
      // Skips devices on which the driver cannot make a context: others may use them alone.
    }
  }
  return found;
}

}  // namespace detail

TENON_INLINE std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

TENON_INLINE std::string why_none() {
  return detail::loaded().missing.empty() ? "the driver has no device on which it makes a context"
                                          : detail::loaded().missing;
}

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

TENON_INLINE void* pluggable_malloc(ssize_t size, int device, abi::Stream /*stream*/) noexcept {
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

TENON_INLINE void pluggable_free(void* data, ssize_t /*size*/, int /*device*/, abi::Stream stream) noexcept {
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
