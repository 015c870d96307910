// SPDX-License-Identifier: Apache-2.0
// The contexts of this machine.
#include <tenon/frameworks/d3d11/contexts.hpp>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/process_wide.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {
namespace detail {

/// Made once; kept by process_wide(), since each program and module has a copy of this code and its statics.
struct TheContexts {
  std::vector<Context> all;
  std::string why;
  TheContexts() {
    try {
      const Context made = wrap(make_device().get());
      all = {made, textures(made)};
    } catch (const Error& error) {
      why = error.what();
    }
  }
};
TENON_INLINE const TheContexts& the_contexts() { return process_wide<TheContexts>("tenon.d3d11.Contexts.1"); }

}  // namespace detail

TENON_INLINE std::vector<Context> contexts() { return detail::the_contexts().all; }
TENON_INLINE std::string why_none() { return detail::the_contexts().why; }

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
