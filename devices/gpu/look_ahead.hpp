// SPDX-License-Identifier: Apache-2.0
// What a request will probably run next, made ready while the device computes.
#pragma once

#include <span>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/devices/gpu/deferred_model.hpp>
#include <tenon/devices/gpu/plan/execution.hpp>
#include <tenon/devices/gpu/request/binding.hpp>
#include <tenon/devices/gpu/request/states.hpp>
#include <tenon/devices/gpu/twin/twin.hpp>

namespace tenon::inline v1::gpu_device {

/// Extents of a request's inputs are expected to go on by the same steps, and its states to be what the running inference makes of them. The
/// next inference takes the same steps as ever, and finds its plan taken, its memory bound and its graph told.
/// @thread one at a time.
class LookAhead {
 public:
  /// What the request has, as the running inference leaves it.
  struct Ports {
    std::span<const Binding> inputs, outputs;
    std::span<State*const> state_inputs, state_outputs;
  };
  enum class Found { kReady, kNotYet, kNothing };

  /// Told in the order of inferences what they read. @param inputs  Those of the model.
  void note(std::span<const InputState> inputs);
  /// Whether extents of what was noted last went on by the same steps as before.
  bool goes_on() const noexcept { return goes_on_; }
  /// @param execution  That of the running inference. @return kNotYet: the plan is not made. @cost no allocation where the plan is known.
  /// @errors those of Execution::take().
  Found make_ready(DeferredModel& model, const Ports& ports, Execution& execution, TwinQueue& queue);

 private:
  Shape expected(std::size_t input) const;

  std::vector<Shape> now_, before_;
  bool goes_on_ = false;
  std::vector<InputState> inputs_;  ///< The next inference's.
  std::vector<BoundMemory> next_;   ///< One for each next value of a state.
};

}  // namespace tenon::inline v1::gpu_device
