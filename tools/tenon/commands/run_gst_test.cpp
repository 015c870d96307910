// SPDX-License-Identifier: Apache-2.0
// tenon run on GStreamer launch lines: elements write into memory that the model reads, and errors say what a line lacks.
#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace run_gst_test {

using nlohmann::json;

class RunGst : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    if (!std::getenv("TENON_HAS_GSTREAMER")) GTEST_SKIP() << "this build has no GStreamer";
  }
  /// @param before  Programs that run the tool ("va-env -- TOOL").
  Outcome run_line(const std::string& line, const std::string& arguments, const std::string& before = "") const {
    return tool(before + " run '" + line + "' --model '" + model("demo.onnx") + "' --report r.json " + arguments);
  }
  std::string demo_by(const std::string& decoder) const {
    return "filesrc location=" + model("demo.mp4") + " ! " + decoder;
  }
  std::string self() const { return "'" + from_environment("TENON_TOOL") + "'"; }

  void expect_in_place(const Outcome& done, const std::string& way, int frames) const {
    ASSERT_EQ(done.status, 0) << done.err << done.out;
    EXPECT_NE(done.out.find(way), std::string::npos) << done.out;
    const json report = json::parse(text_of(file("r.json")));
    EXPECT_EQ(report["frames"], frames);
    EXPECT_EQ(report["bytes_copied_per_frame"], 0);
    ASSERT_EQ(report["hops"].size(), 3u);
    for (const json& hop : report["hops"]) EXPECT_EQ(hop["proof"], "proved") << hop.dump(1);
  }
};

/// VA-API by the software driver.
class RunGstVa : public RunGst {
 protected:
  void SetUp() override {
    RunGst::SetUp();
    if (!std::getenv("TENON_HAS_VA_DRIVER")) GTEST_SKIP() << "this build has no software VA-API driver";
  }
  void expect_surfaces(const std::string& line, const std::string& arguments, const std::string& between = "",
                       int frames = 20) const {
    const Outcome done =
        run_line(line, "--zero-copy require --no-compare --max-frames " + std::to_string(frames) + " " + arguments,
                 "va-env -- " + self() + (between.empty() ? "" : " " + between + " -- " + self()));
    expect_in_place(done, "h264 -> vaapi(", frames);
  }
};

TEST_F(RunGst, ElementsWriteWhereTheModelReads) {
  const Outcome done = run_line("videotestsrc num-buffers=24 ! video/x-raw,width=320,height=180,format=NV12",
                                "--zero-copy require --save out.mp4");
  expect_in_place(done, "nv12 -> pool(memfd) -> input stage -> CPU", 24);
  EXPECT_NE(done.out.find("second hop forced to copy"), std::string::npos) << done.out;
  EXPECT_GT(fs::file_size(folder / "out.mp4"), 1000u);
}

TEST_F(RunGst, AnAppsinkInTheLineIsUsed) {
  const Outcome done = run_line(
      "videotestsrc num-buffers=9 ! appsink name=mine caps=video/x-raw,format=I420,width=64,height=48", "--no-compare");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(json::parse(text_of(file("r.json")))["format"], "i420");
}

TEST_F(RunGst, LiveSourcesAreNotPlayedTwice) {
  const Outcome done =
      run_line("videotestsrc is-live=true ! video/x-raw,width=320,height=180,format=NV12,framerate=60/1",
               "--zero-copy require --max-frames 12");
  expect_in_place(done, "nv12 -> pool(memfd)", 12);
  EXPECT_NE(done.out.find("cannot be played twice"), std::string::npos) << done.out;
}

TEST_F(RunGst, WhatIsWrongIsSaid) {
  expect_one_message(run_line("videotestsrc ! nosuchelement", ""), "no element \"nosuchelement\"");
  expect_one_message(run_line("filesrc location=missing.mp4 ! decodebin", ""), "missing.mp4");
  expect_one_message(run_line("audiotestsrc ! audio/x-raw", ""), "audiotestsrc");
  expect_one_message(run_line("videotestsrc num-buffers=0 ! video/x-raw,format=NV12", ""), "before its first picture");
  expect_one_message(run_line("videotestsrc ! fakesink", ""), "videotestsrc");
  expect_one_message(run_line("videotestsrc ! video/x-raw", "--size 320x180"), "width=1280");
  expect_one_message(run_line("videotestsrc ! video/x-raw,format=NV12", "--decode va"), "VA");
}

TEST_F(RunGst, AnErrorEndsTheRunWithTheReportOfWhatRan) {
  const Outcome done =
      run_line("videotestsrc is-live=true ! identity error-after=8 ! video/x-raw,width=320,height=180,format=NV12", "");
  expect_one_message(done, "identity");
  EXPECT_NE(done.out.find("ended early"), std::string::npos) << done.out;
}

TEST_F(RunGst, TheToolRunsWhereTheModuleForGstreamerDoesNotLoad) {
  write("modules/libtenon_elements_gstreamer.so", "no library");
  const std::string path = "TENON_ELEMENT_PATH='" + file("modules") + "'";
  const Outcome other =
      tool("run '" + model("demo.mp4") + "' --max-frames 2 --no-compare --model '" + model("demo.onnx") + "'", path);
  EXPECT_EQ(other.status, 0) << other.err;
  const Outcome line = tool("run 'videotestsrc ! fakesink' --model '" + model("demo.onnx") + "'", path);
  EXPECT_EQ(line.status, 69) << "unavailable";
  expect_one_message(line, "without GStreamer");
  EXPECT_NE(line.err.find("libtenon_elements_gstreamer.so"), std::string::npos) << line.err;
}

TEST_F(RunGstVa, CpuReadsTheDecodersSurfacesInPlace) {
  expect_surfaces(demo_by("qtdemux ! h264parse ! vah264dec"), "--device CPU");
}

TEST_F(RunGstVa, NpuReadsTheDecodersSurfacesInPlace) {
  if (!std::getenv("TENON_HAS_SOFTWARE_NPU")) GTEST_SKIP() << "this build has no software NPU";
  expect_surfaces(demo_by("qtdemux ! h264parse ! vah264dec"), "--device NPU", "npu-env");
}

TEST_F(RunGstVa, GpuReadsTheDecodersSurfacesInPlace) {
  if (tool("devices").out.find("GPU") == std::string::npos) GTEST_SKIP() << "no GPU, nor a CPU as one";
  // On kernels that nothing optimised, a frame takes long.
  expect_surfaces(demo_by("qtdemux ! h264parse ! vah264dec"), "--device GPU", "", 8);
}

TEST_F(RunGstVa, DecodebinTakesVaWhereThatIsWanted) { expect_surfaces(demo_by("decodebin"), "--decode va"); }

/// `infer` refuses frames that it would have to copy.
TEST_F(RunGstVa, APipelineReadsTheDecodersSurfacesInPlaceToo) {
  const json source{{"element", "gst_source"},
                    {"parameters", {{"line", demo_by("qtdemux ! h264parse ! vah264dec")}, {"decode", "va"}}}};
  const json infer{{"element", "infer"}, {"parameters", {{"model", model("demo.onnx")}, {"zero_copy", "require"}}}};
  write("p.json", json{{"nodes", {source, infer, {{"element", "null"}}}}}.dump());
  const Outcome done = tool("va-env -- " + self() + " pipeline p.json --frames 20 --json");
  ASSERT_EQ(done.status, 0) << done.err << done.out;
  const json report = json::parse(done.out);
  EXPECT_EQ(report["nodes"][2]["frames_in"], 20) << done.out;
  for (const json& node : report["nodes"]) EXPECT_EQ(node["copied"], 0) << done.out;
}

}  // namespace run_gst_test
}  // namespace tenon::tool::testing
