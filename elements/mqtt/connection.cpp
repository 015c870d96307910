// SPDX-License-Identifier: Apache-2.0
// libmosquitto, owned by one thread: after the constructor only that thread calls it.
#include <tenon/elements/mqtt/connection.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/new_thread.hpp>
#include <tenon/elements/publisher.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace mqtt {
namespace {

constexpr std::size_t kMaxInFlight = 64;
constexpr int kKeepAlive_s = 30, kPoll_ms = 500;
constexpr std::chrono::milliseconds kFirstDelay{250}, kLastDelay{8000};

std::string reason_of(int result, int error) {
  return result == MOSQ_ERR_ERRNO ? std::strerror(error) : mosquitto_strerror(result);
}

/// Whether the connection is at fault. The library then has a copy of a message that the broker must acknowledge, and sends it when
/// it is connected again.
bool is_connection_error(int result) {
  return result == MOSQ_ERR_NO_CONN || result == MOSQ_ERR_CONN_LOST || result == MOSQ_ERR_ERRNO;
}

}  // namespace

Connection::Connection(BrokerOptions options)
    : options_(std::move(options)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  static const int initialised = mosquitto_lib_init();
  check(initialised, "mosquitto_lib_init");
  client_.reset(mosquitto_new(options_.client_id.empty() ? nullptr : options_.client_id.c_str(), true, this));
  if (!client_ || wake_.get() < 0) throw Error(Code::kResourceExhausted, "mqtt: no memory or descriptor for a client");
  mosquitto_connect_callback_set(client_.get(), &Connection::on_connect);
  mosquitto_publish_callback_set(client_.get(), &Connection::on_publish);
  if (!options_.username.empty())
    check(mosquitto_username_pw_set(client_.get(), options_.username.c_str(),
                                    options_.password.empty() ? nullptr : options_.password.c_str()),
          "mosquitto_username_pw_set");
  if (!options_.ca_file.empty())
    check(mosquitto_tls_set(client_.get(), options_.ca_file.c_str(), nullptr, nullptr, nullptr, nullptr),
          "ca_file \"" + options_.ca_file + "\"");
  thread_ = new_thread("mqtt", [this] { run(); });
}

Connection::~Connection() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  wake();
  thread_.join();
}

void Connection::check(int result, const std::string& what) const {
  if (result != MOSQ_ERR_SUCCESS)
    throw Error(Code::kInvalidArgument, "mqtt: " + what + ": " + reason_of(result, errno), "libmosquitto", result);
}

void Connection::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written =
      ::write(wake_.get(), &one, sizeof one);  // If the counter is full, the thread is awake anyway.
}

void Connection::publish(std::string topic, std::string payload) {
  {
    std::unique_lock lock(mutex_);
    const auto has_room = [this] { return waiting_.size() + in_flight_ < options_.queue; };
    if (options_.wait && !changed_.wait_for(lock, *options_.wait, [&] { return is_interrupted_ || has_room(); })) {
      ++report_.dropped;
      throw Error(Code::kUnavailable, "mqtt: the broker took no message for " + seconds_text(*options_.wait) +
                                          (report_.trouble.empty() ? "" : ": " + report_.trouble) +
                                          "; wait_s says how long the pipeline waits for it");
    }
    if (!has_room()) {
      ++report_.dropped;
      return;
    }
    waiting_.push_back({std::move(topic), std::move(payload)});
  }
  wake();
}

Connection::Report Connection::drain(Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return is_interrupted_ || waiting_.size() + in_flight_ == 0; });
  Report report = report_;
  report.waiting = waiting_.size() + in_flight_;
  return report;
}

void Connection::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  is_interrupted_ = true;
  changed_.notify_all();
}

void Connection::resume() {
  const std::lock_guard lock(mutex_);
  is_interrupted_ = false;
}

void Connection::run() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    if (!is_open_) connect();
    if (!is_open_) {
      wait_before_retry();
      continue;
    }
    if (is_connected_) hand_over();
    serve();
  }
  if (!is_open_) return;
  mosquitto_disconnect(client_.get());
  mosquitto_loop(client_.get(), 0, 1);
}

void Connection::connect() {
  const int result = was_open_
                         ? mosquitto_reconnect_async(client_.get())
                         : mosquitto_connect_async(client_.get(), options_.host.c_str(), options_.port, kKeepAlive_s);
  const int error = errno;
  is_open_ = result == MOSQ_ERR_SUCCESS;
  was_open_ = was_open_ || is_open_;
  if (!is_open_) lost(reason_of(result, error));
}

void Connection::wait_before_retry() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, delay_, [this] { return stopping_; });
  delay_ = std::min(delay_ * 2, kLastDelay);
}

void Connection::lost(const std::string& why) {
  is_open_ = is_connected_ = false;
  const std::lock_guard lock(mutex_);
  report_.trouble = why;
  if (options_.qos > 0) return;
  // Without acknowledgements the library does not send again what it had not sent, and tells nothing of it.
  report_.dropped += std::exchange(in_flight_, 0);
  changed_.notify_all();
}

/// Passes waiting messages to the library. Those that the broker acknowledges, the library itself sends again if the connection breaks
/// before that.
void Connection::hand_over() {
  for (;;) {
    Message message;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty() || in_flight_ >= kMaxInFlight) return;
      message = std::move(waiting_.front());
      waiting_.pop_front();
      ++in_flight_;
    }
    const int result =
        mosquitto_publish(client_.get(), nullptr, message.topic.c_str(), static_cast<int>(message.payload.size()),
                          message.payload.data(), options_.qos, options_.retain);
    const int error = errno;
    if (result == MOSQ_ERR_SUCCESS || (options_.qos > 0 && is_connection_error(result))) continue;
    const std::lock_guard lock(mutex_);
    --in_flight_;
    ++report_.dropped;
    report_.trouble = reason_of(result, error);
    changed_.notify_all();
  }
}

void Connection::serve() {
  const bool writes = !is_connected_ || mosquitto_want_write(client_.get());
  pollfd states[] = {{wake_.get(), POLLIN, 0},
                     {mosquitto_socket(client_.get()), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0}};
  ::poll(states, 2, kPoll_ms);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read = ::read(wake_.get(), &count, sizeof count);
  const int result = mosquitto_loop(client_.get(), 0, 1);
  const int error = errno;
  if (result == MOSQ_ERR_SUCCESS) return;
  const bool was_connected = is_connected_;
  lost(reason_of(result, error));
  if (!was_connected) wait_before_retry();
}

void Connection::on_connect(mosquitto*, void* self, int result) {
  auto& me = *static_cast<Connection*>(self);
  me.is_connected_ = result == 0;
  const std::lock_guard lock(me.mutex_);
  me.report_.trouble = result == 0 ? "" : mosquitto_connack_string(result);
  if (result == 0) me.delay_ = kFirstDelay;
}

void Connection::on_publish(mosquitto*, void* self, int) {
  auto& me = *static_cast<Connection*>(self);
  const std::lock_guard lock(me.mutex_);
  if (me.in_flight_ > 0) --me.in_flight_;
  ++me.report_.delivered;
  me.changed_.notify_all();
}

}  // namespace mqtt
}  // namespace elements
}  // namespace v1
}  // namespace tenon
