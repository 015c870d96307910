// SPDX-License-Identifier: Apache-2.0
// Checks a node's inputs and attributes against its row of the operation table.
#pragma once

#include <string>

#include <tenon/graph/attributes.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/operation_table.hpp>

namespace tenon {
inline namespace v1 {

/// Converts the attribute to its row's kind and spelling. @errors kInvalidArgument: wrong kind, or not an allowed word.
Attribute checked_attribute(const AttributeSpec& spec, Attribute value);
/// All attributes of the row, in its order, with defaults. @errors kInvalidArgument: missing, unknown, or as above.
Attributes checked_attributes(const Operation& operation, const Attributes& given);
/// @errors kInvalidArgument: too few or too many, or one that is not connected.
void check_inputs(const Operation& operation, const OutputVector& inputs);

/// Rethrows an exception about a node with the node's name in front, unless it is there already.
[[noreturn]] void rethrow_naming(const std::string& subject);

}  // namespace v1
}  // namespace tenon
