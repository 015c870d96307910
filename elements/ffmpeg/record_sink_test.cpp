// SPDX-License-Identifier: Apache-2.0
// The sink "record": which pictures are in the files, and that they are those of the source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/elements/packet_sink.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/packets.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace record_sink_test {

namespace av = tenon::ffmpeg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Given = std::map<std::string, std::string>;

/// Ten seconds with a keyframe in each.
class Record : public ::testing::Test {
 protected:
  void SetUp() override {
    av::silence_log();
    tenon_test::make_clip(clip(), {64, 48, 250}, "g=25:keyint_min=25:sc_threshold=0:bf=2");
  }
  std::string clip() const { return folder_.file("in.mp4"); }
  NodeSpec file(const Given& more = {{"keep_s", "4"}}) const {
    NodeSpec node{"file", "camera", {{"path", clip()}, {"threads", "1"}}};
    node.parameters.insert(more.begin(), more.end());
    return node;
  }
  NodeSpec record(Given given = {}, const std::string& name = "{number}.mkv") const {
    given.emplace("path", folder_.file(name));
    return {"record", "keep", std::move(given)};
  }
  /// Finds an object in frames [first, last] of the stream.
  static NodeSpec finds(int first, int last, const char* label = "cat") {
    return node_of(transform_of("finds", [first, last, label, next = 0](std::uint32_t, Frame& frame) mutable {
      if (next >= first && next <= last) metadata::of(frame).add(metadata::Detection{{0, 0, 9, 9}, label, 0, 0.9f, 1});
      ++next;
    }));
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      if (entry.path().filename() != "in.mp4") names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::vector<std::vector<std::uint8_t>> pictures(const std::string& path) {
    std::vector<std::vector<std::uint8_t>> all;
    av::Video video(path);
    while (const auto frame = video.read()) {
      auto& one = all.emplace_back();
      for (const Tensor& plane : frame->planes()) {
        Tensor packed(plane.element_type(), plane.shape());
        plane.copy_to(packed);
        const auto* bytes = static_cast<const std::uint8_t*>(packed.data());
        one.insert(one.end(), bytes, bytes + packed.size_bytes());
      }
    }
    return all;
  }

  tenon_test::Folder folder_;
};

TEST_F(Record, AnEventWithWhatCameBeforeAndAfter) {
  EXPECT_THAT(tenon_test::run(PipelineSpec{
                  {file(), finds(120, 130), record({{"labels", "dog,cat"}, {"before_s", "1"}, {"after_s", "1"}})}}),
              IsEmpty());
  ASSERT_THAT(files(), ElementsAre("000001.mkv"));
  const auto whole = pictures(clip()), event = pictures(folder_.file("000001.mkv"));
  // One second before picture 120 is 95; the keyframe before that is 75. One second after 130 is 155.
  ASSERT_GE(event.size(), 155u - 75 + 1 - 2);
  ASSERT_LE(event.size(), 155u - 75 + 1 + 4);
  for (std::size_t i = 0; i < event.size(); ++i) ASSERT_EQ(event[i], whole[75 + i]) << i;
}

TEST_F(Record, TwoEventsAreTwoFilesAndNearOnesAreOne) {
  const auto events = [&](int second) {
    NodeSpec one = finds(60, 60), two = finds(second, second);
    one.name = "one", two.name = "two";
    EXPECT_THAT(tenon_test::run(
                    PipelineSpec{{file(), one, two, record({{"labels", "cat"}, {"before_s", "0"}, {"after_s", "1"}})}}),
                IsEmpty());
    const std::size_t count = files().size();
    for (const std::string& name : files()) std::filesystem::remove(folder_.file(name));
    return count;
  };
  EXPECT_EQ(events(80), 1u);
  EXPECT_EQ(events(150), 2u);
}

TEST_F(Record, ZoneEventsAndWeakObjects) {
  const NodeSpec enters = node_of(transform_of("enters", [next = 0](std::uint32_t, Frame& frame) mutable {
    metadata::of(frame).add(metadata::Detection{{0, 0, 9, 9}, "cat", 0, 0.3f, 1});
    if (next++ == 100)
      metadata::of(frame).add(metadata::ZoneEvent{"door", metadata::ZoneEvent::What::kCrossedIn, 0, 1});
  }));
  EXPECT_THAT(tenon_test::run(PipelineSpec{
                  {file(), enters, record({{"events", "entered,crossed_in"}, {"labels", "cat"}, {"after_s", "0.2"}})}}),
              IsEmpty());
  ASSERT_THAT(files(), ElementsAre("000001.mkv"));
  EXPECT_LT(pictures(folder_.file("000001.mkv")).size(), 115u) << "objects with a low score are no events";
}

TEST_F(Record, EverythingInSegmentsOfWhichTheLastOnesStay) {
  EXPECT_THAT(tenon_test::run(PipelineSpec{{file(), record({{"segment_s", "2"}}, "s{stream}-{number}.mp4")}}),
              IsEmpty());
  ASSERT_THAT(files(),
              ElementsAre("s0-000001.mp4", "s0-000002.mp4", "s0-000003.mp4", "s0-000004.mp4", "s0-000005.mp4"));
  std::vector<std::vector<std::uint8_t>> joined;
  for (const std::string& name : files()) {
    const auto part = pictures(folder_.file(name));
    EXPECT_EQ(part.size(), 50u) << name;
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, pictures(clip()));
  for (const std::string& name : files()) std::filesystem::remove(folder_.file(name));
  EXPECT_THAT(tenon_test::run(PipelineSpec{{file(), record({{"segment_s", "1"}, {"files", "2"}}, "{number}.ts")}}),
              IsEmpty());
  EXPECT_THAT(files(), ElementsAre("000009.ts", "000010.ts"));
}

/// Matroska keeps no times of decoding: FFmpeg gives the first packets none.
TEST_F(Record, AFileWithoutTimesOfDecodingIsOne) {
  const std::string mkv = folder_.file("in.mkv");
  tenon_test::make_clip(mkv, {64, 48, 75}, "g=25:keyint_min=25:sc_threshold=0:bf=2");
  NodeSpec source = file();
  source.parameters["path"] = mkv;
  EXPECT_THAT(tenon_test::run(PipelineSpec{{source, record({}, "r{number}.mkv")}}), IsEmpty());
  EXPECT_THAT(files(), ElementsAre("in.mkv", "r000001.mkv"));
  EXPECT_EQ(pictures(folder_.file("r000001.mkv")).size(), 75u);
}

TEST_F(Record, WhatATransportStreamCannotHoldIsRefused) {
  const std::string avi = folder_.file("in.avi");
  tenon_test::ClipSpec spec{64, 48, 5};
  spec.codec = "mjpeg";
  spec.format = AV_PIX_FMT_YUVJ420P;
  tenon_test::make_clip(avi, spec);
  NodeSpec source = file();
  source.parameters["path"] = avi;
  EXPECT_THAT(tenon_test::run(PipelineSpec{{source, record({}, "r{number}.ts")}}),
              ElementsAre(HasSubstr("mpegts does not hold mjpeg")));
  EXPECT_THAT(
      tenon_test::run(PipelineSpec{{source, {"write", "", {{"path", folder_.file("w.ts")}, {"codec", "mjpeg"}}}}}),
      ElementsAre(HasSubstr("mpegts does not hold mjpeg")));
  EXPECT_THAT(files(), ElementsAre("in.avi"));
}

TEST_F(Record, AStreamThatBeginsAgainBeginsAFile) {
  PipelineSpec spec{{file({{"keep_s", "4"}, {"loop", "true"}}), record()}};
  spec.frames = 400;
  EXPECT_THAT(tenon_test::run(spec), IsEmpty());
  ASSERT_EQ(files().size(), 2u);
  EXPECT_EQ(pictures(folder_.file("000001.mkv")), pictures(clip()));
  EXPECT_GE(pictures(folder_.file("000002.mkv")).size(), 150u);
}

/// Times of decoding of a file's packets, in milliseconds.
std::vector<std::int64_t> packet_times(const std::string& path) {
  AVFormatContext* format = nullptr;
  std::vector<std::int64_t> times;
  EXPECT_EQ(avformat_open_input(&format, path.c_str(), nullptr, nullptr), 0) << path;
  const av::PacketPtr packet(av_packet_alloc());
  while (format && av_read_frame(format, packet.get()) >= 0) {
    times.push_back(packet->dts * 1000 * format->streams[0]->time_base.num / format->streams[0]->time_base.den);
    av_packet_unref(packet.get());
  }
  avformat_close_input(&format);
  return times;
}

TEST_F(Record, AClockThatGoesBackBeginsAFile) {
  auto made = std::get<std::unique_ptr<Sink>>(
      make_element("record", {{"path", folder_.file("{number}.mkv")}}, {"keep", nullptr, {0}}));
  auto& sink = dynamic_cast<PacketSink&>(*made);
  sink.begin_packets({"vp8", 64, 48});
  sink.open(0, {});
  const std::vector<std::uint8_t> bytes(500, 0x55);
  // Two seconds, whose clock then is five seconds behind, or an hour ahead.
  int number = 0;
  for (const std::int64_t begin_ms : {10'000, 7'000, 3'600'000}) {
    for (std::int64_t i = 0; i < 50; ++i, ++number) {
      const std::int64_t time_ns = (begin_ms + i * 40) * 1'000'000;
      sink.add_packet({bytes, time_ns, time_ns, 40'000'000, number % 10 == 0});
      Frame frame = Frame::allocate({kGray8, 64, 48});
      frame.set_timestamp_ns(time_ns);
      sink.write(0, frame);
    }
  }
  sink.end(0);
  sink.finish();
  EXPECT_THAT(files(), ElementsAre("000001.mkv", "000002.mkv", "000003.mkv"));
  std::size_t count = 0;
  for (const char* name : {"000001.mkv", "000002.mkv", "000003.mkv"}) {
    const std::vector<std::int64_t> times = packet_times(folder_.file(name));
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end())) << name;
    count += times.size();
  }
  EXPECT_EQ(count, 150u);
}

/// A packet of a stream with 25 pictures per second in milliseconds.
struct Packet {
  av::PacketPtr packet{av_packet_alloc()};
  Packet(std::int64_t number, bool is_key, int size = 1000) {
    av_new_packet(packet.get(), size);
    packet->pts = packet->dts = number * 40;
    if (is_key) packet->flags |= AV_PKT_FLAG_KEY;
  }
};

/// Another stream of VP8 in milliseconds.
void begin(av::PacketRing& ring) {
  AVFormatContext* format = avformat_alloc_context();
  AVStream* stream = avformat_new_stream(format, nullptr);
  stream->time_base = {1, 1000};
  stream->codecpar->codec_type = AVMEDIA_TYPE_VIDEO;
  stream->codecpar->codec_id = AV_CODEC_ID_VP8;
  stream->codecpar->width = 64, stream->codecpar->height = 48;
  ring.begin(*stream);
  avformat_free_context(format);
}

/// The source reads ahead: a stream has ended, and the next one has begun, before its pictures come.
TEST_F(Record, WhatIsLeftOfAStreamThatEndedIsInItsFile) {
  const auto ring = std::make_shared<av::PacketRing>(std::chrono::seconds(4), 1 << 20);
  const auto frame_of = [&](std::uint64_t generation, std::int64_t number, bool is_event) {
    Frame frame = Frame::allocate({kGray8, 64, 48});
    metadata::of(frame).add(av::Packets{ring, generation, number * 40'000'000});
    if (is_event) metadata::of(frame).add(metadata::Detection{{0, 0, 9, 9}, "cat", 0, 0.9f, 1});
    return frame;
  };
  const auto make = [&](const char* name, const char* labels, const char* after_s) {
    return std::get<std::unique_ptr<Sink>>(make_element(
        "record", {{"path", folder_.file(name)}, {"labels", labels}, {"before_s", "1"}, {"after_s", after_s}},
        {"keep", nullptr, {0}}));
  };
  const auto all = make("all{number}.mkv", "", "5"), event = make("event{number}.mkv", "cat", "0.2");
  for (Sink* sink : {all.get(), event.get()}) sink->open(0, {});
  begin(*ring);
  const auto add = [&] {
    for (std::int64_t i = 0; i < 50; ++i) ring->add(*Packet(i, i % 10 == 0).packet);
  };
  add();
  begin(*ring);
  add();
  for (std::int64_t i = 0; i < 48; ++i) {  // An element between leaves out the last two.
    all->write(0, frame_of(1, i, false));
    event->write(0, frame_of(1, i, i == 47));
  }
  all->write(0, frame_of(2, 0, false));
  event->write(0, frame_of(2, 0, false));
  EXPECT_EQ(packet_times(folder_.file("all000001.mkv")).size(), 50u);
  // One second before packet 47 is 22; the keyframe before that is 20.
  EXPECT_EQ(packet_times(folder_.file("event000001.mkv")).size(), 30u);
  for (Sink* sink : {all.get(), event.get()}) sink->end(0), sink->finish();
  EXPECT_THAT(files(), ElementsAre("all000001.mkv", "all000002.mkv", "event000001.mkv"));
  EXPECT_EQ(packet_times(folder_.file("all000002.mkv")).size(), 50u);
}

TEST_F(Record, LeavesNothingUnfinishedWhenTheDiskIsFull) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // Writing then fails as on a full disk.
  const rlimit small{16384, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::vector<std::string> failures;
  for (const char* name : {"{number}.mkv", "{number}.ts", "{number}.mp4"})
    for (const std::string& one :
         tenon_test::run(PipelineSpec{{file(), finds(100, 100), record({{"labels", "cat"}}, name)}}))
      failures.push_back(one);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_EQ(failures.size(), 3u);
  for (const std::string& failure : failures) EXPECT_THAT(failure, HasSubstr("000001"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Record, SaysWhatIsWrong) {
  EXPECT_THAT(tenon_test::run(PipelineSpec{{file({}), record()}}),
              ElementsAre(HasSubstr("let the source 'file' keep them (keep_s=10)")));
  EXPECT_THAT(tenon_test::run(PipelineSpec{{file(), record({}, "none/{number}.mkv")}}),
              ElementsAre(HasSubstr("there is no folder")));
  EXPECT_THAT(tenon_test::run(PipelineSpec{{file(), record({}, "{number}.xyz")}}), ElementsAre(HasSubstr("extension")));
  EXPECT_THAT(error_of(
                  [&] {
                    Pipeline({{file(), record({{"events", "enter"}})}});
                  },
                  Code::kInvalidArgument),
              HasSubstr("there is no event 'enter'; there are: inside, entered, left"));
  EXPECT_THAT(error_of(
                  [&] {
                    Pipeline({{file(), record({}, "one.mkv")}});
                  },
                  Code::kInvalidArgument),
              HasSubstr("put {number} into it"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST(PacketRing, KeepsGroupsForATimeAndWithinABound) {
  const auto filled = [&](std::int64_t keep_s, std::size_t most, std::int64_t count, std::int64_t group) {
    auto ring = std::make_shared<av::PacketRing>(std::chrono::seconds(keep_s), most);
    begin(*ring);
    for (std::int64_t i = 0; i < count; ++i) {
      ring->add(*Packet(i, i % group == 3).packet);
      EXPECT_LE(ring->size_bytes(), most);
    }
    return ring;
  };
  const auto by_time = filled(2, 1 << 30, 1000, 10);
  EXPECT_GE(by_time->size_bytes(), 50'000u);
  EXPECT_LE(by_time->size_bytes(), 62'000u) << "no more than the time and a group";
  std::uint64_t number = 0;
  av::PacketPtr packet{av_packet_alloc()};
  ASSERT_TRUE(by_time->read(1, number, packet.get()));
  EXPECT_NE(packet->flags & AV_PKT_FLAG_KEY, 0) << "what is left begins with a keyframe";
  const auto key = by_time->keyframe_before(1, 999 * 40'000'000LL);
  ASSERT_TRUE(key);
  std::uint64_t last = *key;
  ASSERT_TRUE(by_time->read(1, last, packet.get()));
  EXPECT_EQ(packet->pts, 993 * 40);
  EXPECT_EQ(*by_time->keyframe_before(1, 0), number) << "the first that is there";
  const auto by_bytes = filled(1000, 30'500, 1000, 10);
  EXPECT_GE(by_bytes->size_bytes(), 20'000u);
  // A group that is larger than the bound is left out, and the next keyframe begins anew.
  const auto large = filled(1000, 5'000, 1000, 100);
  EXPECT_FALSE(large->keyframe_before(1, 0));
  large->add(*Packet(1000, true).packet);
  EXPECT_TRUE(large->keyframe_before(1, 0));
}

/// Single times that are wrong: at the first packet, within a group of pictures, at a keyframe.
TEST(PacketRing, AStrayTimeNeitherDropsPacketsNorKeepsThem) {
  for (const std::int64_t stray_ms : {INT64_MAX / 1'000'000, INT64_MIN / 1'000'000, std::int64_t{9'800'000},
                                      std::int64_t{-9'800'000}, AV_NOPTS_VALUE}) {
    for (const std::int64_t at : {0, 85, 90}) {
      SCOPED_TRACE(std::to_string(stray_ms) + " ms at " + std::to_string(at));
      av::PacketRing ring(std::chrono::seconds(2), 1 << 30);
      begin(ring);
      for (std::int64_t i = 0; i < 1000; ++i) {
        const Packet one(i, i % 10 == 0);
        if (i == at) one.packet->pts = one.packet->dts = stray_ms;
        ring.add(*one.packet);
        if (i > 60) {
          ASSERT_GE(ring.size_bytes(), 50'000u) << i;
          ASSERT_LE(ring.size_bytes(), 62'000u) << i;
        }
      }
    }
  }
}

TEST(PacketRing, KeepsStreamsThatEndedForTheSameTimeAndWithinTheSameBound) {
  av::PacketRing ring(std::chrono::seconds(2), 100'000);
  const av::PacketPtr packet{av_packet_alloc()};
  const auto add = [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) ring.add(*Packet(i, i % 10 == 0).packet);
  };
  const auto count_of = [&](std::uint64_t generation) {
    int count = 0;
    for (std::uint64_t number = 0; ring.read(generation, number, packet.get()); ++number) ++count;
    return count;
  };
  const auto shown_at = [&](std::uint64_t generation, std::int64_t time_ns) {
    auto number = ring.keyframe_before(generation, time_ns);
    return number && ring.read(generation, *number, packet.get()) ? packet->pts / 40 : -1;
  };
  EXPECT_EQ(ring.generation(), 0u);
  begin(ring);
  add(1000, 20);
  begin(ring);
  EXPECT_EQ(ring.generation(), 2u);
  EXPECT_FALSE(ring.stream(3));
  EXPECT_EQ(shown_at(2, 0), -1) << "nothing of it has come";
  add(9, 1);
  EXPECT_EQ(count_of(2), 0) << "packets before its first keyframe are left out";
  add(0, 40);  // By a clock of its own.
  EXPECT_EQ(count_of(1), 20);
  EXPECT_EQ(count_of(2), 40);
  EXPECT_EQ(shown_at(1, 1009 * 40'000'000LL), 1000);
  EXPECT_EQ(shown_at(1, 9999 * 40'000'000LL), 1010);
  EXPECT_EQ(shown_at(2, 12 * 40'000'000LL), 10);
  add(40, 10);
  EXPECT_EQ(count_of(1), 10) << "the first group is older than the time";
  ASSERT_TRUE(ring.stream(1));
  EXPECT_EQ(ring.stream(1)->generation, 1u);
  add(50, 10);
  EXPECT_EQ(shown_at(1, 9999 * 40'000'000LL), -1);
  EXPECT_FALSE(ring.stream(1));
  EXPECT_EQ(count_of(2), 60);
  // Streams that soon end are bounded as well.
  for (const int size : {3000, 100}) {
    for (int i = 0; i < 200; ++i) {
      begin(ring);
      ring.add(*Packet(0, true, size).packet);
      EXPECT_LE(ring.size_bytes(), 100'000u);
    }
  }
  EXPECT_LE(ring.size_bytes(), 51u * 100) << "each lasts as long as a picture usually does";
  EXPECT_EQ(count_of(ring.generation() - 40), 1);
  EXPECT_FALSE(ring.stream(ring.generation() - 60));
  begin(ring);
  begin(ring);
  EXPECT_FALSE(ring.stream(ring.generation() - 1)) << "nothing came of it";
  const Packet stray(0, true);
  stray.packet->pts = stray.packet->dts = INT64_MAX / 1'000'000;
  add(0, 1);
  ring.add(*stray.packet);
  begin(ring);
  add(0, 30);
  EXPECT_EQ(count_of(ring.generation()), 30) << "a stray time is of its own stream";
}

}  // namespace record_sink_test
}  // namespace tenon::elements
