// SPDX-License-Identifier: Apache-2.0
// tenon elements and tenon pipeline, as a user calls them.
#include <gmock/gmock.h>

#include <tenon/elements/pipeline_schema.hpp>
#include <tenon/elements/registry.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class PipelineCommand : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    write("p.json", R"({"nodes": [{"element": "test", "name": "camera", "parameters": {"frames": 20}},
                                  {"element": "identity", "queue": {"size": 2}}, {"element": "null", "name": "end"}]})");
  }
};

TEST_F(PipelineCommand, ElementsAreListedAndDocumented) {
  const Outcome all = tool("elements --json");
  ASSERT_EQ(all.status, 0) << all.err;
  bool found = false;
  const json list = json::parse(all.out);
  for (const json& element : list.at("elements")) found = found || element.at("name") == "identity";
  EXPECT_TRUE(found) << all.out;
  const json one = json::parse(tool("elements test --json").out);
  EXPECT_EQ(one.at("role"), "source");
  EXPECT_EQ(one.at("parameters").at(1), (json{{"name", "width"},
                                              {"about", "Pixels"},
                                              {"type", "integer"},
                                              {"default", 640},
                                              {"least", 2},
                                              {"most", 16384}}));
  const Outcome text = tool("elements test");
  EXPECT_THAT(text.out, HasSubstr("2 to 16384"));
  EXPECT_THAT(tool("elements").out, HasSubstr("Takes all frames and keeps none"));
  expect_one_message(tool("elements tset"), "did you mean 'test'?");
}

TEST_F(PipelineCommand, ModulesThatAreAbsentAreNamedWithTheReason) {
  write("modules/libtenon_elements_broken.so", "no library");
  const std::string path = "TENON_ELEMENT_PATH='" + file("modules") + "'";
  EXPECT_THAT(tool("elements", path).out, HasSubstr("absent: those of 'broken': "));
  EXPECT_EQ(json::parse(tool("elements --json", path).out).at("absent").at(0).at("module"), "broken");
}

TEST_F(PipelineCommand, ThePublishedSchemaIsTheRegistrys) {
  const json published =
      json::parse(text_of(from_environment("TENON_SOURCE_DIR") + "/docs/reference/pipeline.schema.json"));
  const json here = json::parse(tool("elements --schema").out);
  const char* const remedy = "run: tenon elements --schema > docs/reference/pipeline.schema.json";
  // Elements whose library is missing here are in the published one only.
  for (const auto& [name, schema] : here.at("$defs").items()) {
    ASSERT_TRUE(published.at("$defs").contains(name)) << "'" << name << "' is new; " << remedy;
    EXPECT_EQ(published.at("$defs").at(name), schema) << "'" << name << "' has changed; " << remedy;
  }
  json a = published, b = here;
  for (json* const one : {&a, &b}) {
    one->erase("$defs");
    json& node = one->at("properties").at("nodes").at("items");
    node.at("properties").at("element").erase("oneOf");
    node.erase("allOf");
  }
  EXPECT_EQ(a, b) << remedy;
}

TEST_F(PipelineCommand, RunsAndReports) {
  const Outcome done = tool("pipeline p.json --json --set camera.width=64 --set camera.frames=30");
  ASSERT_EQ(done.status, 0) << done.err;
  const json report = json::parse(done.out);
  EXPECT_EQ(report.at("streams"), 1);
  ASSERT_EQ(report.at("nodes").size(), 3u);
  EXPECT_EQ(report.at("nodes").at(0).at("to"), json::array({"identity"}));
  EXPECT_EQ(report.at("nodes").at(1).at("queue_size"), 2);
  EXPECT_EQ(report.at("nodes").at(2).at("frames_in"), 30);
  EXPECT_GT(report.at("nodes").at(2).at("latency_ms").at("p99"), 0.0);
  const Outcome text = tool("pipeline p.json --frames 7");
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("end       7"));
  EXPECT_THAT(text.out, HasSubstr("copied/frame"));
  EXPECT_THAT(left_behind(), ::testing::ElementsAre("p.json"));
}

TEST_F(PipelineCommand, WithoutATerminalTheViewIsPlainLines) {
  const Outcome done = tool("pipeline p.json --set camera.live=true --set camera.frames=0 --duration 2.5");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("end "));
  EXPECT_THAT(done.out, HasSubstr(", queue 0/2)"));
  EXPECT_THAT(done.out, Not(HasSubstr("\x1b")));
}

TEST_F(PipelineCommand, ChecksWithoutRunning) {
  const Outcome plan = tool("pipeline p.json --check --json");
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_EQ(json::parse(plan.out).at("nodes").at(1).at("own_thread"), true);
  EXPECT_THAT(tool("pipeline p.json --dot").out, HasSubstr("\"camera\" -> \"identity\""));
  expect_one_message(tool("pipeline p.json --check --set camera.widht=3"), "did you mean 'width'?");
}

TEST_F(PipelineCommand, ErrorsNameTheElementAndTheRemedy) {
  EXPECT_EQ(tool("pipeline p.json --set camera.width=1").status, 65);
  expect_one_message(tool("pipeline p.json --set camera.width=1"), "element 'camera' (test): parameter 'width' is '1'");
  expect_one_message(tool("pipeline p.json --set camra.width=8"), "did you mean 'camera'?");
  expect_one_message(tool("pipeline p.json --set width=8"), "NODE.PARAMETER=VALUE");
  EXPECT_EQ(tool("pipeline nothing.json").status, 66);
  write("bad.json", R"({"nodes": [{"elment": "test"}]})");
  expect_one_message(tool("pipeline bad.json"),
                     "bad.json: pipeline file: /nodes/0/elment: is not known; did you mean 'element'?");
  expect_one_message(tool("pipeline -"), "-: pipeline file: ");  // Standard input, which is empty.
  write("open.json", R"({"nodes": [{"element": "test"}]})");
  expect_one_message(tool("pipeline open.json"), "end with a sink, 'null' for none");
}

TEST_F(PipelineCommand, CtrlCEndsItWithItsReport) {
  const Outcome done = tool("pipeline p.json --json --set camera.live=true --set camera.frames=0", "timeout -s INT 1");
  EXPECT_EQ(done.status, 124) << done.err;  // timeout's own: the tool ended by itself.
  EXPECT_EQ(json::parse(done.out).at("interrupted"), true);
}

TEST_F(PipelineCommand, WritesATraceAndMetrics) {
  const Outcome done = tool("pipeline p.json -q --trace t.json --metrics m.txt");
  ASSERT_EQ(done.status, 0) << done.err;
  std::size_t spans = 0;
  const json trace = json::parse(text_of(folder / "t.json"));
  for (const json& event : trace.at("traceEvents"))
    spans += event.contains("name") && event.at("name") == "camera" ? 1 : 0;
  EXPECT_GE(spans, 20u);
  const std::string metrics = text_of(folder / "m.txt");
  EXPECT_THAT(metrics, HasSubstr("tenon_element_frames_in_total{node=\"end\",element=\"null\"} 20\n"));
  EXPECT_THAT(metrics, HasSubstr("tenon_element_latency_seconds{node=\"end\",element=\"null\",quantile=\"0.99\"} "));
  expect_one_message(tool("pipeline p.json --metrics p.json"), "--metrics");
}

}  // namespace
}  // namespace tenon::tool::testing
