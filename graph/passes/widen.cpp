// SPDX-License-Identifier: Apache-2.0
// Computes f16 and bf16 values in f32.
#include <map>
#include <string_view>

#include <tenon/graph/passes/pass.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

namespace {
bool is_narrow(element::Type type) { return type == element::f16 || type == element::bf16; }

/// Externally visible values keep their type: the model's outputs, and states.
bool keeps_type(const Node& node) {
  return is_op(&node, "Result") || is_op(&node, "Assign") || is_op(&node, "ReadValue");
}

/// What looks at the bits of a value needs its type.
bool reads_bits(const Node& node) { return is_op(&node, "BitCast"); }

bool has_narrow(const Model& model) {
  bool found = false;
  for_each_node(model, [&](const auto& node) {
    for (std::size_t i = 0; i < node->get_output_size() && !found; ++i)
      found = is_narrow(node->get_output_element_type(i));
  });
  return found;
}

class Widening {
 public:
  /// The parameters of a body were already widened by the node that feeds them.
  Widening(Model& model, bool is_body) : order_(model.get_ordered_ops()), is_body_(is_body), changed_(is_body) {}

  bool run() {
    std::map<const Node*, element::Type> declared;
    for (const auto& node : order_)
      if ((keeps_type(*node) || reads_bits(*node)) && node->get_input_size() > 0)
        declared[node.get()] = node->get_input_element_type(0);
    for (const auto& node : order_) {
      const auto wanted = declared.find(node.get());
      if (reads_bits(*node))
        narrow_input(*node, wanted->second);
      else if (wanted != declared.end() && !(is_body_ && is_op(node, "Result")))
        keep_type(*node, wanted->second);
      else if (wanted != declared.end() || !(is_op(node, "Convert") || is_op(node, "ShapeOf")))
        widen_inputs(*node);
      // The output's type may have changed even if the node's own inputs have not.
      if (changed_) node->validate_and_infer_types();
    }
    return changed_;
  }

 private:
  void keep_type(Node& node, element::Type type) {
    const Output<Node> source = node.input_value(0);
    if (source.get_element_type() == type) return;
    const auto narrow = make_node("Convert", 1, {source}, {{"destination_type", ElementType(type)}});
    // Outputs are identified by the names of the tensor that they read.
    narrow->output(0).set_names(source.get_names());
    source.get_node()->output(source.get_index()).set_names({});
    replace(node, 0, narrow->output(0));
  }

  void narrow_input(Node& node, element::Type type) {
    if (node.get_input_element_type(0) != type)
      replace(node, 0,
              make_node("Convert", 1, {node.input_value(0)}, {{"destination_type", ElementType(type)}})->output(0));
  }

  void widen_inputs(Node& node) {
    for (std::size_t i = 0; i < node.get_input_size(); ++i)
      if (is_narrow(node.get_input_element_type(i))) replace(node, i, widened(node.input_value(i)));
    const auto* outer = as_type<op::util::MultiSubGraphOp>(&node);
    if (!outer) return;
    for (const auto& body : outer->get_functions()) {
      if (!has_narrow(*body)) continue;
      for (const auto& parameter : body->get_parameters())
        if (is_narrow(parameter->get_element_type())) parameter->set_element_type(element::f32);
      Widening(*body, true).run();
      changed_ = true;
    }
  }

  void replace(Node& node, std::size_t index, const Output<Node>& source) {
    node.input(index).replace_source_output(source);
    changed_ = true;
  }

  /// The value in f32. Within arithmetic, a conversion to a narrow type only selects the compute type, so its rounding
  /// is dropped. If only conversions and outputs read it, the rounding was intended and is kept.
  Output<Node> widened(const Output<Node>& value) {
    const element::Type type = value.get_element_type();
    if (type == element::f32) return value;
    if (is_narrow(type) && is_op(value.get_node(), "Convert")) return widened(value.get_node()->input_value(0));
    auto& made = made_[{value.get_node(), value.get_index()}];
    if (!made) {
      made = make_node("Convert", 1, {value}, {{"destination_type", element::f32}});
      made->set_friendly_name(value.get_node()->get_friendly_name() + "/f32");
      if (as_type<op::v0::Constant>(value.get_node())) made->get_rt_info()["decompression"] = true;
    }
    return made->output(0);
  }

  NodeVector order_;
  bool is_body_;
  bool changed_;
  std::map<std::pair<const Node*, std::size_t>, std::shared_ptr<Node>> made_;
};

bool widen(Model& model) { return has_narrow(model) && Widening(model, false).run(); }
}  // namespace

Pass widen_reals() { return {"widen_reals", widen}; }

}  // namespace pass
}  // namespace v1
}  // namespace tenon
