// SPDX-License-Identifier: Apache-2.0
// The driver's environment variables, read once.
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <tenon/drivers/npu/objects/dispatch.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/drivers/npu/objects/words.hpp>
#include <tenon/frameworks/level_zero/abi/graph.hpp>

namespace tenon::npu {

namespace abi = tenon::level_zero::abi;

namespace {

std::atomic<std::uint32_t> highest_version{0};

/// Reads "1.N" from a variable, N from `first` to `last`. Reports anything else on stderr. @return `otherwise` if unset or wrong.
std::uint32_t read_version(const char* variable, std::uint32_t first, std::uint32_t last, std::uint32_t otherwise) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return otherwise;
  std::uint32_t minor = 0;
  if (std::strncmp(text, "1.", 2) == 0) {
    const char* const text_end = text + std::strlen(text);
    const auto [end, error] = std::from_chars(text + 2, text_end, minor);
    if (error == std::errc() && end == text_end && minor >= first && minor <= last) return abi::version(1, minor);
  }
  std::fprintf(stderr, "libze_tenon_npu: %s is '%s'; versions are 1.%u to 1.%u\n", variable, text, first, last);
  return otherwise;
}

/// Reads "0" or "1". Reports anything else on stderr. @return false if unset or wrong.
bool read_switch(const char* variable) {
  const char* const text = std::getenv(variable);
  const std::string_view word = text ? text : "";
  if (word.empty() || word == "0" || word == "1") return word == "1";
  std::fprintf(stderr, "libze_tenon_npu: %s is '%s', neither 0 nor 1\n", variable, text);
  return false;
}

}  // namespace

bool is_offered(std::string_view short_name) noexcept {
  static const char* const without = std::getenv("TENON_NPU_WITHOUT");
  bool offered = true;
  visit_words(without ? without : "", [&](std::string_view word) { offered = offered && word != short_name; });
  return offered;
}

std::uint32_t graph_extension_version() noexcept {
  static const std::uint32_t version =
      read_version("TENON_NPU_GRAPH_VERSION", 5, abi::minor_of(abi::kGraphVersion), abi::kGraphVersion);
  return version;
}

std::uint32_t api_version() noexcept {
  static const std::uint32_t version = read_version("TENON_NPU_API_VERSION", 3, 17, kApiVersion);
  return version;
}

std::uint32_t driver_version(std::uint32_t otherwise) noexcept {
  static const std::uint32_t version = [otherwise] {
    const char* const text = std::getenv("TENON_NPU_DRIVER_VERSION");
    if (!text || !*text) return otherwise;
    std::uint32_t value = 0;
    const char* const text_end = text + std::strlen(text);
    const auto [end, error] = std::from_chars(text, text_end, value);
    if (error == std::errc() && end == text_end) return value;
    std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_DRIVER_VERSION is '%s', and no number of 32 bits\n", text);
    return otherwise;
  }();
  return version;
}

bool is_as_hardware() noexcept {
  static const bool is = read_switch("TENON_NPU_AS_HARDWARE");
  return is;
}

bool sees_system_memory() noexcept {
  static const bool sees = read_switch("TENON_NPU_SYSTEM_MEMORY");
  return sees;
}

std::uint32_t loader_version() noexcept { return highest_version.load(std::memory_order_relaxed); }

void note_loader_version(std::uint32_t version) noexcept {
  std::uint32_t known = highest_version.load(std::memory_order_relaxed);
  while (known < version && !highest_version.compare_exchange_weak(known, version)) {
  }
}

}  // namespace tenon::npu
