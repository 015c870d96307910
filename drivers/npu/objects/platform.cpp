// SPDX-License-Identifier: Apache-2.0
// Platforms by number, and parsing the list in TENON_NPU_PLATFORM.
#include <charconv>
#include <optional>

#include <tenon/drivers/npu/objects/platform.hpp>
#include <tenon/drivers/npu/objects/words.hpp>

namespace tenon::npu {
std::vector<const Platform*> parse_platforms(std::string_view text, std::string_view* mistake) {
  std::vector<const Platform*> platforms;
  std::optional<std::string_view> wrong;
  visit_words(text, [&](std::string_view word) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const Platform* platform = find_npu_platform(number);
    if (error != std::errc() || end != word.data() + word.size() || !platform) {
      if (!wrong) wrong = word;
    } else {
      platforms.push_back(platform);
    }
  });
  if (wrong && mistake) *mistake = *wrong;
  if (wrong || platforms.empty()) return {&kNpuPlatforms[0]};
  return platforms;
}

}  // namespace tenon::npu
