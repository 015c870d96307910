// SPDX-License-Identifier: Apache-2.0
// Names of files, of folders and inside models are any bytes: each command that writes JSON writes valid JSON all the same.
#include <fstream>
#include <string>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace commands_names_test {

using nlohmann::json;

class NamesNotUtf8 : public ToolTest {
 protected:
  /// A model of such a name, whose input and nodes have such names as well.
  void SetUp() override {
    ToolTest::SetUp();
    std::string bytes = text_of(testing::model("demo.onnx"));
    for (const std::string known : {"image", "stem.conv", "stage"})
      for (std::size_t at = 0; (at = bytes.find(known, at)) != std::string::npos; ++at) bytes[at + 2] = '\xfe';
    write(model_, bytes);
  }
  json json_of(const std::string& arguments) const {
    const Outcome done = tool(arguments);
    EXPECT_EQ(done.status, 0) << arguments << "\n" << done.err;
    const json read = json::parse(done.out, nullptr, false);
    EXPECT_FALSE(read.is_discarded()) << arguments << "\n" << done.out;
    return read;
  }
  const std::string model_ = "m\xfe.onnx", quoted_ = "'" + model_ + "'";
};

TEST_F(NamesNotUtf8, ModelsAreReportedOn) {
  EXPECT_EQ(json_of("query " + quoted_ + " --json").at("model"), "m\xef\xbf\xbd.onnx");
  json_of("query " + quoted_ + " --all --json");
  json_of("compile " + quoted_ + " --json");
  json_of("convert " + quoted_ + " 'o\xff.xml' --json");
  json_of("bench -m " + quoted_ + " --seconds 0.2 --profile --json");
}

TEST_F(NamesNotUtf8, TracesAreJson) {
  ASSERT_EQ(tool("bench -m " + quoted_ + " --seconds 0.2 --trace t.json").status, 0);
  const json trace = json::parse(text_of(folder / "t.json"), nullptr, false);
  ASSERT_FALSE(trace.is_discarded());
  // Which of the nodes have steps of their own depends on the processor.
  EXPECT_NE(trace.dump().find("\xef\xbf\xbd"), std::string::npos);
}

TEST_F(NamesNotUtf8, RunsAreReportedOn) {
  fs::copy_file(model("demo.mp4"), file("v\xff.mp4"));
  ASSERT_EQ(tool("run 'v\xff.mp4' --model " + quoted_ + " --max-frames 2 --quiet --no-compare --report r.json").status,
            0);
  EXPECT_FALSE(json::parse(text_of(folder / "r.json"), nullptr, false).is_discarded());
}

TEST_F(NamesNotUtf8, FoldersAreReportedOn) {
  fs::create_directories(folder / "c\xfe" / "t\xfe");
  EXPECT_EQ(json_of("cache list 'c\xfe' --json").at("folder"), "c\xef\xbf\xbd");
  json_of("cache clear 'c\xfe' --json");
}

TEST_F(NamesNotUtf8, PipelinesAreReportedOn) {
  write("p.json", R"({"nodes": [{"element": "test", "name": "camera", "parameters": {"frames": 2}},
                                {"element": "json", "name": "out"}]})");
  json_of("pipeline p.json --check --json --set 'out.path=o\xfe'");
  json_of("pipeline p.json --json --set 'out.path=o\xfe'");
}

}  // namespace commands_names_test
}  // namespace tenon::tool::testing
