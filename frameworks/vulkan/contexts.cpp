// SPDX-License-Identifier: Apache-2.0
// The contexts of the process.
#include <tenon/frameworks/vulkan/contexts.hpp>

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/native_calls.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

struct Found {
  std::vector<Context> contexts;
  std::string why_none;
};

TENON_INLINE Found find_contexts() {
  Found found;
  try {
    std::vector<std::string> names;
    const Ref<Instance> instance = Instance::process();
    for (const VkPhysicalDevice physical : instance->devices()) {
      try {
        Ref<Native> native = Native::make(instance, physical);
        const std::string name = distinct_name(names, typable(native->device().name));
        const Context buffers(make_ref<BufferContext>(std::move(native), name));
        found.contexts.push_back(buffers);
        found.contexts.push_back(images(buffers));
      } catch (const Error& error) {
        found.why_none = error.what();  // Others may do.
      }
    }
    if (found.contexts.empty() && found.why_none.empty())
      found.why_none = "vulkan: the loader finds no device; install a driver (Debian: mesa-vulkan-drivers)";
  } catch (const Error& error) {
    found.why_none = error.what();
  }
  return found;
}

TENON_INLINE const Found& found() {
  static const auto* all = new Found(find_contexts());  // Outlives static destructors.
  return *all;
}

}  // namespace detail

TENON_INLINE std::vector<Context> contexts() { return detail::found().contexts; }
TENON_INLINE std::string why_none() { return detail::found().why_none; }

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
