// SPDX-License-Identifier: Apache-2.0
// Sends messages to a Kafka cluster by librdkafka's producer, which has threads and a bounded queue of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <librdkafka/rdkafka.h>

#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace kafka {

struct ProducerOptions {
  std::map<std::string, std::string> properties;  ///< Names and values of librdkafka's properties.
  /// The partition is the stream's number modulo the topic's partitions, instead of the key's.
  bool by_stream = false;
  /// How long publish() waits while the queue is full; nothing: it drops the message.
  std::optional<Clock::duration> wait = {};
};

/// @thread publish() and drain() one at a time; interrupt() any.
class Producer {
 public:
  struct Report {
    std::uint64_t delivered = 0, waiting = 0, dropped = 0;
    std::string trouble;  ///< The text of the last error.
  };

  /// @errors kInvalidArgument: librdkafka does not know a property or refuses its value; the message has its reason.
  explicit Producer(const ProducerOptions& options);
  /// Drops the messages that still wait.
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Queues a copy of the message. When the queue is full, drops it or, if the options say so, waits until there is room or interrupt()
  /// was called. Messages with one key keep their order. @param key  Empty: none.
  /// @errors kUnavailable: there was no room in time; the message has the brokers' last error.
  void publish(const std::string& topic, const std::string& key, std::uint32_t stream, const std::string& payload);
  /// Waits until all messages are delivered or given up, the deadline has come, or interrupt() was called.
  Report drain(Deadline deadline);
  void interrupt() noexcept { is_interrupted_ = true; }
  void resume() { is_interrupted_ = false; }

 private:
  struct Destroy {
    void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  };
  static void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* self);
  static void on_error(rd_kafka_t*, int error, const char* reason, void* self);
  void note(const std::string& trouble);

  const std::optional<Clock::duration> wait_;
  std::atomic<bool> is_interrupted_{false};
  std::mutex mutex_;
  Report report_;
  std::unique_ptr<rd_kafka_t, Destroy> client_;
};

}  // namespace kafka
}  // namespace elements
}  // namespace v1
}  // namespace tenon
