// SPDX-License-Identifier: Apache-2.0
// Keeps OpenVINO's libraries loaded once they have run.
#include <dlfcn.h>
#include <link.h>

#include <string>
#include <string_view>
#include <vector>

#include <tenon/devices/openvino/native.hpp>

namespace tenon::inline v1::openvino_device {

void keep_plugins_loaded() {
  std::vector<std::string> plugins;
  // dlopen inside the walk would wait for the walk's own lock.
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* found) {
        const std::string_view path = object->dlpi_name ? object->dlpi_name : "";
        const std::string_view file = path.substr(path.rfind('/') + 1);
        if (file.starts_with("libopenvino_")) static_cast<std::vector<std::string>*>(found)->emplace_back(path);
        return 0;
      },
      &plugins);
  for (const std::string& path : plugins) {
    // The NODELETE mark outlives the handle.
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)) ::dlclose(library);
  }
}

}  // namespace tenon::inline v1::openvino_device
