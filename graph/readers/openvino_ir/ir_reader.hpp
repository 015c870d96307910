// SPDX-License-Identifier: Apache-2.0
// The reader of OpenVINO IR, versions 10 and 11.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {

/// Reads an IR from memory. Constants that are aligned for their type are views of `weights`; only others are copied.
///
/// Run-time information: the model's is nested maps of text; attribute "layout", version 0, of a node or port becomes
/// the map rt_info["layout_0"]. Version 10 has no tensor names: inputs and outputs get the names of their layers.
/// @param xml      The text; need not outlive the call.
/// @param weights  u8; may be empty if no constant has bytes. Kept alive by the constants.
/// @param origin   Names the model in messages.
/// @errors kInvalidArgument: not an IR, malformed, cyclic, unconnected; kDataLoss: constants past the end of the
///         weights; kUnimplemented: missing operations (lists all with node and operation set).
TENON_API std::shared_ptr<Model> read_ir(std::string_view xml, const Tensor& weights,
                                         const std::string& origin = "the IR");

/// Called for each "attribute" in a Constant's rt_info, with its XML attributes as text, including "name".
/// @return the constant's bytes (u8, of its size), or an empty tensor if this attribute does not locate them.
using ConstantBytes = std::function<Tensor(const std::map<std::string, std::string, std::less<>>& attribute)>;

/// As above, for IRs with constants that lie outside of `weights`.
TENON_API std::shared_ptr<Model> read_ir(std::string_view xml, const Tensor& weights, const std::string& origin,
                                         const ConstantBytes& elsewhere);

namespace ir {

/// The operation's name in the operation table, for layer types that IR names differently: "Const" is Constant.
TENON_API std::string operation_from_layer(std::string_view layer_type);

}  // namespace ir

}  // namespace v1
}  // namespace tenon
