// SPDX-License-Identifier: Apache-2.0
// The calls of librdkafka. Its callbacks run in rd_kafka_poll() and rd_kafka_flush().
#include <tenon/elements/kafka/producer.hpp>

#include <cstdint>

#include <tenon/core/error.hpp>
#include <tenon/elements/publisher.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace kafka {
namespace {

constexpr int kStep_ms = 100;

struct FreeOptions {
  void operator()(rd_kafka_conf_t* options) const { rd_kafka_conf_destroy(options); }
};

/// Replaces librdkafka's log to stderr. The errors that matter are in the report.
void say_nothing(const rd_kafka_t*, int, const char*, const char*) {}

/// The partition of a message whose opaque pointer is the number of its stream.
std::int32_t partition_of_stream(const rd_kafka_topic_t*, const void*, std::size_t, std::int32_t count, void*,
                                 void* stream) {
  return static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(stream) % static_cast<std::uintptr_t>(count));
}

}  // namespace

Producer::Producer(const ProducerOptions& given) : wait_(given.wait) {
  std::unique_ptr<rd_kafka_conf_t, FreeOptions> options(rd_kafka_conf_new());
  if (given.by_stream) {
    rd_kafka_topic_conf_t* const topics = rd_kafka_topic_conf_new();
    rd_kafka_topic_conf_set_partitioner_cb(topics, &partition_of_stream);
    rd_kafka_conf_set_default_topic_conf(options.get(), topics);  // It owns them now.
  }
  char reason[512] = "";
  for (const auto& [name, value] : given.properties) {
    if (given.by_stream && name == "partitioner") continue;  // It would take the place of the function above.
    const auto result = rd_kafka_conf_set(options.get(), name.c_str(), value.c_str(), reason, sizeof reason);
    if (result != RD_KAFKA_CONF_OK)
      throw Error(Code::kInvalidArgument, "kafka: " + name + "=" + value + ": " + reason, "rd_kafka_conf_set", result);
  }
  rd_kafka_conf_set_opaque(options.get(), this);
  rd_kafka_conf_set_dr_msg_cb(options.get(), &Producer::on_delivery);
  rd_kafka_conf_set_error_cb(options.get(), &Producer::on_error);
  rd_kafka_conf_set_log_cb(options.get(), &say_nothing);
  client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, options.get(), reason, sizeof reason));
  if (!client_)
    throw Error(Code::kInvalidArgument, "kafka: " + std::string(reason), "rd_kafka_new", rd_kafka_last_error());
  static_cast<void>(options.release());  // The client owns the options now.
}

Producer::~Producer() {
  rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  rd_kafka_poll(client_.get(), 0);
}

void Producer::note(const std::string& trouble) {
  const std::lock_guard lock(mutex_);
  report_.trouble = trouble;
}

void Producer::publish(const std::string& topic, const std::string& key, std::uint32_t stream,
                       const std::string& payload) {
  rd_kafka_poll(client_.get(), 0);
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  const Deadline deadline = Clock::now() + wait_.value_or(Clock::duration::zero());
  for (;;) {
    error = rd_kafka_producev(client_.get(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                              RD_KAFKA_V_KEY(key.empty() ? nullptr : key.data(), key.size()),
                              RD_KAFKA_V_VALUE(const_cast<char*>(payload.data()), payload.size()),
                              RD_KAFKA_V_OPAQUE(reinterpret_cast<void*>(static_cast<std::uintptr_t>(stream))),
                              RD_KAFKA_V_END);
    if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL || !wait_ || is_interrupted_) break;
    if (Clock::now() >= deadline) {
      const std::lock_guard lock(mutex_);
      ++report_.dropped;
      throw Error(Code::kUnavailable, "kafka: the brokers took no message for " + elements::seconds_text(*wait_) +
                                          (report_.trouble.empty() ? "" : ": " + report_.trouble) +
                                          "; wait_s says how long the pipeline waits for them");
    }
    rd_kafka_poll(client_.get(), kStep_ms);  // Room comes with the reports of deliveries, which this takes.
  }
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const std::lock_guard lock(mutex_);
  ++report_.dropped;
  // A full queue is a consequence of an earlier error, so it does not replace that error in the report.
  if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL || report_.trouble.empty()) report_.trouble = rd_kafka_err2str(error);
}

Producer::Report Producer::drain(Deadline deadline) {
  while (!is_interrupted_ && Clock::now() < deadline &&
         rd_kafka_flush(client_.get(), kStep_ms) == RD_KAFKA_RESP_ERR__TIMED_OUT) {
  }
  const std::lock_guard lock(mutex_);
  Report report = report_;
  report.waiting = static_cast<std::uint64_t>(rd_kafka_outq_len(client_.get()));
  return report;
}

void Producer::on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
  auto& me = *static_cast<Producer*>(self);
  const std::lock_guard lock(me.mutex_);
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    ++me.report_.delivered;
    return;
  }
  ++me.report_.dropped;
  if (me.report_.trouble.empty()) me.report_.trouble = rd_kafka_err2str(message->err);
}

void Producer::on_error(rd_kafka_t*, int error, const char* reason, void* self) {
  // "All brokers are down" says less than what came before it.
  if (error != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) static_cast<Producer*>(self)->note(reason);
}

}  // namespace kafka
}  // namespace elements
}  // namespace v1
}  // namespace tenon
