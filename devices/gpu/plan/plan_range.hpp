// SPDX-License-Identifier: Apache-2.0
// Plans for extents between those that were there.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/devices/gpu/plan/launch_plan.hpp>

namespace tenon::inline v1::gpu_device {

/// Where extents move and take their values in no order, plans are made on threads of their own, once each, those that are nearest to the
/// present ones first:
/// - of one extent, as texts have their lengths and square pictures their sides, for the values between the least and the greatest;
/// - of two that do not depend on each other, as heights and widths, for each value of the one that was there with each of the other.
/// @thread all members from any thread.
class PlanRange {
 public:
  using Shapes = std::vector<Shape>;
  /// @return null: there is no plan for such shapes, nor for others.
  using Make = std::function<std::shared_ptr<const LaunchPlan>(const Shapes& shapes)>;
  /// Extents after which plans are made ahead, the most that are kept until they are wanted, and the most values that a range has
  /// whose values are worth it.
  static constexpr std::size_t kFirst = 3, kMost = 128, kWidest = 512;

  /// @param make  Called on these threads; what it throws ends making plans ahead.
  /// @param threads  How many plans are made at a time.
  PlanRange(Make make, std::size_t threads) : make_(std::move(make)), most_threads_(threads) {}
  PlanRange(const PlanRange&) = delete;
  PlanRange& operator=(const PlanRange&) = delete;
  /// Waits for the plans that are being made.
  ~PlanRange();

  /// The plan for these shapes, once, which is waited for if it is being made. @return null: none was made for them.
  /// @errors kCancelled (CancellationScope).
  std::shared_ptr<const LaunchPlan> take(const Shapes& shapes);
  /// Told in the order of inferences that a plan was made for these shapes.
  void follow(const Shapes& shapes);

 private:
  enum class State { kMaking, kMade };
  struct Entry {
    State state = State::kMaking;
    std::shared_ptr<const LaunchPlan> plan;
  };
  /// Axes, as those of the shapes are numbered, that have one extent.
  using Axes = std::vector<std::size_t>;
  using Extents = std::vector<std::size_t>;  ///< One for each of groups_.
  static constexpr std::size_t kMostGroups = 2;

  /// The extents of shapes that differ from those seen in them alone; none else.
  std::optional<Extents> extents_of(const Shapes& shapes) const;
  Shapes with(const Extents& extents) const;
  /// Finds which axes move by themselves. @param shapes  Which the groups so far do not describe.
  void group_anew(const Shapes& shapes);
  void see(const Extents& extents);
  /// What is to be made next; none: all is there.
  std::optional<Extents> next() const;
  std::optional<Extents> next_of_one() const;
  std::optional<Extents> next_of_both() const;
  bool is_wanted(const Extents& extents) const { return seen_.count(extents) == 0 && entries_.count(extents) == 0; }
  void run();

  const Make make_;
  const std::size_t most_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Shapes> told_apart_;  ///< Shapes by which the groups were found, the newest last.
  std::vector<Axes> groups_;        ///< Empty: no other shapes were seen, or too many extents move.
  std::size_t ranges_ = 0;          ///< So many were begun.
  std::set<Extents> seen_;          ///< For which there has been a plan.
  std::size_t step_ = 0;            ///< The greatest that all distances of one extent are multiples of.
  Extents last_;
  std::map<Extents, Entry> entries_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tenon::inline v1::gpu_device
