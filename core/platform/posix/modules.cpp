// SPDX-License-Identifier: Apache-2.0
// dlopen and its kin.
#include <tenon/core/platform/modules.hpp>

#include <dlfcn.h>

namespace tenon {
inline namespace v1 {
namespace platform {

TENON_INLINE void* load_module(const std::filesystem::path& path, bool serves_others, std::string& why) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | (serves_others ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!library) {
    const char* const said = ::dlerror();
    why = said ? said : "the loader gives no reason";
  }
  return library;
}
TENON_INLINE void* symbol_of(void* library, const char* name) noexcept { return ::dlsym(library, name); }
TENON_INLINE std::filesystem::path module_of(const void* symbol) {
  Dl_info info{};
  return ::dladdr(symbol, &info) && info.dli_fname ? std::filesystem::path(info.dli_fname) : std::filesystem::path();
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
