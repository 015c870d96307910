// SPDX-License-Identifier: Apache-2.0
// Finds launches that can run at the same time.
#include <tenon/devices/gpu/lower/build/joins.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/lower/build/chunks.hpp>
#include <tenon/devices/gpu/program/joined.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// How far a launch may be moved forward, and what the arguments of those that become one may take: every device has 1024 bytes.
constexpr std::size_t kWindow = 12, kMostBytes = 960;
/// A kernel that takes longer than its launch gains nothing.
constexpr std::size_t kMostItems = std::size_t{1} << 16;

/// Products are joined whatever they cost: of few rows, they are as long as one of all their columns. Copies to results stay apart,
/// since reports name them otherwise.
bool may_join(const Launch& launch) {
  return !launch.kernel->joins.empty() && launch.node_type != "Result" &&
         (launch.multiply_adds || launch.global[0] <= kMostItems);
}

/// Along one step in memory: how many elements each of two views has there, and how far the second one begins behind the first.
struct Step {
  std::int64_t stride = 0, first = 1, second = 1, behind = 0;
};

/// Whether two views are parts of one array that have no element in common, as those that a Concat joins.
bool are_apart(const View& a, const View& b) {
  if (a.place.offset > b.place.offset) return are_apart(b, a);
  const bool is_known = a.type != ElementType::kUndefined && !shares_bytes(a.type);  // Else the kernel's own memory.
  if (!is_known || a.type != b.type || a.source || b.source) return false;
  std::vector<Step> steps;
  for (const View* const view : {&a, &b})
    for (std::size_t axis = 0; axis < view->shape.size(); ++axis) {
      if (view->shape[axis] == 1) continue;
      if (view->strides[axis] <= 0) return false;
      auto step = std::ranges::find(steps, view->strides[axis], &Step::stride);
      if (step == steps.end()) step = steps.insert(step, {view->strides[axis]});
      (view == &a ? step->first : step->second) *= signed_of(view->shape[axis]);
    }
  std::ranges::sort(steps, std::greater(), &Step::stride);
  auto left = signed_of((b.place.offset - a.place.offset) / size_bytes(a.type));
  bool is_apart = false;
  std::int64_t inner = 1;
  for (Step& step : steps) {
    step.behind = left / step.stride;
    left %= step.stride;
    is_apart |= step.behind >= step.first;
  }
  // Places are told apart by their coordinates if no step reaches the next larger one.
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (step->stride < inner) return false;
    inner = step->stride * std::max(step->first, step->behind + step->second);
  }
  return is_apart && left == 0;
}

bool depend(const Launch& a, const Launch& b, planning::BufferId counters) {
  for (std::size_t i = 0; i < a.operands.size(); ++i)
    for (std::size_t j = 0; j < b.operands.size(); ++j)
      if (a.operands[i].place.buffer == b.operands[j].place.buffer && a.operands[i].place.buffer != counters &&
          (a.operands[i].written || b.operands[j].written) && !are_apart(a.views[i], b.views[j]))
        return true;
  return false;
}

/// The launches that can run with `first`, which is among them.
/// @param taken  Others that run earlier than at their places.
std::vector<std::size_t> together(const Launches& launches, std::size_t first, const std::vector<bool>& taken,
                                  planning::BufferId counters) {
  std::vector<std::size_t> parts{first}, passed{first};
  if (!may_join(*launches[first])) return parts;
  std::size_t bytes = argument_bytes(*launches[first]);
  const std::size_t end = std::min(launches.size(), first + kWindow);
  for (std::size_t at = first + 1; at < end && parts.size() < kMostJoined; ++at) {
    if (taken[at]) continue;
    const Launch& launch = *launches[at];
    const auto is_before = [&](std::size_t other) { return depend(*launches[other], launch, counters); };
    const std::size_t more = argument_bytes(launch) + 4;
    if (may_join(launch) && can_be_joined(*launches[first], launch) && bytes + more <= kMostBytes &&
        std::ranges::none_of(passed, is_before)) {
      parts.push_back(at);
      bytes += more;
    }
    passed.push_back(at);
  }
  return parts;
}

}  // namespace

Launches LaunchJoins::run(const Launches& launches, planning::BufferId counters, KernelTexts& texts) {
  std::map<Launches, std::shared_ptr<const Launch>> before = std::exchange(known_, {});
  std::vector<bool> taken(launches.size(), false);
  Launches result;
  for (std::size_t at = 0; at < launches.size(); ++at) {
    if (taken[at]) continue;
    const std::vector<std::size_t> places = together(launches, at, taken, counters);
    if (places.size() == 1) {
      result.push_back(launches[at]);
      continue;
    }
    Launches parts;
    for (const std::size_t place : places) {
      parts.push_back(launches[place]);
      taken[place] = true;
    }
    const auto found = before.find(parts);
    result.push_back(found != before.end() ? found->second
                                           : std::make_shared<const Launch>(joined_launch(parts, texts)));
    known_.emplace(std::move(parts), result.back());
  }
  return result;
}

}  // namespace tenon::inline v1::gpu_device
