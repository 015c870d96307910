// SPDX-License-Identifier: Apache-2.0
// dlopen and its kin.
#include <tenon/core/platform/modules.hpp>

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>

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

TENON_INLINE std::string build_of(const void* symbol) {
  struct Search {
    std::uintptr_t address;
    std::string found;
  } search{reinterpret_cast<std::uintptr_t>(symbol), {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        bool mine = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
          mine |= part.p_type == PT_LOAD && wanted.address >= begin && wanted.address < begin + part.p_memsz;
        }
        if (!mine) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_NOTE) continue;
          const char* at = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
          const char* end = at + part.p_memsz;
          while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* name = at + sizeof note;
            const char* value = name + (std::size_t{note.n_namesz} + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
              static constexpr char kDigits[] = "0123456789abcdef";
              for (std::size_t k = 0; k < note.n_descsz; ++k) {
                wanted.found += kDigits[static_cast<unsigned char>(value[k]) >> 4];
                wanted.found += kDigits[static_cast<unsigned char>(value[k]) & 15];
              }
              return 1;
            }
            at = value + (std::size_t{note.n_descsz} + 3) / 4 * 4;
          }
        }
        return 1;
      },
      &search);
  return search.found;
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
