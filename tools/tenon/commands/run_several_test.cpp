// SPDX-License-Identifier: Apache-2.0
// tenon run on several inputs at once: each has its own report, and all run through one compiled model.
#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace run_several_test {

using nlohmann::json;
using RunSeveral = ToolTest;

TEST_F(RunSeveral, InputsOfDifferentSizesAreProvedEach) {
  write_clip("small.mp4", 320, 180, 24);
  const Outcome done = tool("run '" + model("demo.mp4") + "' small.mp4 --input '" + model("demo.mp4") + "' --model '" +
                            model("demo.onnx") + "' --zero-copy require --max-frames 40 --report r.json");
  ASSERT_EQ(done.status, 0) << done.err << done.out;
  EXPECT_NE(done.out.find("3 inputs side by side: 104 frames"), std::string::npos) << done.out;
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_EQ(report["frames"], 104);
  EXPECT_EQ(report["bytes_copied_per_frame"], 0);
  ASSERT_EQ(report["inputs"].size(), 3u);
  const int frames[] = {40, 24, 40};
  for (std::size_t i = 0; i < 3; ++i) {
    const json& one = report["inputs"][i];
    EXPECT_EQ(one["frames"], frames[i]);
    ASSERT_EQ(one["hops"].size(), 3u);
    for (const json& hop : one["hops"]) {
      EXPECT_EQ(hop["proof"], "proved") << i << hop.dump(1);
      EXPECT_EQ(hop["maps"], frames[i]) << "each input's own frames: " << hop.dump(1);
    }
  }
  EXPECT_EQ(report["inputs"][0]["detections"], report["inputs"][2]["detections"]);
  EXPECT_GT(report["inputs"][0]["detections"], 100);
}

TEST_F(RunSeveral, StatefulModelsSeeEachInputByItself) {
  write_clip("a.mp4", 320, 180, 16);
  write_clip("b.mp4", 320, 180, 16);
  const Outcome done = tool("run a.mp4 b.mp4 --model '" + model("motion.xml") + "' --report r.json");
  ASSERT_EQ(done.status, 0) << done.err << done.out;
  const json report = json::parse(text_of(file("r.json")));
  for (const json& one : report["inputs"]) EXPECT_EQ(one["requests"], 1);
}

TEST_F(RunSeveral, OneThatFailsLeavesTheOthers) {
  write_clip("whole.mkv", 320, 180, 60);
  fs::copy_file(file("whole.mkv"), file("half.mkv"));
  fs::resize_file(file("half.mkv"), fs::file_size(file("half.mkv")) / 2);
  const Outcome done = tool("run half.mkv whole.mkv --model '" + model("demo.onnx") + "' --report r.json");
  expect_one_message(done, "half.mkv");
  const json report = json::parse(text_of(file("r.json")));
  EXPECT_FALSE(report["inputs"][0]["ended_by"].is_null());
  EXPECT_EQ(report["inputs"][1]["frames"], 60);
  EXPECT_TRUE(report["inputs"][1]["ended_by"].is_null());
}

TEST_F(RunSeveral, WhatIsForOneInputIsRefused) {
  write_clip("a.mp4", 320, 180, 4);
  const std::string rest = "run a.mp4 a.mp4 --model '" + model("demo.onnx") + "' ";
  expect_one_message(tool(rest + "--save out.mp4"), "--save is for one input");
  expect_one_message(tool(rest + "--snapshot out.png"), "--snapshot is for one input");
  expect_one_message(tool("run a.mp4 missing.mp4 --model '" + model("demo.onnx") + "'"), "missing.mp4");
  EXPECT_EQ(left_behind(), std::vector<std::string>{"a.mp4"});
}

}  // namespace run_several_test
}  // namespace tenon::tool::testing
