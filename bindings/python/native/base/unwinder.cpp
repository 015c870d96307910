// SPDX-License-Identifier: Apache-2.0
// Exceptions cross libraries, so all of a process must use one unwinder: libgcc's. GStreamer brings libunwind, whose functions have the same
// names, and PyGObject lets libraries that come later find them.
#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include <tenon/bindings/python/native/native.hpp>

namespace tenon::python {
namespace {

/// The library that an address is in; null: none.
const void* library_of(const void* address) {
  Dl_info info{};
  return address && ::dladdr(address, &info) ? info.dli_fbase : nullptr;
}

/// What a library's references to `name` are bound to; null: to nothing yet, or it has none.
const void* bound_in(const link_map& library, const char* name) {
  const ElfW(Rela)* relocations = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  std::size_t bytes = 0;
  for (const ElfW(Dyn)* each = library.l_ld; each->d_tag != DT_NULL; ++each) {
    const auto address = each->d_un.d_ptr;  // The loader made addresses of them.
    if (each->d_tag == DT_JMPREL) relocations = reinterpret_cast<const ElfW(Rela)*>(address);
    if (each->d_tag == DT_PLTRELSZ) bytes = each->d_un.d_val;
    if (each->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (each->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(address);
  }
  if (!relocations || !symbols || !strings) return nullptr;
  for (std::size_t i = 0; i < bytes / sizeof *relocations; ++i) {
    if (std::strcmp(strings + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name, name) != 0) continue;
    const void* const bound = *reinterpret_cast<const void* const*>(library.l_addr + relocations[i].r_offset);
    return library_of(bound) == reinterpret_cast<const void*>(library.l_addr)
               ? nullptr
               : bound;  // Its own: the way to the loader.
  }
  return nullptr;
}

/// Lets libraries that come later find libgcc's unwinder before others. @return false: it is too late, since the C++ library uses another
/// unwinder than this module, and the first exception would end the process.
bool take_unwinder() noexcept {
  constexpr const char* kLibgcc = "libgcc_s.so.1";
  if (void* const runtime = ::dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD)) {
    link_map* library = nullptr;
    ::dlinfo(runtime, RTLD_DI_LINKMAP, &library);
    const void* const theirs = library ? library_of(bound_in(*library, "_Unwind_RaiseException")) : nullptr;
    const void* const ours = library_of(::dlsym(RTLD_DEFAULT, "_Unwind_Resume"));
    ::dlclose(runtime);
    if (theirs && ours && theirs != ours) return false;
    // Where all use another one, that is right, too.
    void* const libgcc = ::dlopen(kLibgcc, RTLD_LAZY | RTLD_NOLOAD);
    if (libgcc && theirs == library_of(::dlsym(libgcc, "_Unwind_Resume")))
      ::dlopen(kLibgcc, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  }
  return true;
}

}  // namespace

void add_unwinder(nb::module_& module) { module.def("_take_unwinder", &take_unwinder); }

}  // namespace tenon::python
