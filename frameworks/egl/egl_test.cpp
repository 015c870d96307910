// SPDX-License-Identifier: Apache-2.0
// Textures: copies by GL, a user's share group, fences, and refusals with reasons.
#include <tenon/frameworks/egl/client.hpp>
#include <tenon/frameworks/egl/contexts.hpp>
#include <tenon/frameworks/egl/edges.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstring>
#include <numeric>
#include <span>
#include <thread>

#include <tenon/core/deferred.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>

#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::egl {
namespace egl_test {

using ::testing::HasSubstr;

std::vector<std::uint8_t> counted(std::size_t size, std::uint8_t from) {
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), from);
  return bytes;
}
std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  std::vector<std::uint8_t> bytes(tensor.size_bytes());
  tensor.context()->read(tensor, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}
void write(const Tensor& tensor, const std::vector<std::uint8_t>& bytes) {
  tensor.context()->write(tensor, std::as_bytes(std::span(bytes)));
}

/// Checks that handles are released at the end. Skipped, with the reason, where there is no EGL.
class Egl : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      make_context();  // What a driver sets up once.
      handles_before_ = client::Probe::handles;
      context = make_context();
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      GTEST_SKIP() << error.what();
    }
    router->add(context);
    router->add(host_context());
  }
  void TearDown() override {
    client::Probe::countdown = 0;
    if (!context) return;
    router.reset();
    context = {};
    EXPECT_TRUE(drain_deferred(default_deadline()));
    EXPECT_EQ(client::Probe::handles, handles_before_) << "handles were left behind, or given back twice";
  }
  Context context;
  std::unique_ptr<Router> router = std::make_unique<Router>();

 private:
  std::size_t handles_before_ = 0;
};

/// A user's context of the share group of `context`, current on this thread as long as it lives.
class UsersContext {
 public:
  explicit UsersContext(const Context& context, bool shares = true) : display_(display(context)) {
    const detail::Calls& c = detail::calls();
    c.eglBindAPI(EGL_OPENGL_ES_API);
    const EGLint wanted[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE};
    context_ =
        c.eglCreateContext(display_, EGL_NO_CONFIG_KHR, shares ? share_group(context) : EGL_NO_CONTEXT, &wanted[0]);
    c.eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_);
  }
  UsersContext(const UsersContext&) = delete;
  ~UsersContext() {
    detail::calls().eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    detail::calls().eglDestroyContext(display_, context_);
  }
  EGLContext get() const { return context_; }
  EGLDisplay display_of() const { return display_; }
  /// Draws one colour into a texture.
  static void clear(GLuint texture, float red) {
    const detail::Calls& c = detail::calls();
    static const auto colour = reinterpret_cast<PFNGLCLEARCOLORPROC>(find("glClearColor"));
    static const auto clears = reinterpret_cast<PFNGLCLEARPROC>(find("glClear"));
    GLuint framebuffer = 0;
    c.glGenFramebuffers(1, &framebuffer);
    c.glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    c.glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
    colour(red, 0, 0, 1);
    clears(GL_COLOR_BUFFER_BIT);
    c.glDeleteFramebuffers(1, &framebuffer);
  }

 private:
  static __eglMustCastToProperFunctionPointerType find(const char* name) {
    static const auto get =
        reinterpret_cast<PFNEGLGETPROCADDRESSPROC>(::dlsym(::dlopen("libEGL.so.1", RTLD_NOW), "eglGetProcAddress"));
    return get(name);
  }
  EGLDisplay display_;
  EGLContext context_;
};

TEST_F(Egl, TexturesAreCopiedByGlAndBooked) {
  const Tensor picture = allocate(context, element::u8, {16, 32, 4});
  write(picture, counted(2048, 1));
  Ledger ledger;
  const Tensor here = router->map(picture, host_context(), MapOptions{Access::kRead, ZeroCopy::kPrefer, &ledger});
  EXPECT_EQ(std::memcmp(here.data(), counted(2048, 1).data(), 2048), 0);
  const Tensor back = router->map(here, context, MapOptions{Access::kRead, ZeroCopy::kPrefer, &ledger});
  EXPECT_NE(texture(back), texture(picture));
  EXPECT_EQ(bytes_of(back), counted(2048, 1));
  EXPECT_EQ(ledger.total().copied, 4096u);
  EXPECT_EQ(ledger.total().transferred, device(context).is_cpu ? 0u : 4096u);
  EXPECT_THAT(error_of(
                  [&] {
                    router->map(picture, host_context(), MapOptions{Access::kRead, ZeroCopy::kRequire});
                  },
                  Code::kFailedPrecondition),
              HasSubstr("egl.texture->cpu"));
}

TEST_F(Egl, RegionsLeaveTheirNeighbours) {
  const Tensor picture = allocate(context, element::u8, {8, 16});
  write(picture, counted(128, 0));
  const Tensor part = picture.slice({2, 4}, {5, 10});
  EXPECT_EQ(bytes_of(part)[0], 36);
  write(part, std::vector<std::uint8_t>(18, 200));
  std::vector<std::uint8_t> expected = counted(128, 0);
  for (std::size_t y = 2; y < 5; ++y) std::fill_n(&expected[y * 16 + 4], 6, std::uint8_t{200});
  EXPECT_EQ(bytes_of(picture), expected);
}

TEST_F(Egl, FormatsAreTriedAndNamed) {
  EXPECT_THAT(error_of(
                  [&] {
                    allocate(context, element::u8, {4, 4, 3});
                  },
                  Code::kUnimplemented),
              HasSubstr("no texture of 3 channels of u8"));
  EXPECT_THAT(error_of([&] { allocate(context, element::u8, {4}); }, Code::kInvalidArgument),
              HasSubstr("not a picture"));
  EXPECT_THAT(error_of(
                  [&] {
                    allocate(context, element::u8, {4, 1 << 24});
                  },
                  Code::kUnimplemented),
              HasSubstr("exceeds the largest texture"));
  EXPECT_THAT(error_of(
                  [&] {
                    allocate_frame(context, {kRgb24, 8, 8});
                  },
                  Code::kUnimplemented),
              HasSubstr("plane 0 of rgb"));
  EXPECT_THAT(error_of([&] { texture(Tensor(element::u8, {4})); }, Code::kInvalidArgument),
              HasSubstr("no egl.texture"));
  EXPECT_THAT(error_of([&] { display(host_context()); }, Code::kInvalidArgument), HasSubstr("not a context of egl"));
  const Frame frame = allocate_frame(context, {kNv12, 32, 16});
  write(frame.plane(0), counted(512, 1));
  write(frame.plane(1), counted(256, 7));
  EXPECT_EQ(bytes_of(frame.plane(0)), counted(512, 1));
  EXPECT_EQ(bytes_of(frame.plane(1)), counted(256, 7));
  const Tensor floats = allocate(context, element::f32, {4, 4, 4});
  write(floats, std::vector<std::uint8_t>(256, 0x3f));
  EXPECT_EQ(bytes_of(floats), std::vector<std::uint8_t>(256, 0x3f));
}

TEST_F(Egl, AUsersCommandsAndTensorsWaitForEachOther) {
  const Tensor picture = allocate(context, element::u8, {16, 16, 4});
  write(picture, counted(1024, 0));
  const UsersContext user(context);
  order(picture, Access::kReadWrite);
  UsersContext::clear(texture(picture), 1);
  wrote(picture);
  EXPECT_EQ(bytes_of(picture)[0], 255);
  order(picture, Access::kReadWrite);
  UsersContext::clear(texture(picture), 0);
  const TimelinePoint end = fence(context);
  picture.memory()->hazards().wrote(end, written_bytes(picture));
  const Tensor here = router->map(picture, host_context());
  EXPECT_EQ(static_cast<std::uint8_t*>(here.data())[0], 0);
  EXPECT_EQ(end.state(), PointState::kReached);
  reads(picture);
  EXPECT_THAT(error_of([&] { point(context, EGL_NO_SYNC_KHR); }, Code::kInvalidArgument), HasSubstr("null EGLSync"));
  std::thread([&] {
    EXPECT_THAT(error_of([&] { fence(context); }, Code::kFailedPrecondition), HasSubstr("no context is current"));
  }).join();
}

TEST_F(Egl, AUsersShareGroupIsWrapped) {
  const UsersContext user(context, false);
  const detail::Calls& c = detail::calls();
  GLuint name = 0;
  c.glGenTextures(1, &name);
  c.glBindTexture(GL_TEXTURE_2D, name);
  c.glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, 24, 8);
  UsersContext::clear(name, 1);
  c.glFinish();
  int released = 0;
  {
    const Context wrapped = egl::wrap(user.display_of(), user.get());
    const Tensor seen = adopt(wrapped, name, [&] { ++released; });
    EXPECT_EQ(seen.shape(), (Shape{8, 24, 4}));
    EXPECT_EQ(bytes_of(seen)[0], 255);
    EXPECT_EQ(egl::wrap(wrapped, name).memory()->identity(), seen.memory()->identity())
        << "two wraps share their state";
    EXPECT_THAT(error_of([&] { adopt(wrapped, 9999, [&] { ++released; }); }, Code::kInvalidArgument),
                HasSubstr("no such texture"));
    EXPECT_EQ(released, 1);
    GLuint other = 0;
    c.glGenTextures(1, &other);
    c.glBindTexture(GL_TEXTURE_2D, other);
    c.glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGB565, 4, 4);
    c.glFinish();
    EXPECT_THAT(error_of([&] { egl::wrap(wrapped, other); }, Code::kUnimplemented), HasSubstr("has no element type"));
    c.glDeleteTextures(1, &other);
  }
  EXPECT_EQ(released, 2);
  c.glDeleteTextures(1, &name);
  EXPECT_THAT(error_of([&] { egl::wrap(EGL_NO_DISPLAY, user.get()); }, Code::kInvalidArgument),
              HasSubstr("EGLDisplay"));
  EXPECT_THAT(error_of([&] { egl::wrap(user.display_of(), EGL_NO_CONTEXT); }, Code::kInvalidArgument),
              HasSubstr("EGLContext"));
}

TEST_F(Egl, DmabufsAreTexturesInPlaceOrRefusedWithTheReason) {
  const Tensor picture(TensorInfo{element::u8, {16, 64, 4}, {}}, dmabuf::allocate(4096));
  const Step step = detail::dmabuf_to_texture().step(describe(picture), context, Access::kReadWrite);
  if (const auto* refused = std::get_if<Refusal>(&step)) {
    EXPECT_THAT(refused->reason, ::testing::AnyOf(HasSubstr("EGL_EXT_image_dma_buf_import"), HasSubstr("dma-buf")));
    EXPECT_THAT(router->explain(describe(picture), context), HasSubstr(refused->reason));
  } else {
    const Tensor seen = router->map(picture, context, Access::kReadWrite);
    write(seen, counted(4096, 3));
    EXPECT_EQ(bytes_of(picture), counted(4096, 3));
  }
  if (device(context).exports_dmabuf) return;
  const Tensor own = allocate(context, element::u8, {4, 4});
  EXPECT_THAT(error_of([&] { export_dmabuf(own); }, Code::kUnimplemented), HasSubstr("EGL_MESA_image_dma_buf_export"));
}

TEST_F(Egl, ATextureComesBackByItsDmabuf) {
  if (!device(context).exports_dmabuf || !device(context).imports_dmabuf)
    GTEST_SKIP() << device(context).renderer << " has no dma-bufs both ways";
  const Tensor own = allocate(context, element::u8, {64, 64, 4});
  write(own, counted(16384, 1));
  const ExportedTexture out = export_dmabuf(own);
  const dmabuf::FrameObject object{out.fd.get(), 0};
  const dmabuf::FramePlane plane{0, out.offset, out.pitch};
  const Frame frame = dmabuf::import_frame({PixelFormat{out.fourcc, out.modifier}, 64, 64}, std::span(&object, 1),
                                           std::span(&plane, 1), {}, std::span(&out.modifier, 1));
  router->add(dmabuf::context());
  const Tensor seen = router->map(frame.plane(0), context, MapOptions{Access::kReadWrite, ZeroCopy::kRequire});
  EXPECT_NE(texture(seen), texture(own));
  EXPECT_EQ(bytes_of(seen), counted(16384, 1));
  write(seen, counted(16384, 9));
  EXPECT_EQ(bytes_of(own), counted(16384, 9));
}

TEST_F(Egl, SyncFilesAreExportedOrRefusedWithTheReason) {
  const UsersContext user(context);
  if (device(context).native_fences) {
    EXPECT_TRUE(export_sync_file(context));
  } else {
    EXPECT_THAT(error_of([&] { export_sync_file(context); }, Code::kUnimplemented),
                HasSubstr("EGL_ANDROID_native_fence_sync"));
  }
}

TEST_F(Egl, EveryFailingCallIsAnErrorAndLeavesNothing) {
  const auto work = [&] {
    const Context own = make_context();
    const Tensor picture = allocate(own, element::u8, {8, 8});
    write(picture, counted(64, 2));
    egl::wrap(own, texture(picture));
    return bytes_of(picture);
  };
  testing::fail_each_call<client::Probe>("EGL_BAD_ALLOC", work,
                                         [](const auto& bytes) { EXPECT_EQ(bytes, counted(64, 2)); });
}

TEST(EglWithoutALibrary, SaysWhatIsMissing) {
  if (!contexts().empty()) GTEST_SKIP() << "there is one";
  EXPECT_THAT(why_none(), HasSubstr("egl: "));
}

}  // namespace egl_test
}  // namespace tenon::egl
