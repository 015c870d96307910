// SPDX-License-Identifier: Apache-2.0
// tenon pipeline from the kernel's virtual cameras (vivid) through a model into lines of JSON. The VM has such cameras;
// elsewhere the tests skip.
#include <tenon/tools/tenon/testing/tool.hpp>

#ifdef TENON_HAS_CAMERAS
#include <algorithm>

#include <tenon/frameworks/v4l2/testing/vivid.hpp>

namespace tenon::tool::testing {
namespace pipeline_camera_test {

using nlohmann::json;

class PipelineCamera : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    const auto cameras = v4l2::test::vivid_paths();
    if (!cameras.empty()) {
      camera_ = cameras.front();
      return;
    }
    ASSERT_EQ(std::getenv("TENON_EXPECT_VIVID"), nullptr) << "no device of the driver vivid";
    GTEST_SKIP() << "no device of the driver vivid: modprobe vivid, or ./dev test-vm";
  }

  /// Expects a class and no copied byte for each of some pictures.
  void expect_classes(const std::string& device) const {
    const json pipeline = {
        {"patience_ms", 60000},  // An emulated machine is slow.
        {"nodes",
         {{{"element", "camera"},
           {"parameters", {{"device", camera_}, {"format", "nv12"}, {"width", 320}, {"height", 180}, {"fps", 30}}}},
          {{"element", "infer"},
           {"parameters", {{"model", model("colour.xml")}, {"device", device}, {"zero_copy", "require"}}}},
          {{"element", "json"}, {"parameters", {{"path", "found.jsonl"}}}}}}};
    write("p.json", pipeline.dump());
    const Outcome done = tool("pipeline --json --frames 8 p.json");
    ASSERT_EQ(done.status, 0) << done.err;
    const json report = json::parse(done.out);
    for (const json& node : report.at("nodes")) EXPECT_EQ(node.at("copied"), 0) << node.dump(1);
    const std::string lines = text_of(folder / "found.jsonl");
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 8);
    EXPECT_NE(lines.find("\"kind\":\"classification\",\"label\":"), std::string::npos) << lines.substr(0, 500);
  }
  std::string camera_;
};

TEST_F(PipelineCamera, TheCpuReadsWhereTheDriverWrote) { expect_classes("CPU"); }

TEST_F(PipelineCamera, TheNpuReadsWhereTheDriverWrote) {
  if (!std::getenv("TENON_HAS_SOFTWARE_NPU")) GTEST_SKIP() << "the software NPU was not built";
  expect_classes("NPU");
}

}  // namespace pipeline_camera_test
}  // namespace tenon::tool::testing
#endif
