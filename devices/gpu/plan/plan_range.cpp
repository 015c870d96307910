// SPDX-License-Identifier: Apache-2.0
// Finds the one extent that moves, and what lies between its values.
#include <tenon/devices/gpu/plan/plan_range.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>

#include <tenon/graph/wanted.hpp>

namespace tenon::inline v1::gpu_device {

PlanRange::~PlanRange() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::shared_ptr<const LaunchPlan> PlanRange::take(const Shapes& shapes) {
  constexpr std::chrono::milliseconds kPatience{5};
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto extent = extent_of(shapes);
    if (!extent) return nullptr;
    see(*extent);  // No thread begins with it.
    const auto found = entries_.find(*extent);
    if (found == entries_.end()) return nullptr;
    if (found->second.state == State::kMade) {
      auto plan = std::move(found->second.plan);
      entries_.erase(found);
      return plan;
    }
    CancellationScope::check("compiling", "a plan that is made ahead");
    changed_.wait_for(lock, kPatience);
  }
}

void PlanRange::follow(const Shapes& shapes) {
  {
    const std::lock_guard lock(mutex_);
    const auto extent = extent_of(shapes);
    if (extent) {
      see(*extent);
      last_ = *extent;
    } else {
      begin_anew(shapes);
    }
    if (!next()) return;
    try {
      while (threads_.size() < most_threads_) threads_.emplace_back([this] { run(); });
    } catch (const std::exception&) {  // Fewer do. Without any, inferences make their plans themselves.
    }
  }
  changed_.notify_all();
}

PlanRange::Axes PlanRange::differing(const Shapes& a, const Shapes& b) {
  Axes axes;
  if (a.size() != b.size()) return axes;
  std::size_t number = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return {};
    for (std::size_t axis = 0; axis < a[i].size(); ++axis, ++number)
      if (a[i][axis] != b[i][axis]) axes.push_back(number);
  }
  return axes;
}

std::size_t PlanRange::at(const Shapes& shapes, std::size_t axis) {
  for (const Shape& shape : shapes) {
    if (axis < shape.size()) return shape[axis];
    axis -= shape.size();
  }
  return 0;
}

std::optional<std::size_t> PlanRange::extent_of(const Shapes& shapes) const {
  if (axes_.empty()) return std::nullopt;
  const std::size_t extent = at(shapes, axes_.front());
  return with(extent) == shapes ? std::optional(extent) : std::nullopt;
}

PlanRange::Shapes PlanRange::with(std::size_t extent) const {
  Shapes shapes = shapes_;
  std::size_t number = 0, next = 0;
  for (Shape& shape : shapes)
    for (std::size_t axis = 0; axis < shape.size(); ++axis, ++number)
      if (next < axes_.size() && axes_[next] == number) shape[axis] = extent, ++next;
  return shapes;
}

void PlanRange::begin_anew(const Shapes& shapes) {
  ++ranges_;
  const Shapes before = std::exchange(shapes_, shapes);
  axes_ = differing(before, shapes);
  const auto has_one_extent = [this](const Shapes& of) {
    return std::ranges::all_of(axes_, [&](std::size_t axis) { return at(of, axis) == at(of, axes_.front()); });
  };
  seen_.clear();
  step_ = 0;
  // What is being made ends, and is not found.
  std::erase_if(entries_, [](const auto& entry) { return entry.second.state == State::kMade; });
  if (axes_.empty() || !has_one_extent(before) || !has_one_extent(shapes)) {
    axes_.clear();
    return;
  }
  last_ = at(shapes, axes_.front());
  see(at(before, axes_.front()));
  see(last_);
}

void PlanRange::see(std::size_t extent) {
  if (!seen_.empty()) step_ = std::gcd(step_, std::max(extent, *seen_.begin()) - std::min(extent, *seen_.begin()));
  seen_.insert(extent);
}

std::optional<std::size_t> PlanRange::next() const {
  if (seen_.size() < kFirst || entries_.size() >= kMost) return std::nullopt;
  const std::size_t least = *seen_.begin(), greatest = *seen_.rbegin();
  const std::size_t steps = (greatest - least) / step_;
  if (steps > kWidest || steps < seen_.size()) return std::nullopt;  // All were there: a cache that grows, say.
  const auto is_wanted = [&](std::size_t extent) { return seen_.count(extent) == 0 && entries_.count(extent) == 0; };
  for (std::size_t way = step_; way <= greatest - least; way += step_) {
    if (last_ + way <= greatest && is_wanted(last_ + way)) return last_ + way;
    if (last_ >= least + way && is_wanted(last_ - way)) return last_ - way;
  }
  return std::nullopt;
}

void PlanRange::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::optional<std::size_t> extent;
    changed_.wait(lock, [&] { return is_over_ || (extent = next()).has_value(); });
    if (is_over_) return;
    std::shared_ptr<const LaunchPlan> plan;
    const std::size_t range = ranges_;
    try {
      entries_[*extent];
      const Shapes shapes = with(*extent);
      lock.unlock();
      plan = make_(shapes);
    } catch (...) {  // The inference that needs the plan makes it itself, and gets the error.
    }
    if (!lock.owns_lock()) lock.lock();
    if (!plan) is_over_ = true;
    if (plan && range == ranges_)
      entries_.at(*extent) = {State::kMade, std::move(plan)};
    else
      entries_.erase(*extent);
    changed_.notify_all();
  }
}

}  // namespace tenon::inline v1::gpu_device
