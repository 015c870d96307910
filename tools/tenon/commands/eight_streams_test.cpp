// SPDX-License-Identifier: Apache-2.0
// Runs examples/eight_streams as its README says; and the software NPU in pipelines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <tenon/frameworks/ffmpeg/video.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace eight_streams_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string example(const std::string& name) {
  return from_environment("TENON_SOURCE_DIR") + "/examples/eight_streams/" + name;
}

class EightStreams : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    if (!std::getenv("TENON_HAS_SOFTWARE_NPU")) GTEST_SKIP() << "the software NPU was not built";
  }
  static const json& node(const json& report, const std::string& name) {
    for (const json& one : report.at("nodes"))
      if (one.at("name") == name) return one;
    throw std::runtime_error("no node " + name);
  }
};

/// The README says what clips of four seconds give; here they have one.
TEST_F(EightStreams, FindTrackNameColoursAndShowAll) {
  constexpr int kRates[] = {30, 15, 25, 10, 12, 24, 20, 30}, kFrames = 166;  // Pictures a second, and all.
  EXPECT_THAT(text_of(example("README.md")), HasSubstr(" " + std::to_string(4 * kFrames) + " lines"));
  ASSERT_EQ(std::system(("'" + example("clips.sh") + "' '" + folder.string() + "' 1").c_str()), 0)
      << "ffmpeg is needed";
  const Outcome done = tool("pipeline --json '" + example("pipeline.json") + "'", "TENON_NPU_TRACE=npu.txt");
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(done.out);
  EXPECT_EQ(report.at("streams"), 8);
  for (const char* name : {"find", "results"}) EXPECT_EQ(node(report, name).at("frames_in"), kFrames) << name;
  for (const char* name : {"find", "colour"}) EXPECT_EQ(node(report, name).at("copied"), 0) << name;

  std::map<int, int> lines, named;
  std::istringstream all(text_of(folder / "results.jsonl"));
  for (std::string line; std::getline(all, line);) {
    const json result = json::parse(line);
    const int stream = result.at("stream");
    ++lines[stream];
    std::set<int> with_track;
    for (const json& one : result.value("metadata", json::array())) {
      if (one.at("kind") == "detection" && one.value("track_id", -1) >= 1) with_track.insert(one.at("id").get<int>());
      if (one.at("kind") == "classification" && with_track.count(one.value("parent", 0)) != 0) ++named[stream];
    }
  }
  for (int stream = 0; stream < 8; ++stream) {
    EXPECT_EQ(lines[stream], kRates[stream]) << "stream " << stream;
    EXPECT_GE(named[stream], lines[stream]) << "tracked objects with a colour in stream " << stream;
  }

  ffmpeg::Video video = ffmpeg::open(file("mosaic.mp4"));
  EXPECT_EQ(video.info().width_px, 1280u);
  EXPECT_EQ(video.info().height_px, 720u);
  int pictures = 0;
  std::int64_t last_ns = 0;
  for (const Frame& frame : video) {
    ++pictures;
    last_ns = frame.timestamp_ns();
  }
  EXPECT_NEAR(static_cast<double>(last_ns) / 1e9, 1 - 1.0 / 30, 0.05);
  EXPECT_NEAR(pictures, 30, 1);

  EXPECT_THAT(done.err, HasSubstr("no NPU in this machine: "));
  EXPECT_THAT(done.err, HasSubstr("libze_tenon_npu.so stands in"));
  std::istringstream trace(text_of(folder / "npu.txt"));
  int compiled = 0;
  for (std::string line; std::getline(trace, line);) compiled += line.find("pfnCreate") != std::string::npos;
  EXPECT_EQ(compiled, 8) << "each size once";
}

TEST_F(EightStreams, NothingStandsInWhereNoNodeAsksForTheNpu) {
  write_clip("clip.mp4", 320, 180, 2);
  write("cpu.json", R"({"nodes": [{"element": "file", "parameters": {"path": "clip.mp4"}},
      {"element": "infer", "parameters": {"device": "CPU", "model": ")" +
                        model("demo.onnx") + R"("}}, {"element": "null"}]})");
  const Outcome done = tool("pipeline -q cpu.json");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, Not(HasSubstr("stands in")));
}

}  // namespace eight_streams_test
}  // namespace tenon::tool::testing
