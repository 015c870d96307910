// SPDX-License-Identifier: Apache-2.0
// A connection to an MQTT broker with a thread of its own, so that publish() waits for the broker only where asked.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <mosquitto.h>

#include <tenon/core/fd.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace mqtt {

struct BrokerOptions {
  std::string host = "localhost";
  int port = 1883;
  std::string client_id, username,
      password;         ///< Empty: no user name or password; a client id that the library generates.
  std::string ca_file;  ///< If set, the connection is encrypted and the broker's name is checked.
  int qos = 1;
  bool retain = false;
  std::size_t queue = 1000;  ///< The maximum number of messages that wait for the broker.
  /// How long publish() waits while so many wait; nothing: it drops the message.
  std::optional<Clock::duration> wait = {};
};

/// Connects to the broker and delivers the messages that wait. While the broker is away, it retries after 0.25 s, 0.5 s ... 8 s.
/// @thread all members from any thread.
class Connection {
 public:
  struct Report {
    std::uint64_t delivered = 0, waiting = 0, dropped = 0;
    std::string trouble;  ///< The text of the last error; empty while connected.
  };

  /// @errors kInvalidArgument: the library refuses an option (a certificate file, a name); the message names it.
  explicit Connection(BrokerOptions options);
  /// Drops the messages that still wait.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Queues a message. When `queue` messages are waiting, drops it or, if the options say so, waits until there is room or interrupt() was
  /// called. @errors kUnavailable: there was no room in time; the message has the connection's last error. @cost a lock and a copy.
  void publish(std::string topic, std::string payload);
  /// Waits until all messages are delivered, the deadline has come, or interrupt() was called.
  Report drain(Deadline deadline);
  void interrupt() noexcept;
  /// Waits are possible again.
  void resume();

 private:
  struct Message {
    std::string topic, payload;
  };
  struct Destroy {
    void operator()(mosquitto* client) const { mosquitto_destroy(client); }
  };
  void run();
  void connect();
  void wait_before_retry();
  void hand_over();
  void serve();
  void lost(const std::string& why);
  void wake() const;
  void check(int result, const std::string& what) const;
  static void on_connect(mosquitto*, void* self, int result);
  static void on_publish(mosquitto*, void* self, int id);

  const BrokerOptions options_;
  std::unique_ptr<mosquitto, Destroy> client_;
  UniqueFd wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> waiting_;
  /// Messages that the library has and the broker has not acknowledged; with qos 0, that were not written to the socket.
  std::size_t in_flight_ = 0;
  Report report_;
  bool stopping_ = false, is_interrupted_ = false;
  // Only the thread uses these.
  bool is_open_ = false, is_connected_ = false, was_open_ = false;
  std::chrono::milliseconds delay_{250};
  std::thread thread_;
};

}  // namespace mqtt
}  // namespace elements
}  // namespace v1
}  // namespace tenon
