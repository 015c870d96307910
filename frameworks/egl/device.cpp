// SPDX-License-Identifier: Apache-2.0
// The thread of a context, what its renderer can do, and textures.
#include <tenon/frameworks/egl/device.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/new_thread.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {
namespace detail {

inline constexpr Format kFormats[] = {
    {ElementType::kU8, 1, GL_R8, GL_RED, GL_UNSIGNED_BYTE, fourcc('R', '8', ' ', ' ')},
    {ElementType::kU8, 2, GL_RG8, GL_RG, GL_UNSIGNED_BYTE, fourcc('G', 'R', '8', '8')},
    {ElementType::kU8, 4, GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, fourcc('A', 'B', '2', '4')},
    {ElementType::kF16, 1, GL_R16F, GL_RED, GL_HALF_FLOAT, 0},
    {ElementType::kF16, 2, GL_RG16F, GL_RG, GL_HALF_FLOAT, 0},
    {ElementType::kF16, 4, GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT, 0},
    {ElementType::kF32, 1, GL_R32F, GL_RED, GL_FLOAT, 0},
    {ElementType::kF32, 2, GL_RG32F, GL_RG, GL_FLOAT, 0},
    {ElementType::kF32, 4, GL_RGBA32F, GL_RGBA, GL_FLOAT, 0},
};

TENON_INLINE const Format* format_of(ElementType type, std::size_t channels) {
  for (const Format& each : kFormats)
    if (each.type == type && each.channels == channels) return &each;
  return nullptr;
}

TENON_INLINE const Format* format_of(GLenum internal) {
  for (const Format& each : kFormats)
    if (each.internal == internal) return &each;
  return nullptr;
}

TENON_INLINE Ref<Native> Native::make() {
  const Calls& c = calls();
  const char* const client = c.eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  EGLDisplay display = EGL_NO_DISPLAY;
  if (has_word(client, "EGL_MESA_platform_surfaceless") && c.eglGetPlatformDisplayEXT)
    display = c.eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  if (display == EGL_NO_DISPLAY && has_word(client, "EGL_EXT_platform_device") && c.eglGetPlatformDisplayEXT)
    display = c.eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, EGL_DEFAULT_DISPLAY, nullptr);
  if (display == EGL_NO_DISPLAY) display = c.eglGetDisplay(EGL_DEFAULT_DISPLAY);
  if (display == EGL_NO_DISPLAY)
    throw Error(Code::kUnavailable, "egl: no display; install a driver (Debian: libgl1-mesa-dri)");
  // Never terminated: a display is the process's, and others may use it.
  EGLint major = 0, minor = 0;
  egl_step(
      "eglInitialize", [] { return "starting EGL (is a driver installed? Debian: libgl1-mesa-dri)"; },
      [&] { return c.eglInitialize(display, &major, &minor); });
  Ref<Native> native(new Native);
  native->open(display, EGL_NO_CONTEXT);
  return native;
}

TENON_INLINE Ref<Native> Native::over(EGLDisplay display, EGLContext share) {
  if (display == EGL_NO_DISPLAY || share == EGL_NO_CONTEXT)
    throw Error(Code::kInvalidArgument,
                std::string("egl::wrap: a null ") + (display == EGL_NO_DISPLAY ? "EGLDisplay" : "EGLContext"));
  Ref<Native> native(new Native);
  native->open(display, share);
  return native;
}

TENON_INLINE void Native::open(EGLDisplay display, EGLContext share) {
  const Calls& c = calls();
  display_ = display;
  const char* const extensions = c.eglQueryString(display, EGL_EXTENSIONS);
  const auto has = [&](const char* name) { return has_word(extensions, name); };
  if (!has("EGL_KHR_surfaceless_context") || !has("EGL_KHR_no_config_context"))
    throw Error(Code::kUnavailable,
                "egl: the display lacks EGL_KHR_surfaceless_context or EGL_KHR_no_config_context, which Tenon needs");
  device_.fences = has("EGL_KHR_fence_sync") && c.eglCreateSyncKHR && c.eglClientWaitSyncKHR && c.eglDestroySyncKHR;
  device_.native_fences = device_.fences && has("EGL_ANDROID_native_fence_sync") && c.eglDupNativeFenceFDANDROID;
  device_.imports_dmabuf = has("EGL_EXT_image_dma_buf_import") && c.eglCreateImageKHR && c.glEGLImageTargetTexture2DOES;
  device_.modifiers = device_.imports_dmabuf && has("EGL_EXT_image_dma_buf_import_modifiers");
  device_.exports_dmabuf = has("EGL_MESA_image_dma_buf_export") && has("EGL_KHR_gl_texture_2D_image") &&
                           c.eglExportDMABUFImageQueryMESA && c.eglExportDMABUFImageMESA && c.eglCreateImageKHR;
  if (!device_.fences)
    throw Error(Code::kUnavailable,
                "egl: the display lacks EGL_KHR_fence_sync, which Tenon needs to know when work ends");
  std::exception_ptr failed;
  std::unique_lock lock(mutex_);
  thread_ = new_thread("egl", [this, share, &failed] { loop(share, failed); });
  changed_.wait(lock, [&] { return is_open_ || failed; });
  lock.unlock();
  if (!failed) return;
  thread_.join();
  std::rethrow_exception(failed);
}

TENON_INLINE void Native::loop(EGLContext share, std::exception_ptr& failed) {
  const Calls& c = calls();
  try {
    const auto what = [] { return "making a context of OpenGL ES 3.1"; };
    egl_step("eglBindAPI", what, [&] { return c.eglBindAPI(EGL_OPENGL_ES_API); });
    const EGLint wanted[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 1, EGL_NONE};
    context_ = egl_step("eglCreateContext", what,
                        [&] { return c.eglCreateContext(display_, EGL_NO_CONFIG_KHR, share, &wanted[0]); });
    Probe::handles.fetch_add(1, std::memory_order_relaxed);
    egl_step("eglMakeCurrent", what,
             [&] { return c.eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_); });
    const auto text = [&](GLenum key) {
      const GLubyte* const value = c.glGetString(key);
      return std::string(value ? reinterpret_cast<const char*>(value) : "");
    };
    device_.renderer = text(GL_RENDERER);
    device_.vendor = text(GL_VENDOR);
    for (const char* software : {"llvmpipe", "softpipe", "swrast", "SwiftShader"})
      device_.is_cpu = device_.is_cpu || device_.renderer.find(software) != std::string::npos;
    GLint most = 0;
    c.glGetIntegerv(GL_MAX_TEXTURE_SIZE, &most);
    device_.largest_texture_px = static_cast<std::size_t>(std::max(most, 0));
    c.glPixelStorei(GL_PACK_ALIGNMENT, 1);
    c.glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    gl_step("glGenFramebuffers", what, [&] { c.glGenFramebuffers(1, &framebuffer_); });
    c.glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
    judge_formats();
  } catch (...) {
    if (context_) {
      c.eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
      c.eglDestroyContext(display_, context_);
      Probe::handles.fetch_sub(1, std::memory_order_relaxed);
    }
    const std::lock_guard lock(mutex_);
    failed = std::current_exception();
    changed_.notify_all();
    return;
  }
  std::unique_lock lock(mutex_);
  is_open_ = true;
  changed_.notify_all();
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) break;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
  lock.unlock();
  c.glDeleteFramebuffers(1, &framebuffer_);
  c.eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  c.eglDestroyContext(display_, context_);
  Probe::handles.fetch_sub(1, std::memory_order_relaxed);
}

TENON_INLINE Native::~Native() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();  // Work on the thread keeps no reference, so this runs elsewhere.
}

TENON_INLINE void Native::run(const std::function<void()>& work) {
  if (std::this_thread::get_id() == thread_.get_id()) return work();
  std::exception_ptr failed;
  bool done = false;
  std::unique_lock lock(mutex_);
  queue_.emplace_back([&] {
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard inner(mutex_);
    failed = thrown;
    done = true;
    changed_.notify_all();
  });
  changed_.notify_all();
  changed_.wait(lock, [&] { return done; });
  lock.unlock();
  if (failed) std::rethrow_exception(failed);
}

TENON_INLINE void Native::run_quietly(const std::function<void()>& work) noexcept {
  try {
    run(work);
  } catch (...) {
    // Releases report nothing.
  }
}

TENON_INLINE bool Native::has(const Format& format) const {
  return std::find(formats_.begin(), formats_.end(), &format) != formats_.end();
}

/// What the framebuffer reads back as it is; OpenGL ES promises two forms only, one of them the renderer's choice.
TENON_INLINE void Native::judge_formats() {
  const Calls& c = calls();
  for (const Format& format : kFormats) {
    GLuint texture = 0;
    c.glGenTextures(1, &texture);
    c.glBindTexture(GL_TEXTURE_2D, texture);
    c.glTexStorage2D(GL_TEXTURE_2D, 1, format.internal, 4, 4);
    c.glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
    GLint form = 0, pixels = 0;
    bool reads = c.glGetError() == GL_NO_ERROR && c.glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
    if (reads) {
      c.glGetIntegerv(GL_IMPLEMENTATION_COLOR_READ_FORMAT, &form);
      c.glGetIntegerv(GL_IMPLEMENTATION_COLOR_READ_TYPE, &pixels);
      const bool promised =
          format.format == GL_RGBA && (format.pixels == GL_UNSIGNED_BYTE || format.pixels == GL_FLOAT);
      reads = promised || (static_cast<GLenum>(form) == format.format && static_cast<GLenum>(pixels) == format.pixels);
    }
    c.glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, 0, 0);
    c.glDeleteTextures(1, &texture);
    while (c.glGetError() != GL_NO_ERROR) {
    }
    if (reads) formats_.push_back(&format);
  }
}

TENON_INLINE OwnedTexture::~OwnedTexture() {
  if (!native_) return;
  if (texture_) {
    native_->run_quietly([&] { calls().glDeleteTextures(1, &texture_); });
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  if (image_ != EGL_NO_IMAGE_KHR) {
    calls().eglDestroyImageKHR(native_->display(), image_);
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
}

/// A name with the filters of a texture of one level. On the thread.
TENON_INLINE GLuint begin_texture(const Native&) {
  const Calls& c = calls();
  GLuint texture = 0;
  gl_step(
      "glGenTextures", [] { return std::string("making a texture"); }, [&] { c.glGenTextures(1, &texture); });
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
  c.glBindTexture(GL_TEXTURE_2D, texture);
  c.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  c.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  return texture;
}

TENON_INLINE OwnedTexture make_texture(const Ref<Native>& native, const Format& format, std::size_t width,
                                       std::size_t height) {
  GLuint texture = 0;
  native->run([&] { texture = begin_texture(*native); });
  OwnedTexture owned(native, texture);
  native->run([&] {
    const Calls& c = calls();
    c.glBindTexture(GL_TEXTURE_2D, texture);
    gl_step(
        "glTexStorage2D",
        [&] {
          return "making a texture of " + std::to_string(width) + "x" + std::to_string(height) + " px on " +
                 native->device().renderer;
        },
        [&] {
          c.glTexStorage2D(GL_TEXTURE_2D, 1, format.internal, static_cast<GLsizei>(width),
                           static_cast<GLsizei>(height));
        });
  });
  return owned;
}

TENON_INLINE OwnedTexture import_texture(const Ref<Native>& native, int fd, const Format& format, std::size_t width,
                                         std::size_t height, std::size_t offset, std::size_t pitch,
                                         std::uint64_t modifier) {
  const Calls& c = calls();
  std::vector<EGLint> wanted{EGL_WIDTH,
                             static_cast<EGLint>(width),
                             EGL_HEIGHT,
                             static_cast<EGLint>(height),
                             EGL_LINUX_DRM_FOURCC_EXT,
                             static_cast<EGLint>(format.fourcc),
                             EGL_DMA_BUF_PLANE0_FD_EXT,
                             fd,
                             EGL_DMA_BUF_PLANE0_OFFSET_EXT,
                             static_cast<EGLint>(offset),
                             EGL_DMA_BUF_PLANE0_PITCH_EXT,
                             static_cast<EGLint>(pitch)};
  if (native->device().modifiers)
    for (const EGLint word : {EGLint{EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT}, static_cast<EGLint>(modifier & 0xffffffffu),
                              EGLint{EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT}, static_cast<EGLint>(modifier >> 32)})
      wanted.push_back(word);
  wanted.push_back(EGL_NONE);
  const auto what = [&] {
    return "importing a picture of " + std::to_string(width) + "x" + std::to_string(height) + " px by its dma-buf on " +
           native->device().renderer;
  };
  const EGLImageKHR image = egl_step("eglCreateImageKHR", what, [&] {
    return c.eglCreateImageKHR(native->display(), EGL_NO_CONTEXT, EGL_LINUX_DMA_BUF_EXT, nullptr, wanted.data());
  });
  Probe::handles.fetch_add(1, std::memory_order_relaxed);
  GLuint texture = 0;
  try {
    native->run([&] { texture = begin_texture(*native); });
  } catch (...) {
    OwnedTexture dropped(native, 0, image);
    throw;
  }
  OwnedTexture owned(native, texture, image);
  native->run([&] {
    c.glBindTexture(GL_TEXTURE_2D, texture);
    gl_step("glEGLImageTargetTexture2DOES", what, [&] { c.glEGLImageTargetTexture2DOES(GL_TEXTURE_2D, image); });
  });
  return owned;
}

TENON_INLINE void read_rectangle(Native& native, GLuint texture, const Format& format, std::size_t x, std::size_t y,
                                 std::size_t width, std::size_t height, void* rows) {
  native.run([&] {
    const Calls& c = calls();
    const auto what = [&] { return "reading a texture on " + native.device().renderer; };
    c.glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
    gl_step("glReadPixels", what, [&] {
      c.glReadPixels(static_cast<GLint>(x), static_cast<GLint>(y), static_cast<GLsizei>(width),
                     static_cast<GLsizei>(height), format.format, format.pixels, rows);
    });
    c.glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, 0, 0);
  });
}

TENON_INLINE void write_rectangle(Native& native, GLuint texture, const Format& format, std::size_t x, std::size_t y,
                                  std::size_t width, std::size_t height, const void* rows) {
  native.run([&] {
    const Calls& c = calls();
    const auto what = [&] { return "writing a texture on " + native.device().renderer; };
    c.glBindTexture(GL_TEXTURE_2D, texture);
    gl_step("glTexSubImage2D", what, [&] {
      c.glTexSubImage2D(GL_TEXTURE_2D, 0, static_cast<GLint>(x), static_cast<GLint>(y), static_cast<GLsizei>(width),
                        static_cast<GLsizei>(height), format.format, format.pixels, rows);
    });
    // Contexts of the share group see it from here on, and so do users of a dma-buf behind it.
    c.glFinish();
  });
}

/// Writes by the host and copies by the renderer, through one dma-buf or its stand-in. Empty when all is well.
TENON_INLINE std::string Native::try_dmabuf() {
  constexpr std::size_t kWidth = 64, kSize = 4096;
  const Format& format = *format_of(ElementType::kU8, 4);
  try {
    const Ref<Memory> memory = dmabuf::allocate(dmabuf::allocators().front(), kSize);
    const Tensor bytes({ElementType::kU8, {kSize}, {}}, memory);
    const auto on_host = [&](auto&& use) {
      dmabuf::CpuAccess access(bytes, Access::kReadWrite);
      const bool result = use(static_cast<std::byte*>(access.data()));
      access.end();
      return result;
    };
    const auto holds = [](const std::byte* data, int value) {
      return std::all_of(data, data + kSize, [&](std::byte b) { return b == static_cast<std::byte>(value); });
    };
    on_host([](std::byte* data) { return std::memset(data, 0x5a, kSize) != nullptr; });
    const OwnedTexture texture = import_texture(Ref<Native>(this), memory->borrow_fd(), format, kWidth,
                                                kSize / 4 / kWidth, 0, kWidth * 4, kModifierLinear);
    std::vector<std::byte> rows(kSize);
    read_rectangle(*this, texture.get(), format, 0, 0, kWidth, kSize / 4 / kWidth, rows.data());
    bool same = holds(rows.data(), 0x5a);
    std::memset(rows.data(), 0xc3, kSize);
    write_rectangle(*this, texture.get(), format, 0, 0, kWidth, kSize / 4 / kWidth, rows.data());
    same = on_host([&](const std::byte* data) { return holds(data, 0xc3); }) && same;
    if (!same)
      return device_.renderer + " says that it imports dma-bufs, and has other memory than theirs (an alias test)";
  } catch (const Error& error) {
    if (error.native_code() == kInjected) throw;
    return device_.renderer + " says that it imports dma-bufs, and a test did not succeed: " + error.what();
  }
  return {};
}

TENON_INLINE const std::string& Native::dmabuf_obstacle(bool stand_in) {
  std::call_once(dmabuf_once_, [this] {
    if (!device_.imports_dmabuf) {
      dmabuf_obstacle_ = stand_in_obstacle_ = device_.renderer + " lacks EGL_EXT_image_dma_buf_import";
      return;
    }
    if (dmabuf::allocators().front().kind == dmabuf::Allocator::Kind::kStandIn)
      stand_in_obstacle_ = device_.renderer + " imports dma-bufs, and a memfd is none";
    else
      dmabuf_obstacle_ = try_dmabuf(), stand_in_obstacle_ = device_.renderer + " imports dma-bufs, and a memfd is none";
  });
  return stand_in ? stand_in_obstacle_ : dmabuf_obstacle_;
}

}  // namespace detail
}  // namespace egl
}  // namespace v1
}  // namespace tenon
