// SPDX-License-Identifier: Apache-2.0
// The sink "json": lines in files and pipes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/callback.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/publisher.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace json_test {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class Json : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_json_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  static Frame picture(std::int64_t time_ns) {
    Frame frame = Frame::allocate({kGray8, 4, 2});
    frame.set_timestamp_ns(time_ns);
    return frame;
  }
  static std::unique_ptr<Sink> sink(const std::map<std::string, std::string>& parameters) {
    return std::get<std::unique_ptr<Sink>>(make_element("json", parameters, {"out", nullptr}));
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Json, TwoStreamsOfAPipelineMeetInOneFile) {
  PipelineSpec spec;
  spec.nodes = {{"test", "a", {{"frames", "3"}}},
                {"test", "b", {{"frames", "5"}, {"width", "32"}}},
                {"json", "out", {{"path", path("out.jsonl")}}, {"a", "b"}}};
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 20s));
  EXPECT_TRUE(pipeline.failures().empty());
  const auto lines = lines_of(path("out.jsonl"));
  ASSERT_EQ(lines.size(), 8u);
  std::size_t of_b = 0;
  for (const std::string& line : lines) of_b += line.starts_with("{\"stream\":1,\"timestamp_ns\":");
  EXPECT_EQ(of_b, 5u);
}

TEST_F(Json, SaysWhereFramesComeFromIfToldSo) {
  int next = 0;
  const auto read = [&](Deadline) -> std::optional<Frame> {
    if (next == 8) return std::nullopt;
    if (next++ == 4) throw Error(Code::kUnavailable, "the camera is gone");
    return picture(std::int64_t{(next - 1) % 5} * 1'000'000);
  };
  StreamInfo info;
  info.frames_per_second = 1000;
  NodeSpec camera = node_of(source_of("camera", info, read));
  camera.name = "gate";
  PipelineSpec spec;
  spec.nodes = {camera,
                {"json", "told", {{"path", path("told.jsonl")}, {"origin", "true"}}, {"gate"}},
                {"json", "plain", {{"path", path("plain.jsonl")}}, {"gate"}}};
  spec.on_error = OnError::kRestart;
  spec.restart_delay = 1ms;
  Pipeline pipeline(spec);
  const auto before = std::chrono::system_clock::now().time_since_epoch();
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 20s));
  const auto lines = lines_of(path("told.jsonl"));
  ASSERT_EQ(lines.size(), 7u);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string number = std::to_string(i);
    EXPECT_THAT(lines[i], HasSubstr("\"timestamp_ns\":" + std::to_string(i * 1'000'000)))
        << "it goes on after the restart";
    EXPECT_THAT(lines[i], HasSubstr("\"kind\":\"source\",\"uri\":\"gate\",\"stream\":0,\"sequence\":" + number));
    const std::size_t clock = lines[i].find("\"clock\":\"unix\",\"time_ns\":");
    ASSERT_NE(clock, std::string::npos) << lines[i];
    const auto passed = std::chrono::nanoseconds(std::stoll(lines[i].substr(clock + 25))) - before;
    EXPECT_TRUE(passed > -1s && passed < 60s) << lines[i];
  }
}

TEST_F(Json, LinesAreAsBeforeUnlessToldOtherwise) {
  PipelineSpec spec;
  spec.nodes = {{"test", "a", {{"frames", "1"}, {"width", "32"}, {"height", "16"}}},
                {"json", "out", {{"path", path("out.jsonl")}}}};
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 20s));
  EXPECT_EQ(lines_of(path("out.jsonl")),
            std::vector<std::string>{
                R"({"stream":0,"timestamp_ns":0,"format":"nv12","width":32,"height":16,"metadata":[]})"});
}

TEST_F(Json, ReplacesAFileOnlyOnceItRuns) {
  std::ofstream(path("old.jsonl")) << "{}\n";
  PipelineSpec spec;
  spec.nodes = {{"test", "a", {{"frames", "1"}}}, {"json", "out", {{"path", path("old.jsonl")}}}};
  { const Pipeline never_started(spec); }
  EXPECT_EQ(lines_of(path("old.jsonl")), std::vector<std::string>{"{}"});
}

TEST_F(Json, SaysWhatWasFoundAndLeavesOutTheRest) {
  const auto out = sink({{"path", path("found.jsonl")}, {"only_results", "true"}});
  out->open(0, {});
  out->write(0, picture(1));
  Frame found = picture(2);
  metadata::of(found).add(metadata::Source{"camera", 0, 7});
  out->write(0, found);
  metadata::of(found).add(metadata::Detection{{0, 0, 2, 2}, "cat \"1\"\n", 3, 0.5f, 9});
  out->write(0, found);
  const auto lines = lines_of(path("found.jsonl"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("\"stream\":0,\"timestamp_ns\":2,"));
  EXPECT_THAT(lines[0], HasSubstr("\"label\":\"cat \\\"1\\\"\\u000a\""));
  EXPECT_THAT(lines[0], HasSubstr("\"track_id\":9"));
}

TEST_F(Json, SoundHasItsSamplingAndEvents) {
  AudioFrame sound({ElementType::kF32, 1, 16000, false}, {Tensor(ElementType::kF32, {160, 1})}, 5);
  sound.metadata().add(metadata::AudioEvent{"dog", 1, 0.25f, 5, 10});
  EXPECT_THAT(result_line(2, sound), HasSubstr("{\"stream\":2,\"timestamp_ns\":5,\"channels\":1,\"rate_hz\":16000,"
                                               "\"samples\":160,\"metadata\":[{\"id\":1,\"kind\":\"audio_event\""));
}

TEST_F(Json, AppendsIfToldSo) {
  std::ofstream(path("old.jsonl")) << "{}\n";
  sink({{"path", path("old.jsonl")}, {"append", "true"}})->write(0, picture(1));
  EXPECT_EQ(lines_of(path("old.jsonl")).size(), 2u);
  sink({{"path", path("old.jsonl")}})->write(0, picture(1));
  EXPECT_EQ(lines_of(path("old.jsonl")).size(), 1u);
}

TEST_F(Json, APathThatCannotBeWrittenIsAnErrorBeforeAnythingRuns) {
  EXPECT_THAT(error_of([&] { sink({{"path", path("no/where")}}); }, Code::kNotFound), HasSubstr("no/where"));
  EXPECT_THAT(error_of([&] { sink({{"path", path("")}}); }, Code::kPermissionDenied), HasSubstr("directory"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of(
                  [&] {
                    sink({{"path", path("pipe")}});
                  },
                  Code::kUnavailable),
              HasSubstr("start the reader first"));
}

TEST_F(Json, AFullDiskIsTold) {
  const auto out = sink({{"path", "/dev/full"}});
  EXPECT_THAT(error_of([&] { out->write(0, picture(1)); }, Code::kResourceExhausted), HasSubstr("No space left"));
}

TEST_F(Json, APipeWhoseReaderGoesIsAnErrorAndNoSignal) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  UniqueFd reader(::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  const auto out = sink({{"path", path("pipe")}});
  out->write(0, picture(1));
  char first = 0;
  ASSERT_EQ(::read(reader.get(), &first, 1), 1);
  EXPECT_EQ(first, '{');
  reader.reset();
  EXPECT_THAT(error_of([&] { out->write(0, picture(2)); }, Code::kUnavailable), HasSubstr("its reader has gone"));
}

TEST_F(Json, AReaderThatIsBusyIsWaitedForUntilItIsInterrupted) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const UniqueFd reader(::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  const auto out = sink({{"path", path("pipe")}});
  for (int round = 0; round < 2; ++round) {
    std::atomic<bool> is_interrupted{false};
    std::thread stopper([&] {
      std::this_thread::sleep_for(200ms);
      is_interrupted = true;
      out->interrupt();
    });
    const Error error = error_of([&] {
      for (int i = 0; i < 100'000; ++i) out->write(0, picture(i));
    });
    EXPECT_TRUE(is_interrupted) << "round " << round << ": " << error.what();
    stopper.join();
    EXPECT_EQ(error.code(), Code::kCancelled) << error.what();
    out->resume();
  }
}

}  // namespace json_test
}  // namespace tenon::elements
