// SPDX-License-Identifier: Apache-2.0
// Nodes that read values whose number of axes is known only when the model runs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

/// A value of an enclosing graph within a body: a constant if it is known, else a parameter.
Out captured(const Out& outer, const std::string& name, Body& body);

/// Converts a node once for each rank that its first input of unknown rank can have, and makes If nodes, which choose when the model runs.
/// The ranks are those that the branches of an If give, followed through the nodes behind it, or 0 to 6.
/// @param inputs  Tensors, or null.
/// @param convert  Converts the node for inputs of which that one has a rank. A rank for which it throws is left out.
/// @return Nothing if no input lacks a rank, or none of the ranks fits.
std::optional<OutputVector> converted_by_rank(const OutputVector& inputs,
                                              const std::function<OutputVector(const OutputVector&)>& convert);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
