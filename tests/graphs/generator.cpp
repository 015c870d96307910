// SPDX-License-Identifier: Apache-2.0
#include <tenon/tests/graphs/generator.hpp>

#include <tenon/graph/subgraph.hpp>
#include <tenon/tests/graphs/builder.hpp>

namespace tenon::graphs {
namespace {

std::string small_values(const Node& node) {
  const auto* constant = as_type<Constant>(&node);
  if (!constant || constant->get_tensor().element_count() > 8) return {};
  std::string text = " = {";
  for (const double value : constant->to_doubles()) text += (text.back() == '{' ? "" : ", ") + std::to_string(value);
  return text + "}";
}

}  // namespace

std::shared_ptr<Model> random_model(Choices& choices, const Wishes& wishes) {
  return Builder(choices, wishes, 0).whole();
}

std::string text_of(const Model& model, const std::string& indent) {
  std::string text;
  for (const auto& node : model.get_ordered_ops()) {
    text += indent + node->get_friendly_name() + " = " + node->get_type_name() + "(";
    for (std::size_t i = 0; i < node->get_input_size(); ++i) {
      const Out source = node->input_value(i);
      text += (i ? ", " : "") + source.get_node()->get_friendly_name();
      if (source.get_node()->get_output_size() > 1) text += "." + std::to_string(source.get_index());
    }
    text += ")";
    for (const auto& [name, value] : node->get_attributes())
      if (!as_type<Constant>(node.get())) text += " " + name + "=" + value.to_text();
    for (std::size_t i = 0; i < node->get_output_size(); ++i)
      text += " " + node->get_output_element_type(i).to_string() + node->get_output_partial_shape(i).to_string();
    text += small_values(*node) + "\n";
    if (const auto* outer = as_type<op::util::MultiSubGraphOp>(node.get()))
      for (const auto& body : outer->get_functions()) text += indent + "  body\n" + text_of(*body, indent + "    ");
  }
  return text;
}

}  // namespace tenon::graphs
