// SPDX-License-Identifier: Apache-2.0
// What a row of the operation table says of a node's inputs and attributes, checked.
#pragma once

#include <string>

#include <tenon/graph/operation_table.hpp>

namespace tenon {
inline namespace v1 {

/// The attribute in the kind and the spelling that its row has. @errors kInvalidArgument: another kind, or none of the allowed words.
Attribute checked_attribute(const AttributeSpec& spec, Attribute value);
/// All attributes of the row, in its order, defaults filled in. @errors kInvalidArgument: missing, unknown, or as above.
Attributes checked_attributes(const Operation& operation, const Attributes& given);
/// @errors kInvalidArgument: too few or too many, or one that is joined to nothing.
void check_inputs(const Operation& operation, const OutputVector& inputs);

/// Rethrows what was thrown about a node with the node's name in front, unless it is there.
[[noreturn]] void rethrow_naming(const std::string& subject);

}  // namespace v1
}  // namespace tenon
