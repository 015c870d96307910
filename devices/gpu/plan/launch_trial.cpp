// SPDX-License-Identifier: Apache-2.0
// Compares ways of enqueueing.
#include <tenon/devices/gpu/plan/launch_trial.hpp>

#include <algorithm>

namespace tenon::inline v1::gpu_device {

LaunchTrial::LaunchTrial(const std::vector<LaunchWay>& ways) {
  for (const LaunchWay way : ways) tried_.push_back({way});
  decide();
}

LaunchWay LaunchTrial::way() const {
  if (is_over()) return chosen_.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (is_over()) return chosen_.load(std::memory_order_relaxed);  // Since then: one way alone has no turns.
  // In turns without a period (Thue and Morse): where shapes alternate, each way gets all of them.
  std::size_t digits = 0, place = 0;
  for (const Tried& tried : tried_) digits += tried.rounds;
  for (; digits > 0; digits /= tried_.size()) place += digits % tried_.size();
  const Tried& next = tried_[place % tried_.size()];
  if (next.rounds <= kRounds) return next.way;
  return std::ranges::min_element(tried_, {}, &Tried::rounds)->way;
}

void LaunchTrial::note(LaunchWay way, std::size_t kernels, std::chrono::nanoseconds host,
                       std::chrono::nanoseconds whole) {
  if (is_over() || kernels == 0) return;
  const std::lock_guard lock(mutex_);
  for (Tried& tried : tried_) {
    if (tried.way != way) continue;
    const auto keep = [&](double& least, std::chrono::nanoseconds taken) {
      const double each = static_cast<double>(taken.count()) / static_cast<double>(kernels);
      // The first time is not the usual one: memory is made, kernels are recorded.
      if (tried.rounds == 1 || each < least) least = each;
    };
    keep(tried.host, host);
    keep(tried.whole, whole);
    ++tried.rounds;
  }
  decide();
}

void LaunchTrial::end() {
  const std::lock_guard lock(mutex_);
  tried_.erase(tried_.begin() + 1, tried_.end());
  decide();
}

void LaunchTrial::drop(LaunchWay way) {
  const std::lock_guard lock(mutex_);
  if (tried_.size() > 1) std::erase_if(tried_, [&](const Tried& tried) { return tried.way == way; });
  over_.store(false, std::memory_order_release);
  decide();
}

void LaunchTrial::decide() {
  const bool is_tried =
      std::all_of(tried_.begin(), tried_.end(), [](const Tried& tried) { return tried.rounds > kRounds; });
  if (tried_.size() > 1 && !is_tried) return;
  const Tried* best = &tried_.front();
  for (const Tried& tried : tried_)
    if (tried.way != LaunchWay::kGraph && tried.host < best->host && tried.host < 0.9 * tried_.front().host)
      best = &tried;
  // Clocks and other work make as much of a difference.
  constexpr double kAsSoon = 1.02;
  for (const Tried& tried : tried_)
    if (tried.way == LaunchWay::kGraph && tried.whole <= kAsSoon * best->whole) best = &tried;
  chosen_.store(best->way, std::memory_order_relaxed);
  over_.store(true, std::memory_order_release);
}

}  // namespace tenon::inline v1::gpu_device
