// SPDX-License-Identifier: Apache-2.0
// Looks some steps ahead.
#include <tenon/devices/gpu/plan/plan_ahead.hpp>

#include <algorithm>
#include <chrono>
#include <exception>

#include <tenon/graph/wanted.hpp>

namespace tenon::inline v1::gpu_device {

std::optional<Shape> gone_on(const Shape& before, const Shape& now, std::size_t steps) {
  if (before.size() != now.size()) return std::nullopt;
  Shape next = now;
  for (std::size_t axis = 0; axis < now.size(); ++axis) {
    const auto extent = static_cast<std::ptrdiff_t>(now[axis]);
    const std::ptrdiff_t step = extent - static_cast<std::ptrdiff_t>(before[axis]),
                         then = extent + static_cast<std::ptrdiff_t>(steps) * step;
    if (step != 0 && then <= 0) return std::nullopt;
    next[axis] = static_cast<std::size_t>(then);
  }
  return next;
}

PlanAhead::~PlanAhead() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

PlanAhead::ExpectedRef PlanAhead::find(const Shapes& shapes) const {
  const auto found = std::ranges::find_if(expected_, [&](const auto& each) { return each->shapes == shapes; });
  return found == expected_.end() ? nullptr : *found;
}

bool PlanAhead::is_any(Expected::State state) const {
  return std::ranges::any_of(expected_, [&](const auto& each) { return each->state == state; });
}

std::shared_ptr<const LaunchPlan> PlanAhead::take(const Shapes& shapes) {
  using State = Expected::State;
  constexpr std::chrono::milliseconds kPatience{5};
  std::unique_lock lock(mutex_);
  ExpectedRef wanted = find(shapes);
  for (;;) {
    // Another thread whose shapes were not expected drops what no thread has begun.
    if (wanted && wanted->state == State::kWanted && std::ranges::find(expected_, wanted) == expected_.end())
      wanted = nullptr;
    if (!wanted) std::erase_if(expected_, [](const auto& each) { return each->state == State::kWanted; });
    if (wanted ? wanted->state == State::kMade : !is_any(State::kMaking)) break;
    CancellationScope::check("compiling", "a plan that is made ahead");
    changed_.wait_for(lock, kPatience);
  }
  if (!wanted) {
    expected_.clear();
    return nullptr;
  }
  std::erase(expected_, wanted);
  return wanted->plan;
}

std::shared_ptr<const LaunchPlan> PlanAhead::take_made(const Shapes& shapes) {
  const std::lock_guard lock(mutex_);
  const ExpectedRef made = find(shapes);
  if (!made || !made->plan) return nullptr;
  std::erase(expected_, made);
  return made->plan;
}

void PlanAhead::follow(const Shapes& shapes) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<ExpectedRef> expected;
    for (std::size_t step = 1; step <= steps_; ++step) {
      auto ahead = after(shapes, step);
      if (!ahead) break;
      ExpectedRef next = find(*ahead);
      if (!next) {
        next = std::make_shared<Expected>();
        next->shapes = std::move(*ahead);
      }
      expected.push_back(std::move(next));
    }
    // What is being made for other shapes has a copy of the model that take() waits for.
    for (const ExpectedRef& each : expected_)
      if (each->state == Expected::State::kMaking && std::ranges::find(expected, each) == expected.end())
        expected.push_back(each);
    expected_ = std::move(expected);
    if (last_.size() == 2) last_.erase(last_.begin());
    last_.push_back(shapes);
    if (!is_any(Expected::State::kWanted)) return;
    try {
      while (threads_.size() < steps_) threads_.emplace_back([this] { run(); });
    } catch (
        const std::exception&) {  // Fewer do. Without any, inferences make their plans themselves, and wait for none.
      if (threads_.empty()) expected_.clear();
    }
  }
  changed_.notify_all();
}

std::optional<PlanAhead::Shapes> PlanAhead::after(const Shapes& shapes, std::size_t steps) const {
  if (last_.size() < 2) return std::nullopt;
  const Shapes &before = last_[1], &first = last_[0];
  Shapes ahead;
  ahead.reserve(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    auto next = gone_on(before[i], shapes[i], steps);
    if (!next || gone_on(first[i], before[i]) != shapes[i]) return std::nullopt;
    ahead.push_back(std::move(*next));
  }
  if (ahead == shapes) return std::nullopt;
  return ahead;
}

void PlanAhead::run() {
  using State = Expected::State;
  const auto is_wanted = [](const auto& each) { return each->state == State::kWanted; };
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_over_ || std::ranges::any_of(expected_, is_wanted); });
    if (is_over_) return;
    const ExpectedRef next = *std::ranges::find_if(expected_, is_wanted);
    next->state = State::kMaking;
    lock.unlock();
    std::shared_ptr<const LaunchPlan> plan;
    try {
      plan = make_(next->shapes);
    } catch (...) {  // The inference that needs the plan makes it itself, and gets the error.
    }
    lock.lock();
    next->plan = std::move(plan);
    next->state = State::kMade;
    changed_.notify_all();
  }
}

}  // namespace tenon::inline v1::gpu_device
