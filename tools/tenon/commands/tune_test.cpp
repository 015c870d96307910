// SPDX-License-Identifier: Apache-2.0
// tenon tune and tenon bench --streams as a user runs them.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace tune_test {

using nlohmann::json;

class Tune : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    write("p.json", R"({
  // A comment.
  "nodes": [
    {"element": "test", "parameters": {"width": 64, "height": 48, "fps": 50, "frames": 10}},
    {"element": "identity", "name": "first", "queue": {"size": 1}},
    {"element": "json", "parameters": {"path": "lines.jsonl"}}]})");
  }
};

TEST_F(Tune, MeasuresEveryChangeAndLeavesNoTrace) {
  const std::string before = text_of(file("p.json"));
  const Outcome done = tool("tune p.json --budget 6 --window 0.2 --warm-up 0.05 --rounds 3 --json --report page.html");
  ASSERT_EQ(done.status, 0) << done.err;
  const json told = json::parse(done.out);
  EXPECT_EQ(text_of(file("p.json")), before);
  EXPECT_EQ(told["streams"], 1);
  ASSERT_FALSE(told["steps"].empty());
  EXPECT_EQ(told["steps"][0]["change"], "first.queue=2");
  for (const json& step : told["steps"]) {
    EXPECT_FALSE(step["why"].get<std::string>().empty());
    if (step["taken"] == true) {
      EXPECT_EQ(step["after"].size(), 3u);
    }
  }
  EXPECT_NE(text_of(file("page.html")).find("<polyline"), std::string::npos);
  std::vector<std::string> expected{"p.json", "page.html"};
  if (!told["written"].is_null()) {
    expected.insert(expected.begin() + 1, "p.tuned.json");
    EXPECT_EQ(told["written"], "p.tuned.json");
    EXPECT_EQ(json::parse(text_of(file("p.tuned.json")))["nodes"].size(), 3u);
    EXPECT_EQ(tool("pipeline p.tuned.json --check").status, 0);
    EXPECT_GT(told["last"]["low"], 1.0);
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(left_behind(), expected);
  EXPECT_NE(done.err.find("noise of one measurement"), std::string::npos) << done.err;
}

TEST_F(Tune, RefusesWhatCannotBeTuned) {
  expect_one_message(tool("tune missing.json"), "missing.json");
  expect_one_message(tool("tune p.json -o p.json"), "p.json");
  expect_one_message(tool("tune p.json -o q.json --in-place"), "--in-place");
  write("bad.json",
        R"({"nodes":[{"element":"test"},{"element":"infer","parameters":{"model":"none.onnx"}},{"element":"null"}]})");
  expect_one_message(tool("tune bad.json -q"), "does not run as it is");
  expect_one_message(tool("tune p.json --devices TPU -q --budget 5 --window 0.2"), "TPU");
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"bad.json", "p.json"}));
}

TEST_F(Tune, CountsStreamsInRealTime) {
  const Outcome done = tool("bench p.json --streams --seconds 0.5 --max-streams 3 --bad 20 --json --report page.html");
  ASSERT_EQ(done.status, 0) << done.err;
  const json told = json::parse(done.out);
  // Beside other work there may be fewer than it is told to try.
  EXPECT_GE(told["streams"], 1);
  EXPECT_EQ(told["at_least"], told["streams"] == 3);
  EXPECT_EQ(told["criterion"]["bad_share"], 0.2);
  EXPECT_NE(text_of(file("page.html")).find(std::to_string(told["streams"].get<int>()) + " stream"), std::string::npos);
  write("slow.json", R"({"nodes":[{"element":"test","parameters":{"width":64,"height":48,"fps":50}},
    {"element":"throttle","parameters":{"fps":20,"how":"wait"}},{"element":"null"}]})");
  const Outcome none = tool("bench slow.json --streams --seconds 0.5");
  ASSERT_EQ(none.status, 0) << none.err;
  EXPECT_NE(none.out.find("slow.json: 0 streams in real time"), std::string::npos) << none.out;
  EXPECT_NE(none.out.find("keeps up if in a window of 0.5 s"), std::string::npos) << none.out;
}

TEST_F(Tune, StreamsNeedAPipeline) {
  expect_one_message(tool("bench --streams"), "--streams is for a pipeline file");
  expect_one_message(tool("bench p.json"), "--streams is for a pipeline file");
  expect_one_message(tool("bench"), "give --model");
}

}  // namespace tune_test
}  // namespace tenon::tool::testing
