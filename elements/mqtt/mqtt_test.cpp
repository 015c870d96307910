// SPDX-License-Identifier: Apache-2.0
// Sends messages through a real broker, which is away at times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <mosquitto.h>

#include <tenon/core/error.hpp>
#include <tenon/elements/mqtt/testing/broker.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/elements/testing/brokers.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace mqtt_test {

using tenon_test::takes;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
using mqtt_testing::Broker;
using mqtt_testing::free_port;
using mqtt_testing::Reader;

class Mqtt : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Broker::program().empty()) GTEST_SKIP() << "no mosquitto (Debian: mosquitto)";
    mosquitto_lib_init();
  }
  static PipelineSpec spec_for(int port, const char* frames, std::map<std::string, std::string> more = {}) {
    more.insert({{"topic", "results/{stream}"}, {"host", "127.0.0.1"}, {"port", std::to_string(port)}});
    PipelineSpec spec;
    spec.nodes = {{"test", "camera", {{"frames", frames}}}, {"mqtt", "out", more}};
    return spec;
  }
  static std::vector<Failure> failures_without_broker(int port, const char* frames,
                                                      std::map<std::string, std::string> more) {
    return tenon_test::failures_without_broker([&](const char* wait_s) {
      more["wait_s"] = wait_s;
      return spec_for(port, frames, more);
    });
  }
};

TEST_F(Mqtt, EachFrameIsAMessage) {
  const int port = free_port();
  const Broker broker(port);
  Reader reader(port, "results/#");
  Pipeline pipeline(spec_for(port, "100", {{"wait_s", "60"}}));
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  ASSERT_TRUE(reader.has(100));
  EXPECT_EQ(reader.topics[0], "results/0");
  EXPECT_THAT(reader.messages[99], HasSubstr("{\"stream\":0,\"timestamp_ns\":3300000000,"));
}

TEST_F(Mqtt, PublishSendsOnTheWay) {
  const auto all = known_elements();
  if (std::none_of(all.begin(), all.end(), [](const auto& one) { return one.name == "publish"; }))
    GTEST_SKIP() << "there is no publish";
  const int port = free_port();
  const Broker broker(port);
  Reader reader(port, "results/#");
  PipelineSpec spec;
  spec.nodes = {{"test", "camera", {{"frames", "20"}}},
                {"publish",
                 "out",
                 {{"method", "mqtt"},
                  {"address", "127.0.0.1:" + std::to_string(port)},
                  {"topic", "results/{stream}"},
                  {"options", "qos=2;wait_s=60"}}},
                {"null", "end"}};
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  EXPECT_EQ(pipeline.stats()[2].frames_in, 20u);
  ASSERT_TRUE(reader.has(20));
  EXPECT_EQ(reader.topics[0], "results/0");
}

TEST_F(Mqtt, ABrokerThatComesLateGetsWhatWaited) {
  const int port = free_port();
  Pipeline pipeline(spec_for(port, "20", {{"wait_s", "60"}}));
  pipeline.start();
  EXPECT_TRUE(takes(pipeline, 20)) << "a frame waits for the broker";
  EXPECT_FALSE(pipeline.wait(Clock::now() + 200ms)) << "the sink waits at its end";
  const Broker broker(port);
  Reader reader(port, "results/0");
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
}

TEST_F(Mqtt, APipelineThatWaitsLosesNothingWhileTheBrokerIsAway) {
  const int port = free_port();
  Pipeline pipeline(spec_for(port, "300", {{"queue", "10"}, {"when_full", "wait"}, {"wait_s", "60"}}));
  pipeline.start();
  EXPECT_TRUE(takes(pipeline, 10));
  EXPECT_FALSE(pipeline.wait(Clock::now() + 200ms));
  EXPECT_LT(pipeline.stats()[1].frames_in, 50u) << "the pipeline waits for the broker";
  const Broker broker(port);
  Reader reader(port, "results/0");
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
}

TEST_F(Mqtt, AWaitEndsWithAnErrorInTime) {
  const auto failures = failures_without_broker(free_port(), "200", {{"queue", "10"}, {"when_full", "wait"}});
  ASSERT_FALSE(failures.empty());
  EXPECT_THAT(failures[0].message, ::testing::ContainsRegex("took no message for [0-9.]+ s: "));
  EXPECT_THAT(failures[0].message, HasSubstr("Connection refused"));
}

TEST_F(Mqtt, AWaitEndsWithThePipeline) {
  Pipeline pipeline(spec_for(free_port(), "300", {{"queue", "10"}, {"when_full", "wait"}, {"wait_s", "3000"}}));
  pipeline.start();
  EXPECT_FALSE(pipeline.wait(Clock::now() + 200ms));
  const auto begin = Clock::now();
  pipeline.stop(Clock::now() + 100ms);
  EXPECT_LT(Clock::now() - begin, 20s);
}

TEST_F(Mqtt, ABrokerThatGoesAndComesBackGetsTheRest) {
  const int port = free_port();
  auto broker = std::make_unique<Broker>(port);
  PipelineSpec spec = spec_for(port, "800", {{"wait_s", "60"}});
  spec.nodes[0].parameters.insert({{"live", "true"}, {"fps", "800"}});
  Pipeline pipeline(spec);
  auto first = std::make_unique<Reader>(port, "results/0");
  pipeline.start();
  ASSERT_TRUE(first->has(5));
  first.reset();
  broker.reset();
  std::this_thread::sleep_for(200ms);
  broker = std::make_unique<Broker>(port);
  ASSERT_TRUE(pipeline.wait(Clock::now() + 90s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
}

/// A broker that answers a client, reads nothing more, resets the connection, and is well from the next connection on.
class StallingBroker {
 public:
  StallingBroker() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int few_bytes = 4096;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &few_bytes, sizeof few_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~StallingBroker() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  int port = 0;
  std::atomic<std::size_t> messages{0};  ///< Those that came when it was well.

 private:
  UniqueFd accepted() {
    UniqueFd socket(::accept(listener_.get(), nullptr, nullptr));
    std::uint8_t connect[256];
    constexpr std::uint8_t kAccepted[] = {0x20, 2, 0, 0};
    if (socket && ::recv(socket.get(), connect, sizeof connect, 0) > 0)
      ::send(socket.get(), kAccepted, sizeof kAccepted, MSG_NOSIGNAL);
    return socket;
  }
  void serve() {
    UniqueFd stalled = accepted();
    std::this_thread::sleep_for(1s);  // The buffers of both sockets are full by then.
    const linger at_once{1, 0};
    ::setsockopt(stalled.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    stalled.reset();
    const UniqueFd well = accepted();
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(::fdopen(::dup(well.get()), "r"), &::fclose);
    for (int kind = 0; stream && (kind = std::fgetc(stream.get())) != EOF;) {
      std::size_t length = 0;
      int digit = 0x80;
      for (int shift = 0; (digit & 0x80) != 0 && (digit = std::fgetc(stream.get())) != EOF; shift += 7)
        length |= static_cast<std::size_t>(digit & 0x7f) << shift;
      for (std::size_t i = 0; i < length; ++i) std::fgetc(stream.get());
      if (kind >> 4 == 3) ++messages;  // PUBLISH
    }
  }

  UniqueFd listener_;
  std::thread thread_;
};

TEST_F(Mqtt, WithoutAcknowledgementsAStallLosesFewMessages) {
  StallingBroker broker;
  constexpr std::size_t kFrames = 80'000;  // More than sockets' buffers hold.
  Pipeline pipeline(spec_for(broker.port, "80000", {{"qos", "0"}, {"queue", "100000"}, {"wait_s", "100"}}));
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 110s));
  EXPECT_GT(broker.messages, kFrames / 10) << "the rest was sent when the broker was well";
  for (const Failure& failure : pipeline.failures())
    EXPECT_THAT(failure.message, ::testing::ContainsRegex("mqtt: [0-9]+ of 80000 messages were not delivered"));
}

TEST_F(Mqtt, WithoutABrokerTheEndSaysHowManyAreMissing) {
  const int port = free_port();
  const auto failures = failures_without_broker(port, "30", {{"queue", "10"}});
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].node, "out");
  EXPECT_THAT(
      failures[0].message,
      HasSubstr("30 of 30 messages were not delivered to 127.0.0.1:" + std::to_string(port) + ": Connection refused"));
}

TEST_F(Mqtt, StoppingDoesNotWaitForABroker) {
  Pipeline pipeline(spec_for(free_port(), "30", {{"wait_s", "3000"}}));
  pipeline.start();
  EXPECT_FALSE(pipeline.wait(Clock::now() + 200ms));
  const auto begin = Clock::now();
  pipeline.stop(Clock::now() + 100ms);
  EXPECT_LT(Clock::now() - begin, 20s);
}

TEST_F(Mqtt, TopicsAndCertificatesAreCheckedAtOnce) {
  EXPECT_THAT(error_of(
                  [] {
                    make_element("mqtt", {{"topic", "a/#"}}, {"out", nullptr});
                  },
                  Code::kInvalidArgument),
              HasSubstr("topic 'a/#' cannot be published to"));
  EXPECT_THAT(error_of(
                  [] {
                    make_element("mqtt", {{"topic", "a"}, {"ca_file", "nowhere.pem"}}, {"out", nullptr});
                  },
                  Code::kInvalidArgument),
              HasSubstr("nowhere.pem"));
}

}  // namespace mqtt_test
}  // namespace tenon::elements
