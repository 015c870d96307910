// SPDX-License-Identifier: Apache-2.0
// Hangs and resets.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <tenon/drivers/npu/instrument/faults.hpp>

namespace tenon::npu {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;

/// Hardware's driver resets a device after two seconds.
std::uint64_t reset_after_ns() noexcept {
  static const std::uint64_t time_ns = [] {
    constexpr std::uint64_t kDefaultMs = 2000, kMaxMs = 3'600'000;
    const char* const text = std::getenv("TENON_NPU_RESET_MS");
    if (!text || !*text) return kDefaultMs * kNsPerMs;
    std::uint64_t value = 0;
    const std::string_view view(text);
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
    if (error == std::errc() && end == view.data() + view.size() && value > 0 && value <= kMaxMs)
      return value * kNsPerMs;
    std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_RESET_MS is '%s', and no number of milliseconds\n", text);
    return kDefaultMs * kNsPerMs;
  }();
  return time_ns;
}

}  // namespace

Faults& Faults::get() noexcept {
  static auto& faults = *new Faults;
  return faults;
}

void Faults::hang() noexcept {
  if (is_hung()) return;  // Ends one whose time is over, if nothing has asked since.
  std::uint64_t none = 0;
  reset_ns_.compare_exchange_strong(none, now_ns() + reset_after_ns());
}

bool Faults::is_hung() noexcept {
  const std::uint64_t end_ns = reset_ns_.load(std::memory_order_relaxed);
  if (end_ns == 0) return false;
  if (now_ns() < end_ns) return true;
  end(end_ns);
  return false;
}

void Faults::reset() noexcept {
  if (reset_ns_.exchange(0) != 0) resets_.add(1);
}

void Faults::end(std::uint64_t hang_ns) noexcept {
  if (reset_ns_.compare_exchange_strong(hang_ns, 0)) resets_.add(1);
}

bool Faults::wait_for_reset(std::uint64_t slice_ns) noexcept {
  const std::uint32_t seen = resets_.load();
  const std::uint64_t end_ns = reset_ns_.load();
  if (end_ns == 0) return true;
  const std::uint64_t now = now_ns();
  if (now >= end_ns) {
    end(end_ns);
    return true;
  }
  return resets_.wait([seen](std::uint32_t resets) { return resets != seen; },
                      Deadline::in(std::min(slice_ns, end_ns - now)), 0);
}

}  // namespace tenon::npu
