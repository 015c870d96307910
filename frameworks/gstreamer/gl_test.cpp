// SPDX-License-Identifier: Apache-2.0
// Pictures that GL has drawn, by Mesa's software renderer without a window: they are a device's, and fetched to be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <gst/gl/egl/gstgldisplay_egl.h>
#include <gst/gl/gl.h>

#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace gl_test {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;

/// An EGL display without windows; null where there is none.
GstGLDisplay* display() {
  static GstGLDisplay* const the_one = []() -> GstGLDisplay* {
    const auto get = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(eglGetProcAddress("eglGetPlatformDisplayEXT"));
    const EGLDisplay native = get ? get(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr) : EGL_NO_DISPLAY;
    if (native == EGL_NO_DISPLAY || !eglInitialize(native, nullptr, nullptr)) return nullptr;
    return GST_GL_DISPLAY(gst_gl_display_egl_new_with_egl_display(native));
  }();
  return the_one;
}

class GstGl : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("GST_GL_PLATFORM", "egl", 1);
    ::setenv("GST_GL_WINDOW", "dummy", 1);
    gs::start();
    const gs::ObjectPtr<GstElementFactory> source(gst_element_factory_find("gltestsrc"));
    if (!source) GTEST_SKIP() << "no gltestsrc: gstreamer1.0-gl is not installed";
    if (!display()) GTEST_SKIP() << "no EGL without windows: libegl1 and libgl1-mesa-dri have Mesa's";
    for (const Context& each : {gs::context(), gs::device_context(), host_context()}) router.add(each);
  }
  /// Gives the pipeline that `element` is in the display.
  static void use_display(GstElement* element) {
    const gs::ObjectPtr<GstElement> pipeline(GST_ELEMENT(gst_object_get_parent(GST_OBJECT(element))));
    GstContext* const context = gst_context_new(GST_GL_DISPLAY_CONTEXT_TYPE, TRUE);
    gst_context_set_gl_display(context, display());
    gst_element_set_context(pipeline.get(), context);
    gst_context_unref(context);
  }
  static std::vector<std::uint8_t> packed(const Frame& frame) {
    std::vector<std::uint8_t> bytes(frame.plane(0).size_bytes());
    frame.plane(0).context()->read(frame.plane(0), std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

  Router router;
};

TEST_F(GstGl, PicturesAreFetchedAndBooked) {
  Pipeline pipeline(
      "gltestsrc num-buffers=2 pattern=smpte ! video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48 ! tee "
      "name=t ! "
      "queue ! appsink name=sink t. ! queue ! gldownload ! video/x-raw,format=RGBA ! appsink name=host sync=false");
  use_display(pipeline.sink());
  pipeline.play();
  const gs::ObjectPtr<GstElement> host = pipeline.element("host");
  const SamplePtr drawn = pipeline.pull();
  const SamplePtr downloaded(gst_app_sink_try_pull_sample(GST_APP_SINK(host.get()), 60 * GST_SECOND));
  ASSERT_TRUE(drawn && downloaded);
  gs::CapsCache caps, host_caps;
  const Frame frame = gs::wrap(drawn.get(), caps);
  EXPECT_EQ(frame.plane(0).kind().name(), "gstreamer.device");
  EXPECT_EQ(frame.info().format, kRgba);
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const std::vector<std::uint8_t> seen = packed(router.map(frame, host_context(), options));
  EXPECT_EQ(seen, packed(gs::wrap(downloaded.get(), host_caps)));
  EXPECT_NE(seen, std::vector<std::uint8_t>(seen.size(), seen[0])) << "nothing was drawn";
  EXPECT_GE(ledger.total().transferred, seen.size());
  options.policy = ZeroCopy::kRequire;
  error_of([&] { router.map(frame, host_context(), options); }, Code::kFailedPrecondition);
}

TEST_F(GstGl, FramesGoToGlAndBack) {
  Pipeline pipeline(
      "appsrc name=source num-buffers=1 format=time caps=video/x-raw,format=RGBA,width=64,height=48,framerate=25/1 ! "
      "glupload "
      "! glcolorconvert ! video/x-raw(memory:GLMemory),format=RGBA ! appsink name=sink");
  use_display(pipeline.sink());
  pipeline.play();
  const Frame picture = Frame::allocate({kRgba, 64, 48});
  auto* const bytes = static_cast<std::uint8_t*>(picture.plane(0).data());
  for (std::size_t i = 0; i < picture.plane(0).size_bytes(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  const gs::ObjectPtr<GstElement> source = pipeline.element("source");
  ASSERT_EQ(gst_app_src_push_buffer(GST_APP_SRC(source.get()), gs::buffer(picture).release()), GST_FLOW_OK);
  const SamplePtr uploaded = pipeline.pull();
  ASSERT_TRUE(uploaded);
  gs::CapsCache caps;
  EXPECT_EQ(packed(router.map(gs::wrap(uploaded.get(), caps), host_context())), packed(picture));
}

}  // namespace gl_test
