// SPDX-License-Identifier: Apache-2.0
// Formats, and nodes of this process that are linked to each other by a daemon of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spa/buffer/buffer.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/pipewire/offered.hpp>
#include <tenon/frameworks/pipewire/pipewire.hpp>

#include <tenon/frameworks/pipewire/testing/daemon.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::pipewire {
namespace pipewire_test {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr FrameInfo kInfo{kNv12, 64, 48};

Deadline soon() { return Clock::now() + 60s; }

TEST(PipeWireFormats, HaveOneNumberEach) {
  std::size_t count = 0, known = 0;
  const PixelFormatInfo* const all = all_formats(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = to_spa(all[i].format);
    if (!number) continue;
    ++known;
    EXPECT_EQ(from_spa(*number), all[i].format) << all[i].name;
  }
  EXPECT_EQ(known, 19u) << "formats that PipeWire has, too";
  EXPECT_FALSE(to_spa(kRgbPlanar));
  EXPECT_FALSE(from_spa(0));
}

// The numbers are those of GStreamer's gst_video_info_set_format for these sizes.
TEST(PipeWireFormats, LieInOneBlockAsGStreamersDo) {
  const auto check = [](const FrameInfo& info, const Layout& expected) {
    const Layout layout = one_block(info);
    EXPECT_EQ(layout, expected) << to_string(info.format) << ": " << layout.size_bytes << " bytes";
  };
  check({kI420, 10, 7}, {{0, 96, 128}, {12, 8, 8}, 3, 160});
  check({kNv12, 10, 7}, {{0, 96}, {12, 12}, 2, 144});
  check({kYuy2, 10, 7}, {{0}, {20}, 1, 140});
  check({kRgb24, 10, 7}, {{0}, {32}, 1, 224});
  check({kGray8, 10, 7}, {{0}, {12}, 1, 84});
  check({kNv12, 1920, 1080}, {{0, 2073600}, {1920, 1920}, 2, 3110400});
  EXPECT_EQ(one_block({kI420, 10, 7}, 64).pitch_bytes[1], 32u);
  EXPECT_THAT(error_of([] { (void)one_block({kRgb24, 10, 7}, 29); }, Code::kInvalidArgument), HasSubstr("29"));
}

TEST(PipeWireFormats, TurnBack) {
  for (std::uint32_t transform = 0; transform < 8; ++transform)
    EXPECT_EQ(transform_of(rotation_of(transform)), transform);
  EXPECT_EQ(rotation_of(1), Rotation::k90)
      << "what was turned by 90 degrees to the left is upright after 90 to the right";
  EXPECT_EQ(rotation_of(99), Rotation::kNone);
}

class WithoutDaemon : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  const TemporaryFolder folder_;
};

/// What a producer writes into shared memory is not believed.
TEST(PipeWireLies, AboutWhereAPictureLiesAreErrors) {
  const Ref<Memory> memory = PipeWireMemory::allocate(context(), 8192);
  constexpr std::uint32_t kLuma = 64 * 48;
  std::array<PlanePlace, 4> places;
  const auto code = [&](std::vector<spa_chunk> chunks, std::size_t size_bytes, const FrameInfo& info = kInfo) {
    const std::vector<detail::Block> blocks(chunks.size(), {memory, 0, size_bytes});
    try {
      (void)detail::find_planes(info, blocks, chunks, places, "a test");
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  };
  // {offset, size, stride, flags}: the size says nothing.
  EXPECT_EQ(code({{0, 0, 64, 0}}, 8192), Code::kOk);
  EXPECT_EQ(places[1].offset, kLuma);
  EXPECT_EQ(code({{0, 0, 64, 0}, {kLuma, 0, 64, 0}}, 8192), Code::kOk);
  EXPECT_EQ(code({{0, UINT32_MAX, 64, 0}}, kLuma / 2 * 3), Code::kOk);
  EXPECT_EQ(code({{0, 0, 64, 0}}, kLuma / 2 * 3 - 1), Code::kOutOfRange);
  EXPECT_EQ(code({{UINT32_MAX, 0, 64, 0}}, 8192), Code::kOutOfRange);
  EXPECT_EQ(code({{0, 0, INT32_MAX, 0}}, 8192), Code::kOutOfRange);
  EXPECT_EQ(code({{0, 0, 63, 0}}, 8192), Code::kInvalidArgument);
  EXPECT_EQ(code({{0, 0, -64, 0}}, 8192), Code::kUnimplemented);
  EXPECT_EQ(code({{0, 0, INT32_MIN, 0}}, 8192), Code::kUnimplemented);
  EXPECT_EQ(code({{0, 0, 64, 0}, {0, 0, 63, 0}}, 8192), Code::kOutOfRange) << "rows that overlap";
  EXPECT_EQ(code({{0, 0, 64, 0}, {UINT32_MAX, 0, 64, 0}}, 8192), Code::kOutOfRange);
  EXPECT_EQ(code({{0, 0, 64, 0}, {0, 0, 32, 0}}, 8192, {kI420, 64, 48}), Code::kInvalidArgument)
      << "a plane is missing";
  EXPECT_EQ(code({{0, 0, 0, 0}}, 8192, {kNv12, 65535, 65535}), Code::kOutOfRange);
}

TEST_F(WithoutDaemon, SaysWhereNoneAnswers) {
  const auto begin = Clock::now();
  EXPECT_THAT(error_of([] { Input("camera", {}, soon()); }, Code::kUnavailable),
              AllOf(HasSubstr("\"camera\""), HasSubstr(folder_.path().string()), HasSubstr("systemctl")));
  EXPECT_THAT(error_of([] { Output("screen", {}, soon()); }, Code::kUnavailable), HasSubstr("\"screen\""));
  EXPECT_LT(Clock::now() - begin, 10s);
}

class Nodes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = tenon_test::Daemon::why_none(); !why.empty()) GTEST_SKIP() << why;
    daemon_.emplace();
  }
  void TearDown() override { EXPECT_TRUE(drain_deferred(soon())); }

  /// A picture of a pool with descriptors, each byte of which is `value`.
  Frame filled(int value) {
    Frame frame = pool_.acquire(soon());
    for (std::size_t p = 0; p < frame.plane_count(); ++p) fill(frame.plane(p), value);
    return frame;
  }
  static void fill(const Tensor& plane, int value) {
    for (std::size_t y = 0; y < plane.shape()[0]; ++y) std::memset(row(plane, y), value, plane.shape()[1]);
  }
  static unsigned char* row(const Tensor& plane, std::size_t y) {
    return static_cast<unsigned char*>(const_cast<void*>(plane.data())) +
           y * static_cast<std::size_t>(plane.byte_strides()[0]);
  }
  /// The value of all bytes; -1 if they differ.
  static int value_of(const Frame& frame) {
    const int value = row(frame.plane(0), 0)[0];
    for (const Tensor& plane : frame.planes())
      for (std::size_t y = 0; y < plane.shape()[0]; ++y)
        for (std::size_t x = 0; x < plane.shape()[1]; ++x)
          if (row(plane, y)[x] != value) return -1;
    return value;
  }
  static OutputOptions waiting() {
    OutputOptions options;
    options.waits = true;
    options.patience = 20s;
    return options;
  }
  /// Sends until one arrives: what is sent before a link has its buffers is dropped.
  static void publish_one(Output& output, const Frame& frame) {
    ASSERT_TRUE(output.wait_for_reader(soon()));
    const auto until = soon();
    while (!output.publish(frame)) ASSERT_LT(Clock::now(), until);
  }
  /// Sends and reads a picture. One that the node takes back before it was read, since the machine was slower than the patience, is sent
  /// again.
  static std::optional<Frame> send_and_read(Output& output, Input& input, const Frame& frame) {
    for (const Deadline until = soon();;) {
      const std::uint64_t taken_back = output.report().taken_back;
      publish_one(output, frame);
      try {
        return input.read(Clock::now() + 4s);
      } catch (const Error& late) {
        if (late.code() != Code::kDeadlineExceeded || output.report().taken_back == taken_back || Clock::now() > until)
          throw;
      }
    }
  }
  static std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
  }
  /// Waits until `is_so`, which another thread or process brings about.
  template <typename IsSo>
  static bool comes(IsSo is_so) {
    const auto until = soon();
    while (!is_so() && Clock::now() < until) std::this_thread::sleep_for(1ms);
    return is_so();
  }

  std::optional<tenon_test::Daemon> daemon_;
  Requirements wanted_ = Output::wanted();
  cpu::FramePool pool_{kInfo, wanted_, 6};
};

TEST_F(Nodes, HandAThousandPicturesOverWithoutACopyOrALostDescriptor) {
  Ledger ledger;
  std::size_t before = 0;
  for (int round = 0; round < 2; ++round) {  // The first brings what a process opens once.
    OutputOptions options = waiting();
    options.ledger = &ledger;
    options.policy = ZeroCopy::kRequire;
    Output output("counted", options, soon());
    {
      std::vector<Frame> all;  // So that the node knows each memory of the pool before it agrees on buffers.
      for (int i = 0; i < 6; ++i) all.push_back(filled(i));
      for (const Frame& frame : all) EXPECT_FALSE(output.publish(frame));
    }
    EXPECT_EQ(output.report().unread, 6u);
    const int count = round == 0 ? 10 : 1000;
    auto reading = std::async(std::launch::async, [&] {
      Input input("counted", {}, soon());
      std::vector<int> values;
      while (values.size() < static_cast<std::size_t>(count)) {
        const auto frame = input.read(soon());
        if (!frame) break;
        EXPECT_EQ(frame->timestamp_ns(), static_cast<std::int64_t>(values.size()) * 40);
        EXPECT_EQ(frame->metadata().count("lost_frames"), 0u);
        values.push_back(value_of(*frame));
      }
      EXPECT_EQ(input.report().lost + input.report().damaged, 0u);
      EXPECT_EQ(input.report().lies_in, "memfd");
      return values;
    });
    ASSERT_TRUE(output.wait_for_reader(soon()));
    for (int i = 0; i < count; ++i) {
      Frame frame = filled(i % 251);
      frame.set_timestamp_ns(i * 40);
      EXPECT_TRUE(output.publish(frame)) << i;
    }
    const std::vector<int> values = reading.get();
    ASSERT_EQ(values.size(), static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i % 251) << i;
    EXPECT_TRUE(output.end(soon()));
    const OutputReport report = output.report();
    EXPECT_EQ(report.in_place, static_cast<std::uint64_t>(count));
    EXPECT_EQ(report.copied + report.left_out + report.taken_back + report.held, 0u);
    EXPECT_EQ(report.returned + report.lost, report.in_place);
    EXPECT_EQ(report.made_anew, 1u);
    output = Output("other", waiting(), soon());
    if (round == 0) before = open_descriptors();
    EXPECT_TRUE(comes([&] { return open_descriptors() <= before; })) << open_descriptors() << " of " << before;
  }
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(Nodes, LearnMemoriesThatTheyMeet) {
  Output output("learns", waiting(), soon());
  output.open(kInfo);
  Input input("learns", {}, soon());
  std::optional<Frame> got;
  for (int i = 0; i < 40; ++i) {
    publish_one(output, filled(i));
    got = input.read(soon());
    ASSERT_TRUE(got);
    EXPECT_EQ(value_of(*got), i);
    got.reset();
  }
  const OutputReport report = output.report();
  EXPECT_EQ(report.in_place + report.copied, 40u);
  EXPECT_LE(report.made_anew, 7u) << "at most once for each memory of the pool";
  EXPECT_LE(report.copied, 12u) << "each memory comes twice at most before it is a buffer";
}

TEST_F(Nodes, CopyWhatHasNoDescriptorAndBookIt) {
  Ledger ledger;
  OutputOptions options = waiting();
  options.ledger = &ledger;
  Output output("plain", options, soon());
  output.open(kInfo);
  Input input("plain", {}, soon());
  Frame frame = Frame::allocate(kInfo);
  for (std::size_t p = 0; p < frame.plane_count(); ++p) fill(frame.plane(p), 77);
  publish_one(output, frame);
  const auto got = input.read(soon());
  ASSERT_TRUE(got);
  EXPECT_EQ(value_of(*got), 77);
  EXPECT_EQ(ledger.total().copied, frame.size_bytes());
  EXPECT_EQ(output.report().copied, 1u);
  EXPECT_FALSE(got->plane(0).is_writable()) << "the producer's memory";
  options.policy = ZeroCopy::kRequire;
  Output strict("strict", options, soon());
  strict.open(kInfo);
  Input reader("strict", {}, soon());
  ASSERT_TRUE(strict.wait_for_reader(soon()));
  EXPECT_THAT(error_of([&] { strict.publish(frame); }, Code::kFailedPrecondition), HasSubstr("policy forbids copies"));
}

TEST_F(Nodes, TellOfColourTurnAndTime) {
  FrameInfo info = kInfo;
  info.colour_space = ColourSpace::kBt709;
  info.colour_range = ColourRange::kFull;
  OutputOptions options = waiting();
  options.fps = 29.97;
  Output output("colours", options, soon());
  output.open(info);
  Input input("colours", {}, soon());
  EXPECT_NEAR(input.format().fps, 29.97, 0.001);
  info.rotation = Rotation::kMirrored270;
  Frame frame = Frame::allocate(info);
  frame.set_timestamp_ns(123'456'789'012);
  publish_one(output, frame);
  const auto got = input.read(soon());
  ASSERT_TRUE(got);
  EXPECT_EQ(got->info(), info);
  EXPECT_EQ(got->timestamp_ns(), 123'456'789'012);
}

TEST_F(Nodes, AgreeOnEachFormat) {
  std::size_t count = 0;
  const PixelFormatInfo* const all = all_formats(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!to_spa(all[i].format)) continue;
    const FrameInfo info{all[i].format, 50, 30};
    const std::string name = "format." + std::string(all[i].name);
    Output output(name, waiting(), soon());
    output.open(info);
    Input input(name, {}, soon());
    EXPECT_EQ(input.format().info.format, info.format) << all[i].name;
    Frame frame = Frame::allocate(info);
    for (const Tensor& plane : frame.planes())
      std::memset(const_cast<void*>(plane.data()), 0x5a,
                  plane.shape()[0] * static_cast<std::size_t>(plane.byte_strides()[0]));
    publish_one(output, frame);
    const auto got = input.read(soon());
    ASSERT_TRUE(got) << all[i].name;
    ASSERT_EQ(got->plane_count(), frame.plane_count());
    for (std::size_t p = 0; p < got->plane_count(); ++p) {
      const PlaneExtent extent = plane_extent(info, p);
      for (std::uint32_t y = 0; y < extent.height_px; ++y)
        for (std::size_t x = 0; x < extent.row_bytes; ++x)
          ASSERT_EQ(row(got->plane(p), y)[x], 0x5a) << all[i].name << " plane " << p;
    }
  }
}

TEST_F(Nodes, FollowAChangeOfSize) {
  Output output("sizes", waiting(), soon());
  output.open(kInfo);
  Input input("sizes", {}, soon());
  std::vector<Frame> kept;  // Pictures of before stay as they are.
  for (const std::uint32_t width : {64u, 128u, 32u}) {
    FrameInfo info = kInfo;
    info.width_px = width;
    Frame frame = Frame::allocate(info);
    for (const Tensor& plane : frame.planes()) fill(plane, static_cast<int>(width));
    publish_one(output, frame);
    auto got = input.read(soon());
    ASSERT_TRUE(got);
    EXPECT_EQ(got->info().width_px, width);
    EXPECT_EQ(value_of(*got), static_cast<int>(width));
    if (width == 64) kept.push_back(std::move(*got));
    got.reset();
    EXPECT_TRUE(comes([&] { return output.report().held == kept.size() || width != 64; }));
    kept.clear();
  }
  EXPECT_GE(input.report().formats, 3u);
  EXPECT_EQ(input.report().damaged, 0u);
}

TEST_F(Nodes, GiveABufferBackWhenWorkOnItHasEnded) {
  Output output("works", waiting(), soon());
  output.open(kInfo);
  Input input("works", {}, soon());
  publish_one(output, filled(1));
  std::optional<Frame> got = input.read(soon());
  ASSERT_TRUE(got);
  const auto device = make_ref<HostTimeline>("a device");
  const TimelinePoint work = device->next();
  got->plane(0).memory()->hazards().read_until(work);
  got.reset();
  EXPECT_FALSE(output.end(Clock::now() + 100ms)) << "the device still reads";
  device->advance(work.value());
  EXPECT_TRUE(output.end(soon()));
}

TEST_F(Nodes, SayThatAllBuffersAreInUse) {
  OutputOptions options = waiting();
  options.waits = false;
  Output output("held", options, soon());
  output.open(kInfo);
  Input input("held", {}, soon());
  std::vector<Frame> held;
  ASSERT_TRUE(output.wait_for_reader(soon()));
  const std::size_t buffers = input.report().buffers;
  ASSERT_GE(buffers, 2u);
  const Frame plain = Frame::allocate(kInfo);
  std::optional<Error> late;
  for (const Deadline until = soon(); !late && held.size() < 64 && Clock::now() < until;) {
    (void)output.publish(plain);
    try {
      held.push_back(input.read(Clock::now() + 300ms).value());
    } catch (const Error& error) {
      if (output.report().left_out > 0) late.emplace(error);
    }
  }
  ASSERT_TRUE(late);
  EXPECT_EQ(late->code(), Code::kDeadlineExceeded);
  EXPECT_GT(output.report().left_out, 0u) << "the producer does not wait";
  held.clear();
  publish_one(output, plain);
  EXPECT_TRUE(input.read(soon()));
}

TEST_F(Nodes, TakeBackWhatAReaderNeverGives) {
  OutputOptions options = waiting();
  options.patience = 1s;
  Output output("patient", options, soon());
  output.open(kInfo);
  Input input("patient", {}, soon());
  const std::optional<Frame> kept = send_and_read(output, input, filled(7));
  ASSERT_TRUE(kept);
  EXPECT_TRUE(comes([&] { return output.report().held == 0; })) << "though its reader keeps it";
  EXPECT_GT(output.report().taken_back, 0u);
  for (int i = 0; i < 20; ++i) {  // It goes on with buffers of which the reader has none.
    const std::optional<Frame> got = send_and_read(output, input, filled(i));
    ASSERT_TRUE(got);
    EXPECT_EQ(value_of(*got), i);
  }
  EXPECT_NE(value_of(*kept), -2) << "its memory stays mapped";
}

TEST_F(Nodes, EndWithTheNodeAtTheOtherEnd) {
  std::optional<Frame> kept;
  {
    auto output = std::make_unique<Output>("ends", waiting(), soon());
    output->open(kInfo);
    Input input("ends", {}, soon());
    publish_one(*output, filled(9));
    kept = input.read(soon());
    ASSERT_TRUE(kept);
    output.reset();
    EXPECT_FALSE(input.read(soon())) << "the end of the stream";
  }
  EXPECT_EQ(value_of(*kept), 9) << "a picture outlives both nodes";
  Output output("reader gone", waiting(), soon());
  output.open(kInfo);
  {
    Input input("reader gone", {}, soon());
    publish_one(output, filled(1));
  }
  EXPECT_TRUE(comes([&] { return !output.report().has_reader && output.report().held == 0; }));
  EXPECT_FALSE(output.publish(filled(2)));
  Input next("reader gone", {}, soon());
  publish_one(output, filled(3));
  const auto got = next.read(soon());
  ASSERT_TRUE(got);
  EXPECT_EQ(value_of(*got), 3);
}

TEST_F(Nodes, OutliveTheirDaemon) {
  OutputOptions options = waiting();
  Output output("restarted", options, soon());
  output.open(kInfo);
  Input input("restarted", {}, soon());
  publish_one(output, filled(5));
  const std::optional<Frame> kept = input.read(soon());
  ASSERT_TRUE(kept);
  daemon_->kill();
  EXPECT_THAT(error_of(
                  [&] {
                    while (input.read(soon())) {
                    }
                  },
                  Code::kUnavailable),
              HasSubstr("daemon went away"));
  EXPECT_THAT(error_of(
                  [&] {
                    for (const auto until = soon(); Clock::now() < until;) output.publish(filled(6));
                  },
                  Code::kUnavailable),
              HasSubstr("daemon went away"));
  EXPECT_EQ(value_of(*kept), 5);
  daemon_->start();
  Output again("restarted", options, soon());
  again.open(kInfo);
  Input reader("restarted", {}, soon());
  publish_one(again, filled(8));
  const auto got = reader.read(soon());
  ASSERT_TRUE(got);
  EXPECT_EQ(value_of(*got), 8);
}

TEST_F(Nodes, SayWhatDoesNotAnswer) {
  daemon_->program().send(SIGSTOP);
  const auto begin = Clock::now();
  EXPECT_THAT(error_of([] { Input("camera", {}, Clock::now() + 300ms); }, Code::kDeadlineExceeded),
              HasSubstr("does not answer"));
  EXPECT_LT(Clock::now() - begin, 15s);
  daemon_->program().send(SIGCONT);
}

TEST_F(Nodes, SayWhatIsMissing) {
  Output output("present", waiting(), soon());
  output.open(kInfo);
  // On a busy machine the daemon may not have said by then which nodes there are.
  const auto failure_of = [](const std::string& node, const char* word) {
    for (auto time = 500ms;; time *= 4) {
      const Error error = error_of([&] { Input(node, {}, Clock::now() + time); });
      if (time > 20s || std::string(error.what()).find(word) != std::string::npos) return error;
    }
  };
  const Error absent = failure_of("absent", "present (");
  EXPECT_EQ(absent.code(), Code::kNotFound);
  EXPECT_THAT(absent.what(), AllOf(HasSubstr("\"absent\""), HasSubstr("present (")));
  InputOptions other;
  other.format.formats = {kRgb24};
  EXPECT_THAT(error_of([&] { Input("present", other, soon()); }, Code::kUnimplemented),
              HasSubstr("no format in common"));
  const Error unlinked = failure_of("", "session manager");
  EXPECT_EQ(unlinked.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(unlinked.what(), HasSubstr("session manager"));
  EXPECT_THAT(error_of([&] { output.publish(Frame()); }, Code::kInvalidArgument), HasSubstr("empty frame"));
  OutputOptions few;
  few.buffers = 2;
  EXPECT_THAT(error_of([&] { Output("few", few, soon()); }, Code::kInvalidArgument), HasSubstr("5 to 64"));
  Output planar("planar", waiting(), soon());
  EXPECT_THAT(error_of([&] { planar.open({kRgbPlanar, 16, 16}); }, Code::kUnimplemented), HasSubstr("convert"));
}

TEST_F(Nodes, AreInterrupted) {
  std::stop_source stop;
  InputOptions options;
  options.stop = stop.get_token();
  Output output("quiet", waiting(), soon());
  output.open(kInfo);
  Input input("quiet", options, soon());
  auto reading =
      std::async(std::launch::async, [&] { return error_of([&] { (void)input.read(Deadline::max()); }).code(); });
  stop.request_stop();
  ASSERT_EQ(reading.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(reading.get(), Code::kCancelled);
}

}  // namespace pipewire_test
}  // namespace tenon::pipewire
