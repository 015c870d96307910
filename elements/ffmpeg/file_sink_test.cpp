// SPDX-License-Identifier: Apache-2.0
// The sink "write": files are complete or do not exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/resource.h>

#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

namespace tenon::elements {
namespace file_sink_test {

using tenon_test::ClipSpec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileSink : public ::testing::Test {
 protected:
  void SetUp() override { tenon::ffmpeg::silence_log(); }
  NodeSpec write(const std::string& name) { return {"write", "", {{"path", folder_.file(name)}}}; }
  static NodeSpec test(const std::string& frames, const std::string& name = "") {
    return {"test", name, {{"frames", frames}, {"width", "64"}, {"height", "48"}, {"fps", "20"}}};
  }
  std::size_t files() const {
    const std::filesystem::directory_iterator all(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  static std::vector<std::int64_t> times_in(const std::string& path) {
    std::vector<std::int64_t> times;
    tenon::ffmpeg::Video video(path);
    while (const auto frame = video.read()) times.push_back(frame->timestamp_ns() / 1'000'000);
    return times;
  }

  tenon_test::Folder folder_;
};

TEST_F(FileSink, KeepsFramesAndTheirTimes) {
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test("6"), write("out.mp4")}}), IsEmpty());
  EXPECT_THAT(times_in(folder_.file("out.mp4")), ElementsAre(0, 50, 100, 150, 200, 250));
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileSink, KeepsThePixelAspect) {
  for (const char* name : {"o.mp4", "o.mkv", "o.y4m", "o.mpg"}) {
    int next = 0;
    StreamInfo info;
    info.frames_per_second = 25;
    info.aspect_num = 16, info.aspect_den = 11;
    const NodeSpec source = node_of(source_of("anamorphic", info, [&](Deadline) -> std::optional<Frame> {
      return next++ == 3 ? std::nullopt : std::optional(Frame::allocate({kI420, 352, 288}));
    }));
    EXPECT_THAT(tenon_test::run(PipelineSpec{{source, write(name)}}), IsEmpty());
    const AVRational aspect = tenon::ffmpeg::Video(folder_.file(name)).pixel_aspect();
    EXPECT_NEAR(av_q2d(aspect), 16.0 / 11, 0.04) << name;  // MPEG-2 says it by 4:3 of the whole.
  }
}

TEST_F(FileSink, WritesAFileForEachStream) {
  NodeSpec sink = write("out{stream}.mkv");
  sink.from = {"a", "b"};
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test("3", "a"), test("4", "b"), sink}}), IsEmpty());
  EXPECT_EQ(times_in(folder_.file("out0.mkv")).size(), 3u);
  EXPECT_EQ(times_in(folder_.file("out1.mkv")).size(), 4u);
}

TEST_F(FileSink, RefusesTwoStreamsInOneFile) {
  NodeSpec sink = write("out.mp4");
  sink.from = {"a", "b"};
  PipelineSpec spec{{test("40", "a"), test("40", "b"), sink}};
  spec.on_error = OnError::kEnd;
  EXPECT_THAT(tenon_test::run(spec), ElementsAre(HasSubstr("{stream}")));
  EXPECT_EQ(times_in(folder_.file("out.mp4")).size(), 40u);
}

TEST_F(FileSink, GoesOnInAnotherFileWhenTheSizeChanges) {
  int next = 0;
  StreamInfo info;
  const NodeSpec source = node_of(source_of("changing", info, [&](Deadline) -> std::optional<Frame> {
    if (next == 8) return std::nullopt;
    FrameInfo picture;
    picture.format = kI420;
    picture.width_px = next < 5 ? 64 : 32;
    picture.height_px = 32;
    Frame frame = Frame::allocate(picture);
    frame.set_timestamp_ns(next++ * 40'000'000);
    return frame;
  }));
  EXPECT_THAT(tenon_test::run(PipelineSpec{{source, write("out.mp4")}}), IsEmpty());
  EXPECT_EQ(times_in(folder_.file("out.mp4")).size(), 5u);
  EXPECT_EQ(times_in(folder_.file("out-2.mp4")).size(), 3u);
}

TEST_F(FileSink, GoesOnInTheSameFileAfterARestart) {
  const std::string path = folder_.file("in.mp4");
  tenon_test::make_clip(path, {.frames = 40});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) * 3 / 4);
  PipelineSpec spec{{{"file", "", {{"path", path}}}, write("out.mkv")}};
  spec.on_error = OnError::kRestart;
  spec.restarts = 1;
  spec.restart_delay = std::chrono::milliseconds(1);
  Pipeline pipeline(spec);
  EXPECT_EQ(tenon_test::run(pipeline).size(), 2u);
  const std::vector<std::int64_t> times = times_in(folder_.file("out.mkv"));
  EXPECT_EQ(times.size(), pipeline.stats()[0].frames_out);
  ASSERT_EQ(times.size() % 2, 0u);
  EXPECT_EQ(times.back(), 2 * times[times.size() / 2 - 1] + 40);  // Both rounds are equal, and one frame apart.
}

TEST_F(FileSink, TheFileAndWhatOthersSeeHaveOneTime) {
  std::vector<std::int64_t> seen;
  int next = 0;
  StreamInfo info;
  info.frames_per_second = 25;
  NodeSpec source = node_of(source_of("camera", info, [&](Deadline) -> std::optional<Frame> {
    if (next == 30) return std::nullopt;
    if (next++ % 10 == 9) throw Error(Code::kUnavailable, "camera: gone");
    FrameInfo picture;
    picture.format = kI420;
    picture.width_px = picture.height_px = 64;
    Frame frame = Frame::allocate(picture);
    frame.set_timestamp_ns((5 + next % 10) * 40'000'000);  // Its clock begins anew with each restart.
    return frame;
  }));
  NodeSpec look = node_of(
      transform_of("look", [&](std::uint32_t, Frame& frame) { seen.push_back(frame.timestamp_ns() / 1'000'000); }));
  PipelineSpec spec{{source, look, write("out.mp4")}};
  spec.on_error = OnError::kRestart;
  spec.restart_delay = std::chrono::milliseconds(1);
  EXPECT_EQ(tenon_test::run(spec).size(), 3u);
  const std::vector<std::int64_t> written = times_in(folder_.file("out.mp4"));
  ASSERT_EQ(written.size(), seen.size());
  ASSERT_EQ(seen.size(), 27u);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i] - seen[0], static_cast<std::int64_t>(i) * 40);
    EXPECT_EQ(written[i], seen[i] - seen[0]);
  }
}

TEST_F(FileSink, AFileAndLinesHaveOneTimeOverTenRestarts) {
  int next = 0;
  StreamInfo info;
  info.frames_per_second = 25;
  NodeSpec source = node_of(source_of("camera", info, [&](Deadline) -> std::optional<Frame> {
    if (next == 11 * 7) return std::nullopt;
    const int round = next / 7, at = next++ % 7;
    if (at == 6 && round < 10) throw Error(Code::kUnavailable, "camera: gone");
    Frame frame = Frame::allocate({kI420, 64, 64});
    frame.set_timestamp_ns((round % 3 - 1) * 3'000'000'000 + at * 40'000'000);  // Its clock begins elsewhere each time.
    return frame;
  }));
  source.name = "camera";
  NodeSpec file = write("out.mkv"), lines{"json", "", {{"path", folder_.file("out.jsonl")}}};
  file.from = lines.from = {"camera"};
  PipelineSpec spec{{source, file, lines}};
  spec.on_error = OnError::kRestart;
  spec.restarts = 10;
  spec.restart_delay = std::chrono::milliseconds(1);
  EXPECT_EQ(tenon_test::run(spec).size(), 10u);
  const std::vector<std::int64_t> written = times_in(folder_.file("out.mkv"));
  std::vector<std::int64_t> told;
  std::ifstream in(folder_.file("out.jsonl"));
  for (std::string line; std::getline(in, line);)
    told.push_back(std::stoll(line.substr(line.find("timestamp_ns\":") + 14)) / 1'000'000);
  ASSERT_EQ(written.size(), 10u * 6 + 7);
  ASSERT_EQ(told.size(), written.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i] - told[0], static_cast<std::int64_t>(i) * 40);
    EXPECT_EQ(written[i], told[i] - told[0]);
  }
}

TEST_F(FileSink, AStopInABurstLeavesAWholeFile) {
  for (const auto& [name, codec] : {std::pair{"o.mp4", ""}, std::pair{"o.mkv", "mpeg4"}, std::pair{"o.ts", ""},
                                    std::pair{"o.avi", "mjpeg"}, std::pair{"o.mxf", "mpeg2video"}}) {
    std::int64_t next = 0;
    StreamInfo info;
    info.frames_per_second = 25;
    NodeSpec source = node_of(source_of("bursts", info, [&](Deadline) -> std::optional<Frame> {
      Frame frame = Frame::allocate({kI420, 320, 240});
      frame.set_timestamp_ns(next / 25 * 1'000'000'000 + next % 25 * 1000);  // All of a second at once.
      ++next;
      return frame;
    }));
    NodeSpec sink = write(name);
    sink.parameters["codec"] = codec;
    Pipeline pipeline({{source, sink}});
    pipeline.start();
    while (pipeline.stats()[1].frames_in < 90) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pipeline.stop(Clock::now() + std::chrono::seconds(30));
    EXPECT_TRUE(pipeline.failures().empty()) << name;
    const std::vector<std::int64_t> times = times_in(folder_.file(name));
    const auto given = static_cast<std::int64_t>(pipeline.stats()[1].frames_in);
    ASSERT_FALSE(times.empty()) << name;
    EXPECT_NEAR(static_cast<double>(times.back() - times.front()), static_cast<double>((given - 1) / 25 * 1000), 90)
        << name;
    if (std::string(name) == "o.mp4" || std::string(name) == "o.mkv") {
      EXPECT_EQ(times.size(), pipeline.stats()[1].frames_in);
    }
  }
}

TEST_F(FileSink, WritesNumberedPicturesAndGoesOnWhenTheSizeChanges) {
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test("3"), write("shot%02d.png")}}), IsEmpty());
  EXPECT_EQ(files(), 3u);
  EXPECT_EQ(times_in(folder_.file("shot03.png")).size(), 1u);
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test("3"), write("list.m3u8")}}), ElementsAre(HasSubstr("several files")));
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test("3"), write("one.png")}}), ElementsAre(HasSubstr("one%04d.png")));
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test("3"), write("o.gif")}}), IsEmpty());
  EXPECT_EQ(times_in(folder_.file("o.gif")).size(), 3u);
}

TEST_F(FileSink, DoesNotGoOnInAFileThatIsRead) {
  tenon_test::make_clip(folder_.file("a.mkv"), {.width = 64, .height = 48, .frames = 5});
  tenon_test::make_clip(folder_.file("out-2.mkv"), {.width = 32, .height = 48, .frames = 5});
  const auto size = std::filesystem::file_size(folder_.file("out-2.mkv"));
  const NodeSpec source{"file", "", {{"path", folder_.file("*.mkv")}}};
  EXPECT_THAT(tenon_test::run(PipelineSpec{{source, write("out.mkv")}}),
              ElementsAre(HasSubstr("out-2.mkv\", which is read")));
  EXPECT_EQ(std::filesystem::file_size(folder_.file("out-2.mkv")), size);
}

TEST_F(FileSink, StopFinishesTheFile) {
  Pipeline pipeline({{test("0"), write("out.mp4")}});
  pipeline.start();
  while (pipeline.stats()[1].frames_in < 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  pipeline.stop(Clock::now() + std::chrono::seconds(30));
  EXPECT_EQ(times_in(folder_.file("out.mp4")).size(), pipeline.stats()[1].frames_in);
}

TEST_F(FileSink, AStopWhileMuchIsQueuedLeavesAWholeFile) {
  for (const char* const name : {"out.mp4", "out.mkv"}) {
    NodeSpec sink = write(name);
    sink.queue = QueueOptions{100'000};
    Pipeline pipeline({{test("0"), sink}});
    pipeline.start();
    while (pipeline.stats()[1].queued < 2000 || pipeline.stats()[1].frames_in == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pipeline.stop(Clock::now());
    const NodeStats stats = pipeline.stats()[1];
    EXPECT_GT(stats.dropped, 0u) << "all was written in time, and this is no trial";
    ASSERT_TRUE(std::filesystem::exists(folder_.file(name)));
    EXPECT_EQ(times_in(folder_.file(name)).size(), stats.frames_in);
    EXPECT_TRUE(pipeline.failures().empty());
  }
  EXPECT_EQ(files(), 2u) << "no temporary file is left";
}

TEST_F(FileSink, LeavesAWholeFileWhenItIsDropped) {
  {
    Pipeline pipeline({{test("0"), write("out.mp4")}});
    pipeline.start();
    while (pipeline.stats()[1].frames_in < 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(files(), 1u);
  EXPECT_GE(times_in(folder_.file("out.mp4")).size(), 20u);
}

TEST_F(FileSink, LeavesNothingWhenTheDiskIsFull) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // Writing then fails as on a full disk.
  const rlimit small{8192, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string clip = folder_.file("in.avi");
  const auto failures =
      tenon_test::run(PipelineSpec{{{"test", "", {{"frames", "3000"}, {"width", "640"}, {"height", "480"}}},
                                    {"write", "", {{"path", folder_.file("out.avi")}, {"codec", "rawvideo"}}}}});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("out.avi"));
  EXPECT_EQ(files(), 0u);
}

TEST_F(FileSink, SaysWhyItCannotWrite) {
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test("3"), write("none/out.mp4")}}), ElementsAre(HasSubstr("no folder")));
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test("3"), write("out.xyz")}}), ElementsAre(HasSubstr("extension")));
  EXPECT_EQ(files(), 0u);
}

}  // namespace file_sink_test
}  // namespace tenon::elements
