// SPDX-License-Identifier: Apache-2.0
// Sends messages through librdkafka's mock cluster, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <tenon/core/error.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/elements/testing/brokers.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace kafka_test {

using tenon_test::takes;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

struct DestroyClient {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
};
using Client = std::unique_ptr<rd_kafka_t, DestroyClient>;

Client client(rd_kafka_type_t type, const std::vector<std::pair<const char*, std::string>>& properties) {
  rd_kafka_conf_t* const options = rd_kafka_conf_new();
  char reason[256] = "";
  for (const auto& [name, value] : properties)
    EXPECT_EQ(rd_kafka_conf_set(options, name, value.c_str(), reason, sizeof reason), RD_KAFKA_CONF_OK) << reason;
  Client made(rd_kafka_new(type, options, reason, sizeof reason));
  EXPECT_TRUE(made) << reason;
  return made;
}

struct Message {
  std::string key, payload;
  std::int32_t partition = 0;
};

class Kafka : public ::testing::Test {
 protected:
  static constexpr int kPartitions = 4;

  void SetUp() override {
    owner_ = client(RD_KAFKA_PRODUCER, {{"log_level", "0"}});
    cluster_.reset(rd_kafka_mock_cluster_new(owner_.get(), 1));
    ASSERT_TRUE(cluster_);
    rd_kafka_mock_topic_create(cluster_.get(), "results", 1, 1);
    rd_kafka_mock_topic_create(cluster_.get(), "parted", kPartitions, 1);
  }
  std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_.get()); }
  void set_down(bool down) {
    if (down)
      rd_kafka_mock_broker_set_down(cluster_.get(), 1);
    else
      rd_kafka_mock_broker_set_up(cluster_.get(), 1);
  }
  PipelineSpec spec_for(const char* frames, std::map<std::string, std::string> more = {}) const {
    more.insert({{"topic", "results"}, {"brokers", brokers()}});
    PipelineSpec spec;
    spec.nodes = {{"test", "camera", {{"frames", frames}}}, {"kafka", "out", more}};
    return spec;
  }

  std::vector<Failure> failures_without_broker(const char* frames, std::map<std::string, std::string> more) const {
    more["brokers"] = "127.0.0.1:1";
    return tenon_test::failures_without_broker([&](const char* wait_s) {
      more["wait_s"] = wait_s;
      return spec_for(frames, more);
    });
  }

  /// Payloads of all messages of "results", in order. @param count  The number that there must be.
  std::vector<std::string> messages(std::size_t count) const {
    std::vector<std::string> payloads;
    for (Message& each : read("results", 1, count)) payloads.push_back(std::move(each.payload));
    return payloads;
  }

  std::vector<Message> read(const char* topic, int partitions, std::size_t count) const {
    const Client reader = client(RD_KAFKA_CONSUMER, {{"bootstrap.servers", brokers()},
                                                     {"group.id", "test"},
                                                     {"auto.offset.reset", "earliest"},
                                                     {"log_level", "0"}});
    rd_kafka_topic_partition_list_t* const wanted = rd_kafka_topic_partition_list_new(partitions);
    for (int i = 0; i < partitions; ++i)
      rd_kafka_topic_partition_list_add(wanted, topic, i)->offset = RD_KAFKA_OFFSET_BEGINNING;
    EXPECT_EQ(rd_kafka_assign(reader.get(), wanted), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_topic_partition_list_destroy(wanted);
    std::vector<Message> all;
    auto end = Clock::now() + 60s;
    while (Clock::now() < end) {
      rd_kafka_message_t* const message = rd_kafka_consumer_poll(reader.get(), 100);
      if (!message) continue;
      if (!message->err)
        all.push_back({std::string(static_cast<const char*>(message->key), message->key_len),
                       std::string(static_cast<const char*>(message->payload), message->len), message->partition});
      rd_kafka_message_destroy(message);
      if (all.size() == count) end = std::min(end, Clock::now() + 300ms);  // One more would be one too many.
    }
    rd_kafka_consumer_close(reader.get());
    return all;
  }

 private:
  struct DestroyCluster {
    void operator()(rd_kafka_mock_cluster_t* cluster) const { rd_kafka_mock_cluster_destroy(cluster); }
  };
  Client owner_;
  std::unique_ptr<rd_kafka_mock_cluster_t, DestroyCluster> cluster_;
};

TEST_F(Kafka, EachFrameIsAMessageInItsOrder) {
  Pipeline pipeline(spec_for("50"));
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  const auto all = messages(50);
  ASSERT_EQ(all.size(), 50u);
  EXPECT_THAT(all[0], HasSubstr("{\"stream\":0,\"timestamp_ns\":0,"));
  EXPECT_THAT(all[49], HasSubstr("\"timestamp_ns\":1633333333,"));
}

TEST_F(Kafka, PublishSendsOnTheWay) {
  const auto known = known_elements();
  if (std::none_of(known.begin(), known.end(), [](const auto& one) { return one.name == "publish"; }))
    GTEST_SKIP() << "there is no publish";
  PipelineSpec spec;
  spec.nodes = {{"test", "camera", {{"frames", "20"}}},
                {"publish", "out", {{"method", "kafka"}, {"address", brokers()}, {"topic", "results"}}},
                {"null", "end"}};
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  EXPECT_EQ(pipeline.stats()[2].frames_in, 20u);
  EXPECT_EQ(messages(20).size(), 20u);
}

TEST_F(Kafka, ABrokerThatComesBackGetsWhatWaited) {
  set_down(true);
  Pipeline pipeline(spec_for("20", {{"wait_s", "60"}}));
  pipeline.start();
  EXPECT_TRUE(takes(pipeline, 20)) << "a frame waits for the broker";
  EXPECT_FALSE(pipeline.wait(Clock::now() + 200ms)) << "the sink waits at its end";
  set_down(false);
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  EXPECT_EQ(messages(20).size(), 20u);
}

TEST_F(Kafka, WithoutABrokerTheEndSaysHowManyAreMissing) {
  const auto failures = failures_without_broker("30", {{"queue", "10"}});
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0].message, HasSubstr("30 of 30 messages were not delivered to 127.0.0.1:1: "));
  EXPECT_THAT(failures[0].message, HasSubstr("Connection refused"));
}

TEST_F(Kafka, StoppingDoesNotWaitForABroker) {
  Pipeline pipeline(spec_for("30", {{"brokers", "127.0.0.1:1"}, {"wait_s", "3000"}}));
  pipeline.start();
  EXPECT_FALSE(pipeline.wait(Clock::now() + 200ms));
  const auto begin = Clock::now();
  pipeline.stop(Clock::now() + 100ms);
  EXPECT_LT(Clock::now() - begin, 20s);
}

/// Four streams into one sink.
PipelineSpec four_streams(std::map<std::string, std::string> sink) {
  PipelineSpec spec;
  NodeSpec out{"kafka", "out", std::move(sink)};
  for (const char* const name : {"a", "b", "c", "d"}) {
    spec.nodes.push_back({"test", name, {{"frames", "10"}}});
    out.from.push_back(name);
  }
  spec.nodes.push_back(out);
  return spec;
}

TEST_F(Kafka, EachStreamHasAPartitionOfItsOwn) {
  Pipeline pipeline(
      four_streams({{"topic", "parted"}, {"brokers", brokers()}, {"partition", "stream"}, {"key", "hall-{stream}"}}));
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  const auto all = read("parted", kPartitions, 40);
  ASSERT_EQ(all.size(), 40u);
  for (const Message& each : all) {
    EXPECT_EQ(each.key, "hall-" + std::to_string(each.partition));
    EXPECT_THAT(each.payload, HasSubstr("{\"stream\":" + std::to_string(each.partition) + ","));
  }
}

TEST_F(Kafka, AKeyChoosesThePartitionAsJavasClientsDo) {
  Pipeline pipeline(four_streams({{"topic", "parted"}, {"brokers", brokers()}}));
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  const auto all = read("parted", kPartitions, 40);
  ASSERT_EQ(all.size(), 40u);
  std::map<std::string, std::int32_t> partitions;
  for (const Message& each : all) {
    EXPECT_EQ(partitions.emplace(each.key, each.partition).first->second, each.partition);
    EXPECT_THAT(each.payload, HasSubstr("{\"stream\":" + each.key + ","));
  }
  // (murmur2(key) & 0x7fffffff) % 4, computed apart from librdkafka.
  EXPECT_EQ(partitions, (std::map<std::string, std::int32_t>{{"0", 0}, {"1", 3}, {"2", 0}, {"3", 3}}));
}

TEST_F(Kafka, WithoutAKeyThereIsNone) {
  Pipeline pipeline(spec_for("3", {{"key", ""}}));
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  const auto all = read("results", 1, 3);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].key, "");
}

TEST_F(Kafka, APipelineThatWaitsLosesNothingWhileABrokerIsAway) {
  set_down(true);
  Pipeline pipeline(spec_for("200", {{"queue", "10"}, {"when_full", "wait"}, {"wait_s", "60"}}));
  pipeline.start();
  EXPECT_TRUE(takes(pipeline, 10));
  EXPECT_FALSE(pipeline.wait(Clock::now() + 300ms));
  EXPECT_LT(pipeline.stats()[1].frames_in, 50u) << "the pipeline waits for the broker";
  set_down(false);
  ASSERT_TRUE(pipeline.wait(Clock::now() + 90s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  const auto all = messages(200);
  ASSERT_EQ(all.size(), 200u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;  // Lines differ by their growing times alone.
  }));
}

TEST_F(Kafka, AWaitEndsWithAnErrorInTime) {
  const auto failures = failures_without_broker("200", {{"queue", "10"}, {"when_full", "wait"}});
  ASSERT_FALSE(failures.empty());
  EXPECT_THAT(failures[0].message, ::testing::ContainsRegex("took no message for [0-9.]+ s: "));
  EXPECT_THAT(failures[0].message, HasSubstr("Connection refused"));
}

TEST_F(Kafka, AWaitEndsWithThePipeline) {
  Pipeline pipeline(
      spec_for("200", {{"brokers", "127.0.0.1:1"}, {"queue", "10"}, {"when_full", "wait"}, {"wait_s", "3000"}}));
  pipeline.start();
  EXPECT_FALSE(pipeline.wait(Clock::now() + 200ms));
  const auto begin = Clock::now();
  pipeline.stop(Clock::now() + 100ms);
  EXPECT_LT(Clock::now() - begin, 20s);
}

TEST_F(Kafka, PropertiesAreCheckedAtOnce) {
  const auto made_with = [](const char* properties) {
    return error_of(
        [&] {
          make_element("kafka", {{"topic", "a"}, {"properties", properties}}, {"out", nullptr});
        },
        Code::kInvalidArgument);
  };
  EXPECT_THAT(made_with("acks"), HasSubstr("'acks' is not NAME=VALUE"));
  EXPECT_THAT(made_with("no.such=1"), HasSubstr("No such configuration property"));
}

}  // namespace kafka_test
}  // namespace tenon::elements
