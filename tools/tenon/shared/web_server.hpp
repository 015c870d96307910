// SPDX-License-Identifier: Apache-2.0
// A small HTTP server, which answers GET requests by functions, in threads of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace tenon::tool {

struct WebAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body;
};

/// A client that reads slowly blocks one of a few threads for some seconds at most, and does not delay other clients.
/// @thread one at a time; the answer functions are called in any thread, several at once.
class WebServer {
 public:
  /// @param host   An address of this machine: 127.0.0.1 for this machine alone.
  /// @param port   0: any free port.
  /// @param token  The value that `?token=` of each request must have; empty: none is needed.
  /// @errors kUnavailable: the port is taken, or `host` is not an address of this machine; kUnimplemented: a build without
  /// cpp-httplib.
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
