// SPDX-License-Identifier: Apache-2.0
// tenon pipeline while it runs: Ctrl-C once and twice, a terminal, and failures when they happen.
#include <gmock/gmock.h>

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <string>
#include <thread>

#include <tenon/tests/support/silent_server.hpp>

#include <tenon/tools/tenon/testing/running.hpp>

namespace tenon::tool::testing {
namespace pipeline_signals_test {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

class RunningPipeline : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    write("live.json", R"({"nodes": [{"element": "test", "name": "camera", "parameters": {"live": true}},
                                     {"element": "null", "name": "end"}]})");
  }
  void TearDown() override {
    for (const char* const end : {".out", ".err"}) fs::remove(folder.string() + end);
    ToolTest::TearDown();
  }
  /// A pipeline whose sink waits for a server.
  void write_slow(int port) const {
    write("slow.json", R"({"nodes": [{"element": "test", "parameters": {"live": true}},
                                     {"element": "stream", "parameters": {"timeout_ms": 60000,
                                                                          "url": "rtsp://127.0.0.1:)" +
                           std::to_string(port) + R"(/x"}}]})");
  }
  /// Waits until so many files are there: a pipeline that runs has made those that it writes.
  bool leaves(std::size_t files) const {
    for (const auto end = Clock::now() + 60s; Clock::now() < end; std::this_thread::sleep_for(5ms))
      if (left_behind().size() == files) return true;
    return false;
  }
  std::string to_files() const { return " >'" + folder.string() + ".out' 2>'" + folder.string() + ".err' </dev/null"; }
  std::string out() const { return text_of(folder.string() + ".out"); }
  std::string err() const { return text_of(folder.string() + ".err"); }
};

TEST_F(RunningPipeline, GoesOnWhereItsMetricsCannotBeWritten) {
  fs::create_directories(folder / "metrics");
  Running tool(folder, "pipeline live.json --json --metrics metrics/m.txt" + to_files());
  ASSERT_TRUE(becomes([&] { return fs::exists(file("metrics/m.txt")); }));
  fs::remove_all(file("metrics"));
  EXPECT_TRUE(becomes([&] { return err().find("m.txt") != std::string::npos; })) << err();
  fs::create_directories(folder / "metrics");
  EXPECT_TRUE(becomes([&] { return fs::exists(file("metrics/m.txt")); }));
  ASSERT_TRUE(tool.signalled(SIGINT, 60s));
  ASSERT_TRUE(WIFEXITED(tool.status()));
  EXPECT_EQ(WEXITSTATUS(tool.status()), 130);
  EXPECT_GT(json::parse(out()).at("nodes").at(0).at("frames_out"), 0);
}

TEST_F(RunningPipeline, CtrlCEndsItWithItsReport) {
  write("live.json", R"({"nodes": [{"element": "test", "parameters": {"live": true}},
                                   {"element": "write", "parameters": {"path": "out.mp4"}}]})");
  Running tool(folder, "pipeline live.json --json" + to_files());
  ASSERT_TRUE(leaves(2));
  ASSERT_TRUE(tool.signalled(SIGINT, 60s));
  ASSERT_TRUE(WIFEXITED(tool.status())) << "it died of the signal";
  EXPECT_EQ(WEXITSTATUS(tool.status()), 130);
  EXPECT_EQ(json::parse(out()).at("interrupted"), true);
}

TEST_F(RunningPipeline, ASecondCtrlCEndsItAtOnce) {
  const tenon_test::SilentServer server;
  write_slow(server.port());
  // A file is written beside, and not complete when the second signal comes.
  json nodes = json::parse(text_of(file("slow.json")));
  nodes["nodes"][0]["name"] = "camera";
  nodes["nodes"].push_back({{"element", "write"}, {"from", "camera"}, {"parameters", {{"path", "out.mp4"}}}});
  write("slow.json", nodes.dump());
  Running tool(folder, "pipeline slow.json -q" + to_files());
  ASSERT_TRUE(server.is_called(60s)) << "nothing is in flight, and this is no trial";
  ASSERT_TRUE(leaves(3)) << "live.json, slow.json and the temporary file, or this is no trial";
  std::this_thread::sleep_for(1s);  // The stream's queue fills, so that the file cannot end. If it does, it is whole.
  EXPECT_FALSE(tool.signalled(SIGINT, 1s)) << "what is in flight has its ten seconds";
  // Two signals are one where the tool did not run between them.
  bool has_ended = false;
  for (int i = 0; i < 20 && !has_ended; ++i) has_ended = tool.signalled(SIGINT, 2s);
  ASSERT_TRUE(has_ended);
  EXPECT_THAT(left_behind(), ::testing::Each(::testing::AnyOf("live.json", "slow.json", "out.mp4"))) << "a hidden file";
  ASSERT_TRUE(WIFSIGNALED(tool.status())) << "its parent must see why: " << err();
  EXPECT_EQ(WTERMSIG(tool.status()), SIGINT);
}

TEST_F(RunningPipeline, WhatIsInFlightGetsTenSecondsAfterCtrlC) {
  const tenon_test::SilentServer server;
  write_slow(server.port());
  Running tool(folder, "pipeline slow.json -q" + to_files());
  ASSERT_TRUE(server.is_called(60s));
  ASSERT_TRUE(tool.signalled(SIGINT, 50s)) << "a waiting call, of a minute, is not interrupted";
  ASSERT_TRUE(WIFEXITED(tool.status())) << err();
  EXPECT_EQ(WEXITSTATUS(tool.status()), 130) << err();
  EXPECT_THAT(out(), HasSubstr("copied/frame"));
}

TEST_F(RunningPipeline, ATerminalShowsTheTableRedrawn) {
  Running tool(folder, "pipeline live.json", true);
  std::string shown = tool.shown("A\x1b[J");
  tool.send(SIGINT);
  shown += tool.shown();
  ASSERT_TRUE(tool.ends_within(60s));
  EXPECT_EQ(WEXITSTATUS(tool.status()), 130);
  EXPECT_THAT(shown, HasSubstr("\x1b[")) << "it moves the cursor";
  EXPECT_THAT(shown, HasSubstr("A\x1b[J"));
  const std::string last = shown.substr(shown.rfind("\x1b[J"));
  EXPECT_THAT(last, HasSubstr("copied/frame")) << "the report stays";
  EXPECT_THAT(last, HasSubstr("camera"));
}

TEST_F(RunningPipeline, CtrlCInATerminalLeavesTheReport) {
  Running tool(folder, "pipeline live.json", true);
  std::string shown = tool.shown("camera");
  tool.send(SIGINT);
  shown += tool.shown();
  ASSERT_TRUE(tool.ends_within(60s));
  ASSERT_TRUE(WIFEXITED(tool.status()));
  EXPECT_EQ(WEXITSTATUS(tool.status()), 130);
  EXPECT_THAT(shown.substr(shown.rfind("\x1b[J")), HasSubstr("copied/frame"));
}

TEST_F(RunningPipeline, FailuresAreToldWhenTheyHappen) {
  write("two.json",
        R"({"on_error": "end", "nodes": [{"element": "file", "name": "gone", "parameters": {"path": "/none.mp4"}},
                                  {"element": "test", "name": "camera", "parameters": {"live": true}},
                                  {"element": "null", "from": ["gone", "camera"]}]})");
  Running tool(folder, "pipeline two.json" + to_files());
  for (const auto end = Clock::now() + 60s; Clock::now() < end && out().find(", 1 failure ") == std::string::npos;)
    std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(tool.has_ended());
  EXPECT_THAT(err(), HasSubstr("tenon: 'gone', stream 0: "));
  EXPECT_THAT(err(), HasSubstr("/none.mp4"));
  EXPECT_THAT(out(), HasSubstr(", 1 failure "));
  ASSERT_TRUE(tool.signalled(SIGINT, 60s));
  EXPECT_NE(WEXITSTATUS(tool.status()), 0);
}

}  // namespace pipeline_signals_test
}  // namespace tenon::tool::testing
