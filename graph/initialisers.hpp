// SPDX-License-Identifier: Apache-2.0
// What a model's variables start from, as a model of its own: for devices that keep states outside the model.
#pragma once

#include <memory>

#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {

/// The initialisers of variables: computed when a state was reset, before the model runs.
/// @param readers     ReadValue nodes with an input, one per variable.
/// @param parameters  Of the model that they are in.
/// @return a copy that shares constants: its parameters are all of `parameters`, in order; a result per reader, named
///         by the variable's id and of its type. @errors kUnimplemented: an initialiser that reads a variable.
TENON_API std::shared_ptr<Model> make_initialisers(const NodeVector& readers, const ParameterVector& parameters);

/// A variable's id: of a ReadValue or Assign.
inline const std::string& variable_id(const Node& node) { return node.get_attributes().get_string("variable_id"); }

}  // namespace v1
}  // namespace tenon
