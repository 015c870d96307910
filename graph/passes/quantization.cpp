// SPDX-License-Identifier: Apache-2.0
// Fuses QuantizeLinear and DequantizeLinear, as readers expand them, to one FakeQuantize.
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

namespace {
/// A single value of any rank, also behind Convert and Reshape of a constant.
std::optional<double> number(Node* node) {
  // Only a few steps, as readers write them: with many readers, a long chain must not be followed each time.
  for (int i = 0; i < 4 && (is_op(node, "Convert") || is_op(node, "Reshape")); ++i) node = node->get_input_node_ptr(0);
  const auto* constant = as_type<op::v0::Constant>(node);
  if (!constant || constant->get_tensor().element_count() != 1) return std::nullopt;
  return constant->to_doubles()[0];
}

struct Quantized {
  Output<Node> source;
  double scale = 1, zero_point = 0, low = 0, high = 255;
};

/// Convert(Clamp(Round(x / scale) [+ zero point])) to an integer type.
std::optional<Quantized> match_quantize(Node* node) {
  if (!is_op(node, "Convert") || !is_op(node->get_input_node_ptr(0), "Clamp")) return std::nullopt;
  Node* clamp = node->get_input_node_ptr(0);
  Quantized found;
  found.low = clamp->get_attributes().get_double("min");
  found.high = clamp->get_attributes().get_double("max");
  Node* rounded = clamp->get_input_node_ptr(0);
  if (is_op(rounded, "Add")) {
    const auto zero_point = number(rounded->get_input_node_ptr(1));
    if (!zero_point) return std::nullopt;
    found.zero_point = *zero_point;
    rounded = rounded->get_input_node_ptr(0);
  }
  if (!is_op(rounded, "Round") || rounded->get_attributes().get_string("mode") != "half_to_even") return std::nullopt;
  Node* divided = rounded->get_input_node_ptr(0);
  if (!is_op(divided, "Divide")) return std::nullopt;
  const auto scale = number(divided->get_input_node_ptr(1));
  if (!scale || !(*scale > 0)) return std::nullopt;
  found.scale = *scale;
  found.source = divided->input_value(0);
  return found;
}

/// Matches (Convert(q) [- zero point]) * scale; returns q's node if `quantized` made it with the same numbers.
Node* match_dequantize(const std::shared_ptr<Node>& node, double& scale, double& zero_point) {
  if (!is_op(node, "Multiply")) return nullptr;
  const auto factor = number(node->get_input_node_ptr(1));
  if (!factor) return nullptr;
  scale = *factor;
  zero_point = 0;
  Node* centred = node->get_input_node_ptr(0);
  if (is_op(centred, "Subtract")) {
    const auto shift = number(centred->get_input_node_ptr(1));
    if (!shift) return nullptr;
    zero_point = *shift;
    centred = centred->get_input_node_ptr(0);
  }
  return is_op(centred, "Convert") ? centred->get_input_node_ptr(0) : nullptr;
}

bool fuse(Model& model) {
  std::map<const Node*, std::shared_ptr<Node>> made;  // One node for all readers that dequantise the same values.
  bool changed = false;
  for (const auto& node : model.get_ordered_ops()) {
    double scale = 0, zero_point = 0;
    Node* quantize = match_dequantize(node, scale, zero_point);
    if (!quantize || node->get_output_element_type(0) != element::f32) continue;
    const auto found = match_quantize(quantize);
    if (!found || found->scale != scale || found->zero_point != zero_point) continue;
    if (!(found->source.get_partial_shape() == node->get_output_partial_shape(0))) continue;
    // The limits are f32: a mask of the type's least number has a range that rounding may take beyond them.
    const double range = (found->high - found->low) * scale;
    if (range > std::numeric_limits<float>::max() || range < std::numeric_limits<float>::min()) continue;
    auto& fake = made[quantize];
    if (!fake) {
      const auto limit = [&](double q) {
        return std::make_shared<op::v0::Constant>(element::f32, Shape{}, std::vector<double>{(q - zero_point) * scale});
      };
      const auto low = limit(found->low), high = limit(found->high);
      const auto levels = static_cast<std::int64_t>(found->high - found->low) + 1;
      fake = make_node("FakeQuantize", 1, {found->source, low, high, low, high},
                       {{"levels", levels}, {"auto_broadcast", "numpy"}}, node->get_friendly_name());
    }
    replace_node(node, fake->output(0));
    changed = true;
  }
  return changed;
}
}  // namespace

Pass fuse_quantize_dequantize() { return {"fuse_quantize_dequantize", fuse}; }

}  // namespace pass
}  // namespace v1
}  // namespace tenon
