// SPDX-License-Identifier: Apache-2.0
// Pipelines on VA-API: from the decoder's surface to a converted one, on the driver all the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include <tenon/elements/places.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

namespace tenon::va_test {
namespace elements_test {

using tenon_test::Arrived;
using ::testing::IsEmpty;

TEST(VaPipelines, DecodesAndConvertsOnTheDriver) {
  const tenon_test::Folder folder;
  tenon_test::make_clip(folder.file("a.mp4"), {.width = 320, .height = 192, .frames = 10});
  Arrived arrived;
  arrived.holds = true;
  elements::Pipeline pipeline({{{"file", "", {{"path", folder.file("a.mp4")}, {"decode", "va"}}},
                                {"convert", "", {{"width", "160"}, {"crop_width", "160"}}},
                                arrived.sink()}});
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  ASSERT_EQ(arrived.held.size(), 10u);
  EXPECT_EQ(arrived.frames[0][0].kind, "vaapi");
  EXPECT_EQ(arrived.frames[0][0].info.width_px, 160u);
  EXPECT_EQ(arrived.frames[0][0].info.height_px, 192u);
  for (const auto& node : pipeline.stats()) {
    EXPECT_EQ(node.moved.copied, 0u) << node.name;
    EXPECT_EQ(node.moved.transferred, 0u) << node.name;
  }
  EXPECT_GT(pipeline.stats()[1].moved.converted, 0u);
  Ledger ledger;
  elements::HostFrames on_host(&ledger);
  const Frame first = on_host.map(arrived.held.front());
  EXPECT_NE(*static_cast<const std::uint8_t*>(first.plane(0).data()), 0);
}

TEST(VaPipelines, WritesByTheDriversEncoder) {
  const tenon_test::Folder folder;
  EXPECT_THAT(tenon_test::run(
                  elements::PipelineSpec{{{"test", "", {{"frames", "9"}, {"width", "128"}, {"height", "64"}}},
                                          {"write", "", {{"path", folder.file("o.mp4")}, {"codec", "h264_vaapi"}}}}}),
              IsEmpty());
  EXPECT_EQ(tenon_test::decode_by_ffmpeg(folder.file("o.mp4")).size(), 9u);
}

TEST(VaPipelines, TakesFramesOfTheHostWhenItIsTold) {
  Arrived arrived;
  elements::Pipeline pipeline({{{"test", "", {{"frames", "3"}, {"width", "128"}, {"height", "64"}}},
                                {"convert", "", {{"by", "va"}, {"height", "32"}}},
                                arrived.sink()}});
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  ASSERT_EQ(arrived.frames[0].size(), 3u);
  EXPECT_EQ(arrived.frames[0][2].info.width_px, 64u);
}

}  // namespace elements_test
}  // namespace tenon::va_test
