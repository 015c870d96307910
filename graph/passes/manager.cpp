// SPDX-License-Identifier: Apache-2.0
// The pass manager, and the helpers by which passes match and replace.
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/passes/observer.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

Manager& Manager::add(Pass pass) {
  passes_.push_back(std::move(pass));
  return *this;
}

bool Manager::run(const std::shared_ptr<Model>& model) const {
  bool any = false;
  Observer::tell(*model, "", false);
  for (const Pass& pass : passes_) {
    try {
      const bool changed = pass.run(*model);
      if (changed) model->validate_nodes_and_infer_types();
      any |= changed;
      if (hook_) hook_(*model, pass.name, changed);
      Observer::tell(*model, pass.name, changed);
    } catch (const Error& error) {
      throw Error(error.code(), "pass " + pass.name + " on model '" + model->get_friendly_name() + "': " + error.what(),
                  error.where());
    }
  }
  return any;
}

Manager common_passes(FoldOptions options) {
  Manager manager;
  manager.add(fold_constants(std::move(options)))
      .add(fold_batch_norm())
      .add(eliminate_no_ops())
      .add(fuse_clamp())
      .add(fuse_swish())
      .add(fuse_gelu())
      .add(fuse_gelu_tanh())
      .add(fuse_hswish())
      .add(fuse_layer_norm());
  return manager;
}

std::shared_ptr<op::v0::Constant> constant_input(const Node& node, std::size_t index) {
  std::shared_ptr<Node> source = node.get_input_node_shared_ptr(index);
  if (is_op(source, "Convert")) source = source->get_input_node_shared_ptr(0);
  return as_type_ptr<op::v0::Constant>(source);
}

bool scalar_input(const Node& node, std::size_t index, double& value) {
  const auto constant = constant_input(node, index);
  if (!constant || constant->get_tensor().element_count() != 1) return false;
  value = constant->to_doubles()[0];
  return true;
}

std::shared_ptr<Node> only_user(const Node& node) {
  if (node.get_output_size() != 1 || node.count_output_readers(0) != 1) return nullptr;
  return node.get_output_target_inputs(0).begin()->get_node()->shared_from_this();
}

bool match_bias(const Node& convolution, BiasMatch& match) {
  const auto add = only_user(convolution);
  if (!is_op(add, "Add") || convolution.get_output_partial_shape(0).rank().is_dynamic()) return false;
  const PartialShape& out = convolution.get_output_partial_shape(0);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto constant = constant_input(*add, i);
    if (!constant || add->get_input_node_ptr(1 - i) != &convolution) continue;
    const Shape& shape = constant->get_tensor().shape();
    // One value per channel: [C, 1, 1] or [1, C, 1, 1].
    const std::size_t spatial = out.size() - 2;
    if (shape.size() < spatial + 1 || shape.size() > out.size()) continue;
    const std::size_t channel = shape.size() - spatial - 1;
    bool fits = true;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) fits &= axis == channel || shape[axis] == 1;
    if (!fits || !(Dimension(static_cast<std::int64_t>(shape[channel])) == out[1])) continue;
    match = {add, i};
    return true;
  }
  return false;
}

void replace_node(const std::shared_ptr<Node>& node, const Output<Node>& replacement) {
  node->output(0).replace(replacement);
  if (node->has_friendly_name()) replacement.get_node()->set_friendly_name(node->get_friendly_name());
}

}  // namespace pass
}  // namespace v1
}  // namespace tenon
