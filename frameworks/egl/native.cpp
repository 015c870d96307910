// SPDX-License-Identifier: Apache-2.0
// Finds the libraries and their calls, and turns codes into errors.
#include <tenon/frameworks/egl/native.hpp>

#include <dlfcn.h>

#include <cstring>

namespace tenon {
inline namespace v1 {
namespace egl {
namespace detail {

TENON_INLINE Loaded load() {
  Loaded loaded;
  // Never closed: drivers do not survive it.
  void* const library = ::dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const gles = ::dlopen("libGLESv2.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library || !gles) {
    const char* const why = ::dlerror();
    loaded.missing = std::string("egl: no library on this machine: ") + (why ? why : "libEGL.so.1") +
                     "; install it (Debian: libegl1 and libgles2) with a driver (libgl1-mesa-dri, or the vendor's)";
    return loaded;
  }
  using Find = __eglMustCastToProperFunctionPointerType (*)(const char*);
  const auto get = reinterpret_cast<Find>(::dlsym(library, "eglGetProcAddress"));
  const auto find = [&](auto& function, const char* name, bool needed) {
    void* found = ::dlsym(library, name);
    if (!found) found = ::dlsym(gles, name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    if (!function && get) function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get(name));
    if (!function && needed && loaded.missing.empty())
      loaded.missing = std::string("egl: the libraries have no ") + name + ": EGL 1.5 and OpenGL ES 3.1 have it";
  };
#define TENON_EGL_FIND(name, type) find(loaded.calls.egl##name, "egl" #name, true);
  TENON_EGL_CALLS(TENON_EGL_FIND)
#undef TENON_EGL_FIND
#define TENON_EGL_FIND(name, type) find(loaded.calls.egl##name, "egl" #name, false);
  TENON_EGL_EXTENSION_CALLS(TENON_EGL_FIND)
#undef TENON_EGL_FIND
#define TENON_GL_FIND(name, type) find(loaded.calls.gl##name, "gl" #name, true);
  TENON_GL_CALLS(TENON_GL_FIND)
#undef TENON_GL_FIND
  find(loaded.calls.glEGLImageTargetTexture2DOES, "glEGLImageTargetTexture2DOES", false);
  return loaded;
}

TENON_INLINE const Loaded& loaded() {
  static const auto* once = new Loaded(load());  // Outlives static destructors.
  return *once;
}

TENON_INLINE const Calls& calls() {
  if (!loaded().missing.empty()) throw Error(Code::kUnavailable, loaded().missing);
  return loaded().calls;
}

TENON_INLINE bool has_word(const char* list, const char* name) {
  if (!list) return false;
  const std::size_t size = std::strlen(name);
  for (const char* at = std::strstr(list, name); at; at = std::strstr(at + size, name))
    if ((at == list || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0')) return true;
  return false;
}

TENON_INLINE Code code_of(EGLint code) {
  switch (code) {
    case EGL_BAD_ALLOC:
    case GL_OUT_OF_MEMORY:
      return Code::kResourceExhausted;
    case EGL_NOT_INITIALIZED:
      return Code::kUnavailable;
    case EGL_BAD_ACCESS:
      return Code::kFailedPrecondition;
    case EGL_BAD_CONTEXT:
    case EGL_BAD_DISPLAY:
    case EGL_BAD_MATCH:
    case EGL_BAD_ATTRIBUTE:
    case EGL_BAD_PARAMETER:
    case GL_INVALID_ENUM:
    case GL_INVALID_VALUE:
      return Code::kInvalidArgument;
    case EGL_CONTEXT_LOST:
      return Code::kAborted;
    default:
      return Code::kInternal;
  }
}

}  // namespace detail

TENON_INLINE std::string result_name(EGLint code) {
  switch (code) {
#define TENON_EGL_NAME(name) \
  case name:                 \
    return #name;
    TENON_EGL_NAME(EGL_NOT_INITIALIZED)
    TENON_EGL_NAME(EGL_BAD_ACCESS)
    TENON_EGL_NAME(EGL_BAD_ALLOC)
    TENON_EGL_NAME(EGL_BAD_ATTRIBUTE)
    TENON_EGL_NAME(EGL_BAD_CONTEXT)
    TENON_EGL_NAME(EGL_BAD_DISPLAY)
    TENON_EGL_NAME(EGL_BAD_MATCH)
    TENON_EGL_NAME(EGL_BAD_PARAMETER)
    TENON_EGL_NAME(EGL_CONTEXT_LOST)
    TENON_EGL_NAME(GL_INVALID_ENUM)
    TENON_EGL_NAME(GL_INVALID_VALUE)
    TENON_EGL_NAME(GL_INVALID_OPERATION)
    TENON_EGL_NAME(GL_INVALID_FRAMEBUFFER_OPERATION)
    TENON_EGL_NAME(GL_OUT_OF_MEMORY)
#undef TENON_EGL_NAME
    default:
      return "a code of EGL's";
  }
}

namespace detail {

[[noreturn]] TENON_INLINE void fail(EGLint code, const char* call, const std::string& what) {
  throw Error(code_of(code), "egl: " + what + ": " + result_name(code), call, code);
}

}  // namespace detail
}  // namespace egl
}  // namespace v1
}  // namespace tenon
