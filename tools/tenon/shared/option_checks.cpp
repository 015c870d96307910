// SPDX-License-Identifier: Apache-2.0
#include <tenon/tools/tenon/shared/option_checks.hpp>

#include <cctype>
#include <charconv>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

namespace tenon::tool {

CLI::Validator reals_between(double least, double most) {
  const auto check = [least, most](const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && at == end && value >= least && value <= most) return std::string();
    return fmt::format("{} is no number of {} to {}", text, least, most);
  };
  return CLI::Validator(check, fmt::format("FLOAT in [{} - {}]", least, most));
}

PictureSize picture_size(const std::string& text) {
  PictureSize size;
  char rest = 0;
  const bool begins = !text.empty() && std::isdigit(static_cast<unsigned char>(text[0]));
  if (!begins || std::sscanf(text.c_str(), "%5ux%5u%c", &size.width_px, &size.height_px, &rest) != 2 ||
      size.width_px == 0 || size.height_px == 0 || text.find('-') != std::string::npos)
    throw CLI::ValidationError("--size", "\"" + text + "\" is not a size; write 1280x720");
  return size;
}

}  // namespace tenon::tool
