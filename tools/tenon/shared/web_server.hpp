// SPDX-License-Identifier: Apache-2.0
// A small HTTP server: answers GET by functions, in threads of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace tenon::tool {

struct WebAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body;
};

/// A client that reads slowly holds one of a few threads, for some seconds at most, and nobody else.
/// @thread one at a time; answers are asked for in any thread, several at once.
class WebServer {
 public:
  /// @param host   An address of this machine: 127.0.0.1 for this machine alone.
  /// @param port   0: one that is free.
  /// @param token  What `?token=` of each request must be; empty: nothing.
  /// @errors kUnavailable: the port is taken, or no address; kUnimplemented: a build without cpp-httplib.
  WebServer(const std::string& host, int port, std::string token);
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  /// Before start(). @param pattern  A regular expression of the path; its first group is given to `answer`.
  void on(const std::string& pattern, std::function<WebAnswer(const std::string& group)> answer);
  void start();
  int port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// 128 random bits in hexadecimal digits. @errors kUnavailable: the system gives none.
std::string random_token();

}  // namespace tenon::tool
