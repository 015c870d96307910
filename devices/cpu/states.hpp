// SPDX-License-Identifier: Apache-2.0
// The variables of one request on the CPU: the same objects for its lifetime, wherever their values are stored.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/staged.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::cpu_device {

/// A variable as the model declares it.
struct VariableInfo {
  std::string id;
  ElementType type;
  PartialShape shape;
  static std::vector<VariableInfo> of(const Model& model);
};

/// Values are stored in the execution of a static plan; those of a model with dynamic shapes are stored here.
class States {
 public:
  /// @param execution  Execution of the static plan; null if shapes are dynamic: then `staged` runs. Both must outlive
  /// this.
  States(const std::vector<VariableInfo>& infos, engine::Execution* execution, const engine::Staged* staged);

  const std::vector<std::shared_ptr<VariableStateImpl>>& objects() const { return objects_; }
  /// Values by id; a run initialises missing ones.
  VariableMap& loose() { return loose_; }

  Tensor value(std::size_t index);
  void set(std::size_t index, const Tensor& value);
  void reset(std::size_t index);

 private:
  /// The variable's index in the execution, which may order them differently; -1 if it has none.
  int slot(std::size_t index) const;

  std::vector<VariableInfo> infos_;
  std::vector<std::shared_ptr<VariableStateImpl>> objects_;
  engine::Execution* const execution_;
  const engine::Staged* const staged_;
  std::vector<std::string> names_;  ///< Names of the execution's variables.
  VariableMap loose_;
};

}  // namespace tenon::inline v1::cpu_device
