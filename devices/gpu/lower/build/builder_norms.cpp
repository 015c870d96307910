// SPDX-License-Identifier: Apache-2.0
// Norms that the products behind them compute.
#include <tenon/devices/gpu/lower/build/builder.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <tenon/devices/gpu/lower/build/chunks.hpp>
#include <tenon/devices/gpu/lower/build/few_bits.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// What rows are multiplied by: the tree's only other factor. @return false: the tree does something else.
bool find_gain(const ExpressionRef& root, std::optional<View>& gain) {
  if (root->is_computed()) return true;
  if (root->text() != "($0 * $1)" || root->operands().size() != 2) return false;
  for (std::size_t side = 0; side < 2; ++side) {
    const View* const view = loaded_view(root->operands()[side]);
    if (!view || !root->operands()[1 - side]->is_computed()) continue;
    for (std::size_t axis = 0; axis + 1 < view->shape.size(); ++axis)
      if (view->shape[axis] > 1 && view->strides[axis] != 0) return false;
    gain = *view;
    return true;
  }
  return false;
}

}  // namespace

const RowNorm* Builder::row_norm(const Output<Node>& output) {
  const Value& value = value_of(output);
  if (!value.norm) return nullptr;
  joined_nodes_.insert(joined_nodes_.end(), value.norm->nodes.begin(), value.norm->nodes.end());
  return &value.norm->rows;
}

bool Builder::is_product_of_few_rows(const Input<Node>& reader) const {
  const Node& node = *reader.get_node();
  if (!is_op(&node, "MatMul") || reader.get_index() != 0 || node.get_output_element_type(0) != element::f32 ||
      node.get_attributes().get_bool("transpose_a") || numbers_.product(node))
    return false;
  if (keeps_few_bits(target_) && few_bits_of(node)) return true;
  const Tensor weights = constant(node.input_value(1));
  return weights && weights.shape().size() == 2;
}

bool Builder::leave_norm(Value& value, const Output<Node>& output) {
  if (!value.producer || !value.producer->norm || value.producer->pieces || value.numbers || !takes_matrices(target_))
    return false;
  RowNorm rows = *value.producer->norm;
  const std::size_t last = value.shape.size() - 1, columns = value.shape[last];
  if (value.shape.size() < 2 || value.shape != rows.x.shape || rows.x.type != target_.reals() ||
      columns % kChunk != 0 || element_count(value.shape) > columns * kFewRows || !is_wide(rows.x, last) ||
      !find_gain(value.pending, rows.gain) || (rows.gain && !is_wide(*rows.gain, last)))
    return false;
  const auto readers = output.get_target_inputs();
  if (!std::all_of(readers.begin(), readers.end(),
                   [&](const Input<Node>& reader) { return is_product_of_few_rows(reader); }))
    return false;
  const ExpressionRef root = std::exchange(value.pending, nullptr);
  value.norm = std::make_shared<const Value::Norm>(
      Value::Norm{std::move(rows), root, *std::exchange(value.producer, std::nullopt), std::exchange(value.nodes, {})});
  return true;
}

}  // namespace tenon::inline v1::gpu_device
