// SPDX-License-Identifier: Apache-2.0
// Finds 8-bit numbers by what the engine knows of quantisation.
#include <tenon/devices/gpu/lower/build/numbers.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/lower/build/few_bits.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/operation_table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

using planning::Quantization;

/// Constants of a folded model.
class FoldedConstants final : public planning::Constants {
 public:
  /// @param kept  Null: nothing is kept.
  explicit FoldedConstants(PackedWeights* kept) : kept_(kept) {}
  Tensor of(const Output<Node>& value) const override {
    const auto* constant = as_type<op::v0::Constant>(value.get_node());
    return constant ? constant->get_tensor() : Tensor();
  }
  Tensor derived(const Tensor& source, const std::string& how, const std::function<Tensor()>& make) const override {
    return kept_ ? kept_->get(source, how, [&](const Tensor&) { return make(); }) : make();
  }

 private:
  PackedWeights* kept_;
};

bool is_grouped(const Node& node) { return is_op(&node, "GroupConvolution"); }
bool is_convolution(const Node& node) { return is_op(&node, "Convolution") || is_grouped(node); }

std::optional<planning::QuantizedWeights> weights_of(const Node& node, const planning::Constants& constants) {
  const PartialShape& right = node.get_input_partial_shape(1);
  if (right.is_dynamic()) return std::nullopt;
  const Shape shape = right.to_shape();
  if (element_count(shape) == 0) return std::nullopt;
  if (is_convolution(node)) {
    // Windows over one axis or two.
    const std::size_t axes = shape.size() - (is_grouped(node) ? 3 : 2);
    if (axes < 1 || axes > 2) return std::nullopt;
    return planning::quantized_filter(constants, node, is_grouped(node) ? shape[0] * shape[1] : shape[0]);
  }
  const auto& attributes = node.get_attributes();
  if (shape.size() != 2 || attributes.get_bool("transpose_a", false)) return std::nullopt;
  return planning::quantized_matrix(constants, node, attributes.get_bool("transpose_b", false) ? 0 : 1);
}

/// Whether all that reads the node reads it element by element, as it lies.
bool feeds_functions(const Node& node) {
  const auto readers = node.get_output_target_inputs(0);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [](const Input<Node>& reader) {
    return !reader.get_node()->operation().expression.empty();
  });
}

bool keeps_numbers(const Node& node) { return planning::keeps_numbers(node) && !is_op(&node, "Interpolate"); }

}  // namespace

Numbers::Numbers(const Model& model, PackedWeights* kept) {
  const NodeVector order = model.get_ordered_ops();
  find_products(order, kept);
  find_stored(order);
  find_expansions(order);
}

void Numbers::find_products(const NodeVector& order, PackedWeights* kept) {
  const FoldedConstants constants(kept);
  for (const auto& node : order) {
    if (is_op(node, "FakeQuantize") && !as_type<op::v0::Constant>(node->get_input_node_ptr(0))) {
      if (const auto meaning = planning::quantization_of(constants, *node)) rounded_[node.get()] = *meaning;
      continue;
    }
    const Quantization* const source =
        node->get_input_size() > 0 ? find(rounded_, *node->get_input_node_ptr(0)) : nullptr;
    if (!source) continue;
    if (keeps_numbers(*node)) {
      rounded_[node.get()] = *source;
    } else if (is_op(node, "Concat")) {
      const auto inputs = node->input_values();
      const auto is_same = [&](const Output<Node>& value) {
        const Quantization* const meaning = find(rounded_, *value.get_node());
        return meaning && *meaning == *source;
      };
      if (std::all_of(inputs.begin(), inputs.end(), is_same)) rounded_[node.get()] = *source;
    } else if ((is_convolution(*node) || is_op(node, "MatMul")) && node->get_output_element_type(0) == element::f32) {
      const bool has_axes = node->get_input_partial_shape(0).rank().is_static() &&
                            node->get_input_partial_shape(0).size() >= (is_convolution(*node) ? 3 : 2);
      if (has_axes && weights_of(*node, constants)) products_[node.get()] = *source;
    }
  }
}

void Numbers::find_stored(const NodeVector& order) {
  std::set<const Node*> wanted;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const Node* const node = at->get();
    if (products_.count(node)) wanted.insert(node->get_input_node_ptr(0));
    const auto found = rounded_.find(node);
    if (found == rounded_.end()) continue;
    if (!wanted.count(node) && !(is_op(node, "FakeQuantize") && feeds_functions(*node))) continue;
    stored_.insert(*found);
    if (is_op(node, "FakeQuantize")) {
      // What it joins is rounded while it is joined.
      const Node* const source = node->get_input_node_ptr(0);
      if (is_op(source, "Concat") && source->count_output_readers(0) == 1) stored_[source] = found->second;
      continue;
    }
    for (std::size_t i = 0; i < (is_op(node, "Concat") ? node->get_input_size() : 1); ++i)
      wanted.insert(node->get_input_node_ptr(i));
  }
}

void Numbers::find_expansions(const NodeVector& order) {
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const Node* const node = at->get();
    if (node->get_input_size() == 0 || node->get_output_size() != 1) continue;
    const auto readers = node->get_output_target_inputs(0);
    const auto expands = [&](const Input<Node>& reader) {
      return expansions_.count(reader.get_node()) > 0 ||
             (reader.get_index() == 1 && products_.count(reader.get_node()));
    };
    if (!readers.empty() && std::all_of(readers.begin(), readers.end(), expands)) expansions_.insert(node);
  }
}

planning::QuantizedWeights number_weights(const Node& node, PackedWeights& kept) {
  auto weights = weights_of(node, FoldedConstants(&kept));
  if (!weights) throw Error(Code::kInternal, "GPU: " + node.describe() + " has no weights of 8 bits");
  return std::move(*weights);
}

namespace {

/// Whether it makes as many elements as there are: other growth is limited where constants are folded.
bool keeps_count(const Node& node) {
  const PartialShape &from = node.get_input_partial_shape(0), &to = node.get_output_partial_shape(0);
  return from.is_static() && to.is_static() && element_count(from.to_shape()) == element_count(to.to_shape());
}

bool is_for_weights(const Node& node) {
  for (const char* type : {"Convert", "Subtract", "Multiply", "FakeQuantize", "Reshape"})
    if (is_op(&node, type)) return keeps_count(node);
  return false;
}

/// Empty unless all are constant.
std::vector<Tensor> constant_inputs(const Node& node) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    const auto* constant = as_type<op::v0::Constant>(node.get_input_node_ptr(i));
    if (!constant) return {};
    inputs.push_back(constant->get_tensor());
  }
  return inputs;
}

/// Whether all that reads these halves takes them as they are stored: as weights of products, and tables.
bool stays_in_halves(const Node& node, const Target& target) {
  if (!is_stored_in_halves(node, target)) return false;
  return std::ranges::all_of(node.get_output_target_inputs(0), [](const Input<Node>& reader) {
    const bool is_product = is_op(reader.get_node(), "MatMul") || is_op(reader.get_node(), "GroupedMatMul");
    return is_product ? reader.get_index() == 1 : is_op(reader.get_node(), "Gather") && reader.get_index() == 0;
  });
}

}  // namespace

bool is_stored_in_halves(const Node& node, const Target& target) {
  return target.reals() == ElementType::kF16 && is_op(&node, "Convert") &&
         node.get_input_element_type(0) == element::f16 && node.get_output_element_type(0) == element::f32 &&
         is_op(node.get_input_node_ptr(0), "Constant");
}

pass::Pass fold_expansions(const Target& target) {
  return {"fold_expansions", [target](Model& model) {
            const Numbers numbers = target.multiplies_numbers ? Numbers(model) : Numbers();
            const NodeVector order = model.get_ordered_ops();
            const auto few = keeps_few_bits(target) ? few_bits_expansions(order) : std::set<const Node*>();
            bool changed = false;
            for (const auto& node : order) {
              if (!is_for_weights(*node) || numbers.is_expansion(*node) || few.count(node.get()) ||
                  stays_in_halves(*node, target))
                continue;
              const std::vector<Tensor> inputs = constant_inputs(*node);
              if (inputs.empty()) continue;
              const auto folded = std::make_shared<op::v0::Constant>(evaluate_node(*node, inputs).at(0));
              pass::replace_node(node, folded->output(0));
              changed = true;
            }
            return changed;
          }};
}

}  // namespace tenon::inline v1::gpu_device
