// SPDX-License-Identifier: Apache-2.0
// The states of one request, and the model that is open for those which have a value.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/devices/gpu/compiled_model.hpp>
#include <tenon/devices/gpu/request/states.hpp>

namespace tenon::inline v1::gpu_device {

/// @thread one at a time.
class RequestStates {
 public:
  /// One state for each of the model's variables.
  explicit RequestStates(const CompiledModel& owner);

  std::span<const std::shared_ptr<State>> all() const { return all_; }
  /// @pre the model has a variable of this id.
  State* find(const std::string& id) const;
  /// The states that are inputs behind the model's own.
  std::span<State* const> inputs() const { return inputs_; }
  /// The states whose next values are results behind the model's own, or are assigned by plans.
  std::span<State* const> outputs() const { return outputs_; }

  /// Which states have a value decides what a model reads of them. @pre owner.is_open(). @cost none where they are as at the call before.
  /// @errors as compiling.
  void open(CompiledModel& owner);
  /// Whether states that have a value, and no others, had one at open().
  bool are_as_opened() const;
  /// @pre open().
  DeferredModel& model() const { return *opened_->model; }
  /// Next values become present ones, and the other way round.
  void turn() noexcept {
    for (State* state : outputs_) state->turn();
  }

 private:
  std::vector<std::shared_ptr<State>> all_;
  const CompiledModel::Opened* opened_ = nullptr;  ///< The open model for the states that have a value...
  std::vector<bool> opened_for_;                   ///< ...which these are.
  std::vector<State*> inputs_, outputs_;
};

}  // namespace tenon::inline v1::gpu_device
