// SPDX-License-Identifier: Apache-2.0
// Names of values within ONNX graphs, and attributes of functions.
#pragma once

#include <set>
#include <string>

#include <tenon_onnx_schema.pb.h>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace schema = ::tenon::onnx_schema;

/// Collects the names that a graph reads from enclosing graphs.
void find_free_names(const schema::GraphProto& graph, std::set<std::string>& free);
/// The names that a node reads through its subgraphs.
std::set<std::string> inner_names(const schema::NodeProto& node);
/// Attributes of the body's node, and of nodes in its subgraphs, may refer to the call's attributes, or to the function's defaults.
void substitute_attributes(schema::NodeProto& node, const schema::FunctionProto& function,
                           const schema::NodeProto& call);
/// Inputs of these names, also those of nodes in subgraphs, become absent.
void clear_inputs(google::protobuf::RepeatedPtrField<schema::NodeProto>& nodes, const std::set<std::string>& absent);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
