// SPDX-License-Identifier: Apache-2.0
// Inputs of an ONNX graph as inputs of a model, which are tensors.
#pragma once

#include <string>
#include <unordered_map>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>
#include <tenon/graph/readers/onnx/onnx_options.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

using Values = std::unordered_map<std::string, Out>;

/// The value of one input, whose parameters are added: one, or those of a sequence's elements.
/// @errors kUnimplemented: neither a tensor nor a sequence of a stated length; names `what`.
Out read_input(const schema::ValueInfoProto& input, const OnnxOptions& options, const std::string& what,
               ParameterVector& parameters);
/// @errors kInvalidArgument: the options name what is no such value; names `origin`.
void check_options(const OnnxOptions& options, const Values& inputs, const std::string& origin);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
