// SPDX-License-Identifier: Apache-2.0
// Nodes of other programs: GStreamer's pipewiresink and pipewiresrc, and a reader that is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/pipewire/connection.hpp>
#include <tenon/frameworks/pipewire/pipewire.hpp>

#include <tenon/frameworks/pipewire/testing/daemon.hpp>

namespace tenon::pipewire {
namespace peer_test {

using namespace std::chrono_literals;
using tenon_test::Program;

constexpr FrameInfo kInfo{kI420, 64, 48};

Deadline soon() { return Clock::now() + 30s; }

/// The other process of Peers.OutliveAReaderThatIsKilled: reads, and holds what it reads.
TEST(ReaderProcess, HoldsWhatItReads) {
  const char* const node = std::getenv("TENON_TEST_READS_NODE");
  if (!node) GTEST_SKIP() << "it is started by Peers.OutliveAReaderThatIsKilled";
  Input input(node, {}, soon());
  std::vector<Frame> held;
  while (auto frame = input.read(Clock::now() + 60s)) held.push_back(std::move(*frame));
}

class Peers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = tenon_test::Daemon::why_none(); !why.empty()) GTEST_SKIP() << why;
    daemon_.emplace();
  }
  /// Skips where GStreamer has no element of that name.
  static std::string why_no_gstreamer() {
    if (!tenon_test::find_program("gst-launch-1.0")) return "no gst-launch-1.0 (Debian: gstreamer1.0-tools)";
    Program inspect({"gst-inspect-1.0", "pipewiresrc"});
    return inspect.wait(Clock::now() + 120s) == 0 ? "" : "GStreamer has no pipewiresrc (Debian: gstreamer1.0-pipewire)";
  }
  std::string log() const { return daemon_->folder() / "gst.log"; }
  template <typename IsSo>
  static bool comes(IsSo is_so) {
    const auto until = soon();
    while (!is_so() && Clock::now() < until) std::this_thread::sleep_for(1ms);
    return is_so();
  }
  static std::vector<unsigned char> bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::optional<tenon_test::Daemon> daemon_;
};

TEST_F(Peers, GStreamerIsRead) {
  if (const std::string why = why_no_gstreamer(); !why.empty()) GTEST_SKIP() << why;
  Program gst({"gst-launch-1.0", "videotestsrc", "is-live=true", "pattern=white", "!",
               "video/x-raw,format=I420,width=62,height=48,framerate=50/1", "!", "pipewiresink", "mode=provide",
               "stream-properties=props,node.name=(string)white"},
              log());
  Input input("white", {}, soon());
  EXPECT_EQ(input.format().info.format, kI420);
  EXPECT_NEAR(input.format().fps, 50, 0.01);
  std::int64_t last = kNoTimestamp;
  for (int i = 0; i < 30; ++i) {
    const auto frame = input.read(soon());
    ASSERT_TRUE(frame) << tenon_test::Daemon::text_of(log());
    ASSERT_EQ(frame->info().width_px, 62u);
    ASSERT_EQ(frame->plane(0).kind(), kPipeWireMemory);
    // GStreamer's sink of 0.3.65 asks for the header with a number of another type, and so gets none: no times, and no numbers.
    if (frame->timestamp_ns() != kNoTimestamp) {
      EXPECT_GT(frame->timestamp_ns(), last);
    }
    last = frame->timestamp_ns();
    const int expected[] = {235, 128, 128};
    for (std::size_t p = 0; p < 3; ++p) {
      const Tensor& plane = frame->plane(p);
      for (std::size_t y = 0; y < plane.shape()[0]; ++y)
        for (std::size_t x = 0; x < plane.shape()[1]; ++x)
          ASSERT_EQ(static_cast<const unsigned char*>(
                        plane.data())[y * static_cast<std::size_t>(plane.byte_strides()[0]) + x],
                    expected[p])
              << "plane " << p << ", " << x << ", " << y;
    }
  }
  EXPECT_EQ(input.report().damaged, 0u);
  gst.end(SIGKILL);
  try {  // Pictures that were on the way may come before the end.
    while (input.read(soon())) {
    }
  } catch (const Error& error) {
    ADD_FAILURE() << "the end of the stream: " << error.what();
  }
}

TEST_F(Peers, GStreamerReads) {
  if (const std::string why = why_no_gstreamer(); !why.empty()) GTEST_SKIP() << why;
  const std::string to = daemon_->folder() / "pictures.raw";
  OutputOptions options;
  options.patience = 60s;  // The reader begins slowly on a loaded machine.
  Output output("numbers", options, soon());
  output.open(kInfo);
  Program gst(
      {"gst-launch-1.0", "pipewiresrc", "client-name=reader", "num-buffers=20", "!", "filesink", "location=" + to},
      log());
  detail::Connection links("the test", "", {}, soon());
  links.link(links.find_node("numbers", soon()), links.find_node("reader", soon()), soon());
  ASSERT_TRUE(output.wait_for_reader(soon())) << tenon_test::Daemon::text_of(log());
  cpu::FramePool pool(kInfo, Output::wanted(), 6);
  const auto until = Clock::now() + 60s;
  std::optional<int> status;
  for (int i = 0; !status && Clock::now() < until; ++i) {
    Frame frame = pool.acquire(soon());
    for (const Tensor& plane : frame.planes())
      std::memset(const_cast<void*>(plane.data()), i % 200,
                  plane.shape()[0] * static_cast<std::size_t>(plane.byte_strides()[0]));
    frame.set_timestamp_ns(i * 40'000'000);
    (void)output.publish(frame);
    status = gst.wait(Clock::now() + 10ms);
  }
  ASSERT_EQ(status, 0) << tenon_test::Daemon::text_of(log());
  const std::vector<unsigned char> bytes = bytes_of(to);
  constexpr std::size_t kPicture = 64 * 48 * 3 / 2;
  ASSERT_EQ(bytes.size(), 20 * kPicture);
  std::string all;
  for (std::size_t i = 0; i < 20; ++i) all += std::to_string(bytes[i * kPicture]) + " ";
  SCOPED_TRACE(all);
  int last = -1;
  for (std::size_t i = 0; i < 20; ++i) {
    const unsigned char value = bytes[i * kPicture];
    EXPECT_GT(value, last) << "a picture came twice, or not in order";
    last = value;
    for (std::size_t b = 0; b < kPicture; ++b)
      ASSERT_EQ(bytes[i * kPicture + b], value) << "picture " << i << " is torn at byte " << b;
  }
  EXPECT_GT(output.report().in_place, 0u);
}

TEST_F(Peers, OutliveAReaderThatIsKilled) {
  OutputOptions options;
  options.waits = true;
  options.patience = 10min;  // The link's end tells of the death, not the patience.
  Output output("shot", options, soon());
  output.open(kInfo);
  for (int round = 0; round < 2; ++round) {
    Program reader({"/proc/self/exe", "--gtest_filter=ReaderProcess.*"}, log(), {"TENON_TEST_READS_NODE=shot"});
    ASSERT_TRUE(output.wait_for_reader(soon())) << tenon_test::Daemon::text_of(log());
    const Frame plain = Frame::allocate(kInfo);
    const auto until = soon();
    while (output.report().held < 2 && Clock::now() < until) (void)output.publish(plain);
    ASSERT_GE(output.report().held, 2u) << tenon_test::Daemon::text_of(log());
    reader.end(SIGKILL);
    EXPECT_TRUE(comes([&] { return !output.report().has_reader; }));
    EXPECT_TRUE(output.end(soon()));
  }
  const OutputReport report = output.report();
  EXPECT_GE(report.lost, 4u) << "what the readers held";
  EXPECT_EQ(report.taken_back, 0u);
  EXPECT_EQ(report.in_place + report.copied, report.returned + report.taken_back + report.lost + report.held);
}

}  // namespace peer_test
}  // namespace tenon::pipewire
