// SPDX-License-Identifier: Apache-2.0
// Texts that people may see, without the credentials in addresses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tenon {
inline namespace v1 {
namespace detail {

/// Whether what stands before a slash is "USER:PASSWORD" and no "HOST:PORT".
inline bool has_password(std::string_view authority) {
  const std::size_t colon = authority.find(':');
  return colon != std::string_view::npos &&
         authority.find_first_not_of("0123456789", colon + 1) != std::string_view::npos &&
         authority.find('[') == std::string_view::npos;
}

inline bool is_secret_name(std::string_view name) {
  // The last word counts: "access_token", "api-key".
  name.remove_prefix(name.find_last_of("_-.") + 1);
  for (const std::string_view secret : {"password", "passwd", "pass", "pwd", "secret", "token", "auth", "key"})
    if (name.size() == secret.size()) {
      bool same = true;
      for (std::size_t i = 0; i < name.size(); ++i) same = same && (name[i] | 0x20) == secret[i];
      if (same) return true;
    }
  return false;
}

}  // namespace detail

/// `text` with "***" in place of the user and the password of each address in it (rtsp, http and others), and of the values of
/// ?password= and the like. @thread any.
inline std::string without_credentials(std::string_view text) {
  std::string made;
  std::size_t at = 0;
  for (std::size_t begin = 0; (begin = text.find("://", at)) != std::string_view::npos;) {
    begin += 3;
    made += text.substr(at, begin - at);
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"'<>", begin), text.size());
    std::string_view address = text.substr(begin, end - begin);
    const std::string_view authority = address.substr(0, address.find_first_of("/?#"));
    std::size_t sign = authority.rfind('@');
    // A password with a slash that is not escaped.
    if (sign == std::string_view::npos && detail::has_password(authority)) sign = address.rfind('@');
    if (sign != std::string_view::npos) {
      made += "***@";
      address.remove_prefix(sign + 1);
    }
    for (std::size_t query = address.find('?'); query != std::string_view::npos;) {
      const std::size_t next = address.find_first_of("&?", query + 1), equals = address.find('=', query + 1);
      if (equals != std::string_view::npos && equals < next &&
          detail::is_secret_name(address.substr(query + 1, equals - query - 1))) {
        made += address.substr(0, equals + 1);
        made += "***";
        address = next == std::string_view::npos ? std::string_view() : address.substr(next);
        query = address.empty() ? std::string_view::npos : 0;
      } else {
        query = next;
      }
    }
    made += address;
    at = end;
  }
  made += text.substr(at);
  return made;
}

/// The value of a parameter as people may see it: nothing of one that is named "password" or the like.
inline std::string shown_value(std::string_view parameter, std::string_view value) {
  return detail::is_secret_name(parameter) && !value.empty() ? "***" : without_credentials(value);
}

}  // namespace v1
}  // namespace tenon
