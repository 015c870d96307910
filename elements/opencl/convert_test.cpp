// SPDX-License-Identifier: Apache-2.0
// The transform "convert_cl" makes the same pictures as the CPU, except for rounding and the filter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>

namespace tenon::elements {
namespace opencl_convert_test {

using tenon_test::Arrived;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint32_t kWidth = 64, kHeight = 32;

/// A picture that is red on the left and blue on the right.
Frame two_colours() {
  Frame frame = Frame::allocate({kRgb24, kWidth, kHeight});
  for (std::uint32_t y = 0; y < kHeight; ++y) {
    auto* row = static_cast<std::uint8_t*>(frame.plane(0).data()) + y * frame.plane(0).byte_strides()[0];
    for (std::uint32_t x = 0; x < kWidth; ++x) {
      const bool is_left = x < kWidth / 2;
      row[3 * x] = is_left ? 255 : 0, row[3 * x + 1] = 0, row[3 * x + 2] = is_left ? 0 : 255;
    }
  }
  frame.set_timestamp_ns(77);
  return frame;
}

class ConvertCl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (tenon::opencl::contexts().empty()) GTEST_SKIP() << "no OpenCL device";
  }
  void TearDown() override { EXPECT_TRUE(drain_deferred(Clock::now() + std::chrono::seconds(10))); }

  /// Runs one picture through the elements in turn.
  static Frame through(std::vector<NodeSpec> nodes, std::vector<std::string>* failures = nullptr) {
    StreamInfo info;
    info.frame = two_colours().info();
    Arrived arrived;
    arrived.holds = true;
    nodes.insert(nodes.begin(),
                 node_of(source_of("picture", info, [given = false](Deadline) mutable -> std::optional<Frame> {
                   if (std::exchange(given, true)) return std::nullopt;
                   return two_colours();
                 })));
    nodes.push_back(arrived.sink());
    const auto messages = tenon_test::run(PipelineSpec{nodes});
    if (failures) {
      *failures = messages;
    } else {
      EXPECT_THAT(messages, IsEmpty());
    }
    return arrived.held.empty() ? Frame() : arrived.held.front();
  }
  static NodeSpec convert(std::map<std::string, std::string> parameters) {
    return {"convert_cl", "", std::move(parameters)};
  }
  static int at(const Frame& frame, std::size_t plane, std::size_t x, std::size_t y) {
    const Tensor& tensor = frame.plane(plane);
    return static_cast<const std::uint8_t*>(tensor.data())[y * static_cast<std::size_t>(tensor.byte_strides()[0]) + x];
  }
};

TEST_F(ConvertCl, MakesNv12WithTheColoursThatTheStandardSays) {
  const Frame yuv = through({convert({{"format", "nv12"}})});
  ASSERT_TRUE(yuv);
  EXPECT_EQ(yuv.info().format, kNv12);
  EXPECT_EQ(yuv.timestamp_ns(), 77);
  EXPECT_NEAR(at(yuv, 0, 8, 8), 81, 1);  // Red in BT.601, limited: 81, 90, 240.
  EXPECT_NEAR(at(yuv, 1, 8, 8), 90, 1);
  EXPECT_NEAR(at(yuv, 1, 9, 8), 240, 1);
  EXPECT_NEAR(at(yuv, 0, 50, 8), 41, 1);  // Blue: 41, 240, 110.
  EXPECT_NEAR(at(yuv, 1, 50, 8), 240, 1);
  EXPECT_NEAR(at(yuv, 1, 51, 8), 110, 1);
}

TEST_F(ConvertCl, ComesBackFromEachFormat) {
  for (const char* format : {"nv12", "nv21", "i420", "yv12", "i422", "i444", "bgr", "rgba", "bgra", "bgrx"}) {
    const Frame back = through({convert({{"format", format}}), convert({{"format", "rgb"}})});
    ASSERT_TRUE(back) << format;
    EXPECT_NEAR(at(back, 0, 3 * 8, 8), 255, 3) << format;
    EXPECT_NEAR(at(back, 0, 3 * 8 + 2, 8), 0, 3) << format;
    EXPECT_NEAR(at(back, 0, 3 * 50, 8), 0, 3) << format;
    EXPECT_NEAR(at(back, 0, 3 * 50 + 2, 8), 255, 3) << format;
  }
}

TEST_F(ConvertCl, CropsAndScales) {
  const Frame part = through({convert({{"crop_x", "24"}, {"crop_width", "16"}, {"width", "8"}})});
  ASSERT_TRUE(part);
  EXPECT_EQ(part.info().width_px, 8u);
  EXPECT_EQ(part.info().height_px, 16u);
  EXPECT_EQ(at(part, 0, 3 * 3, 4), 255);
  EXPECT_EQ(at(part, 0, 3 * 4, 4), 0);
  EXPECT_EQ(at(part, 0, 3 * 4 + 2, 4), 255);
  const Frame tiny = through({convert({{"width", "2"}, {"height", "2"}})});
  EXPECT_EQ(at(tiny, 0, 0, 0), 255);
  EXPECT_EQ(at(tiny, 0, 3, 1), 0);
  const Frame large = through({convert({{"width", "256"}})});
  EXPECT_EQ(large.info().height_px, 128u);
  EXPECT_EQ(at(large, 0, 3 * 20, 100), 255);
}

TEST_F(ConvertCl, CopiesNothingBesideWhatItConverts) {
  Arrived arrived;
  Pipeline pipeline({{{"test", "", {{"frames", "5"}, {"width", "128"}, {"height", "64"}}},
                      convert({{"width", "64"}, {"format", "rgb"}}),
                      arrived.sink()}});
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  EXPECT_EQ(arrived.frames[0].size(), 5u);
  for (const NodeStats& node : pipeline.stats()) EXPECT_EQ(node.moved.copied, 0u) << node.name;
  EXPECT_EQ(pipeline.stats()[1].moved.converted, 5u * 128 * 64 * 3 / 2);
}

TEST_F(ConvertCl, SaysWhatCannotBe) {
  std::vector<std::string> failures;
  through({convert({{"format", "yuy2"}})}, &failures);
  EXPECT_THAT(failures, ElementsAre(HasSubstr("is not supported")));
  EXPECT_THROW(make_element("convert_cl", {{"device", "no such device"}}, {}), Error);
}

}  // namespace opencl_convert_test
}  // namespace tenon::elements
