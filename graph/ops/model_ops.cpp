// SPDX-License-Identifier: Apache-2.0
// Rows of the operations that hold a model together: inputs, outputs, constants, state.
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
void infer_parameter(Node& node) {
  node.set_output_type(0, node.get_attributes().get_type("element_type"), node.get_attributes().get_shape("shape"));
}

void infer_read_value_6(Node& node) {
  const Attributes& attributes = node.get_attributes();
  PartialShape shape = attributes.get_shape("variable_shape");
  const element::Type type = attributes.get_type("variable_type");
  if (node.get_input_size() > 0) {
    const element::Type initial = node.get_input_element_type(0);
    if (!initial.is_dynamic() && !type.is_dynamic() && !(initial == type)) {
      fail("the initial value is " + initial.to_string() + ", the variable " + type.to_string());
    }
    if (!shape.compatible(node.get_input_partial_shape(0))) {
      fail("the initial value's shape " + node.get_input_partial_shape(0).to_string() +
           " does not fit the variable's " + shape.to_string());
    }
  }
  node.set_output_type(0, type.is_dynamic() && node.get_input_size() > 0 ? node.get_input_element_type(0) : type,
                       shape);
}
}  // namespace

void add_model_rows(OperationTable& table) {
  table.add("Parameter", 1, 0, 0, infer_parameter, nullptr, "An input of the model.")
      .type("element_type")
      .shape("shape");
  table.add("Result", 1, 1, 1, nullptr, nullptr, "An output of the model.");
  table.add("Constant", 1, 0, 0, nullptr, nullptr, "A value known when the model is made.");
  table.add("ReadValue", 3, 1, 1, infer_same, nullptr, "The state of a variable; its input is the initial value.")
      .text("variable_id");
  table
      .add("ReadValue", 6, 0, 1, infer_read_value_6, nullptr,
           "The state of a variable; an input gives its initial value.")
      .text("variable_id")
      .type("variable_type", ElementType::kUndefined)
      .shape("variable_shape", PartialShape::dynamic());
  table.add("Assign", 3, 1, 1, infer_same, nullptr, "Keeps its input as the variable's state.").text("variable_id");
  table.add("Assign", 6, 1, 1, infer_same, nullptr, "Keeps its input as the variable's state.")
      .text("variable_id")
      .type("variable_type", ElementType::kUndefined)
      .shape("variable_shape", PartialShape::dynamic());
}

}  // namespace v1
}  // namespace tenon
