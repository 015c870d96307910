// SPDX-License-Identifier: Apache-2.0
// One EGLDisplay with a context of OpenGL ES that is current on a thread of its own, because GL's calls belong to a thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/egl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {

/// What a display and its renderer are and can do.
struct Device {
  std::string renderer, vendor;
  bool fences = false;          ///< EGL_KHR_fence_sync.
  bool native_fences = false;   ///< EGL_ANDROID_native_fence_sync.
  bool imports_dmabuf = false;  ///< EGL_EXT_image_dma_buf_import.
  bool modifiers = false;       ///< EGL_EXT_image_dma_buf_import_modifiers.
  bool exports_dmabuf = false;  ///< EGL_MESA_image_dma_buf_export.
  std::size_t largest_texture_px = 0;
  /// Whether the renderer is the CPU: copies then cross no bus.
  bool is_cpu = false;
};

namespace detail {

/// How elements are a texture.
struct Format {
  ElementType type;
  std::size_t channels;
  GLenum internal, format, pixels;  ///< GL_R8, GL_RED, GL_UNSIGNED_BYTE.
  std::uint32_t fourcc;             ///< DRM's name of the same bytes; 0: none.
};
/// Null where there is none.
const Format* format_of(ElementType type, std::size_t channels);
const Format* format_of(GLenum internal);

/// The thread of one context. @thread all members from any thread.
class Native final : public RefCounted {
 public:
  /// A display without a window system. @errors kUnavailable: no library, no driver; those of native calls.
  static Ref<Native> make();
  /// A context that shares textures with the user's. @errors kInvalidArgument: null; those of native calls.
  static Ref<Native> over(EGLDisplay display, EGLContext share);
  ~Native() override;

  const Device& device() const { return device_; }
  EGLDisplay display() const { return display_; }
  EGLContext context() const { return context_; }
  GLuint framebuffer() const { return framebuffer_; }
  /// Formats that can be read back.
  bool has(const Format& format) const;
  /// Runs `work` on the thread, where the context is current, and waits. @errors those of `work`.
  void run(const std::function<void()>& work);
  /// As run(), where nothing may fail.
  void run_quietly(const std::function<void()>& work) noexcept;

  /// Why dma-bufs, or memfds that stand in for them, are not imported; empty when they are. The first call tries it.
  const std::string& dmabuf_obstacle(bool stand_in);

 private:
  Native() = default;
  void open(EGLDisplay display, EGLContext share);
  void loop(EGLContext share, std::exception_ptr& failed);
  void judge_formats();
  std::string try_dmabuf();

  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLContext context_ = EGL_NO_CONTEXT;
  GLuint framebuffer_ = 0;
  Device device_;
  std::vector<const Format*> formats_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool ending_ = false, is_open_ = false;
  std::thread thread_;
  std::once_flag dmabuf_once_;
  std::string dmabuf_obstacle_, stand_in_obstacle_;
};

/// One texture, or an EGLImage with the texture over it.
class OwnedTexture {
 public:
  OwnedTexture() = default;
  OwnedTexture(Ref<Native> native, GLuint texture, EGLImageKHR image = EGL_NO_IMAGE_KHR)
      : native_(std::move(native)), texture_(texture), image_(image) {}
  OwnedTexture(OwnedTexture&& other) noexcept
      : native_(std::move(other.native_)),
        texture_(std::exchange(other.texture_, 0)),
        image_(std::exchange(other.image_, EGL_NO_IMAGE_KHR)) {}
  OwnedTexture& operator=(OwnedTexture&&) = delete;
  ~OwnedTexture();
  GLuint get() const { return texture_; }

 private:
  Ref<Native> native_;
  GLuint texture_ = 0;
  EGLImageKHR image_ = EGL_NO_IMAGE_KHR;
};

/// A new texture. @errors those of native calls.
OwnedTexture make_texture(const Ref<Native>& native, const Format& format, std::size_t width, std::size_t height);

/// A picture in a dma-buf as a texture; `fd` stays the caller's. @errors those of native calls.
OwnedTexture import_texture(const Ref<Native>& native, int fd, const Format& format, std::size_t width,
                            std::size_t height, std::size_t offset, std::size_t pitch, std::uint64_t modifier);

/// Copies a rectangle of a texture to packed rows, or from them. @errors those of native calls.
void read_rectangle(Native& native, GLuint texture, const Format& format, std::size_t x, std::size_t y,
                    std::size_t width, std::size_t height, void* rows);
void write_rectangle(Native& native, GLuint texture, const Format& format, std::size_t x, std::size_t y,
                     std::size_t width, std::size_t height, const void* rows);

}  // namespace detail
}  // namespace egl
}  // namespace v1
}  // namespace tenon
