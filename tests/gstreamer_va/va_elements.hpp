// SPDX-License-Identifier: Apache-2.0
// Pipelines with GStreamer's VA elements on the software driver, and a router over what their frames lie in.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>
#include <tenon/tests/support/expects_dmabufs.hpp>

namespace tenon::gstreamer_va_test {

namespace gs = tenon::gstreamer;

inline std::string clip() { return std::string(std::getenv("TENON_MODELS")) + "/demo.mp4"; }

/// The clip, decoded by vah264dec into `caps`.
inline std::string decoding(const std::string& caps) {
  return "filesrc location=" + clip() + " ! qtdemux ! h264parse ! vah264dec ! " + caps +
         " ! appsink name=sink max-buffers=2";
}

/// Skipped where GStreamer's plugins are missing, but not in the VM.
class VaElements : public ::testing::Test {
 protected:
  void SetUp() override {
    gs::start();
    const gs::ObjectPtr<GstElementFactory> decoder(gst_element_factory_find("vah264dec"));
    if (expects_dmabufs()) {
      ASSERT_TRUE(decoder) << "the VM has GStreamer's plugins, and a driver for them";
    }
    if (!decoder) GTEST_SKIP() << "no vah264dec: gstreamer1.0-plugins-bad is not installed";
    const gs::ObjectPtr<GstElementFactory> demuxer(gst_element_factory_find("qtdemux"));
    if (!demuxer) GTEST_SKIP() << "no qtdemux: gstreamer1.0-plugins-good is not installed";
    router.add(gs::context());
    router.add(gs::device_context());
    router.add(dmabuf::context());
    router.add(host_context());
  }

  Router router;
};

}  // namespace tenon::gstreamer_va_test
