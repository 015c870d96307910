// SPDX-License-Identifier: Apache-2.0
// Finds the inputs that decide, and puts their values into the model.
#include <tenon/devices/gpu/open_model.hpp>

#include <map>
#include <string>
#include <unordered_set>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/lower/table.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// More numbers than this do not describe a shape.
constexpr std::size_t kMostNumbers = 1024;

Tensor on_host(const Tensor& tensor) {
  if (!tensor)
    throw Error(Code::kInvalidArgument,
                "GPU: an input whose values decide shapes is a batch in several tensors; give it one");
  Tensor copy(tensor.element_type(), tensor.shape());
  if (tensor.size_bytes() == 0) return copy;
  tensor.memory()->wait_for(Access::kRead, default_deadline());
  if (const auto* remote = dynamic_cast<const RemoteMemory*>(tensor.memory().get()))
    remote->copy_to(tensor, copy);
  else if (tensor.is_host_addressable())
    tensor.copy_to(copy);
  else
    tensor.context()->read(tensor, {static_cast<std::byte*>(copy.data()), copy.size_bytes()});
  return copy;
}

/// Whole numbers; where these do not suffice, lists of reals, too: the scales of a resize.
bool can_decide(const Tensor& tensor, bool takes_reals) {
  if (!tensor) return false;
  const bool is_list = takes_reals && tensor.shape().size() <= 1;
  return (is_list || !info(tensor.element_type()).is_real) && element_count(tensor.shape()) <= kMostNumbers;
}

/// Nodes that a plan cannot be made of yet.
NodeVector undecided(const Model& model, const Target& target) {
  NodeVector found;
  for (const auto& node : model.get_ordered_ops())
    if (node->is_dynamic() || refusal(*node, target).find(kNoConstant) != std::string::npos) found.push_back(node);
  return found;
}

/// Whether a node is open itself, not because one before it is.
bool has_known_inputs(const Node& node) {
  for (std::size_t i = 0; i < node.get_input_size(); ++i)
    if (node.get_input_partial_shape(i).is_dynamic()) return false;
  return true;
}

/// All that these nodes depend on.
/// @param also  Whether the walk goes on at an input of a node.
template <typename Also>
std::unordered_set<const Node*> sources_of(const NodeVector& nodes, Also also) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> left;
  for (const auto& node : nodes) left.push_back(node.get());
  while (!left.empty()) {
    const Node* const node = left.back();
    left.pop_back();
    for (std::size_t i = 0; i < node->get_input_size(); ++i)
      if (const Node* source = node->get_input_node_ptr(i); also(*node, i) && seen.insert(source).second)
        left.push_back(source);
  }
  return seen;
}

/// What makes these nodes what they are, not the data that they work on.
std::unordered_set<const Node*> deciding_sources_of(const NodeVector& nodes) {
  std::unordered_set<const Node*> open;
  for (const auto& node : nodes) open.insert(node.get());
  return sources_of(nodes, [&](const Node& node, std::size_t input) {
    const bool is_data = open.count(&node) && input == 0 && !is_op(&node, "Range");
    return !is_data && !open.count(node.get_input_node_ptr(input));
  });
}

}  // namespace

bool OpenModel::is_open(const Model& model, const Target& target) { return !undecided(model, target).empty(); }

OpenModel::Key OpenModel::key_of(const std::vector<InputState>& inputs) const {
  std::set<std::size_t> deciding;
  {
    const std::lock_guard lock(mutex_);
    deciding = deciding_;
  }
  Key key;
  for (const InputState& input : inputs) key.shapes.push_back(input.shape);
  for (const std::size_t index : deciding) {
    const Tensor value = on_host(inputs[index].tensor);
    key.values.emplace_back(static_cast<const char*>(value.size_bytes() ? value.data() : nullptr), value.size_bytes());
  }
  return key;
}

std::shared_ptr<Model> OpenModel::closed(const std::vector<InputState>& inputs) {
  std::set<std::size_t> deciding;
  {
    const std::lock_guard lock(mutex_);
    deciding = deciding_;
  }
  for (;;) {
    const auto model = prepared_->clone();
    std::map<std::size_t, PartialShape> shapes;
    for (std::size_t i = 0; i < inputs.size(); ++i) shapes[i] = PartialShape(inputs[i].shape);
    const ParameterVector parameters = model->get_parameters();
    for (const std::size_t index : deciding)
      Output<Node>(parameters[index], 0)
          .replace(Output<Node>(std::make_shared<op::v0::Constant>(on_host(inputs[index].tensor)), 0));
    model->reshape(shapes);
    auto folded = run_passes(*model, TimeLimit(model_limits().compile_seconds));
    const NodeVector open = undecided(*folded, target_);
    if (open.empty()) {
      const std::lock_guard lock(mutex_);
      deciding_.insert(deciding.begin(), deciding.end());
      return folded;
    }
    const std::size_t before = deciding.size();
    const auto decide = [&](const std::unordered_set<const Node*>& sources, bool takes_reals) {
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (sources.count(folded->get_parameters()[i].get()) && can_decide(inputs[i].tensor, takes_reals))
          deciding.insert(i);
    };
    decide(sources_of(open, [](const Node&, std::size_t) { return true; }), false);
    if (deciding.size() == before) decide(deciding_sources_of(open), true);
    if (deciding.size() > before) continue;
    std::string names;
    for (const auto& node : open)
      if (has_known_inputs(*node)) names += (names.empty() ? "" : ", ") + node->describe();
    throw NotImplemented("GPU: what these nodes do depends on values that are known only when kernels have run: " +
                         names + "; HETERO:GPU,CPU runs them on the CPU");
  }
}

}  // namespace tenon::inline v1::gpu_device
