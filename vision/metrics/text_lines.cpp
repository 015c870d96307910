// SPDX-License-Identifier: Apache-2.0
// Reads lines of numbers.
#include <tenon/vision/internal/text_lines.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

#include <tenon/core/mapped_file.hpp>
#include <tenon/vision/labelled_pictures.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr std::string_view kBlanks = " \t\r";

/// The next field of a line, without it and its separator. Blanks around a comma belong to the comma.
std::string_view take_field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find_first_of(", \t\r"), rest.size());
  const std::string_view field = rest.substr(0, end);
  std::size_t next = std::min(rest.find_first_not_of(kBlanks, end), rest.size());
  if (next < rest.size() && rest[next] == ',') next = std::min(rest.find_first_not_of(kBlanks, next + 1), rest.size());
  rest.remove_prefix(next);
  return field;
}

}  // namespace

std::string NumberLine::number_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::vector<NumberLine> number_lines(std::string_view text, const std::string& file) {
  std::vector<NumberLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    if (rest.empty()) continue;
    NumberLine& line = lines.emplace_back(file, number);
    while (!rest.empty()) {
      const std::string_view field = take_field(rest);
      double value = 0;
      const auto [at, error] = std::from_chars(field.data(), field.data() + field.size(), value);
      if (error != std::errc() || at != field.data() + field.size() || !std::isfinite(value))
        line.refuse("column " + std::to_string(line.size() + 1) + " must be a number, found \"" +
                    std::string(field.substr(0, 40)) + "\"");
      line.add(value);
    }
  }
  return lines;
}

std::string read_text_file(const std::string& path) {
  const Tensor bytes = map_file(path);
  return bytes.size_bytes() == 0 ? std::string()
                                 : std::string(static_cast<const char*>(bytes.data()), bytes.size_bytes());
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
