// SPDX-License-Identifier: Apache-2.0
// Their rows of the operation table, which only this device's plans see.
#include <tenon/devices/gpu/lower/build/cache_rows.hpp>

#include <memory>
#include <utility>

#include <tenon/graph/operation_table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

PartialShape with_columns(const Node& node, std::size_t columns) {
  PartialShape shape = node.get_input_partial_shape(0);
  if (shape.rank().is_static()) shape[shape.size() - 1] = static_cast<std::int64_t>(columns);
  return shape;
}
std::size_t columns_of(const Node& node) { return static_cast<std::size_t>(node.get_attributes().get_int("columns")); }

const Operation& own_operation(std::string type, void (*infer)(Node& node)) {
  auto* const made = new Operation;  // Rows live as long as the process.
  made->type = std::move(type);
  made->version = "tenon";
  made->type_info = {made->type, made->version};
  made->min_inputs = made->max_inputs = 1;
  made->attributes = {{"columns", AttributeKind::kInt, true, std::int64_t{0}, {}}};
  made->infer = infer;
  return *made;
}

const Operation& narrowing() {
  static const Operation& row = own_operation("NarrowRows", [](Node& node) {
    node.set_output_type(0, element::i32, with_columns(node, row_words(columns_of(node))));
  });
  return row;
}
const Operation& widening() {
  static const Operation& row = own_operation(
      "WidenRows", [](Node& node) { node.set_output_type(0, element::f32, with_columns(node, columns_of(node))); });
  return row;
}

Output<Node> made_by(const Operation& operation, const Output<Node>& source, std::size_t columns) {
  const auto node = std::make_shared<Node>(operation, OutputVector{source},
                                           Attributes{{"columns", static_cast<std::int64_t>(columns)}});
  node->set_friendly_name(source.get_node()->get_friendly_name() + "/" + operation.type);
  return node->output(0);
}

}  // namespace

Output<Node> narrowed(const Output<Node>& rows, ElementType type, std::size_t columns) {
  if (type == ElementType::kU8) return made_by(narrowing(), rows, columns);
  return make_node("Convert", 0, {rows}, {{"destination_type", element::Type(type)}})->output(0);
}

Output<Node> widened(const Output<Node>& lying, std::size_t columns) { return made_by(widening(), lying, columns); }

Output<Node> lying_of(const Output<Node>& rows) {
  return is_op(rows.get_node(), "WidenRows") ? rows.get_node()->input_value(0) : Output<Node>();
}

}  // namespace tenon::inline v1::gpu_device
