// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a client sends to the tool's HTTP server. What comes of them does not depend on the pieces in which they come, and over
// a connection each is answered with one whole answer or none; what the token guards is told, and what changes something is called, only
// where the request has the token and names this machine.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <tenon/core/fd.hpp>
#include <tenon/tools/tenon/shared/web_request.hpp>
#include <tenon/tools/tenon/shared/web_server.hpp>

namespace {

using namespace tenon;
using namespace tenon::tool;

constexpr std::string_view kToken = "t0ken", kSecret = "what the token guards";

void expect(bool holds) {
  if (!holds) std::abort();
}

/// The server and what it was asked for since the last look.
struct Served {
  WebServer server{"127.0.0.1", 0, std::string(kToken)};
  bool was_changed = false;
  Served() {
    server.on("/", [](const std::string&) { return WebAnswer{200, "text/plain", std::string(kSecret)}; });
    server.on("/picture/([0-9]{1,6})\\.jpg", [](const std::string& number) {
      return WebAnswer{200, "image/jpeg", number};
    });
    server.on_change("POST", "/sources", [this](const std::string&, const std::string& body) {
      was_changed = true;
      return WebAnswer{201, "text/plain", body};
    });
    server.on_change("DELETE", "/sources/([^/]{1,300})", [this](const std::string& name, const std::string&) {
      was_changed = true;
      return WebAnswer{200, "text/plain", name};
    });
    server.start();
  }
};

UniqueFd connected(int port) {
  UniqueFd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  expect(::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  const linger at_once{1, 0};  // No connection stays behind for a minute.
  ::setsockopt(made.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  return made;
}

/// Sends in two pieces, says that no more comes, and reads to the end.
std::string answer_to(int port, std::string_view text, std::size_t cut) {
  const UniqueFd socket = connected(port);
  for (const std::string_view part : {text.substr(0, cut), text.substr(cut)})
    for (std::size_t sent = 0; sent < part.size();) {
      const ssize_t size = ::send(socket.get(), part.data() + sent, part.size() - sent, MSG_NOSIGNAL);
      if (size <= 0) break;  // It has answered already.
      sent += static_cast<std::size_t>(size);
    }
  ::shutdown(socket.get(), SHUT_WR);
  std::string answer;
  std::array<char, 4096> part;
  for (ssize_t size = 0; (size = ::recv(socket.get(), part.data(), part.size(), 0)) > 0;)
    answer.append(part.data(), static_cast<std::size_t>(size));
  return answer;
}

/// An answer's status, after a look at its form; nothing: it is empty.
std::optional<int> status_of(std::string_view answer, bool is_head) {
  if (answer.empty()) return std::nullopt;
  expect(answer.starts_with("HTTP/1.1 ") && answer.size() > 12);
  const std::size_t end = answer.find("\r\n\r\n"), length = answer.find("Content-Length: ");
  expect(end != std::string_view::npos && length < end);
  const std::size_t size = std::strtoull(answer.data() + length + 16, nullptr, 10);
  expect(answer.size() - end - 4 == (is_head ? 0 : size));
  return std::atoi(answer.data() + 9);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Served served;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  WebRequest request;
  const std::optional<int> status = read_request(text, &request);
  const bool is_whole = status == 200;
  for (const std::size_t cut : {size / 4, size / 2, size - std::min<std::size_t>(size, 1)}) {
    WebRequest part;
    const std::optional<int> early = read_request(text.substr(0, cut), &part);
    expect(!early || early == status);
    expect(early != 200 || (part.path == request.path && part.host == request.host && part.token == request.token &&
                            part.body == request.body));
  }
  served.was_changed = false;
  const std::string answer = answer_to(served.server.port(), text, size / 2);
  const std::optional<int> answered = status_of(answer, is_whole && request.method == "HEAD");
  if (!status) expect(!answered);
  if (status && !is_whole) expect(!answered || answered == status);
  const bool is_let_in = is_whole && request.token == kToken && names_this_machine(request.host, "127.0.0.1");
  if (is_whole && !is_let_in) expect(!answered || answered == 403);
  expect(is_let_in || (!served.was_changed && !answer.ends_with("\r\n\r\n" + std::string(kSecret))));
  expect(!served.was_changed || request.method == "POST" || request.method == "DELETE");
  return 0;
}
