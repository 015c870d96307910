// SPDX-License-Identifier: Apache-2.0
// Parsing of requests: strict, because a proxy or a browser before the server must not read them otherwise.
#include <tenon/tools/tenon/shared/web_request.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace tenon::tool {
namespace {

constexpr std::size_t kMaxRequest = std::size_t{16} << 10, kMaxBody = std::size_t{64} << 10;

bool equal_but_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Spaces and what no text shows.
bool is_control(unsigned char letter) { return letter < 0x20 || letter == 0x7f; }
bool is_space(unsigned char letter) { return letter == ' ' || letter == '\t'; }

struct Head {
  WebRequest request;
  std::size_t body_size = 0;
  bool has_host = false, has_length = false;
};

/// "GET /path?token=x HTTP/1.1". @return false: it is none.
bool parse_line(std::string_view line, WebRequest* request) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || last <= first) return false;
  const std::string_view method = line.substr(0, first), target = line.substr(first + 1, last - first - 1),
                         version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return false;
  if (method.empty() || !target.starts_with('/')) return false;
  if (!std::ranges::all_of(method, [](unsigned char letter) { return std::isalpha(letter); })) return false;
  if (std::ranges::any_of(target, [](unsigned char letter) { return is_control(letter) || letter == ' '; }))
    return false;
  request->method = method;
  request->path = target.substr(0, target.find('?'));
  for (std::size_t at = target.find('?'); at != std::string_view::npos;) {
    const std::size_t next = target.find('&', at + 1);
    const std::string_view field = target.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    if (field.starts_with("token=")) request->token = field.substr(6);
    at = next;
  }
  return true;
}

/// "Host: localhost". @return false: it can be read in two ways, or not at all.
bool parse_header(std::string_view header, Head* head) {
  const std::size_t colon = header.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view name = header.substr(0, colon);
  const auto is_wrong = [](unsigned char letter) { return is_control(letter) || is_space(letter); };
  if (name.empty() || std::ranges::any_of(name, is_wrong)) return false;
  std::string_view value = header.substr(colon + 1);
  while (!value.empty() && is_space(static_cast<unsigned char>(value.front()))) value.remove_prefix(1);
  while (!value.empty() && is_space(static_cast<unsigned char>(value.back()))) value.remove_suffix(1);
  if (std::ranges::any_of(value, [](unsigned char letter) { return is_control(letter) && letter != '\t'; }))
    return false;
  if (equal_but_case(name, "transfer-encoding")) return false;  // Its length is not known.
  if (equal_but_case(name, "host")) {
    if (head->has_host) return false;
    head->has_host = true;
    head->request.host = value;
  }
  if (equal_but_case(name, "content-length")) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), head->body_size);
    if (head->has_length || error != std::errc() || end != value.data() + value.size()) return false;
    head->has_length = true;
  }
  return true;
}

/// @param text  The request line and headers, each with its end. @return false: they are no request.
bool parse(std::string_view text, Head* head) {
  const std::size_t end = text.find("\r\n");
  if (!parse_line(text.substr(0, end), &head->request)) return false;
  for (std::size_t at = end + 2; at < text.size();) {
    const std::string_view header = text.substr(at, text.find("\r\n", at) - at);
    if (!parse_header(header, head)) return false;
    at += header.size() + 2;
  }
  return true;
}

}  // namespace

std::optional<int> read_request(std::string_view received, WebRequest* request) {
  const std::size_t end = received.substr(0, kMaxRequest + 4).find("\r\n\r\n");
  if (end == std::string_view::npos) return received.size() < kMaxRequest + 4 ? std::nullopt : std::optional(431);
  Head head;
  if (!parse(received.substr(0, end + 2), &head)) return 400;
  if (head.body_size > kMaxBody) return 413;
  const std::string_view behind = received.substr(end + 4);
  if (behind.size() < head.body_size) return std::nullopt;
  *request = std::move(head.request);
  request->body = behind.substr(0, head.body_size);
  return 200;
}

bool names_this_machine(std::string_view host, std::string_view own) {
  if (host.empty()) return true;
  const bool has_brackets = host.starts_with('[');
  const std::size_t end = has_brackets ? host.find(']') : host.find(':');
  if (has_brackets && end == std::string_view::npos) return false;
  const std::string name(has_brackets ? host.substr(1, end - 1) : host.substr(0, end));
  std::string_view port =
      end == std::string_view::npos ? std::string_view() : host.substr(has_brackets ? end + 1 : end);
  if (!port.empty() && !port.starts_with(':')) return false;
  port.remove_prefix(std::min<std::size_t>(port.size(), 1));
  if (!std::ranges::all_of(port, [](unsigned char letter) { return std::isdigit(letter); })) return false;
  if (!has_brackets && (equal_but_case(name, "localhost") || equal_but_case(name, own))) return true;
  in6_addr address{};
  return name.find('\0') == std::string::npos &&
         ::inet_pton(has_brackets ? AF_INET6 : AF_INET, name.c_str(), &address) == 1;
}

}  // namespace tenon::tool
