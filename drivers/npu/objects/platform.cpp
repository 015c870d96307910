// SPDX-License-Identifier: Apache-2.0
// Platforms by number, and parsing the list in TENON_NPU_PLATFORM.
#include <charconv>

#include <tenon/drivers/npu/objects/platform.hpp>

namespace tenon::npu {
std::vector<const Platform*> parse_platforms(std::string_view text, std::string_view* mistake) {
  std::vector<const Platform*> platforms;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const Platform* platform = find_npu_platform(number);
    if (error != std::errc() || end != word.data() + word.size() || !platform) {
      if (mistake) *mistake = word;
      return {&kNpuPlatforms[0]};
    }
    platforms.push_back(platform);
  }
  if (platforms.empty()) platforms.push_back(&kNpuPlatforms[0]);
  return platforms;
}

}  // namespace tenon::npu
