// SPDX-License-Identifier: Apache-2.0
// The source "camera" on the kernel's virtual cameras (vivid), and on files that are not cameras.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/v4l2/testing/vivid.hpp>

namespace tenon::elements {
namespace camera_test {

using namespace std::chrono_literals;
using tenon_test::Arrived;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CameraElement, SaysWhatIsNoCamera) {
  const auto failures = [](const std::string& device) {
    return tenon_test::run(PipelineSpec{{{"camera", "", {{"device", device}}}, {"null"}}});
  };
  EXPECT_THAT(failures("/dev/video-none"), ElementsAre(HasSubstr("/dev/video-none")));
  EXPECT_THAT(failures("/dev/null"), ElementsAre(HasSubstr("/dev/null")));
  EXPECT_THROW(Pipeline({{{"camera", "", {{"format", "nv99"}}}, {"null"}}}), Error);
}

class Cameras : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto paths = tenon::v4l2::test::vivid_paths();
    if (!paths.empty()) {
      path_ = paths.front();
      return;
    }
    ASSERT_EQ(std::getenv("TENON_EXPECT_VIVID"), nullptr) << "no device of the driver vivid";
    GTEST_SKIP() << "no device of the driver vivid: modprobe vivid, or ./dev test-vm";
  }
  NodeSpec camera() const {
    return {"camera", "", {{"device", path_}, {"format", "nv12"}, {"width", "320"}, {"height", "180"}, {"fps", "30"}}};
  }
  std::string path_;
};

TEST_F(Cameras, GivesPicturesThatNobodyCopies) {
  Arrived arrived;
  PipelineSpec spec{{camera(), arrived.sink()}};
  spec.patience = 60s;  // An emulated machine is slow.
  Pipeline pipeline(spec);
  pipeline.start();
  for (const auto end = Clock::now() + 120s; pipeline.stats()[1].frames_in < 8 && Clock::now() < end;)
    std::this_thread::sleep_for(10ms);
  pipeline.stop(Clock::now() + 20s);
  EXPECT_TRUE(pipeline.failures().empty());
  ASSERT_GE(arrived.frames[0].size(), 8u);
  EXPECT_EQ(arrived.frames[0][0].info.width_px, 320u);
  EXPECT_EQ(pipeline.stats()[0].moved.copied + pipeline.stats()[0].moved.converted, 0u);
}

}  // namespace camera_test
}  // namespace tenon::elements
