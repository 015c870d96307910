// SPDX-License-Identifier: Apache-2.0
// Text forms shared by the IR's reader and writer: type names, shapes, lists of names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon {
inline namespace v1 {
namespace ir {

/// The reverse of operation_from_layer.
std::string layer_from_operation(std::string_view operation);

/// The precision of a port: "FP32", "I64", "BOOL".
std::string precision_name(ElementType type);

/// "1,3,?,2..8", "1, -1" or "..." . @errors kInvalidArgument.
PartialShape shape_from_text(std::string_view text);
/// "1,3,?,2..8"; "..." for a dynamic rank.
std::string shape_to_text(const PartialShape& shape);

/// Names joined by commas; a comma within a name is written "\,".
std::vector<std::string> split_names(std::string_view text);
std::string join_names(const std::vector<std::string>& names);

}  // namespace ir
}  // namespace v1
}  // namespace tenon
