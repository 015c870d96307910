// SPDX-License-Identifier: Apache-2.0
// Sorts nodes into those before the cut and those after it.
#include <tenon/devices/gpu/partition.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/planning/partition.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

using planning::key_of;
using planning::ValueKey;

class Partitioner {
 public:
  Partitioner(const Model& model, const Target& target) : model_(model), order_(model.get_ordered_ops()) {
    for (const auto& node : order_) {
      const auto inputs = node->input_values();
      const bool is_ready = std::all_of(inputs.begin(), inputs.end(), [&](const auto& source) {
        return before_.count(source.get_node()) && source.get_partial_shape().is_static();
      });
      const bool is_result = is_op(node, "Result");
      if (is_result || !is_ready || !is_decided(*node, target)) continue;
      before_.insert(node.get());
    }
  }

  Partition run() {
    check();
    Partition made;
    OutputVector computed, wanted;
    for (const auto& result : model_.get_results()) {
      const Output<Node> source = result->input_value(0);
      const bool is_before = before_.count(source.get_node()) > 0;
      made.results.push_back(is_before ? computed.size() : Partition::kRest);
      (is_before ? computed : wanted).push_back(source);
    }
    std::map<ValueKey, std::size_t> crossing;
    const auto late = late_nodes();
    const auto values =
        planning::crossing_values(late, [&](const Node&, const Output<Node>& source) { return crosses(source); });
    for (const auto& value : values) {
      crossing.emplace(key_of(value), computed.size());
      computed.push_back(value);
    }
    made.before = std::make_shared<Model>(computed, model_.get_parameters(), model_.get_friendly_name())->clone();
    if (!wanted.empty()) made.rest = take_rest(late, wanted, crossing, made.rest_inputs);
    return made;
  }

 private:
  NodeVector late_nodes() const {
    NodeVector late;
    for (const auto& node : order_)
      if (!before_.count(node.get()) && !is_op(node, "Result")) late.push_back(node);
    return late;
  }
  /// Whether kernels compute it for the rest.
  bool crosses(const Output<Node>& source) const {
    const Node* const node = source.get_node();
    return before_.count(node) && !is_op(node, "Parameter") && !is_op(node, "Constant");
  }

  void check() const {
    std::string names;
    bool helps = false;
    for (const auto& node : order_) {
      const bool is_late = !before_.count(node.get()) && !is_op(node, "Result");
      for (const auto& source : node->input_values())
        helps |= crosses(source) && (is_late || source.get_partial_shape().is_dynamic());
      if (!is_late) continue;
      const auto inputs = node->input_values();
      const bool is_first = std::all_of(inputs.begin(), inputs.end(),
                                        [&](const auto& source) { return before_.count(source.get_node()) > 0; });
      if (is_first) names += (names.empty() ? "" : ", ") + node->describe();
    }
    if (!helps)
      throw NotImplemented("GPU: what these nodes do depends on values that no kernel computes before: " + names +
                           "; HETERO:GPU,CPU runs them on the CPU");
  }

  std::shared_ptr<Model> take_rest(const NodeVector& late, const OutputVector& wanted,
                                   const std::map<ValueKey, std::size_t>& crossing,
                                   std::vector<Partition::Input>& inputs) const {
    auto rest = planning::take_remainder(late, wanted, model_.get_friendly_name(), [](const Output<Node>& source) {
      // Not the node's own name, which copies of it in the rest may have: another iteration of a loop.
      return planning::parameter_for(source, source.get_node()->get_friendly_name() + " before the cut")->output(0);
    });
    const auto& given = model_.get_parameters();
    for (const ValueKey& value : rest.inputs) {
      const auto own =
          std::find_if(given.begin(), given.end(), [&](const auto& each) { return each.get() == value.first; });
      if (own != given.end())
        inputs.push_back({true, static_cast<std::size_t>(own - given.begin())});
      else
        inputs.push_back({false, crossing.at(value)});
    }
    return std::move(rest.model);
  }

  const Model& model_;
  const NodeVector order_;
  std::unordered_set<const Node*> before_;
};

}  // namespace

bool is_decided(const Node& node, const Target& target) {
  if (refusal(node, target).find(kNoConstant) != std::string::npos) return false;
  return !node.is_dynamic() || most_of(node).has_value();
}

Partition partition(const std::shared_ptr<Model>& model, const Target& target) {
  return Partitioner(*model, target).run();
}

}  // namespace tenon::inline v1::gpu_device
