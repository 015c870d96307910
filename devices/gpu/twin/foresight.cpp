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

void go_on(TwinLaunch& launch, const TwinLaunch& before, const TwinLaunch& earlier) {
  if (launch == before) return;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i)
    launch.arguments[i] = next(launch.arguments[i], before.arguments[i], earlier.arguments[i]);
  for (std::size_t axis = 0; axis < launch.groups.size(); ++axis)
    launch.groups[axis] = std::max(next(launch.groups[axis], before.groups[axis], earlier.groups[axis]), 1u);
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
  const bool was_foreseen = moved > 0 && ahead_.size() == now.size() && 2 * differing(ahead_) <= moved;
  if (moved == 0) {
    ahead_.clear();
  } else {
    ahead_.assign(now.begin(), now.end());  // Into what is there: each inference comes here.
    for (std::size_t i = 0; i < now.size(); ++i) go_on(ahead_[i], before_[i], earlier_[i]);
  }
  earlier_.swap(before_);
  before_.assign(now.begin(), now.end());
  return was_foreseen ? std::span<const TwinLaunch>(ahead_) : std::span<const TwinLaunch>();
}

}  // namespace tenon::inline v1::gpu_device
