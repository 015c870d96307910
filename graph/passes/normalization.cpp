// SPDX-License-Identifier: Apache-2.0
// Fuses layer normalization written with means to MVN.
#include <cmath>
#include <optional>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/passes/internal/pass.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

namespace {
std::optional<double> number(const Node& node, std::size_t index) {
  double value = 0;
  if (index >= node.get_input_size() || !scalar_input(node, index, value)) return std::nullopt;
  return value;
}
bool is_number(const Node& node, std::size_t index, double wanted) {
  const auto value = number(node, index);
  return value && std::abs(*value - wanted) <= 1e-6;
}

/// Whether the node squares its input: a Power with exponent 2, or an equivalent.
bool is_square(const Node* node) {
  if (is_op(node, "Power")) return is_number(*node, 1, 2);
  return is_op(node, "Multiply") && node->input_value(0) == node->input_value(1);
}

/// The constant axes of a mean that keeps its axes.
std::vector<std::int64_t> mean_axes(const Node* node) {
  if (!is_op(node, "ReduceMean") || !node->get_attributes().get_bool("keep_dims", false)) return {};
  const auto axes = constant_input(*node, 1);
  return axes ? axes->to_integers() : std::vector<std::int64_t>();
}

/// Whether the node is x - mean(x) over `axes`.
bool is_centred(const Node* node, const Output<Node>& x, const std::vector<std::int64_t>& axes) {
  return is_op(node, "Subtract") && node->input_value(0) == x && mean_axes(node->get_input_node_ptr(1)) == axes &&
         node->get_input_node_ptr(1)->input_value(0) == x;
}

struct Deviation {
  const Node* variance = nullptr;
  double epsilon = 0;
};
/// Matches sqrt(variance + epsilon), as Sqrt or as a power; `inverse`: one over it.
std::optional<Deviation> match_deviation(const Node* node, bool inverse) {
  if (inverse && is_op(node, "Divide") && is_number(*node, 0, 1))
    return match_deviation(node->get_input_node_ptr(1), false);
  const bool power = is_op(node, "Power") && is_number(*node, 1, inverse ? -0.5 : 0.5);
  if (!power && (inverse || !is_op(node, "Sqrt"))) return std::nullopt;
  const Node* sum = node->get_input_node_ptr(0);
  if (!is_op(sum, "Add")) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i)
    if (const auto epsilon = number(*sum, i)) return Deviation{sum->get_input_node_ptr(1 - i), *epsilon};
  return std::nullopt;
}

bool fuse_one_layer_norm(const std::shared_ptr<Node>& node) {
  const bool product = is_op(node, "Multiply");
  if (!product && !is_op(node, "Divide")) return false;
  for (std::size_t i = 0; i < (product ? 2u : 1u); ++i) {
    const Node* centred = node->get_input_node_ptr(i);
    if (!is_op(centred, "Subtract")) continue;
    const auto deviation = match_deviation(node->get_input_node_ptr(1 - i), product);
    if (!deviation) continue;
    const Output<Node> x = centred->input_value(0);
    const auto axes = mean_axes(deviation->variance);
    if (axes.empty() || !is_centred(centred, x, axes)) continue;
    const Node* square = deviation->variance->get_input_node_ptr(0);
    // Exporters sometimes write the difference twice.
    if (!is_square(square) || !is_centred(square->get_input_node_ptr(0), x, axes)) continue;
    const auto mvn = make_node("MVN", 6, {x, deviation->variance->input_value(1)},
                               {{"normalize_variance", true}, {"eps", deviation->epsilon}, {"eps_mode", "INSIDE_SQRT"}},
                               node->get_friendly_name());
    // Run-time information of the parts (such as required precision) applies to the whole.
    const Node* root = node->get_input_node_ptr(1 - i);
    for (const Node* part : {deviation->variance, square, centred, root})
      mvn->get_rt_info().insert(part->get_rt_info().begin(), part->get_rt_info().end());
    replace_node(node, mvn->output(0));
    return true;
  }
  return false;
}
}  // namespace

Pass fuse_layer_norm() { return for_each_node("fuse_layer_norm", fuse_one_layer_norm); }

}  // namespace pass
}  // namespace v1
}  // namespace tenon
