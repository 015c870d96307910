// SPDX-License-Identifier: Apache-2.0
// Reader of OpenVINO IR, versions 10 and 11.
#pragma once

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
/// weights;
///         kUnimplemented: operations that are missing, all of them with node and operation set.
TENON_API std::shared_ptr<Model> read_ir(std::string_view xml, const Tensor& weights,
                                         const std::string& origin = "the IR");

}  // namespace v1
}  // namespace tenon
