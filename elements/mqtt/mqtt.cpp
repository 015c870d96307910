// SPDX-License-Identifier: Apache-2.0
// The sink "mqtt": sends a message for each frame.
#include <tenon/core/error.hpp>
#include <tenon/elements/mqtt/connection.hpp>
#include <tenon/elements/mqtt/elements.hpp>
#include <tenon/elements/publisher.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace mqtt {
namespace {

BrokerOptions options_from(const Parameters& given) {
  BrokerOptions options;
  options.host = given.text("host");
  options.port = static_cast<int>(given.integer("port"));
  options.client_id = given.text("client_id");
  options.username = given.text("username");
  options.password = given.text("password");
  options.ca_file = given.text("ca_file");
  options.qos = static_cast<int>(given.integer("qos"));
  options.retain = given.flag("retain");
  if (given.text("when_full") == "wait") options.wait = wait_from(given);
  options.queue = static_cast<std::size_t>(given.integer("queue"));
  return options;
}

/// The topic. @errors kInvalidArgument: it is empty or has wildcards.
std::string topic_from(const Parameters& given) {
  const std::string& topic = given.text("topic");
  if (mosquitto_pub_topic_check(topic.c_str()) != MOSQ_ERR_SUCCESS || topic.empty())
    throw Error(Code::kInvalidArgument,
                given.owner() + ": topic '" + topic + "' cannot be published to: it is empty, or has + or #");
  return topic;
}

class MqttSink final : public Publisher {
 public:
  explicit MqttSink(const Parameters& given)
      : Publisher(given),
        topic_(topic_from(given)),
        options_(options_from(given)),
        wait_(wait_from(given)),
        connection_(options_) {}

  void finish() override {
    const Connection::Report report = connection_.drain(Clock::now() + wait_);
    const std::uint64_t missing = report.waiting + report.dropped;
    if (missing == 0) return;
    throw Error(Code::kUnavailable,
                "mqtt: " + std::to_string(missing) + " of " + std::to_string(report.delivered + missing) +
                    " messages were not delivered to " + options_.host + ":" + std::to_string(options_.port) +
                    (report.trouble.empty() ? "" : ": " + report.trouble) +
                    "; is the broker there and as fast as the frames? queue and wait_s say how long "
                    "messages may wait");
  }
  void interrupt() noexcept override { connection_.interrupt(); }
  void resume() override { connection_.resume(); }

 private:
  void send(std::uint32_t stream, std::string line) override {
    connection_.publish(with_stream(topic_, stream), std::move(line));
  }

  const std::string topic_;
  const BrokerOptions options_;
  const Clock::duration wait_;
  Connection connection_;
};

}  // namespace

std::vector<KnownElement> elements() {
  Description mqtt;
  mqtt.name = "mqtt";
  mqtt.about =
      "Sends the metadata of each frame to an MQTT broker, as JSON; waits for the broker while frames come only where "
      "asked (when_full=wait)";
  mqtt.role = Role::kSink;
  mqtt.parameters = publisher_parameters(
      {{"topic", "Topic to publish to; {stream} becomes the number of the stream", std::string("tenon/{stream}"), true},
       {"host", "Name or address of the broker", std::string("localhost")},
       {"port", "Port of the broker", std::int64_t{1883}, false, 1, 65535},
       {"qos", "Quality of service: 0: at most once, lost while the broker is away; 1: at least once; 2: exactly once",
        std::int64_t{1}, false, 0, 2},
       {"retain", "The broker keeps the last message for clients that subscribe later", false},
       {"queue", "Messages that may wait for the broker", std::int64_t{1000}, false, 1, 1e6},
       choice("when_full",
              "What happens when so many wait: the message is dropped, and counted in the error at the end; or the "
              "pipeline waits for the broker, wait_s at most, so that with qos 1 each message arrives at least once or "
              "the run fails",
              "drop", {"drop", "wait"}),
       {"wait_s", "How long to wait for the broker, in seconds: at the end, and with when_full=wait for room", 5.0,
        false, 0, 3600},
       {"client_id", "Client id at the broker; empty: a generated one", std::string()},
       {"username", "User name at the broker; empty: none", std::string()},
       {"password", "Password at the broker", std::string()},
       {"ca_file", "File with the certificates of trusted authorities (PEM); with it the connection is encrypted",
        std::string()}});
  mqtt.is_shared = true;
  mqtt.takes = Takes::kBoth;
  mqtt.files = [](const Parameters& given, const Environment&) { return ElementFiles{{given.text("ca_file")}}; };
  return {{mqtt, [](const Parameters& given, const Environment&) -> AnyElement {
             return std::make_unique<MqttSink>(given);
           }}};
}

}  // namespace mqtt
}  // namespace elements
}  // namespace v1
}  // namespace tenon
