// SPDX-License-Identifier: Apache-2.0
// What of this package cannot be loaded on this machine, and why: libraries that the system has not.
#include <dlfcn.h>

#include <map>
#include <string>
#include <utility>

#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/module_files.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon::python {
namespace {

/// Loads each module lib<kind>_<name>.so as its users would, and leaves it loaded.
void note_absent(const std::string& kind, const std::string& prefix, std::map<std::string, std::string>& absent) {
  const auto folders = module_folders("TENON_DEVICE_PATH", reinterpret_cast<const void*>(&find_modules));
  for (const auto& [name, path] : find_modules(prefix, folders)) {
    if (::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) continue;
    const char* const why = ::dlerror();
    absent.emplace(kind + name, why ? why : "the loader gives no reason");
  }
}

std::map<std::string, std::string> absent() {
  const Released released;  // Loading runs initialisers of other libraries.
  std::map<std::string, std::string> found;
  note_absent("device ", "libtenon_device_", found);
  note_absent("framework ", "libtenon_contexts_", found);
  elements::known_elements();  // Loads them.
  for (auto& [module, reason] : elements::absent_elements()) found.emplace("elements " + module, std::move(reason));
  return found;
}

}  // namespace

void add_absent(nb::module_& module) {
  module.def("absent", &absent,
             "What this package has but cannot load here, each with the reason: devices, frameworks and modules of "
             "elements whose libraries\n"
             "(FFmpeg, GStreamer, OpenCL...) the system lacks. For example {'elements kafka': 'librdkafka.so.1: cannot "
             "open shared object\n"
             "file...'}. A device that is loaded may still find no hardware: Core().available_devices says that.");
}

}  // namespace tenon::python
