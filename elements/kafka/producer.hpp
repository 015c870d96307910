// SPDX-License-Identifier: Apache-2.0
// Sends messages to a Kafka cluster by librdkafka's producer, which has threads and a bounded queue of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <librdkafka/rdkafka.h>

#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace kafka {

/// @thread publish() and drain() one at a time; interrupt() any.
class Producer {
 public:
  struct Report {
    std::uint64_t delivered = 0, waiting = 0, dropped = 0;
    std::string trouble;  ///< The text of the last error.
  };

  /// @param properties  Names and values of librdkafka's properties.
  /// @errors kInvalidArgument: librdkafka does not know a property or refuses its value; the message has its reason.
  Producer(const std::map<std::string, std::string>& properties, std::string topic);
  /// Drops the messages that still wait.
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Queues a copy of the message, or drops it when the queue is full; never waits. Messages with one key keep their order.
  void publish(const std::string& key, const std::string& payload);
  /// Waits until all messages are delivered or given up, the deadline has come, or interrupt() was called.
  Report drain(Deadline deadline);
  void interrupt() noexcept { is_interrupted_ = true; }

 private:
  struct Destroy {
    void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  };
  static void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* self);
  static void on_error(rd_kafka_t*, int error, const char* reason, void* self);
  void note(const std::string& trouble);

  const std::string topic_;
  std::atomic<bool> is_interrupted_{false};
  std::mutex mutex_;
  Report report_;
  std::unique_ptr<rd_kafka_t, Destroy> client_;
};

}  // namespace kafka
}  // namespace elements
}  // namespace v1
}  // namespace tenon
