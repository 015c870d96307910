// SPDX-License-Identifier: Apache-2.0
// What a request keeps of each subgraph that it runs, and what it gives to the next one.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/deferred_model.hpp>
#include <tenon/devices/gpu/plan/execution.hpp>
#include <tenon/devices/gpu/request/binding.hpp>
#include <tenon/devices/gpu/request/states.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::gpu_device {

/// What runs one subgraph, and the values that it hands on.
struct Part {
  std::shared_ptr<const PlannedSubgraph> subgraph;
  std::unique_ptr<Execution> execution;
  std::vector<Tensor> made;  ///< One for each output of the plan; empty if the output is bound to one of the request's.
  std::vector<std::int32_t> counts;  ///< By output of the plan: the counts that were read, for those that hold one.
  std::vector<State*> states;        ///< One for each variable of the plan.
  std::vector<client::Handle<cl_event>> events;

  const LaunchPlan& plan() const { return *subgraph->plan; }
  /// Outputs after the model's results hold counts.
  bool has_counts() const { return plan().outputs.size() > plan().model->get_results().size(); }
  Shape shape_of(std::size_t output) const;
  /// As it lies there, with the extents that it has got.
  Tensor value(std::size_t output) const;
  /// Those of its kernels, in their order. @pre the queue has times, and the kernels are over.
  std::vector<std::chrono::nanoseconds> times() const;
};

/// Executions of plans that come again, as those of a few lengths in any order: nothing of them is told anew but what lies in the
/// request's own memory. They share the memory between kernels. Where extents go on by the same steps, as those of caches that are inputs,
/// plans take turns in one, which looks ahead (LookAhead).
/// @thread one at a time.
class KeptExecutions {
 public:
  KeptExecutions(std::shared_ptr<const Gpu> gpu, Twin* twin) : gpu_(std::move(gpu)), twin_(twin) {}
  /// What runs the plan. @param last  What ran before; null: nothing did. @param goes_on  See LookAhead::goes_on().
  /// @errors those of Execution::take().
  std::unique_ptr<Execution> change(std::unique_ptr<Execution> last, const std::shared_ptr<const LaunchPlan>& plan,
                                    bool goes_on = false);
  bool are_none() const noexcept { return all_.empty(); }

 private:
  static constexpr std::size_t kMost = 32;
  bool has_seen(const LaunchPlan& plan);

  const std::shared_ptr<const Gpu> gpu_;
  Twin* const twin_;
  std::vector<std::unique_ptr<Execution>> all_;  ///< Those of plans that came again; the one used last comes first.
  std::unique_ptr<Execution> spare_;             ///< For plans that are new.
  const Execution* own_ = nullptr;               ///< What change() gave last, if that is for a plan that came again.
  std::array<const LaunchPlan*, 128> seen_{};
  std::size_t next_seen_ = 0;
};

/// The profile of an inference that ran these parts. @pre as for Part::times().
std::vector<ProfilingInfo> profile_of(std::span<const Part> parts);

/// What a subgraph reads. @cost no allocation where as many inputs were there before.
struct Given {
  std::vector<InputState> inputs;
  std::vector<std::vector<BoundMemory>>
      memory;  ///< For each input: one for each item of a batch in several tensors, else one.

  void resize(std::size_t count) {
    inputs.resize(count);
    memory.resize(count);
  }
  void set(std::size_t index, const Binding& input);
  void set(std::size_t index, const Tensor& tensor);
  void set(std::size_t index, const Given& other, std::size_t at) {
    inputs[index] = other.inputs[at];
    memory[index] = other.memory[at];
  }
  void bind(Execution& execution) const;
  /// Memory that is held is not written by the next inference (State::next()).
  void let_go() noexcept {
    for (InputState& input : inputs) input.tensor = Tensor();
  }
};

}  // namespace tenon::inline v1::gpu_device
