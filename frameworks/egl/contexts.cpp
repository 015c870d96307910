// SPDX-License-Identifier: Apache-2.0
// The contexts of the process.
#include <tenon/frameworks/egl/contexts.hpp>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {
namespace detail {

struct Found {
  std::vector<Context> contexts;
  std::string why_none;
};

TENON_INLINE const Found& found() {
  static const auto* all = [] {
    auto* made = new Found;  // Outlives static destructors.
    try {
      made->contexts.push_back(make_context());
    } catch (const Error& error) {
      made->why_none = error.what();
    }
    return made;
  }();
  return *all;
}

}  // namespace detail

TENON_INLINE std::vector<Context> contexts() { return detail::found().contexts; }
TENON_INLINE std::string why_none() { return detail::found().why_none; }

}  // namespace egl
}  // namespace v1
}  // namespace tenon
