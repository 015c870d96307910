// SPDX-License-Identifier: Apache-2.0
// A small HTTP server, which answers requests by functions, in a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace tenon::tool {

struct WebAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body;
};

/// One thread serves all clients, waiting for none: each has three seconds for its whole request, and ten to read the answer. At most 64
/// are connected, fewer where the process may have few descriptors; one more takes the place of the one that has waited longest.
/// Connections are closed after one answer.
/// @thread one at a time; the answer functions are called in the server's thread.
class WebServer {
 public:
  /// @param host   An address of this machine: 127.0.0.1 for this machine alone. A server of this machine alone answers only requests for
  ///               it by an address, by "localhost" or by `host`, so that no name of another site can lead a browser here.
  /// @param port   0: any free port.
  /// @param token  The value that `?token=` of each request must have; empty: none is needed.
  /// @errors kUnavailable: the port is taken, or `host` is not an address of this machine.
  WebServer(const std::string& host, int port, std::string token);
  /// Ends at once, whatever clients do.
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  /// Before start(). @param pattern  A regular expression of the path; its first group is given to `answer`.
  void on(const std::string& pattern, std::function<WebAnswer(const std::string& group)> answer);
  /// The same for requests of another method, which may change something. @param method  "POST", "DELETE".
  /// @param answer  Gets the first group and the body, of at most 64 KiB. Only a server of this machine alone calls it; others answer 403.
  void on_change(const std::string& method, const std::string& pattern,
                 std::function<WebAnswer(const std::string& group, const std::string& body)> answer);
  void start();
  int port() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// 128 random bits in hexadecimal digits. @errors kUnavailable: the system gives none.
std::string random_token();

}  // namespace tenon::tool
