// SPDX-License-Identifier: Apache-2.0
// The calls of EGL and OpenGL ES: libEGL.so.1 loaded by name, codes become errors, and tests can make any call fail.
#pragma once

#include <string>
#include <type_traits>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl31.h>

#include <GLES2/gl2ext.h>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/native_calls.hpp>

// The calls that Tenon makes. Those of extensions are null where a library lacks them.
#define TENON_EGL_CALLS(X)                \
  X(GetDisplay, GETDISPLAY)               \
  X(Initialize, INITIALIZE)               \
  X(BindAPI, BINDAPI)                     \
  X(QueryString, QUERYSTRING)             \
  X(QueryContext, QUERYCONTEXT)           \
  X(CreateContext, CREATECONTEXT)         \
  X(DestroyContext, DESTROYCONTEXT)       \
  X(MakeCurrent, MAKECURRENT)             \
  X(GetCurrentContext, GETCURRENTCONTEXT) \
  X(GetError, GETERROR)
#define TENON_EGL_EXTENSION_CALLS(X)                        \
  X(GetPlatformDisplayEXT, GETPLATFORMDISPLAYEXT)           \
  X(CreateSyncKHR, CREATESYNCKHR)                           \
  X(DestroySyncKHR, DESTROYSYNCKHR)                         \
  X(ClientWaitSyncKHR, CLIENTWAITSYNCKHR)                   \
  X(WaitSyncKHR, WAITSYNCKHR)                               \
  X(DupNativeFenceFDANDROID, DUPNATIVEFENCEFDANDROID)       \
  X(CreateImageKHR, CREATEIMAGEKHR)                         \
  X(DestroyImageKHR, DESTROYIMAGEKHR)                       \
  X(ExportDMABUFImageQueryMESA, EXPORTDMABUFIMAGEQUERYMESA) \
  X(ExportDMABUFImageMESA, EXPORTDMABUFIMAGEMESA)           \
  X(QueryDmaBufModifiersEXT, QUERYDMABUFMODIFIERSEXT)
#define TENON_GL_CALLS(X)                           \
  X(GetError, GETERROR)                             \
  X(GetString, GETSTRING)                           \
  X(GetIntegerv, GETINTEGERV)                       \
  X(GenTextures, GENTEXTURES)                       \
  X(DeleteTextures, DELETETEXTURES)                 \
  X(IsTexture, ISTEXTURE)                           \
  X(BindTexture, BINDTEXTURE)                       \
  X(TexParameteri, TEXPARAMETERI)                   \
  X(TexStorage2D, TEXSTORAGE2D)                     \
  X(TexSubImage2D, TEXSUBIMAGE2D)                   \
  X(GetTexLevelParameteriv, GETTEXLEVELPARAMETERIV) \
  X(PixelStorei, PIXELSTOREI)                       \
  X(GenFramebuffers, GENFRAMEBUFFERS)               \
  X(DeleteFramebuffers, DELETEFRAMEBUFFERS)         \
  X(BindFramebuffer, BINDFRAMEBUFFER)               \
  X(FramebufferTexture2D, FRAMEBUFFERTEXTURE2D)     \
  X(CheckFramebufferStatus, CHECKFRAMEBUFFERSTATUS) \
  X(ReadPixels, READPIXELS)                         \
  X(Flush, FLUSH)                                   \
  X(Finish, FINISH)

namespace tenon {
inline namespace v1 {
namespace egl {
namespace detail {

/// Every native call passes through injected(), and every object is counted.
struct TENON_API EglCalls;
using Probe = CallProbe<EglCalls>;
inline constexpr EGLint kInjected = EGL_BAD_ALLOC;

/// The calls of the process's libraries.
struct Calls {
#define TENON_EGL_MEMBER(name, type) PFNEGL##type##PROC egl##name = nullptr;
  TENON_EGL_CALLS(TENON_EGL_MEMBER)
  TENON_EGL_EXTENSION_CALLS(TENON_EGL_MEMBER)
#undef TENON_EGL_MEMBER
#define TENON_GL_MEMBER(name, type) PFNGL##type##PROC gl##name = nullptr;
  TENON_GL_CALLS(TENON_GL_MEMBER)
#undef TENON_GL_MEMBER
  PFNGLEGLIMAGETARGETTEXTURE2DOESPROC glEGLImageTargetTexture2DOES = nullptr;
};

/// The libraries of this process, or why there are none.
struct Loaded {
  Calls calls;
  std::string missing;  ///< Empty: they work.
};

const Loaded& loaded();
/// @errors kUnavailable: no library.
const Calls& calls();

/// Whether `name` is a word of a list of extensions.
bool has_word(const char* list, const char* name);

/// @param code  One of EGL's or GL's.
[[noreturn]] void fail(EGLint code, const char* call, const std::string& what);

/// Runs a call of EGL that returns whether it succeeded.
template <typename What, typename Run>
auto egl_step(const char* call, const What& what, Run run) {
  if (Probe::injected()) fail(kInjected, call, what());
  auto result = run();
  if (!result) fail(calls().eglGetError(), call, what());
  return result;
}

/// Runs calls of GL, with a context current. Reports their first error.
template <typename What, typename Run>
void gl_step(const char* call, const What& what, Run run) {
  if (Probe::injected()) fail(kInjected, call, what());
  run();
  if (const GLenum error = calls().glGetError(); error != GL_NO_ERROR) {
    while (calls().glGetError() != GL_NO_ERROR) {
    }
    fail(static_cast<EGLint>(error), call, what());
  }
}

}  // namespace detail

/// "EGL_BAD_MATCH" or "GL_OUT_OF_MEMORY", for messages; "a code of EGL's" for others.
std::string result_name(EGLint code);

}  // namespace egl
}  // namespace v1
}  // namespace tenon
