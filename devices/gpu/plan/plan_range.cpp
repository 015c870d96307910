// SPDX-License-Identifier: Apache-2.0
// Finds the extents that move, and what lies between their values.
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
    const auto extents = extents_of(shapes);
    if (!extents) return nullptr;
    see(*extents);  // No thread begins with them.
    const auto found = entries_.find(*extents);
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
    if (!extents_of(shapes)) group_anew(shapes);
    if (const auto extents = extents_of(shapes)) {
      see(*extents);
      last_ = *extents;
    }
    if (!next()) return;
    try {
      while (threads_.size() < most_threads_) threads_.emplace_back([this] { run(); });
    } catch (const std::exception&) {  // Fewer do. Without any, inferences make their plans themselves.
    }
  }
  changed_.notify_all();
}

namespace {

bool have_same_axes(const PlanRange::Shapes& a, const PlanRange::Shapes& b) {
  return std::ranges::equal(a, b, {}, &Shape::size, &Shape::size);
}

/// @return the extents of all axes, one after the other.
std::vector<std::size_t> all_of(const PlanRange::Shapes& shapes) {
  std::vector<std::size_t> all;
  for (const Shape& shape : shapes) all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

}  // namespace

std::optional<PlanRange::Extents> PlanRange::extents_of(const Shapes& shapes) const {
  if (groups_.empty() || !have_same_axes(shapes, told_apart_.back())) return std::nullopt;
  const auto all = all_of(shapes);
  Extents extents;
  for (const Axes& axes : groups_) extents.push_back(all[axes.front()]);
  return with(extents) == shapes ? std::optional(extents) : std::nullopt;
}

PlanRange::Shapes PlanRange::with(const Extents& extents) const {
  Shapes shapes = told_apart_.back();
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    std::size_t number = 0;
    for (Shape& shape : shapes)
      for (std::size_t& extent : shape)
        if (std::ranges::count(groups_[group], number++) > 0) extent = extents[group];
  }
  return shapes;
}

void PlanRange::group_anew(const Shapes& shapes) {
  constexpr std::size_t kMostKept = 16;
  ++ranges_;
  if (told_apart_.size() == kMostKept || (!told_apart_.empty() && !have_same_axes(told_apart_.back(), shapes)))
    told_apart_.clear();
  told_apart_.push_back(shapes);
  // By the values that an axis took.
  std::map<Extents, Axes> by_values;
  for (std::size_t axis = 0; axis < all_of(shapes).size(); ++axis) {
    Extents values;
    for (const Shapes& each : told_apart_) values.push_back(all_of(each)[axis]);
    if (std::set(values.begin(), values.end()).size() > 1) by_values[values].push_back(axis);
  }
  groups_.clear();
  if (by_values.size() > kMostGroups)
    told_apart_ = {shapes};
  else
    for (auto& [values, axes] : by_values) groups_.push_back(std::move(axes));
  // What is being made ends, and is not found.
  std::erase_if(entries_, [](const auto& entry) { return entry.second.state == State::kMade; });
  seen_.clear();
  step_ = 0;
  for (const Shapes& each : told_apart_)
    if (const auto extents = extents_of(each)) see(*extents);
}

void PlanRange::see(const Extents& extents) {
  const auto distance = [](std::size_t a, std::size_t b) { return std::max(a, b) - std::min(a, b); };
  if (!seen_.empty()) step_ = std::gcd(step_, distance(extents.front(), seen_.begin()->front()));
  seen_.insert(extents);
}

std::optional<PlanRange::Extents> PlanRange::next() const {
  if (groups_.empty() || seen_.size() < kFirst || entries_.size() >= kMost) return std::nullopt;
  return groups_.size() == 1 ? next_of_one() : next_of_both();
}

std::optional<PlanRange::Extents> PlanRange::next_of_one() const {
  const std::size_t least = seen_.begin()->front(), greatest = seen_.rbegin()->front(), last = last_.front();
  const std::size_t steps = (greatest - least) / step_;
  if (steps > kWidest || steps < seen_.size()) return std::nullopt;  // All were there: a cache that grows, say.
  for (std::size_t way = step_; way <= greatest - least; way += step_) {
    if (last + way <= greatest && is_wanted({last + way})) return Extents{last + way};
    if (last >= least + way && is_wanted({last - way})) return Extents{last - way};
  }
  return std::nullopt;
}

std::optional<PlanRange::Extents> PlanRange::next_of_both() const {
  std::set<std::size_t> first, second;
  for (const Extents& extents : seen_) {
    first.insert(extents[0]);
    second.insert(extents[1]);
  }
  // If none came twice, the one may follow from the other, and if one has far more values, it goes on in order, as a cache's does.
  const std::size_t few = std::min(first.size(), second.size()), many = std::max(first.size(), second.size());
  if (seen_.size() <= many || many > 4 * few) return std::nullopt;
  for (const std::size_t a : first)
    if (is_wanted({a, last_[1]})) return Extents{a, last_[1]};
  for (const std::size_t a : first)
    for (const std::size_t b : second)
      if (is_wanted({a, b})) return Extents{a, b};
  return std::nullopt;
}

void PlanRange::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::optional<Extents> extents;
    changed_.wait(lock, [&] { return is_over_ || (extents = next()).has_value(); });
    if (is_over_) return;
    std::shared_ptr<const LaunchPlan> plan;
    const std::size_t range = ranges_;
    try {
      entries_[*extents];
      const Shapes shapes = with(*extents);
      lock.unlock();
      plan = make_(shapes);
    } catch (...) {  // The inference that needs the plan makes it itself, and gets the error.
    }
    if (!lock.owns_lock()) lock.lock();
    if (!plan) is_over_ = true;
    if (plan && range == ranges_)
      entries_.at(*extents) = {State::kMade, std::move(plan)};
    else
      entries_.erase(*extents);
    changed_.notify_all();
  }
}

}  // namespace tenon::inline v1::gpu_device
