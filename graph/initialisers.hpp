// SPDX-License-Identifier: Apache-2.0
// The initial values of a model's variables as a separate model, for devices that keep states outside the model.
#pragma once

#include <memory>
#include <string>

#include <tenon/core/export.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {

/// Makes a model of the variables' initialisers, to be run after a state was reset and before the model runs.
/// @param readers     ReadValue nodes with an input, one per variable.
/// @param parameters  Those of the model that contains the readers.
/// @return a copy that shares constants. Its parameters are all of `parameters`, in order. Each reader gives a result
///         named by the variable's id, with its type. @errors kUnimplemented: an initialiser that reads a variable.
TENON_API std::shared_ptr<Model> make_initialisers(const NodeVector& readers, const ParameterVector& parameters);

/// The variable id of a ReadValue or Assign.
inline const std::string& variable_id(const Node& node) { return node.get_attributes().get_string("variable_id"); }

}  // namespace v1
}  // namespace tenon
