// SPDX-License-Identifier: Apache-2.0
// Plans for shapes that are expected next.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/devices/gpu/plan/launch_plan.hpp>

namespace tenon::inline v1::gpu_device {

/// The shape so many steps after `now`, if each extent goes on as from `before`; none if the numbers of axes differ, or an extent that changes
/// would be less than 1.
std::optional<Shape> gone_on(const Shape& before, const Shape& now, std::size_t steps = 1);

/// Where extents change by the same step from one inference to the next, as a decoder's past does, the next plans are made
/// on threads of their own while the device computes. The threads begin with the first such step.
/// @thread all members from any thread.
class PlanAhead {
 public:
  using Shapes = std::vector<Shape>;
  /// @return null: there is no plan for such shapes.
  using Make = std::function<std::shared_ptr<const LaunchPlan>(const Shapes& shapes)>;
  /// @param make  Called on these threads; what it throws means that there is no plan.
  /// @param steps  How many plans are made at a time, each on its thread.
  PlanAhead(Make make, std::size_t steps) : make_(std::move(make)), steps_(steps) {}
  PlanAhead(const PlanAhead&) = delete;
  PlanAhead& operator=(const PlanAhead&) = delete;
  /// Waits for the plans that are being made.
  ~PlanAhead();

  /// The plan for these shapes, once. Where other shapes were expected, waits for what is being made, because it has what
  /// plans are made from. @return null: none was made for them. @errors kCancelled (CancellationScope).
  std::shared_ptr<const LaunchPlan> take(const Shapes& shapes);
  /// As take(), without a wait, and without an effect if there is no plan.
  std::shared_ptr<const LaunchPlan> take_made(const Shapes& shapes);
  /// Told in the order of inferences that a plan was made for these shapes.
  void follow(const Shapes& shapes);

 private:
  struct Expected {
    enum class State { kWanted, kMaking, kMade };
    Shapes shapes;
    State state = State::kWanted;
    std::shared_ptr<const LaunchPlan> plan;
  };
  using ExpectedRef = std::shared_ptr<Expected>;
  /// The shapes so many steps after `shapes`, if the last two steps are the same; none else.
  std::optional<Shapes> after(const Shapes& shapes, std::size_t steps) const;
  ExpectedRef find(const Shapes& shapes) const;
  bool is_any(Expected::State state) const;
  void run();

  const Make make_;
  const std::size_t steps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Shapes> last_;           ///< The two before the present ones, the older first.
  std::vector<ExpectedRef> expected_;  ///< The next one first.
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tenon::inline v1::gpu_device
