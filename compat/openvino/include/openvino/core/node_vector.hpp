// SPDX-License-Identifier: Apache-2.0
// Lists of nodes and of outputs.
#pragma once

#include <memory>
#include <vector>

#include "openvino/core/node_output.hpp"

namespace ov {
namespace op {
class Sink;
namespace v0 {
class Parameter;
class Result;
}  // namespace v0
}  // namespace op

using NodeVector = std::vector<std::shared_ptr<Node>>;
using OutputVector = std::vector<Output<Node>>;
using ParameterVector = std::vector<std::shared_ptr<op::v0::Parameter>>;
using ResultVector = std::vector<std::shared_ptr<op::v0::Result>>;
using SinkVector = std::vector<std::shared_ptr<op::Sink>>;

/// All outputs of the nodes.
OPENVINO_API OutputVector as_output_vector(const NodeVector& args);
/// The node of each output.
OPENVINO_API NodeVector as_node_vector(const OutputVector& values);
/// A Result for each output that is not one's.
OPENVINO_API ResultVector as_result_vector(const OutputVector& values);

}  // namespace ov
