// SPDX-License-Identifier: Apache-2.0
// Loads the module that exports VA surfaces.
#include <tenon/elements/gstreamer/surfaces.hpp>

#include <string>

#include <tenon/core/module_files.hpp>
#include <tenon/core/platform/modules.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace gstreamer {
namespace {

using Make = Surfaces* (*)();

Make find_maker() {
  const auto folders = module_folders("TENON_ELEMENT_PATH", reinterpret_cast<const void*>(&known_elements));
  for (const auto& [name, path] : find_modules("libtenon_gstreamer_", folders)) {
    // The module is never closed, because GStreamer cannot be unloaded.
    std::string why;
    void* const library = platform::load_module(path, false, why);
    if (!library) continue;
    if (const auto make = reinterpret_cast<Make>(platform::symbol_of(library, TENON_SURFACES_SYMBOL))) return make;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Surfaces> load_surfaces() {
  static const Make make = find_maker();
  return std::unique_ptr<Surfaces>(make ? make() : nullptr);
}

}  // namespace gstreamer
}  // namespace elements
}  // namespace v1
}  // namespace tenon
