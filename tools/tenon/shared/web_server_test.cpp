// SPDX-License-Identifier: Apache-2.0
// The limits of the HTTP server, by itself: sizes of requests, and clients that do nothing while it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <tenon/core/fd.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/tools/tenon/shared/web_request.hpp>
#include <tenon/tools/tenon/shared/web_server.hpp>

namespace tenon::tool {
namespace web_server_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

class WebServerLimits : public ::testing::Test {
 protected:
  WebServerLimits() {
    server_->on("/long", [](const std::string&) { return WebAnswer{200, "text/plain", std::string(32 << 20, 'x')}; });
    server_->on("/slow", [](const std::string&) {
      std::this_thread::sleep_for(3200ms);  // Longer than a request may take to come.
      return WebAnswer{200, "text/plain", ""};
    });
    server_->on_change("POST", "/changes", [](const std::string&, const std::string& body) {
      return WebAnswer{200, "text/plain", std::to_string(body.size())};
    });
    server_->start();
  }
  UniqueFd connected() const {
    UniqueFd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const timeval limit{60, 0};
    ::setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return made;
  }
  static void send(const UniqueFd& socket, const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t size = ::send(socket.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (size <= 0) return;  // The server has answered already.
      sent += static_cast<std::size_t>(size);
    }
  }
  std::string answer_to(const std::string& text) const {
    std::string answer;
    // A request that does not come in three seconds, as on a busy machine, has no answer.
    for (int i = 0; i < 5 && answer.empty(); ++i) {
      const UniqueFd socket = connected();
      send(socket, text);
      answer = answer_on(socket);
    }
    return answer;
  }
  static std::string answer_on(const UniqueFd& socket) {
    std::string answer;
    std::array<char, 4096> part;
    for (ssize_t size = 0; (size = ::recv(socket.get(), part.data(), part.size(), 0)) > 0;)
      answer.append(part.data(), static_cast<std::size_t>(size));
    return answer;
  }

  std::unique_ptr<WebServer> server_ = std::make_unique<WebServer>("127.0.0.1", 0, "");
};

TEST_F(WebServerLimits, RequestsHaveASize) {
  const std::string begin = "GET /none HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_THAT(answer_to(begin + "X: " + std::string(15 << 10, 'x') + "\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(answer_to(begin + "X: " + std::string(17 << 10, 'x') + "\r\n\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(answer_to(std::string(1 << 20, 'x')), StartsWith("HTTP/1.1 431")) << "without an end";
  const auto post = [&](std::size_t size) {
    return answer_to("POST /changes HTTP/1.1\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
                     std::string(size, 'x'));
  };
  EXPECT_THAT(post(64 << 10), HasSubstr("\r\n\r\n65536"));
  EXPECT_THAT(post((64 << 10) + 1), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer_to("POST /changes HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer_to("POST /changes HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), StartsWith("HTTP/1.1 400"))
      << "a length that is not known";
}

TEST_F(WebServerLimits, WhatCanBeReadInTwoWaysIsRefused) {
  const std::string get = "GET /none HTTP/1.1\r\n", post = "POST /changes HTTP/1.1\r\n";
  for (const std::string& text : {
           get + "Host: localhost\r\nHost: other.example\r\n\r\n",
           get + "Host: localhost\r\nhost: localhost\r\n\r\n",
           post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
           post + "Content-Length: +1\r\n\r\nx",
           get + "Host : localhost\r\n\r\n",
           get + "X: a\r\n Host: localhost\r\n\r\n",
           get + "no colon\r\n\r\n",
           get + ": no name\r\n\r\n",
           get + "X: a\nHost: other.example\r\n\r\n",
           get + std::string("X: a\0b\r\n\r\n", 10),
           std::string("GET /no ne HTTP/1.1\r\n\r\n"),
           std::string("GET http://localhost/none HTTP/1.1\r\n\r\n"),
           std::string("GET  HTTP/1.1\r\n\r\n"),
           std::string("GET /none HTTP/2\r\n\r\n"),
           std::string("\r\nGET /none HTTP/1.1\r\n\r\n"),
       })
    EXPECT_THAT(answer_to(text), StartsWith("HTTP/1.1 400")) << text;
}

TEST(WebNames, OfThisMachineAreItsAddressesAndWhatItWasTold) {
  for (const char* own : {"", "localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8080", "192.0.2.7:1", "[::1]",
                          "[::1]:8080", "camera.example:8080", "Camera.Example", "localhost:"})
    EXPECT_TRUE(names_this_machine(own, "camera.example")) << own;
  for (const std::string foreign : {"other.example", "localhost.other.example", "127.0.0.1.other.example",
                                    "127.0.0.1:80.other.example", "localhost:80:other.example", "[::1]other.example",
                                    "[::1", "[localhost]", "::1", ":80", "[]", "127.1", "localhost "})
    EXPECT_FALSE(names_this_machine(foreign, "camera.example")) << foreign;
  EXPECT_FALSE(names_this_machine(std::string_view("127.0.0.1\0.other.example", 24), "camera.example"));
}

TEST(WebRequests, AreTheSameInAnyPieces) {
  const std::string text =
      "POST /a/b?x=1&token=t&y HTTP/1.1\r\nhost:\tlocalhost \r\nContent-Length: 4\r\n\r\nbody and what follows";
  WebRequest request;
  const std::size_t whole = text.find(" and");
  for (std::size_t size = 0; size < text.size(); ++size)
    ASSERT_EQ(read_request(std::string_view(text).substr(0, size), &request),
              size < whole ? std::nullopt : std::optional(200))
        << size;
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a/b");
  EXPECT_EQ(request.token, "t");
  EXPECT_EQ(request.host, "localhost");
  EXPECT_EQ(request.body, "body");
}

TEST_F(WebServerLimits, RequestsThatCameInTimeWaitForOthers) {
  bool came_in_time = false;
  for (int i = 0; i < 5 && !came_in_time; ++i) {
    const Deadline begin = Clock::now();
    const UniqueFd slow = connected(), waits = connected();
    EXPECT_THAT(answer_to("GET /none HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404")) << "both are accepted before it";
    send(slow, "GET /slow HTTP/1.1\r\n\r\n");
    send(waits, "GET /none HTTP/1.1\r\n\r\n");
    came_in_time = Clock::now() - begin < 3s;  // Else, on a busy machine, once more.
    const std::string answer = answer_on(waits);
    if (came_in_time) {
      EXPECT_THAT(answer, StartsWith("HTTP/1.1 404"));
    }
  }
  EXPECT_TRUE(came_in_time);
}

TEST_F(WebServerLimits, ItEndsAtOnceWhateverClientsDo) {
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(connected());  // They connect, and no more.
    clients.push_back(connected());
    send(clients.back(), "GET /lo");  // They stop within the request.
    clients.push_back(connected());
    send(clients.back(), "GET /long HTTP/1.1\r\n\r\n");  // They do not read their answer.
  }
  EXPECT_THAT(answer_to("GET /none HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  const Deadline begin = Clock::now();
  server_.reset();
  EXPECT_LT(Clock::now() - begin, 5s) << "an answer that is not read has 10 s";
}

}  // namespace web_server_test
}  // namespace tenon::tool
