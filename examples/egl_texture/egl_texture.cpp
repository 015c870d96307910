// SPDX-License-Identifier: Apache-2.0
// A program's own context of OpenGL ES draws into a texture, and Tenon reads it for the host: egl_texture. Exits with 77 if there is no EGL.
#include <EGL/egl.h>
#include <GLES3/gl3.h>

#include <cstdint>
#include <cstdio>
#include <exception>

#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/egl/egl.hpp>

namespace {

constexpr int kSkipped = 77;

int run() {
  tenon::Context own;
  try {
    own = tenon::egl::make_context();
  } catch (const tenon::Error& error) {
    std::printf("skipped: %s\n", error.what());
    return kSkipped;
  }
  // The program's context, current on this thread. It shares textures with Tenon's, which is current on another one.
  const EGLDisplay display = tenon::egl::display(own);
  eglBindAPI(EGL_OPENGL_ES_API);
  const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE};
  const EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, tenon::egl::share_group(own), &version[0]);
  if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) return 1;

  const tenon::Tensor picture = tenon::egl::allocate(own, tenon::element::u8, {256, 256, 4});
  tenon::egl::order(picture, tenon::Access::kReadWrite);
  GLuint framebuffer = 0;
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, tenon::egl::texture(picture), 0);
  glClearColor(1, 0.5f, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  tenon::egl::wrote(picture);  // Whatever reads the texture now waits for what was drawn.

  tenon::Router router;
  router.add(own);
  router.add(tenon::host_context());
  tenon::Ledger ledger;
  tenon::MapOptions options;
  options.ledger = &ledger;
  const tenon::Tensor seen = router.map(picture, tenon::host_context(), options);
  const auto* const pixel = seen.data<std::uint8_t>();
  std::printf("the first pixel is %d %d %d %d, copied %llu bytes\n%s", pixel[0], pixel[1], pixel[2], pixel[3],
              static_cast<unsigned long long>(ledger.total().copied), ledger.report().c_str());
  glDeleteFramebuffers(1, &framebuffer);
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(display, context);
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "egl_texture: %s\n", tenon::describe(error).c_str());
    return 1;
  }
}
