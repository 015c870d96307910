// SPDX-License-Identifier: Apache-2.0
// Reader of OpenVINO IR, versions 10 and 11.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {

/// Reads an IR from memory. Constants are views of `weights` where they are aligned for their type: nothing is copied.
///
/// Run-time information: the model's is nested maps of text; a node's or port's attribute "layout" of version 0 is the
/// map rt_info["layout_0"]. Version 10 files carry no tensor names: inputs and outputs then get those of their layers.
/// @param xml      The text; need not outlive the call.
/// @param weights  u8; may be empty when no constant has bytes. Kept alive by the constants.
/// @param origin   Names the model in messages.
/// @errors kInvalidArgument: not an IR, malformed, cyclic, unconnected; kDataLoss: constants past the end of the
///         weights; kUnimplemented: operations that are missing, all of them with node and operation set.
TENON_API std::shared_ptr<Model> read_ir(std::string_view xml, const Tensor& weights,
                                         const std::string& origin = "the IR");

/// Asked with each <attribute> in the rt_info of a Constant: its XML attributes as text, "name" among them.
/// @return the constant's bytes (u8, of its size), or an empty tensor: this attribute does not say where they are.
using ConstantBytes = std::function<Tensor(const std::map<std::string, std::string, std::less<>>& attribute)>;

/// As above, for IRs some of whose constants lie elsewhere than in `weights`.
TENON_API std::shared_ptr<Model> read_ir(std::string_view xml, const Tensor& weights, const std::string& origin,
                                         const ConstantBytes& elsewhere);

}  // namespace v1
}  // namespace tenon
