// SPDX-License-Identifier: Apache-2.0
// tenon run --decode va: the software driver's surfaces are read in place by each device.
#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace run_va_test {

using nlohmann::json;

class RunVa : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    if (!std::getenv("TENON_HAS_VA_DRIVER")) GTEST_SKIP() << "this build has no software VA-API driver";
  }
  /// @param between  Another command of the tool that runs it.
  Outcome run_va(const std::string& clip, const std::string& arguments, const std::string& between = "") const {
    const std::string self = "'" + from_environment("TENON_TOOL") + "' ";
    return tool("va-env -- " + (between.empty() ? "" : self + between + " -- ") + self + "run '" + clip +
                "' --model '" + model("demo.onnx") + "' --decode va " + arguments);
  }
  void expect_in_place(const std::string& device, const std::string& between = "", int frames = 20) const {
    const Outcome done = run_va(model("demo.mp4"),
                                "--device " + device + " --zero-copy require --no-compare --max-frames " +
                                    std::to_string(frames) + " --report r.json",
                                between);
    ASSERT_EQ(done.status, 0) << done.err << done.out;
    EXPECT_NE(done.out.find("h264 -> vaapi("), std::string::npos) << done.out;
    const json report = json::parse(text_of(file("r.json")));
    EXPECT_EQ(report["frames"], frames);
    EXPECT_EQ(report["bytes_copied_per_frame"], 0);
    ASSERT_EQ(report["hops"].size(), 3u);
    for (const json& hop : report["hops"]) EXPECT_EQ(hop["proof"], "proved") << hop.dump(1);
  }
};

TEST_F(RunVa, CpuReadsTheDecodersSurfacesInPlace) { expect_in_place("CPU"); }

TEST_F(RunVa, NpuReadsTheDecodersSurfacesInPlace) {
  if (!std::getenv("TENON_HAS_SOFTWARE_NPU")) GTEST_SKIP() << "this build has no software NPU";
  expect_in_place("NPU", "npu-env");
}

TEST_F(RunVa, GpuReadsTheDecodersSurfacesInPlace) {
  if (tool("devices").out.find("GPU") == std::string::npos) GTEST_SKIP() << "no GPU, nor a CPU as one";
  expect_in_place("GPU", "", 8);  // On kernels that nothing optimised, a frame takes long.
}

TEST_F(RunVa, SavesAndComparesAsWithTheCpusDecoder) {
  write_clip("clip.mp4", 320, 180, 24);
  const Outcome done = run_va("clip.mp4", "--save out.mp4 --report r.json");
  ASSERT_EQ(done.status, 0) << done.err << done.out;
  EXPECT_EQ(json::parse(text_of(file("r.json")))["bytes_copied_per_frame"], 0);
  EXPECT_NE(done.out.find("second hop forced to copy"), std::string::npos) << done.out;
  EXPECT_GT(fs::file_size(folder / "out.mp4"), 1000u);
}

TEST_F(RunVa, FollowsAStreamThatChangesItsSize) {
  for (const auto& [name, codec] : {std::pair("both.h264", "libx264"), std::pair("both.hevc", "libx265")}) {
    std::ofstream both(file(name), std::ios::binary);
    for (const int width : {320, 480, 320}) {
      write_clip(std::string("part_") + name, width, 180, 8, codec);
      both << std::ifstream(file(std::string("part_") + name), std::ios::binary).rdbuf();
    }
    both.close();
    const Outcome done = run_va(name, "--device CPU --zero-copy require --no-compare --report r.json");
    ASSERT_EQ(done.status, 0) << name << "\n" << done.err << done.out;
    const json report = json::parse(text_of(file("r.json")));
    EXPECT_EQ(report["frames"], 24) << name;
    EXPECT_EQ(report["bytes_copied_per_frame"], 0) << name;
  }
}

TEST_F(RunVa, SaysWhatIsMissing) {
  write_clip("clip.mp4", 320, 180, 4);
  const std::string arguments = " run clip.mp4 --model '" + model("demo.onnx") + "' --decode va ";
  const Outcome nowhere = tool(arguments + "--va-node /dev/null");
  EXPECT_EQ(nowhere.status, 69) << "unavailable";
  EXPECT_NE(nowhere.err.find("va-env"), std::string::npos) << nowhere.err;
  write_clip("raw.nut", 64, 48, 3, "rawvideo");
  const Outcome raw = run_va("raw.nut", "");
  EXPECT_NE(raw.status, 0);
  EXPECT_NE(raw.err.find("vaapi"), std::string::npos) << raw.err;
}

}  // namespace run_va_test
}  // namespace tenon::tool::testing
