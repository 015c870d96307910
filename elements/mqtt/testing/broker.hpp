// SPDX-License-Identifier: Apache-2.0
// A broker of MQTT for a test, and a client that reads what it gets.
#pragma once

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <mosquitto.h>

#include <tenon/core/fd.hpp>
#include <tenon/core/timeline.hpp>

namespace tenon::mqtt_testing {

/// A port of the loopback interface that is free now.
inline int free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

/// Debian's mosquitto, on the loopback interface, without authentication.
class Broker {
 public:
  static std::string program() {
    const char* const found = std::getenv("TENON_MOSQUITTO_BROKER");
    return found && ::access(found, X_OK) == 0 ? found : "";
  }
  explicit Broker(int port) {
    std::string name = program(), number = std::to_string(port), option = "-p";
    char* const arguments[] = {name.data(), option.data(), number.data(), nullptr};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", 1, 0);
    EXPECT_EQ(::posix_spawn(&process_, name.c_str(), &quiet, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&quiet);
  }
  ~Broker() {
    if (process_ <= 0) return;  // It did not start, and 0 is the group of this test.
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

 private:
  pid_t process_ = 0;
};

/// Reads a topic.
class Reader {
 public:
  Reader(int port, const char* topic) : client_(mosquitto_new(nullptr, true, this)), topic_(topic) {
    mosquitto_message_callback_set(client_.get(), [](mosquitto*, void* self, const mosquitto_message* message) {
      static_cast<Reader*>(self)->messages.emplace_back(static_cast<const char*>(message->payload),
                                                        static_cast<std::size_t>(message->payloadlen));
      static_cast<Reader*>(self)->topics.emplace_back(message->topic);
    });
    mosquitto_subscribe_callback_set(client_.get(), [](mosquitto*, void* self, int, int, const int*) {
      static_cast<Reader*>(self)->is_subscribed_ = true;
    });
    const auto end = Clock::now() + std::chrono::seconds(60);
    while (mosquitto_connect(client_.get(), "127.0.0.1", port, 30) != MOSQ_ERR_SUCCESS && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(mosquitto_subscribe(client_.get(), nullptr, topic_.c_str(), 1), MOSQ_ERR_SUCCESS);
    EXPECT_TRUE(loop_until([this] { return is_subscribed_; }));
  }
  bool has(std::size_t count) {
    return loop_until([&] { return messages.size() >= count; });
  }
  std::vector<std::string> messages, topics;

 private:
  template <typename Done>
  bool loop_until(Done done) {
    const auto end = Clock::now() + std::chrono::seconds(60);
    while (!done() && Clock::now() < end) mosquitto_loop(client_.get(), 50, 1);
    return done();
  }
  struct Destroy {
    void operator()(mosquitto* client) const { mosquitto_destroy(client); }
  };
  std::unique_ptr<mosquitto, Destroy> client_;
  const std::string topic_;
  bool is_subscribed_ = false;
};

}  // namespace tenon::mqtt_testing
