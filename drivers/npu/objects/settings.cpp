// SPDX-License-Identifier: Apache-2.0
// The driver's environment variables, read once.
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/drivers/npu/objects/words.hpp>
#include <tenon/frameworks/level_zero/abi/graph.hpp>

namespace tenon::npu {

namespace abi = tenon::level_zero::abi;

namespace {

std::atomic<std::uint32_t> highest_version{0};

}  // namespace

bool is_offered(std::string_view short_name) noexcept {
  static const char* const without = std::getenv("TENON_NPU_WITHOUT");
  bool offered = true;
  visit_words(without ? without : "", [&](std::string_view word) { offered = offered && word != short_name; });
  return offered;
}

std::uint32_t graph_extension_version() noexcept {
  static const std::uint32_t version = [] {
    const char* text = std::getenv("TENON_NPU_GRAPH_VERSION");
    if (!text || !*text) return abi::kGraphVersion;
    std::uint32_t minor = 0;
    if (std::strncmp(text, "1.", 2) == 0) {
      const char* const last = text + std::strlen(text);
      const auto [end, error] = std::from_chars(text + 2, last, minor);
      if (error == std::errc() && end == last && minor >= 5 && abi::version(1, minor) <= abi::kGraphVersion)
        return abi::version(1, minor);
    }
    std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_GRAPH_VERSION is '%s'; versions are 1.5 to 1.%u\n", text,
                 abi::minor_of(abi::kGraphVersion));
    return abi::kGraphVersion;
  }();
  return version;
}

std::uint32_t loader_version() noexcept { return highest_version.load(std::memory_order_relaxed); }

void note_loader_version(std::uint32_t version) noexcept {
  std::uint32_t known = highest_version.load(std::memory_order_relaxed);
  while (known < version && !highest_version.compare_exchange_weak(known, version)) {
  }
}

}  // namespace tenon::npu
