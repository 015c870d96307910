// SPDX-License-Identifier: Apache-2.0
// The sink "stream" sends to the source "file", which listens as an RTSP server does, and to servers that are away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/tests/support/silent_server.hpp>

namespace tenon::elements {
namespace stream_sink_test {

using namespace std::chrono_literals;
using tenon_test::Arrived;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A free port at the time of the call.
int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

class StreamSink : public ::testing::Test {
 protected:
  void SetUp() override {
    tenon::ffmpeg::silence_log();
    url_ = "rtsp://127.0.0.1:" + std::to_string(free_port()) + "/live";
  }
  /// A pipeline that sends an endless live source.
  PipelineSpec sender(const std::string& frames, std::map<std::string, std::string> more = {}) const {
    more["url"] = url_;
    more.try_emplace("retry_delay_ms", "20");
    more.try_emplace("retries", "1000");
    return {{{"test", "", {{"frames", frames}, {"width", "64"}, {"height", "48"}, {"live", "true"}, {"fps", "100"}}},
             {"stream", "", more}}};
  }
  NodeSpec listener(std::map<std::string, std::string> more = {}) const {
    more["path"] = url_;
    more["options"] = "rtsp_flags=listen";
    return {"file", "", more};
  }
  template <typename Condition>
  static bool holds_soon(Condition condition) {
    for (const auto end = Clock::now() + 60s; Clock::now() < end; std::this_thread::sleep_for(5ms))
      if (condition()) return true;
    return false;
  }
  std::string url_;
};

TEST_F(StreamSink, ArrivesAtAServer) {
  Arrived arrived;
  Pipeline server({{listener(), arrived.sink()}});
  server.start();
  Pipeline client(sender("0"));
  client.start();
  EXPECT_TRUE(holds_soon([&] { return server.stats()[1].frames_in >= 20; }));
  client.stop(Clock::now() + 60s);
  EXPECT_TRUE(client.failures().empty());
  ASSERT_TRUE(server.wait(Clock::now() + 60s));
  EXPECT_TRUE(server.failures().empty());
  EXPECT_GE(arrived.frames[0].size(), 20u);
  EXPECT_EQ(arrived.frames[0][0].info.width_px, 64u);
}

TEST_F(StreamSink, GoesOnWhenTheServerComesBack) {
  Pipeline client(sender("0"));
  client.start();
  for (int round = 0; round < 2; ++round) {
    Arrived arrived;
    Pipeline server({{listener(), arrived.sink()}});
    server.start();
    ASSERT_TRUE(holds_soon([&] { return server.stats()[1].frames_in > 5; })) << "round " << round;
    server.stop(Clock::now());
  }
  client.stop(Clock::now() + 5s);  // No server is there any more.
  EXPECT_TRUE(client.failures().empty());
}

TEST_F(StreamSink, AStreamThatIsNeverToEndStartsAgain) {
  Arrived arrived;
  PipelineSpec spec{{listener({{"never_ends", "true"}}), arrived.sink()}};
  spec.on_error = OnError::kRestart;
  spec.restarts = 1;
  spec.restart_delay = 1ms;
  Pipeline server(spec);
  server.start();
  for (int round = 0; round < 2; ++round) {
    Pipeline client(sender("0"));
    client.start();
    const std::uint64_t before = server.stats()[1].frames_in;
    EXPECT_TRUE(holds_soon([&] { return server.stats()[1].frames_in > before + 5; }));
    client.stop(Clock::now() + 60s);
    EXPECT_TRUE(client.failures().empty());
    ASSERT_TRUE(holds_soon([&] { return server.failures().size() == static_cast<std::size_t>(round) + 1; }));
  }
  ASSERT_TRUE(server.wait(Clock::now() + 60s));
  EXPECT_TRUE(server.failures()[0].was_restarted);
  EXPECT_THAT(server.failures()[0].message, HasSubstr("has ended, and never_ends is set"));
}

TEST_F(StreamSink, StopsAtOnceWhileTheServerIsSilent) {
  const tenon_test::SilentServer server;
  url_ = "rtsp://127.0.0.1:" + std::to_string(server.port()) + "/live";
  Pipeline client(sender("0", {{"timeout_ms", "30000"}}));
  client.start();
  ASSERT_TRUE(holds_soon([&] { return client.stats()[1].frames_in == 1u; }));
  std::this_thread::sleep_for(500ms);
  ASSERT_EQ(client.stats()[1].frames_in, 1u) << "it does not wait for an answer, so the test proves nothing";
  const auto begin = Clock::now();
  client.stop(begin);
  EXPECT_LT(Clock::now() - begin, 20s) << "it waits for an answer for 30 s";
  EXPECT_TRUE(client.failures().empty());
}

TEST_F(StreamSink, GivesUpAfterItsRetries) {
  const auto failures = tenon_test::run(sender("0", {{"retries", "3"}}));
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr(url_));
  EXPECT_THAT(failures[0], HasSubstr("refused"));
}

TEST_F(StreamSink, SaysWhatWasNeverSent) {
  EXPECT_THAT(tenon_test::run(sender("5")), ElementsAre(HasSubstr("none of 5 frames was sent")));
}

TEST_F(StreamSink, RefusesAtOnceWhatNeverWorks) {
  url_ = "file:///tmp/out.mp4";
  EXPECT_THAT(tenon_test::run(sender("0")), ElementsAre(HasSubstr("is no URL of rtsp")));
  url_ = "rtsp://127.0.0.1:1/live";
  EXPECT_THAT(tenon_test::run(sender("0", {{"codec", "no_such"}})), ElementsAre(HasSubstr("no_such")));
}

}  // namespace stream_sink_test
}  // namespace tenon::elements
