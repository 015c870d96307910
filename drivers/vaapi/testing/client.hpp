// SPDX-License-Identifier: Apache-2.0
// A client of the driver, through the packaged libva. The stand-in for the render node is part of the test program.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <va/va.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>
#include <va/va_str.h>

#include <tenon/core/fd.hpp>

namespace tenon::va::test {

/// A display on the driver, terminated at the end.
class Client {
 public:
  Client() : node_(::open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC)) {
    display_ = vaGetDisplayDRM(node_.get());
    if (!display_) return;
    vaSetInfoCallback(display_, nullptr, nullptr);
    int major = 0, minor = 0;
    status_ = vaInitialize(display_, &major, &minor);
  }
  ~Client() {
    if (display_) vaTerminate(display_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  bool works() const { return display_ && status_ == VA_STATUS_SUCCESS; }
  operator VADisplay() const { return display_; }  // NOLINT: implicit, for use in every call.

  VAConfigID config(VAProfile profile, VAEntrypoint entrypoint) const {
    VAConfigID id = VA_INVALID_ID;
    EXPECT_EQ(vaCreateConfig(display_, profile, entrypoint, nullptr, 0, &id), VA_STATUS_SUCCESS);
    return id;
  }
  VASurfaceID surface(std::uint32_t fourcc, unsigned rt_format, unsigned width, unsigned height) const {
    VASurfaceAttrib format{};
    format.type = VASurfaceAttribPixelFormat;
    format.flags = VA_SURFACE_ATTRIB_SETTABLE;
    format.value.type = VAGenericValueTypeInteger;
    format.value.value.i = static_cast<int>(fourcc);
    VASurfaceID id = VA_INVALID_SURFACE;
    EXPECT_EQ(vaCreateSurfaces(display_, rt_format, width, height, &id, 1, &format, 1), VA_STATUS_SUCCESS);
    return id;
  }
  VASurfaceID nv12(unsigned width, unsigned height) const {
    return surface(VA_FOURCC_NV12, VA_RT_FORMAT_YUV420, width, height);
  }

 private:
  UniqueFd node_;
  VADisplay display_ = nullptr;
  VAStatus status_ = VA_STATUS_ERROR_UNKNOWN;
};

class VaTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(client.works()) << "libva did not load the driver: see LIBVA_DRIVERS_PATH"; }
  Client client;
};

}  // namespace tenon::va::test
