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

/// Where one extent moves and takes its values in no order, as texts have their lengths and pictures their sides, the plans for
/// the values between the least and the greatest of them are made on threads of their own, once each, those that are nearest
/// to the present one first.
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
  /// The axes that move, as those of the shapes are numbered, with one extent for all of them.
  using Axes = std::vector<std::size_t>;
  static Axes differing(const Shapes& a, const Shapes& b);
  static std::size_t at(const Shapes& shapes, std::size_t axis);
  /// The extent of shapes that differ from those seen in it alone; none else.
  std::optional<std::size_t> extent_of(const Shapes& shapes) const;
  Shapes with(std::size_t extent) const;
  void begin_anew(const Shapes& shapes);
  void see(std::size_t extent);
  /// What is to be made next; none: all is there.
  std::optional<std::size_t> next() const;
  void run();

  const Make make_;
  const std::size_t most_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Shapes shapes_;               ///< Those that were seen first; empty: none.
  Axes axes_;                   ///< Empty: no other shapes were seen.
  std::size_t ranges_ = 0;      ///< So many were begun.
  std::set<std::size_t> seen_;  ///< Extents for which there has been a plan.
  std::size_t step_ = 0;        ///< The greatest that all their distances are multiples of.
  std::size_t last_ = 0;
  std::map<std::size_t, Entry> entries_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tenon::inline v1::gpu_device
