// SPDX-License-Identifier: Apache-2.0
// The HTTP server, built on cpp-httplib.
#include <tenon/tools/tenon/shared/web_server.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include <sys/random.h>

#include <tenon/core/error.hpp>

#ifdef TENON_HAS_HTTPLIB
#include <httplib.h>
#endif

namespace tenon::tool {

std::string random_token() {
  std::array<std::uint8_t, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error(Code::kUnavailable, "no random numbers for a token", "getrandom", errno);
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

#ifdef TENON_HAS_HTTPLIB

namespace {

constexpr std::size_t kThreads = 8;
constexpr int kSeconds = 3;  ///< The time that a client may take to send its request, and to read the answer.

/// Socket options without SO_REUSEPORT, which would share the port with another program.
void set_options(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

}  // namespace

struct WebServer::State {
  httplib::Server server;
  std::string token;
  int port = 0;
  int socket = -1;  ///< The server's, which listens; the library closes it.
  std::thread thread;
};

WebServer::WebServer(const std::string& host, int port, std::string token) : state_(std::make_unique<State>()) {
  httplib::Server& server = state_->server;
  state_->token = std::move(token);
  server.set_socket_options([this](socket_t socket) {
    set_options(socket);
    state_->socket = socket;
  });
  server.set_read_timeout(kSeconds);
  server.set_write_timeout(kSeconds);
  server.set_keep_alive_timeout(kSeconds);
  server.set_payload_max_length(1024);
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };  // The library deletes it.
  server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    response.set_header("Cache-Control", "no-store");
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Referrer-Policy", "no-referrer");
    if (state_->token.empty() || request.get_param_value("token") == state_->token)
      return httplib::Server::HandlerResponse::Unhandled;
    response.status = 403;
    response.set_content("The token is missing or wrong: use the address that tenon printed.\n", "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  });
  errno = 0;
  state_->port = port == 0 ? server.bind_to_any_port(host) : server.bind_to_port(host, port) ? port : -1;
  if (state_->port < 0) {
    const int error = errno;
    throw Error(Code::kUnavailable, "port " + std::to_string(port) + " of " + host +
                                        " cannot be served: " + (error ? std::strerror(error) : "no such address") +
                                        "; choose another, or 0 for any free port");
  }
  ::listen(state_->socket,
           SOMAXCONN);  // The library keeps five clients waiting, and has others try again after a second.
}

WebServer::~WebServer() {
  state_->server.stop();
  if (state_->thread.joinable()) state_->thread.join();
}

void WebServer::on(const std::string& pattern, std::function<WebAnswer(const std::string& group)> answer) {
  state_->server.Get(
      pattern, [answer = std::move(answer)](const httplib::Request& request, httplib::Response& response) {
        const WebAnswer made = answer(request.matches.size() > 1 ? request.matches[1].str() : std::string());
        response.status = made.status;
        response.set_content(made.body, made.type);
      });
}

void WebServer::start() {
  state_->thread = std::thread([this] { state_->server.listen_after_bind(); });
  while (!state_->server.is_running()) std::this_thread::yield();  // Otherwise stop() could come too early.
}

int WebServer::port() const { return state_->port; }

#else

struct WebServer::State {};

WebServer::WebServer(const std::string&, int, std::string) {
  throw Error(Code::kUnimplemented,
              "this build has no HTTP server: install cpp-httplib (Debian: libcpp-httplib-dev) "
              "and build again; --report-html and --metrics FILE work without");
}
WebServer::~WebServer() = default;
void WebServer::on(const std::string&, std::function<WebAnswer(const std::string&)>) {}
void WebServer::start() {}
int WebServer::port() const { return 0; }

#endif

}  // namespace tenon::tool
