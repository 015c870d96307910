// SPDX-License-Identifier: Apache-2.0
// Rounding by conversions: to f16 and back. Numbers of 8 bits stay between the layers that would have them on silicon.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/numerics.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/planning/quantization.hpp>

namespace tenon::npu::compiler {
namespace {

bool is_one_of(const Node& node, std::initializer_list<const char*> types) {
  return std::any_of(types.begin(), types.end(), [&](const char* type) { return is_op(&node, type); });
}

/// Nodes whose values are no result of an operation, or have been rounded already.
bool is_exempt(const Node& node) { return is_one_of(node, {"Result", "Assign", "ReadValue", "Convert"}); }

const op::v0::Constant* constant_at(const Node& node, std::size_t input) {
  return as_type<op::v0::Constant>(node.get_input_node_ptr(input));
}

/// The ranges of a FakeQuantize; empty if they are computed.
struct Ranges {
  std::vector<float> low, high;  ///< What its input is clamped to.
  bool is_same_outside = false;  ///< Its output has the same.
};
Ranges ranges_of(const Node& node) {
  Ranges ranges;
  const op::v0::Constant* limits[4];
  for (std::size_t i = 0; i < 4; ++i)
    if (!(limits[i] = constant_at(node, i + 1))) return {};
  ranges.low = limits[0]->cast_vector<float>();
  ranges.high = limits[1]->cast_vector<float>();
  if (ranges.low.size() != ranges.high.size()) return {};
  ranges.is_same_outside =
      limits[2]->cast_vector<float>() == ranges.low && limits[3]->cast_vector<float>() == ranges.high;
  return ranges;
}

/// Whether silicon has this FakeQuantize's result as integers of up to 8 bits: zero must be within each range.
/// @source Intel's open NPU compiler: ranges without zero stay real.
bool makes_integers(const Node& node) {
  if (!is_op(&node, "FakeQuantize")) return false;
  const std::int64_t levels = node.get_attributes().get_int("levels");
  if (levels != 256 && levels != 255 && levels != 16 && levels != 15) return false;
  const Ranges ranges = ranges_of(node);
  for (std::size_t i = 0; i < ranges.low.size(); ++i)
    if (!(ranges.low[i] <= 0 && ranges.high[i] >= 0 && ranges.low[i] < ranges.high[i])) return false;
  return !ranges.low.empty();
}

/// Whether the node belongs to (Convert(integers) - zero point) * scale, where the integers are a constant or what a FakeQuantize rounded.
bool makes_integers_real(const Node& node) {
  const Node* each = &node;
  if (is_op(each, "Convert") && each->get_input_element_type(0).is_real() && each->get_element_type().is_real())
    each = each->get_input_node_ptr(0);
  if (is_op(each, "Multiply")) each = each->get_input_node_ptr(0);
  if (is_op(each, "Subtract")) each = each->get_input_node_ptr(0);
  if (!is_op(each, "Convert") || each->get_input_element_type(0).is_real() ||
      bit_width(each->get_input_element_type(0)) > 8)
    return false;
  const Node* integers = each->get_input_node_ptr(0);
  return is_op(integers, "Constant") ||
         (is_op(integers, "Convert") && is_op(integers->get_input_node_ptr(0), "FakeQuantize"));
}

/// Whether the node only moves numbers, or chooses among them.
bool keeps_numbers(const Node& node) { return planning::keeps_numbers(node) && !is_op(&node, "Interpolate"); }

/// Whether silicon has the value as integers.
bool is_integer(const Output<Node>& value) {
  const Node& node = *value.get_node();
  if (keeps_numbers(node)) return is_integer(node.input_value(0));
  return makes_integers(node) || makes_integers_real(node);
}

/// A product of integers: it sums in 32 bits.
bool multiplies_integers(const Node& node) {
  return is_one_of(node, {"MatMul", "Convolution", "GroupConvolution", "ConvolutionBackpropData",
                          "GroupConvolutionBackpropData"}) &&
         is_integer(node.input_value(0)) && is_integer(node.input_value(1));
}

/// Whether what the node computes on sums is done before they are rounded.
bool works_on_sums(const Node& node) {
  if (is_op(&node, "Add")) return constant_at(node, 0) || constant_at(node, 1);
  return is_one_of(node, {"Relu", "PRelu", "Clamp"});
}

/// Nodes whose results are sums, or what is computed on them before they are rounded.
std::unordered_set<const Node*> sums_of(const NodeVector& nodes) {
  std::unordered_set<const Node*> sums;
  for (const auto& product : nodes) {
    if (!multiplies_integers(*product)) continue;
    for (const Node* node = product.get();;) {
      const auto readers = node->output(0).get_target_inputs();
      if (readers.size() != 1) break;
      const Input<Node> reader = *readers.begin();
      const bool is_rounded = makes_integers(*reader.get_node()) && reader.get_index() == 0;
      if (!is_rounded && !works_on_sums(*reader.get_node())) break;
      sums.insert(node);
      if (is_rounded) break;
      node = reader.get_node();
    }
  }
  return sums;
}

/// Whether silicon passes the value to this reader without rounding it to f16.
bool passes_exactly(const Output<Node>& value, const Input<Node>& reader, const std::unordered_set<const Node*>& sums) {
  const Node& node = *reader.get_node();
  const bool is_constant = is_op(value.get_node(), "Constant");
  if (sums.count(value.get_node())) return true;
  // Scales, limits, weights that are rounded to 8 bits, and what is added to sums, are numbers of the compiler.
  if (is_op(&node, "FakeQuantize"))
    return reader.get_index() > 0 || (is_constant && makes_integers(node)) || is_integer(value);
  if (makes_integers_real(node)) return true;
  if (is_constant && is_op(&node, "Add")) return sums.count(node.get_input_node_ptr(1 - reader.get_index())) > 0;
  if (!is_integer(value)) return false;
  return multiplies_integers(node) || (keeps_numbers(node) && reader.get_index() == 0);
}

void round_output(const Output<Node>& output, const std::vector<Input<Node>>& readers) {
  const auto narrow = std::make_shared<op::v0::Convert>(output, element::f16);
  const auto wide = std::make_shared<op::v0::Convert>(narrow->output(0), element::f32);
  // Outputs are identified by the names of the tensor that they read.
  wide->output(0).set_names(output.get_names());
  output.get_node()->output(output.get_index()).set_names({});
  for (const Input<Node>& reader : readers) reader.replace_source_output(wide->output(0));
}

/// Moves the ranges of a FakeQuantize by less than a step, so that zero is one of its levels, as an integer has it.
void move_ranges(Node& node) {
  if (!makes_integers(node)) return;
  const Ranges ranges = ranges_of(node);
  if (!ranges.is_same_outside) return;
  const auto levels = static_cast<double>(node.get_attributes().get_int("levels"));
  // Weights have a sign, which decides where a tie goes.
  const bool is_weight = is_op(node.get_input_node_ptr(0), "Constant");
  const double middle = is_weight ? std::floor(levels / 2) : 0;
  std::vector<double> low, high;
  double moved = 0;
  for (std::size_t i = 0; i < ranges.low.size(); ++i) {
    const double scale = (double{ranges.high[i]} - ranges.low[i]) / (levels - 1);
    const double exact = -ranges.low[i] / scale, zero = std::round(exact - middle) + middle;
    moved = std::max(moved, std::abs(exact - zero));
    low.push_back(-zero * scale);
    high.push_back((levels - 1 - zero) * scale);
  }
  constexpr double kSame = 1e-3;  // In steps.
  if (moved < kSame) return;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto limit =
        std::make_shared<op::v0::Constant>(element::f32, node.get_input_shape(i + 1), i % 2 == 0 ? low : high);
    node.input(i + 1).replace_source_output(limit->output(0));
  }
}

}  // namespace

Numerics numerics_from_environment() {
  static const std::string setting = [] {
    const char* text = std::getenv("TENON_NPU_NUMERICS");
    return std::string(text ? text : "");
  }();
  if (setting.empty() || setting == "f32") return Numerics::kF32;
  if (setting == "f16") return Numerics::kF16;
  throw Error(Code::kInvalidArgument, "NPU: TENON_NPU_NUMERICS is '" + setting + "', neither f32 nor f16");
}

void round_to_f16(Model& model) {
  // Widened first: then real values are f32, and f16 only where it is stored.
  const std::shared_ptr<Model> borrowed(std::shared_ptr<Model>(), &model);
  pass::Manager().add(pass::widen_reals()).run(borrowed);
  NodeVector nodes;
  for_each_node(model, [&](const std::shared_ptr<Node>& node) { nodes.push_back(node); });
  for (const auto& node : nodes) move_ranges(*node);
  const auto sums = sums_of(nodes);
  // All is decided before the first conversion stands between nodes.
  std::vector<std::pair<Output<Node>, std::vector<Input<Node>>>> rounded;
  for (const auto& node : nodes) {
    if (is_exempt(*node)) continue;
    for (std::size_t i = 0; i < node->get_output_size(); ++i) {
      if (node->get_output_element_type(i) != element::f32) continue;
      std::vector<Input<Node>> readers;
      for (const Input<Node>& reader : node->output(i).get_target_inputs())
        if (!passes_exactly(node->output(i), reader, sums)) readers.push_back(reader);
      if (!readers.empty()) rounded.emplace_back(node->output(i), std::move(readers));
    }
  }
  for (const auto& [output, readers] : rounded) round_output(output, readers);
}

}  // namespace tenon::npu::compiler
