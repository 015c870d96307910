// SPDX-License-Identifier: Apache-2.0
// Sleeps for most of the time, and spins at its end: a sleep ends some 50 us late.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <tenon/drivers/npu/objects/pace.hpp>

namespace tenon::npu {
namespace {

constexpr std::uint64_t kSliceNs = 1'000'000;
constexpr std::uint64_t kSpinNs = 80'000;
constexpr double kMaxFactor = 1e6;

bool wait_until(std::uint64_t end_ns, bool (*stop)(void*), void* context) noexcept {
  Futex never;
  for (std::uint64_t now = now_ns(); now < end_ns; now = now_ns()) {
    if (stop && stop(context)) return false;
    const std::uint64_t left = end_ns - now;
    if (left > kSpinNs)
      never.wait([](std::uint32_t) { return false; }, Deadline::in(std::min(left - kSpinNs, kSliceNs)), 0);
  }
  return true;
}

}  // namespace

Pace::Pace() noexcept {
  const char* const text = std::getenv("TENON_NPU_PACE");
  const std::string_view word = text ? text : "";
  if (word.empty()) return;
  double factor = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), factor);
  if (error == std::errc() && end == word.data() + word.size() && factor >= 0 && factor <= kMaxFactor) {
    factor_ = factor;
    return;
  }
  std::fprintf(stderr,
               "libze_tenon_npu: TENON_NPU_PACE is '%s'; it is 0, or how many times as long as on the NPU an inference "
               "takes, up to 1000000\n",
               text);
}

Pace& Pace::get() noexcept {
  static Pace pace;
  return pace;
}

std::uint64_t Pace::end_ns(std::uint64_t begin_ns, std::uint64_t estimated_ns) const noexcept {
  return begin_ns + static_cast<std::uint64_t>(std::llround(factor_ * static_cast<double>(estimated_ns)));
}

bool Pace::hold(std::uint64_t begin_ns, std::uint64_t estimated_ns, bool (*stop)(void*), void* context) noexcept {
  const std::uint64_t end = end_ns(begin_ns, estimated_ns);
  paced_.fetch_add(1, std::memory_order_relaxed);
  if (now_ns() > end) late_.fetch_add(1, std::memory_order_relaxed);
  return wait_until(end, stop, context);
}

void Pace::hold_loading(std::uint64_t begin_ns, std::uint64_t estimated_ns) noexcept {
  (void)wait_until(end_ns(begin_ns, estimated_ns), nullptr, nullptr);
}

}  // namespace tenon::npu
