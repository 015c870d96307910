// SPDX-License-Identifier: Apache-2.0
// bench, verify, devices, matrix, route and the help texts.
#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/testing/tool.hpp>

#include <gtest/gtest-spi.h>

namespace tenon::tool::testing {
namespace commands_test {

using nlohmann::json;
using Commands = ToolTest;

/// What these tests rest on.
TEST_F(Commands, ARunThatHangsIsEndedAndShown) {
  ::testing::internal::CaptureStderr();
  EXPECT_NONFATAL_FAILURE(run_in_time("sleep 300 & wait", std::chrono::seconds(1)), "not ended within 1 s: sleep 300");
  const std::string shown = ::testing::internal::GetCapturedStderr();
  if (std::system("command -v gdb >/dev/null") == 0) {
    EXPECT_NE(shown.find("#0"), std::string::npos) << shown;
  }
  EXPECT_EQ(run_in_time("exit 3"), 3 << 8);
}

TEST_F(Commands, HelpOfEachNamesItsOptions) {
  const std::pair<const char*, std::vector<std::string>> all[] = {
      {"run",
       {"--model", "--device", "--save", "--report", "--ground-truth", "--zero-copy", "--max-frames", "--requests",
        "--confidence", "--iou", "--no-compare", "--trace", "--quiet", "--snapshot", "require", "--fact",
        "--side-file"}},
      {"bench",
       {"--model", "--device", "--seconds", "--requests", "--hint", "--json", "--threads", "--shape", "--set",
        "--profile", "--trace", "--streams", "--late", "--max-streams", "Examples"}},
      {"tune",
       {"--goal", "--latency", "--budget", "--devices", "--in-place", "--output", "--rounds", "--report", "--json",
        "Examples"}},
      {"evaluate",
       {"--model", "--pictures", "--input", "--labels", "--track-class", "--distractors", "--save-results", "--report",
        "--json", "Examples"}},
      {"query", {"--device", "--shape", "--set", "--fact", "--side-file", "--all", "--json", "Examples"}},
      {"compile",
       {"--device", "--output", "--dump-graph", "--estimate", "--report", "--shape", "--set", "--json", "Examples"}},
      {"convert", {"--weights", "--shape", "--compress-to-fp16", "--json", "Examples"}},
      {"verify", {"--device", "--json", "--rtol", "--atol", "--filter", "--default-precision"}},
      {"matrix", {"--json", "--list", "--markdown"}},
      {"route", {"--format", "--size", "--explain", "--json"}},
      {"devices", {"--json"}}};
  for (const auto& [command, options] : all) {
    const Outcome help = tool(std::string(command) + " --help");
    EXPECT_EQ(help.status, 0) << command;
    for (const std::string& option : options)
      EXPECT_NE(help.out.find(option), std::string::npos) << command << " " << option << "\n" << help.out;
  }
  const Outcome all_commands = tool("--help");
  EXPECT_EQ(all_commands.status, 0);
  for (const auto& [command, options] : all) EXPECT_NE(all_commands.out.find(command), std::string::npos) << command;
  EXPECT_NE(tool("").status, 0);
  EXPECT_NE(tool("fly").status, 0);
}

TEST_F(Commands, CompileEstimatesTheTimeOnAnNpu) {
  const auto estimate = [this](const std::string& platform) {
    const Outcome done = tool("compile '" + model("demo.onnx") + "' --json --estimate " + platform);
    EXPECT_EQ(done.status, 0) << done.err;
    return json::parse(done.out).at("estimate");
  };
  const json fast = estimate("4000"), slow = estimate("3720"), one_tile = estimate("4000:1");
  EXPECT_EQ(fast.at("tiles"), 4);
  EXPECT_EQ(one_tile.at("tiles"), 1);
  EXPECT_GT(slow.at("us"), fast.at("us"));
  EXPECT_GE(one_tile.at("us"), fast.at("us"));
  double sum = 0;
  for (const json& layer : fast.at("layers")) sum += layer.at("us").get<double>();
  EXPECT_NEAR(sum, fast.at("us").get<double>(), 1e-6 * sum);
  const Outcome text = tool("compile '" + model("demo.onnx") + "' --estimate 5010");
  EXPECT_NE(text.out.find("on an NPU 5010 with 3 of 3 tiles"), std::string::npos) << text.out << text.err;
  for (const char* wrong :
       {"--estimate 1234", "--estimate 4000:7", "--estimate fast", "--estimate ''", "--report x.html"})
    EXPECT_NE(tool("compile '" + model("demo.onnx") + "' " + wrong).status, 0) << wrong;
  expect_one_message(tool("compile '" + model("demo.onnx") + "' --estimate 4000:1.5"), "the number of tiles, 1 to 6");
}

TEST_F(Commands, BenchMeasuresAndCounts) {
  const Outcome done = tool("bench -m '" + model("demo.onnx") + "' -d CPU --seconds 0.5 --json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json result = json::parse(done.out);
  const json& latency = result.at("latency_ms");
  EXPECT_GT(latency.at("p50"), 0);
  EXPECT_GE(latency.at("p90"), latency.at("p50"));
  EXPECT_GE(latency.at("p99"), latency.at("p90"));
  EXPECT_GT(result.at("fps"), 0);
  EXPECT_GT(result.at("compile_ms"), 0);
  EXPECT_GT(result.at("first_inference_ms"), 0);
  EXPECT_GT(result.at("peak_rss_mb"), 5);
  // Our own code allocates nothing in the steady state.
  EXPECT_EQ(result.at("allocations_per_inference").at("own"), 0) << done.out;
  EXPECT_GE(result.at("allocations_per_inference").at("libraries"), 0);
  const Outcome text =
      tool("bench -m '" + model("demo.onnx") + "' --seconds 0.3 --hint latency --threads 1 --requests 1");
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("p99"), std::string::npos);
  EXPECT_NE(text.out.find("█"), std::string::npos);
}

TEST_F(Commands, BenchRefusesWithOneMessage) {
  expect_one_message(tool("bench -m none.onnx"), "none.onnx");
  expect_one_message(tool("bench -m '" + model("demo.onnx") + "' -d TPU"), "CPU");
  write("unknown.onnx", proto::onnx_model("NoSuchOperation", {1, 4}));
  expect_one_message(tool("bench -m unknown.onnx"), "NoSuchOperation");
  expect_one_message(tool("bench -m '" + model("demo.onnx") + "' --seconds 0"), "seconds");
}

TEST_F(Commands, VerifyPassesFailsAndSkips) {
  const auto test = [&](const std::string& name, const std::string& operation, const std::vector<float>& expected) {
    write("suite/" + name + "/model.onnx", proto::onnx_model(operation, {3}));
    write("suite/" + name + "/test_data_set_0/input_0.pb", proto::tensor("x", {-1, 0, 2}));
    write("suite/" + name + "/test_data_set_0/output_0.pb", proto::tensor("y", expected));
  };
  test("relu", "Relu", {0, 0, 2});
  test("wrong", "Relu", {0, 1, 2});
  test("unknown", "NoSuchOperation", {0, 0, 2});
  fs::create_directories(folder / "suite/nothing");
  EXPECT_EQ(tool("verify suite/relu").status, 0);
  const Outcome done = tool("verify suite --json v.json");
  ASSERT_EQ(done.status, 1) << done.err;
  EXPECT_TRUE(done.out.ends_with("1 passed, 2 failed, 1 skipped\n")) << done.out;
  const json result = json::parse(text_of(file("v.json")));
  EXPECT_EQ(result.at("passed"), 1);
  ASSERT_EQ(result.at("folders").size(), 4u);
  for (const json& one : result.at("folders")) {
    const std::string name = one.at("name");
    EXPECT_EQ(one.at("result"), name == "relu" ? "passed" : name == "nothing" ? "skipped" : "failed") << one.dump();
    if (name == "unknown") {
      EXPECT_NE(one.at("reason").get<std::string>().find("NoSuchOperation"), std::string::npos) << one.dump();
    }
    EXPECT_EQ(one.at("reason").get<std::string>().empty(), name == "relu") << one.dump();
  }
  EXPECT_TRUE(tool("verify suite/wrong --atol 1.5 -q").out.ends_with("1 passed, 0 failed, 0 skipped\n"));
  EXPECT_TRUE(tool("verify suite --filter relu -q").out.ends_with("1 passed, 0 failed, 0 skipped\n"));
  EXPECT_TRUE(
      tool("verify suite --filter relu --default-precision -q").out.ends_with("1 passed, 0 failed, 0 skipped\n"));
}

TEST_F(Commands, VerifyRefusesWithOneMessage) {
  fs::create_directory(folder / "empty");
  const auto before = left_behind();
  expect_one_message(tool("verify none --json v.json"), "none");
  expect_one_message(tool("verify empty --json v.json"), "empty");
  expect_one_message(tool("verify empty -d TPU"), "CPU");
  expect_one_message(tool("verify empty --json none/v.json"), "none");
  EXPECT_EQ(left_behind(), before);
}

TEST_F(Commands, DevicesListTheCpu) {
  const Outcome done = tool("devices --json");
  ASSERT_EQ(done.status, 0) << done.err;
  bool found = false;
  const json devices = json::parse(done.out).at("devices");
  for (const json& device : devices) found = found || (device.at("device") == "CPU" && device.at("available") == true);
  EXPECT_TRUE(found) << done.out;
  EXPECT_NE(tool("devices").out.find("CPU"), std::string::npos);
}

TEST_F(Commands, MatrixProvesWhatSharesAndNamesWhatDoesNot) {
  const Outcome done = tool("matrix --json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json pairs = json::parse(done.out).at("pairs");
  bool ffmpeg_shares = false;
  for (const json& pair : pairs) {
    for (const char* key : {"from", "to", "result", "reason", "first_ns", "repeat_ns"})
      EXPECT_TRUE(pair.contains(key)) << key;
    const std::string result = pair.at("result");
    EXPECT_TRUE(result == "proved" || result == "claimed" || result == "copies" || result == "refused") << result;
    if (result != "proved") {
      EXPECT_NE(pair.at("reason"), "") << pair.dump();
    }
    ffmpeg_shares = ffmpeg_shares || (pair.at("from") == "ffmpeg" && pair.at("to") == "cpu" && result == "proved");
  }
  EXPECT_TRUE(ffmpeg_shares) << done.out;
}

TEST_F(Commands, MatrixIsAGridAListOrMarkdown) {
  const Outcome grid = tool("matrix cpu ffmpeg");
  ASSERT_EQ(grid.status, 0) << grid.err;
  EXPECT_NE(grid.out.find("1 cpu"), std::string::npos) << grid.out;
  EXPECT_NE(grid.out.find("2 ffmpeg"), std::string::npos) << grid.out;
  EXPECT_NE(grid.out.find("= "), std::string::npos) << "memory is shared both ways\n" << grid.out;
  EXPECT_EQ(grid.out.find("null"), std::string::npos) << "only what was asked for\n" << grid.out;
  EXPECT_NE(tool("matrix --list cpu ffmpeg").out.find("ffmpeg->cpu"), std::string::npos);
  EXPECT_EQ(tool("matrix --markdown cpu ffmpeg").out.rfind("| from \\ to | 1 | 2 |\n|---|---|---|\n| 1 cpu |", 0), 0u);
  expect_one_message(tool("matrix cpu mars"), "mars");
}

TEST_F(Commands, RouteExplains) {
  const Outcome done = tool("route cpu ffmpeg --format nv12 --size 640x480 --json");
  ASSERT_EQ(done.status, 0) << done.err;
  const json route = json::parse(done.out);
  EXPECT_EQ(route.at("possible"), true);
  EXPECT_EQ(route.at("copies"), false);
  EXPECT_NE(route.at("explanation").get<std::string>().find("nv12 640x480 from cpu"), std::string::npos) << done.out;
  ASSERT_EQ(route.at("hops").size(), 1u);
  EXPECT_EQ(route.at("hops")[0].at("host_wait"), "ffmpeg cannot wait for points of cpu");
  const Outcome text = tool("route cpu ffmpeg --explain");
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("waits   on the host at cpu->ffmpeg"), std::string::npos) << text.out;
  expect_one_message(tool("route cpu mars"), "cpu");
  expect_one_message(tool("route cpu ffmpeg --format nv99"), "nv99");
}

}  // namespace commands_test
}  // namespace tenon::tool::testing
