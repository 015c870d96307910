// SPDX-License-Identifier: Apache-2.0
// The source "file": clips, folders and patterns, loops, pace, and files that are missing or broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <tenon/core/deferred.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

namespace tenon::elements {
namespace file_source_test {

using tenon_test::Arrived;
using tenon_test::ClipSpec;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileSource : public ::testing::Test {
 protected:
  void SetUp() override { tenon::ffmpeg::silence_log(); }
  std::string clip(const std::string& name, ClipSpec spec = {}) {
    tenon_test::make_clip(folder_.file(name), spec);
    return folder_.file(name);
  }
  static NodeSpec file(const std::string& path, std::map<std::string, std::string> more = {}) {
    more["path"] = path;
    return {"file", "", more};
  }
  /// Runs `node` into a sink that counts.
  std::vector<std::string> read(const NodeSpec& node) { return tenon_test::run(PipelineSpec{{node, arrived_.sink()}}); }

  tenon_test::Folder folder_;
  Arrived arrived_;
};

TEST_F(FileSource, DecodesIntoThePoolOfItsReadersAndCopiesNothing) {
  PipelineSpec spec{{file(clip("a.mp4", {.frames = 12})), arrived_.sink()}};
  Pipeline pipeline(spec);
  arrived_.holds = true;
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  ASSERT_EQ(arrived_.frames[0].size(), 12u);
  EXPECT_EQ(arrived_.frames[0][3].timestamp_ns, 3 * 40'000'000);
  EXPECT_EQ(arrived_.frames[0][0].info.width_px, 320u);
  for (const NodeStats& node : pipeline.stats()) {
    EXPECT_EQ(node.moved.copied, 0u) << node.name;
    EXPECT_EQ(node.moved.converted, 0u) << node.name;
  }
  EXPECT_EQ(tenon::ffmpeg::av_frame(arrived_.held[0])->data[0], arrived_.held[0].plane(0).data());
}

TEST_F(FileSource, GivesMemoryWithTheDescriptorThatAReaderWants) {
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  wanted.pitch_alignment = 256;
  arrived_.holds = true;
  const auto failures = tenon_test::run(PipelineSpec{{file(clip("a.mp4", {.frames = 5})), arrived_.sink(wanted)}});
  EXPECT_THAT(failures, IsEmpty());
  ASSERT_EQ(arrived_.held.size(), 5u);
  for (const Frame& frame : arrived_.held) {
    EXPECT_TRUE(frame.plane(0).memory()->fd_kind().serves(FdKind::kMemfd));
    EXPECT_EQ(frame.plane(0).byte_strides()[0] % 256, 0);
  }
}

TEST_F(FileSource, SaysWhoCannotReadItsFramesAndWhy) {
  Requirements packed, aligned;
  packed.contiguous = true;
  aligned.pitch_alignment = 512;
  NodeSpec camera = file(clip("a.mp4", {.frames = 5}));
  camera.name = "camera";
  const auto sink = [&](const char* name, const Requirements& wanted) {
    NodeSpec one = arrived_.sink(wanted);
    one.name = name;
    one.from = {"camera"};
    return one;
  };
  EXPECT_THAT(
      tenon_test::run(PipelineSpec{{camera, sink("easy", {}), sink("packed", packed), sink("aligned", aligned)}}),
      ElementsAre(::testing::AllOf(HasSubstr("'packed'"), HasSubstr("'aligned'"),
                                   HasSubstr("cannot share frames of 'camera': no memory serves "),
                                   HasSubstr("one takes no padding, and another wants rows aligned to 512"))));
}

TEST_F(FileSource, ReadsFoldersInTheOrderOfTheirNumbers) {
  for (int i : {2, 10, 1})
    clip("shot" + std::to_string(i) + ".png",
         {.width = 16 * i, .height = 16, .frames = 1, .codec = "png", .format = AV_PIX_FMT_RGB24, .muxer = "image2"});
  std::ofstream(folder_.file("notes.txt")) << "no picture";
  EXPECT_THAT(read(file(folder_.path().string(), {{"fps", "10"}})), IsEmpty());
  ASSERT_EQ(arrived_.frames[0].size(), 3u);
  EXPECT_EQ(arrived_.frames[0][1].info.width_px, 32u);
  EXPECT_EQ(arrived_.frames[0][2].info.width_px, 160u);
  EXPECT_EQ(arrived_.frames[0][2].timestamp_ns, 200'000'000);
}

/// Wherever the damaged files lie, and also where the last ones cannot be read.
TEST_F(FileSource, ReportsTheSameOfAFolderWhoseFilesAreDamaged) {
  for (int i : {1, 2, 3, 4})
    clip("p" + std::to_string(i) + ".png",
         {.width = 16, .height = 16, .frames = 1, .codec = "png", .format = AV_PIX_FMT_RGB24, .muxer = "image2"});
  const auto report_of = [&](const std::string& path) {
    const auto source = std::get<std::unique_ptr<Source>>(
        make_element("file", {{"path", path}, {"skip_damaged", "true"}}, {"camera", nullptr, {0}}));
    source->open(Clock::now() + std::chrono::seconds(60));
    std::size_t frames = 0;
    while (source->read(Clock::now() + std::chrono::seconds(60))) ++frames;
    EXPECT_EQ(frames + source->report().damaged, 4u);
    return source->report();
  };
  const SourceReport good = report_of(folder_.path().string());
  EXPECT_EQ(good.frame_count, 4u);
  EXPECT_EQ(good.arrives_as, "png");
  EXPECT_EQ(good.damaged, 0u);
  for (const char* damaged : {"p1.png", "p3.png", "p4.png"}) {
    std::ofstream(folder_.file(damaged)) << "no picture any more";
    for (const std::string& path : {folder_.path().string(), folder_.file("*.png")}) {
      const SourceReport told = report_of(path);
      EXPECT_EQ(told.frame_count, 4u) << damaged;
      EXPECT_EQ(told.arrives_as, good.arrives_as) << damaged;
      EXPECT_EQ(told.lies_in, good.lies_in) << damaged;
    }
  }
}

TEST_F(FileSource, ReadsPatternsOfBothKinds) {
  for (int i : {1, 2, 3})
    clip("p" + std::to_string(i) + ".png",
         {.width = 16, .height = 16, .frames = 1, .codec = "png", .format = AV_PIX_FMT_RGB24, .muxer = "image2"});
  EXPECT_THAT(read(file(folder_.file("p%d.png"), {{"fps", "5"}})), IsEmpty());
  ASSERT_EQ(arrived_.frames[0].size(), 3u);
  EXPECT_EQ(arrived_.frames[0][1].timestamp_ns, 200'000'000);
  arrived_.frames.clear();
  EXPECT_THAT(read(file(folder_.file("p[12].png"))), IsEmpty());
  EXPECT_EQ(arrived_.frames[0].size(), 2u);
}

TEST_F(FileSource, ReadsPatternsFromTheirFirstNumber) {
  for (int i : {98, 99, 100})
    clip("p" + std::to_string(i) + ".png",
         {.width = 16, .height = 16, .frames = 1, .codec = "png", .format = AV_PIX_FMT_RGB24, .muxer = "image2"});
  EXPECT_THAT(read(file(folder_.file("p%d.png"))), IsEmpty());
  EXPECT_EQ(arrived_.frames[0].size(), 3u);
  arrived_.frames.clear();
  EXPECT_THAT(read(file(folder_.file("p%d.png"), {{"options", "start_number=99"}})), IsEmpty());
  EXPECT_EQ(arrived_.frames[0].size(), 2u);
}

TEST_F(FileSource, LoopsOnOneClock) {
  Pipeline pipeline({{file(clip("a.mp4", {.frames = 5}), {{"loop", "true"}}), arrived_.sink()}});
  pipeline.start();
  while (pipeline.stats()[1].frames_in < 14) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  pipeline.stop();
  EXPECT_TRUE(pipeline.failures().empty());
  const auto& frames = arrived_.frames[0];
  for (std::size_t i = 0; i < frames.size(); ++i)
    EXPECT_EQ(frames[i].timestamp_ns, static_cast<std::int64_t>(i) * 40'000'000);
}

TEST_F(FileSource, KeepsThePaceOfItsTimestamps) {
  const auto begin = Clock::now();
  EXPECT_THAT(read(file(clip("a.mp4", {.frames = 8}), {{"realtime", "true"}})), IsEmpty());
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(280));
  EXPECT_EQ(arrived_.frames[0].size(), 8u);
}

TEST_F(FileSource, SaysWhatIsMissingOrBroken) {
  EXPECT_THAT(read(file(folder_.file("none.mp4"))), ElementsAre(HasSubstr("no such file")));
  EXPECT_THAT(read(file(folder_.file("*.jpg"))), ElementsAre(HasSubstr("no file matches")));
  EXPECT_THAT(read(file(folder_.path().string())), ElementsAre(HasSubstr("holds no picture")));
  std::ofstream(folder_.file("text.mp4")) << "this is no video, whatever its name says";
  EXPECT_THAT(read(file(folder_.file("text.mp4"))), ElementsAre(HasSubstr("text.mp4")));
  EXPECT_THAT(read(file(clip("a.mp4"), {{"options", "no_such=1"}})), ElementsAre(HasSubstr("no_such")));
  EXPECT_THROW(Pipeline({{file("x", {{"options", "novalue"}}), {"null"}}}), Error);
  EXPECT_TRUE(arrived_.frames.empty());
}

TEST_F(FileSource, APipeCannotBeginAgain) {
  const std::string path = clip("a.ts", {.frames = 5}), pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::signal(SIGPIPE, SIG_IGN);  // The source closes before all is written.
  std::thread writer([&] { std::ofstream(pipe) << std::ifstream(path).rdbuf(); });
  EXPECT_THAT(read(file(pipe, {{"loop", "true"}})), ElementsAre(HasSubstr("cannot begin again")));
  writer.join();
}

TEST_F(FileSource, GivesWhatATruncatedFileHoldsAndFails) {
  const std::string path = clip("a.mp4", {.frames = 40});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) * 3 / 4);
  EXPECT_THAT(read(file(path)), ElementsAre(HasSubstr("truncated")));
  EXPECT_GT(arrived_.frames[0].size(), 10u);
  EXPECT_LT(arrived_.frames[0].size(), 40u);
}

TEST_F(FileSource, StopsSoonWhileAStreamIsSilent) {
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  Pipeline pipeline({{file(folder_.file("pipe")), {"null"}}});
  pipeline.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto begin = Clock::now();
  pipeline.stop(Clock::now() + std::chrono::seconds(60));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30));
  EXPECT_TRUE(pipeline.failures().empty());
}

}  // namespace file_source_test
}  // namespace tenon::elements
