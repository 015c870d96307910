// SPDX-License-Identifier: Apache-2.0
// The sink "kafka": sends a message for each frame.
#include <sstream>

#include <tenon/core/error.hpp>
#include <tenon/elements/kafka/elements.hpp>
#include <tenon/elements/kafka/producer.hpp>
#include <tenon/elements/publisher.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace kafka {
namespace {

/// The properties for librdkafka. @errors kInvalidArgument: a property without a value.
std::map<std::string, std::string> properties_from(const Parameters& given) {
  std::map<std::string, std::string> all = {
      {"bootstrap.servers", given.text("brokers")},
      {"queue.buffering.max.messages", std::to_string(given.integer("queue"))},
      {"linger.ms", std::to_string(given.integer("linger_ms"))},
      {"partitioner", "murmur2_random"},  // The same partition for a key as Java's clients choose.
      {"enable.idempotence", "true"}};    // Retries must neither reorder nor repeat messages.
  if (given.text("when_full") == "wait") all["message.timeout.ms"] = "0";  // A message is never given up.
  std::istringstream more(given.text("properties"));
  for (std::string one; std::getline(more, one, ';');) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(Code::kInvalidArgument,
                  given.owner() + ": properties: '" + one + "' is not NAME=VALUE; separate them by ;");
    all[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return all;
}

ProducerOptions options_from(const Parameters& given) {
  ProducerOptions options;
  options.properties = properties_from(given);
  options.by_stream = given.text("partition") == "stream";
  if (given.text("when_full") == "wait") options.wait = wait_from(given);
  return options;
}

class KafkaSink final : public Publisher {
 public:
  explicit KafkaSink(const Parameters& given)
      : Publisher(given),
        brokers_(given.text("brokers")),
        topic_(given.text("topic")),
        key_(given.text("key")),
        wait_(wait_from(given)),
        producer_(options_from(given)) {}

  void finish() override {
    const Producer::Report report = producer_.drain(Clock::now() + wait_);
    const std::uint64_t missing = report.waiting + report.dropped;
    if (missing == 0) return;
    throw Error(Code::kUnavailable, "kafka: " + std::to_string(missing) + " of " +
                                        std::to_string(report.delivered + missing) +
                                        " messages were not delivered to " + brokers_ +
                                        (report.trouble.empty() ? "" : ": " + report.trouble) +
                                        "; are the brokers there and as fast as the frames? queue and wait_s say how "
                                        "long messages may wait");
  }
  void interrupt() noexcept override { producer_.interrupt(); }
  void resume() override { producer_.resume(); }

 private:
  void send(std::uint32_t stream, std::string line) override {
    producer_.publish(with_stream(topic_, stream), with_stream(key_, stream), stream, line);
  }

  const std::string brokers_, topic_, key_;
  const Clock::duration wait_;
  Producer producer_;
};

}  // namespace

std::vector<KnownElement> elements() {
  Description kafka;
  kafka.name = "kafka";
  kafka.about =
      "Sends the metadata of each frame to Kafka, as JSON with the stream's number as key; waits for the brokers while "
      "frames come only where asked (when_full=wait)";
  kafka.role = Role::kSink;
  kafka.parameters = publisher_parameters(
      {{"topic", "Topic to publish to; {stream} becomes the number of the stream", std::string("tenon"), true},
       {"brokers", "HOST:PORT of one or more brokers, separated by commas", std::string("localhost:9092")},
       {"key",
        "Key of each message; {stream} becomes the number of the stream. Messages of one key keep their order. Empty: "
        "none",
        std::string("{stream}")},
       choice("partition",
              "What chooses the partition: the hash of the key, as Java's clients compute it, or the stream's number "
              "modulo the number of partitions, which spreads streams evenly",
              "key", {"key", "stream"}),
       {"queue", "Messages that may wait for the brokers", std::int64_t{1000}, false, 1, 1e6},
       choice("when_full",
              "What happens when so many wait: the message is dropped, and counted in the error at the end; or the "
              "pipeline waits for the brokers, wait_s at most, so that each message arrives at least once or the run "
              "fails",
              "drop", {"drop", "wait"}),
       {"linger_ms", "How long messages are collected into one request, in milliseconds", std::int64_t{5}, false, 0,
        10000},
       {"wait_s", "How long to wait for the brokers, in seconds: at the end, and with when_full=wait for room", 5.0,
        false, 0, 3600},
       {"properties", "More properties of librdkafka, NAME=VALUE;NAME=VALUE: security.protocol, sasl.username...",
        std::string()}});
  kafka.is_shared = true;
  kafka.takes = Takes::kBoth;
  return {{kafka, [](const Parameters& given, const Environment&) -> AnyElement {
             return std::make_unique<KafkaSink>(given);
           }}};
}

}  // namespace kafka
}  // namespace elements
}  // namespace v1
}  // namespace tenon
