// SPDX-License-Identifier: Apache-2.0
// Names of values within ONNX graphs, and attributes of functions.
#include <tenon/graph/readers/onnx/internal/names.hpp>

#include <unordered_set>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

void find_free_names(const schema::GraphProto& graph, std::set<std::string>& free) {
  std::unordered_set<std::string> own;
  for (const auto& input : graph.input()) own.insert(input.name());
  for (const auto& initializer : graph.initializer()) own.insert(initializer.name());
  for (const auto& node : graph.node()) own.insert(node.output().begin(), node.output().end());
  const auto read = [&](const std::string& name) {
    if (!name.empty() && !own.count(name)) free.insert(name);
  };
  for (const auto& node : graph.node()) {
    for (const auto& name : node.input()) read(name);
    std::set<std::string> inner;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) find_free_names(attribute.g(), inner);
    }
    for (const auto& name : inner) read(name);
  }
  for (const auto& output : graph.output()) read(output.name());
}

std::set<std::string> inner_names(const schema::NodeProto& node) {
  std::set<std::string> names;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) find_free_names(attribute.g(), names);
  }
  return names;
}

void substitute_attributes(schema::NodeProto& node, const schema::FunctionProto& function,
                           const schema::NodeProto& call) {
  auto& attributes = *node.mutable_attribute();
  for (int i = attributes.size(); i-- > 0;) {
    const std::string reference = attributes[i].ref_attr_name();
    if (attributes[i].has_g())
      for (auto& inner : *attributes[i].mutable_g()->mutable_node()) substitute_attributes(inner, function, call);
    if (reference.empty()) continue;
    const schema::AttributeProto* value = nullptr;
    for (const auto& candidate : function.attribute_proto()) {
      if (candidate.name() == reference) value = &candidate;
    }
    for (const auto& candidate : call.attribute()) {
      if (candidate.name() == reference) value = &candidate;
    }
    if (!value) {
      attributes.DeleteSubrange(i, 1);
      continue;
    }
    const std::string name = attributes[i].name();
    attributes[i] = *value;
    attributes[i].set_name(name);
  }
}

void clear_inputs(google::protobuf::RepeatedPtrField<schema::NodeProto>& nodes, const std::set<std::string>& absent) {
  for (auto& node : nodes) {
    for (auto& name : *node.mutable_input())
      if (absent.count(name)) name.clear();
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) clear_inputs(*attribute.mutable_g()->mutable_node(), absent);
  }
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
