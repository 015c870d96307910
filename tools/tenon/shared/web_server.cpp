// SPDX-License-Identifier: Apache-2.0
// The HTTP server: poll() over sockets that never block. Enough of HTTP/1.1 for browsers and scrapers, one request per connection.
#include <tenon/tools/tenon/shared/web_server.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <regex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/new_thread.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/tools/tenon/shared/web_request.hpp>

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

namespace {

constexpr std::chrono::seconds kForRequest{3}, kForAnswer{10}, kForClosing{1};
constexpr std::size_t kMaxConnections = 64;

/// A quarter of the process's descriptors at most: the pipeline needs some, too.
std::size_t max_connections() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMaxConnections;
  return std::clamp<std::size_t>(limit.rlim_cur / 4, 1, kMaxConnections);
}

/// Listens at the address. @return none: errno has the reason, 0 for a name without an address.
UniqueFd listening(const std::string& host, int port) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  errno = 0;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &::freeaddrinfo);
  for (const addrinfo* each = found; each; each = each->ai_next) {
    UniqueFd socket(::socket(each->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int yes = 1;
    if (!socket) continue;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(socket.get(), each->ai_addr, each->ai_addrlen) == 0 && ::listen(socket.get(), SOMAXCONN) == 0)
      return socket;
  }
  return {};
}

/// The port of a socket; sets whether only this machine reaches it.
int port_of(const UniqueFd& socket, bool* is_local) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    *is_local = IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
    return ntohs(six.sin6_port);
  }
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  *is_local = ntohl(four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  return ntohs(four.sin_port);
}

/// Compares all bytes, so that the time tells nothing.
bool is_token(std::string_view given, std::string_view token) {
  unsigned different = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(given.size(), token.size()); ++i)
    different |= static_cast<unsigned char>(given[i] ^ token[i]);
  return different == 0;
}

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 503:
      return "Service Unavailable";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Internal Server Error";
  }
}

struct Connection {
  UniqueFd socket;
  Deadline deadline;
  enum class Phase : std::uint8_t { kRequest, kAnswer, kClosing } phase = Phase::kRequest;
  std::string request, answer;
  std::size_t sent = 0;
};

}  // namespace

class WebServer::State {
 public:
  State(const std::string& host, int port, std::string token)
      : host_(host),
        token_(std::move(token)),
        socket_(listening(host, port)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    const int error = errno;
    if (!socket_ || !wake_)
      throw Error(Code::kUnavailable, "port " + std::to_string(port) + " of " + host +
                                          " cannot be served: " + (error ? std::strerror(error) : "no such address") +
                                          "; choose another, or 0 for any free port");
    port_ = port_of(socket_, &is_local_);
  }
  ~State() {
    ends_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
  }

  void on(const std::string& pattern, std::function<WebAnswer(const std::string&)> answer) {
    pages_.emplace_back(std::regex(pattern), std::move(answer));
  }
  void on_change(const std::string& method, const std::string& pattern,
                 std::function<WebAnswer(const std::string&, const std::string&)> answer) {
    changes_.push_back({method, std::regex(pattern), std::move(answer)});
  }
  void start() {
    thread_ = new_thread("web page", [this] { run(); });
  }
  int port() const { return port_; }

 private:
  void run() {
    std::vector<pollfd> states;
    while (!ends_) {
      states.assign({{wake_.get(), POLLIN, 0}});
      // Without a descriptor for one more, those that wait are left to wait: poll() would return at once each time.
      states.push_back({Clock::now() < accepts_again_ ? -1 : socket_.get(), POLLIN, 0});
      for (const Connection& one : connections_)
        states.push_back(
            {one.socket.get(), static_cast<short>(one.phase == Connection::Phase::kAnswer ? POLLOUT : POLLIN), 0});
      ::poll(states.data(), states.size(), wait_ms());
      const Deadline polled = Clock::now();
      auto state = states.begin() + 2;
      for (auto one = connections_.begin(); one != connections_.end(); ++state) {
        // A request that came in time may have waited, or come, while other clients were served: it is looked at before its time counts.
        const bool goes_on = state->revents == 0 ? polled < one->deadline : serve(*one) && Clock::now() < one->deadline;
        one = goes_on ? std::next(one) : connections_.erase(one);
      }
      if (states[1].revents != 0) accept_all();
    }
  }

  int wait_ms() const {
    Deadline next = Clock::now() + std::chrono::seconds(60);
    if (Clock::now() < accepts_again_) next = accepts_again_;
    for (const Connection& one : connections_) next = std::min(next, one.deadline);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
  }

  void accept_all() {
    for (;;) {
      UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) {
        if (errno == ECONNABORTED || errno == EINTR) continue;
        if (errno != EAGAIN) accepts_again_ = Clock::now() + std::chrono::milliseconds(100);
        return;
      }
      if (connections_.size() >= max_connections_) connections_.erase(oldest());
      Connection& made = connections_.emplace_back();
      made.socket = std::move(socket);
      made.deadline = Clock::now() + kForRequest;
    }
  }

  /// The first that is to be dropped: one that still sends its request, if there is one.
  std::list<Connection>::iterator oldest() {
    const auto sends = std::find_if(connections_.begin(), connections_.end(),
                                    [](const Connection& one) { return one.phase == Connection::Phase::kRequest; });
    return sends == connections_.end() ? connections_.begin() : sends;
  }

  /// @return false: the connection is to be closed.
  bool serve(Connection& one) {
    if (one.phase == Connection::Phase::kRequest && !receive(one)) return false;
    if (one.phase == Connection::Phase::kAnswer && !send(one)) return false;
    if (one.phase != Connection::Phase::kClosing) return true;
    std::array<char, 4096> ignored;
    const ssize_t size = ::recv(one.socket.get(), ignored.data(), ignored.size(), 0);
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
  }

  static bool receive(Connection& one, std::string& request) {
    std::array<char, 4096> part;
    const ssize_t size = ::recv(one.socket.get(), part.data(), part.size(), 0);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    request.append(part.data(), static_cast<std::size_t>(size));
    return size > 0;
  }
  bool receive(Connection& one) {
    if (!receive(one, one.request)) return false;
    WebRequest request;
    const std::optional<int> status = read_request(one.request, &request);
    if (!status) return true;
    const WebAnswer answer = *status == 200 ? answer_to(request) : refusal(*status);
    one.answer = "HTTP/1.1 " + std::to_string(answer.status) + " " + reason_of(answer.status) +
                 "\r\nContent-Type: " + answer.type + "\r\nContent-Length: " + std::to_string(answer.body.size()) +
                 "\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                 "Referrer-Policy: no-referrer\r\n\r\n" +
                 (request.method == "HEAD" ? "" : answer.body);
    one.phase = Connection::Phase::kAnswer;
    one.deadline = Clock::now() + kForAnswer;
    return true;
  }

  static WebAnswer refusal(int status) {
    if (status == 431) return {431, "text/plain", "The request is too long.\n"};
    if (status == 413) return {413, "text/plain", "The body is too long.\n"};
    return {400, "text/plain",
            "This is no request of HTTP/1.1 that can be read in one way alone, with a known length.\n"};
  }

  static bool send(Connection& one) {
    const ssize_t size =
        ::send(one.socket.get(), one.answer.data() + one.sent, one.answer.size() - one.sent, MSG_NOSIGNAL);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    one.sent += static_cast<std::size_t>(size);
    if (one.sent < one.answer.size()) return true;
    // Closing a socket from which not all was read would drop what the client has not read yet.
    ::shutdown(one.socket.get(), SHUT_WR);
    one.phase = Connection::Phase::kClosing;
    one.deadline = Clock::now() + kForClosing;
    return true;
  }

  WebAnswer answer_to(const WebRequest& request) const {
    if (is_local_ && !names_this_machine(request.host, host_))
      return {403, "text/plain", "This server is not " + request.host + ": use the address that tenon printed.\n"};
    if (!token_.empty() && !is_token(request.token, token_))
      return {403, "text/plain", "The token is missing or wrong: use the address that tenon printed.\n"};
    const bool reads = request.method == "GET" || request.method == "HEAD";
    try {
      std::smatch found;
      for (const Change& each : changes_) {
        if (each.method != request.method || !std::regex_match(request.path, found, each.pattern)) continue;
        if (!is_local_)
          return {403, "text/plain", "Changes are taken only where the page is for this machine alone.\n"};
        return each.answer(found.size() > 1 ? found[1].str() : "", request.body);
      }
      if (!reads) return {405, "text/plain", "This method is not answered here.\n"};
      for (const auto& [pattern, answer] : pages_)
        if (std::regex_match(request.path, found, pattern)) return answer(found.size() > 1 ? found[1].str() : "");
    } catch (const std::exception& error) {
      return {500, "text/plain", std::string(error.what()) + "\n"};
    }
    return {404, "text/plain", "There is no such page.\n"};
  }

  const std::string host_, token_;
  UniqueFd socket_, wake_;
  int port_ = 0;
  bool is_local_ = true;
  const std::size_t max_connections_ = max_connections();
  std::vector<std::pair<std::regex, std::function<WebAnswer(const std::string&)>>> pages_;
  struct Change {
    std::string method;
    std::regex pattern;
    std::function<WebAnswer(const std::string&, const std::string&)> answer;
  };
  std::vector<Change> changes_;
  std::list<Connection> connections_;  ///< The first is the oldest.
  Deadline accepts_again_{};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

WebServer::WebServer(const std::string& host, int port, std::string token)
    : state_(std::make_unique<State>(host, port, std::move(token))) {}
WebServer::~WebServer() = default;
void WebServer::on(const std::string& pattern, std::function<WebAnswer(const std::string& group)> answer) {
  state_->on(pattern, std::move(answer));
}
void WebServer::on_change(const std::string& method, const std::string& pattern,
                          std::function<WebAnswer(const std::string& group, const std::string& body)> answer) {
  state_->on_change(method, pattern, std::move(answer));
}
void WebServer::start() { state_->start(); }
int WebServer::port() const { return state_->port(); }

}  // namespace tenon::tool
