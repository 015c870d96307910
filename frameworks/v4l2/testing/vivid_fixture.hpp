// SPDX-License-Identifier: Apache-2.0
// Tests of cameras that the kernel plays. They skip where there are none; with TENON_EXPECT_VIVID that is a failure.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/v4l2/testing/vivid.hpp>
#include <tenon/frameworks/v4l2/v4l2.hpp>

namespace tenon::v4l2::test {

inline constexpr std::uint32_t kWidth = 320, kHeight = 180;

class Vivid : public ::testing::Test {
 protected:
  void SetUp() override {
    paths = vivid_paths();
    if (!paths.empty()) return;
    ASSERT_EQ(std::getenv("TENON_EXPECT_VIVID"), nullptr) << "no device of the driver vivid";
    GTEST_SKIP() << "no device of the driver vivid: modprobe vivid, or ./dev test-vm";
  }
  void TearDown() override { EXPECT_TRUE(drain_deferred(Clock::now() + std::chrono::seconds(10))); }

  static Options small(PixelFormat format = kNv12) {
    Options options;
    options.format.format = format;
    options.format.width_px = kWidth;
    options.format.height_px = kHeight;
    options.format.fps = 30;
    options.read_timeout = std::chrono::seconds(30);  // An emulated machine is slow.
    return options;
  }
  const std::string& single() const { return paths.front(); }
  const std::string& several() const { return paths.at(1); }

  std::vector<std::string> paths;
};

inline std::vector<std::byte> bytes_of(const Frame& frame) {
  std::vector<std::byte> all;
  for (const Tensor& plane : frame.planes()) {
    std::vector<std::byte> bytes(plane.size_bytes());
    plane.context()->read(plane, bytes);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

}  // namespace tenon::v4l2::test
