// SPDX-License-Identifier: Apache-2.0
// Numbers that go on by the same step, and memory that is used in turns.
#include <tenon/devices/gpu/twin/foresight.hpp>

#include <algorithm>
#include <cstddef>

namespace tenon::inline v1::gpu_device {
namespace {

bool are_same_kernels(std::span<const TwinLaunch> a, std::span<const TwinLaunch> b) {
  return std::ranges::equal(a, b, [](const TwinLaunch& one, const TwinLaunch& other) {
    return one.function == other.function && one.arguments.size() == other.arguments.size();
  });
}

template <typename T>
T next(T now, T before, T earlier) {
  if (now == earlier) return before;
  const T step = now - before;
  return step == before - earlier ? now + step : now;
}

TwinLaunch next(const TwinLaunch& now, const TwinLaunch& before, const TwinLaunch& earlier) {
  TwinLaunch ahead = now;
  if (now == before) return ahead;
  for (std::size_t i = 0; i < ahead.arguments.size(); ++i)
    ahead.arguments[i] = next(now.arguments[i], before.arguments[i], earlier.arguments[i]);
  for (std::size_t axis = 0; axis < ahead.groups.size(); ++axis)
    ahead.groups[axis] = std::max(next(now.groups[axis], before.groups[axis], earlier.groups[axis]), 1u);
  return ahead;
}

}  // namespace

std::span<const TwinLaunch> Foresight::after(std::span<const TwinLaunch> now) {
  const auto differing = [&](const std::vector<TwinLaunch>& from) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < now.size(); ++i) count += now[i] != from[i];
    return count;
  };
  const bool is_alike = are_same_kernels(now, before_) && are_same_kernels(now, earlier_);
  const std::size_t moved = is_alike ? differing(before_) : 0;
  // Where a number of groups changes now and then, some of what moves differs from what was expected.
  const bool was_foreseen = ahead_.size() == now.size() && 2 * differing(ahead_) <= moved;
  ahead_.clear();
  if (is_alike)
    for (std::size_t i = 0; i < now.size(); ++i) ahead_.push_back(next(now[i], before_[i], earlier_[i]));
  earlier_.swap(before_);
  before_.assign(now.begin(), now.end());
  return was_foreseen && moved > 0 ? std::span<const TwinLaunch>(ahead_) : std::span<const TwinLaunch>();
}

}  // namespace tenon::inline v1::gpu_device
