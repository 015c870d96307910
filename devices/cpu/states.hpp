// SPDX-License-Identifier: Apache-2.0
// The variables of one request on the CPU: the same objects for its life, wherever the values lie at the moment.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/engine/engine.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::cpu_device {

/// A variable as the model declares it.
struct VariableInfo {
  std::string id;
  ElementType type;
  PartialShape shape;
  static std::vector<VariableInfo> of(const Model& model);
};

/// Values lie in the execution of the plan in use; a model of dynamic shapes changes plans, and may have none
/// (interpreted), so they are kept here in between.
class States {
 public:
  explicit States(const std::vector<VariableInfo>& infos);

  const std::vector<std::shared_ptr<VariableStateImpl>>& objects() const { return objects_; }
  /// Takes the values out of the execution that is about to go.
  void leave(engine::Execution* execution);
  /// Puts them into the one that takes over. @errors kFailedPrecondition: a value of a shape that its plan does not
  /// take; nothing has moved then, and no execution is in use.
  void enter(engine::Execution* execution);
  /// For the interpreter: values by id; missing ones are initialised by the run.
  VariableMap& loose() { return loose_; }

  Tensor value(std::size_t index) const;
  void set(std::size_t index, const Tensor& value);
  void reset(std::size_t index);

 private:
  /// The variable's number in the execution, which may order them in another way; -1 when it has it not.
  int slot(std::size_t index) const;

  std::vector<VariableInfo> infos_;
  std::vector<std::shared_ptr<VariableStateImpl>> objects_;
  engine::Execution* execution_ = nullptr;
  std::vector<std::string> names_;  ///< Of the execution's variables.
  VariableMap loose_;
};

}  // namespace tenon::inline v1::cpu_device
