// SPDX-License-Identifier: Apache-2.0
// What operations with a state have in common.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "openvino/core/core_visibility.hpp"
#include "openvino/op/util/variable.hpp"

namespace ov {
namespace op {
namespace util {

class OPENVINO_API VariableExtension {
 public:
  /// A variable of a model that was read is made of its node's attributes. Model::get_variables() makes one variable of all nodes with the same name.
  virtual std::shared_ptr<Variable> get_variable() const;
  /// The node's attributes become the variable's. @errors Exception: null.
  virtual void set_variable(const std::shared_ptr<Variable>& variable);
  virtual std::string get_variable_id() const;
  virtual void set_variable_id(const std::string& variable_id);

 protected:
  explicit VariableExtension(std::shared_ptr<Variable> variable = {}) : m_variable(std::move(variable)) {}
  virtual ~VariableExtension();
  mutable std::shared_ptr<Variable> m_variable;
};

}  // namespace util
}  // namespace op
}  // namespace ov
