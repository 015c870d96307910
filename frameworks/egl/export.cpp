// SPDX-License-Identifier: Apache-2.0
// An EGLImage over a texture, exported.
#include <tenon/frameworks/egl/export.hpp>

#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/egl/context.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {

TENON_INLINE ExportedTexture export_dmabuf(const Tensor& tensor) {
  const GLuint name = texture(tensor);
  const Ref<detail::Native>& native = detail::egl_context(tensor.context(), "export_dmabuf").native_ref();
  const Device& device = native->device();
  if (!device.exports_dmabuf)
    throw Error(Code::kUnimplemented,
                "egl::export_dmabuf: " + device.renderer +
                    " lacks EGL_MESA_image_dma_buf_export; allocate with frameworks/dmabuf, and map "
                    "that to egl");
  tensor.memory()->wait_for(Access::kRead, default_deadline());
  const detail::Calls& c = detail::calls();
  const auto what = [&] { return "exporting a texture of " + device.renderer; };
  ExportedTexture made;
  EGLImageKHR image = EGL_NO_IMAGE_KHR;
  native->run([&] {
    image = detail::egl_step("eglCreateImageKHR", what, [&] {
      return c.eglCreateImageKHR(native->display(), native->context(), EGL_GL_TEXTURE_2D_KHR,
                                 reinterpret_cast<EGLClientBuffer>(static_cast<std::uintptr_t>(name)), nullptr);
    });
  });
  detail::Probe::handles.fetch_add(1, std::memory_order_relaxed);
  const detail::OwnedTexture kept(native, 0, image);
  int fourcc = 0, planes = 0, fd = -1;
  EGLuint64KHR modifier = 0;
  detail::egl_step("eglExportDMABUFImageQueryMESA", what, [&] {
    return c.eglExportDMABUFImageQueryMESA(native->display(), image, &fourcc, &planes, &modifier);
  });
  if (planes != 1)
    throw Error(Code::kUnimplemented,
                "egl::export_dmabuf: the texture has " + std::to_string(planes) + " planes, and one is expected");
  EGLint pitch = 0, offset = 0;
  detail::egl_step("eglExportDMABUFImageMESA", what,
                   [&] { return c.eglExportDMABUFImageMESA(native->display(), image, &fd, &pitch, &offset); });
  made.fd = UniqueFd(fd);
  made.fourcc = static_cast<std::uint32_t>(fourcc);
  made.modifier = modifier;
  made.offset = static_cast<std::uint32_t>(offset), made.pitch = static_cast<std::uint32_t>(pitch);
  return made;
}

}  // namespace egl
}  // namespace v1
}  // namespace tenon
