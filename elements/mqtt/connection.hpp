// SPDX-License-Identifier: Apache-2.0
// A connection to an MQTT broker with a thread of its own: who publishes waits for nothing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
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
  std::string client_id, username, password;  ///< Empty: none, or one that the library makes up.
  std::string ca_file;                        ///< With it the connection is encrypted, and the broker's name checked.
  int qos = 1;
  bool retain = false;
  std::size_t queue = 1000;  ///< Most messages that wait for the broker; more are dropped.
};

/// Connects, again after 0.25 s, 0.5 s ... 8 s when the broker is away, and delivers what waits.
/// @thread all members from any thread.
class Connection {
 public:
  struct Report {
    std::uint64_t delivered = 0, waiting = 0, dropped = 0;
    std::string trouble;  ///< The last one; empty while connected.
  };

  /// @errors kInvalidArgument: what the library does not accept (a certificate file, a name), named.
  explicit Connection(BrokerOptions options);
  /// Drops what still waits.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Takes a message, or drops it when `queue` are waiting. @cost a lock and a copy.
  void publish(std::string topic, std::string payload);
  /// Waits until all is delivered, the deadline has come, or interrupt() was called.
  Report drain(Deadline deadline);
  void interrupt() noexcept;

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
  std::size_t in_flight_ = 0;  ///< With the library, not acknowledged.
  Report report_;
  bool stopping_ = false, is_interrupted_ = false;
  // Of the thread alone.
  bool is_open_ = false, is_connected_ = false, was_open_ = false;
  std::chrono::milliseconds delay_{250};
  std::thread thread_;
};

}  // namespace mqtt
}  // namespace elements
}  // namespace v1
}  // namespace tenon
