// SPDX-License-Identifier: Apache-2.0
// Cameras that are unplugged, and a driver that is taken away, while pictures are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <tenon/frameworks/v4l2/testing/vivid_fixture.hpp>

#include "support/error_of.hpp"

namespace unplugged_test {

using namespace tenon;
using namespace tenon::v4l2::test;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST_F(Vivid, AnUnpluggedCameraEndsItsReaderAndLeavesItsPictures) {
  if (paths.size() < 3) GTEST_SKIP() << "it would unplug a device that other tests need";
  v4l2::Camera camera(paths[2], small());
  std::vector<Frame> kept;
  kept.push_back(camera.read());
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  camera.use_pool(wanted);
  kept.push_back(camera.read());
  const std::vector<std::byte> before[] = {bytes_of(kept[0]), bytes_of(kept[1])};
  const v4l2::Device other(paths[2]);
  std::thread unplug([&] {
    std::this_thread::sleep_for(300ms);
    other.set("disconnect", 1);
  });
  const auto begin = Clock::now();
  const Error error = error_of([&] {
    for (;;) camera.read();
  });
  unplug.join();
  EXPECT_EQ(error.code(), Code::kUnavailable) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("unplugged"));
  EXPECT_LT(Clock::now() - begin, 20s);
  EXPECT_EQ(error_of([&] { camera.read(); }).code(), Code::kUnavailable);
  EXPECT_EQ(bytes_of(kept[0]), before[0]);
  EXPECT_EQ(bytes_of(kept[1]), before[1]);
  kept.clear();
  // The node goes with its last user.
  const Code gone = error_of([&] { v4l2::Camera again(paths[2]); }).code();
  EXPECT_TRUE(gone == Code::kNotFound || gone == Code::kUnavailable);
}

/// Takes all cameras from their driver, or gives them back. @return false where this process may not.
bool bind_driver(const char* verb) {
  std::ofstream file(std::string("/sys/bus/platform/drivers/vivid/") + verb);
  file << "vivid.0" << std::flush;
  return static_cast<bool>(file);
}

TEST_F(Vivid, ADriverThatIsTakenAwayEndsItsReadersAndMayComeBack) {
  if (::access("/sys/bus/platform/drivers/vivid/unbind", W_OK) != 0)
    GTEST_SKIP() << "only root may unbind a driver, and it would take other programs' cameras away";
  std::vector<v4l2::Camera> cameras;
  std::vector<Frame> kept;
  for (const std::string& path : {single(), several()}) {
    cameras.emplace_back(path, small());
    kept.push_back(cameras.back().read());
  }
  const std::vector<std::byte> before = bytes_of(kept[0]);
  std::atomic<bool> unbound{false};
  std::thread unplug([&] {
    std::this_thread::sleep_for(300ms);
    unbound = bind_driver("unbind");
  });
  for (v4l2::Camera& camera : cameras) {
    const Error error = error_of([&] {
      for (;;) camera.read();
    });
    EXPECT_EQ(error.code(), Code::kUnavailable) << error.what();
  }
  cameras.clear();  // Some drivers end only with their last user.
  unplug.join();
  ASSERT_TRUE(unbound);
  EXPECT_EQ(bytes_of(kept[0]), before);
  kept.clear();
  EXPECT_EQ(error_of([&] { v4l2::Camera again(single(), small()); }).code(), Code::kNotFound);
  ASSERT_TRUE(bind_driver("bind"));
  EXPECT_NO_THROW(v4l2::Camera(v4l2::test::vivid_paths().front(), small()).read());
}

}  // namespace unplugged_test
