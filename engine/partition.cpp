// SPDX-License-Identifier: Apache-2.0
// Cuts models where values determine shapes.
#include <tenon/engine/partition.hpp>

#include <algorithm>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/engine/lower/passes.hpp>
#include <tenon/engine/lower/walk.hpp>  // Lowered
#include <tenon/engine/plan/plan.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {
namespace {

constexpr std::size_t kNodeBytes = 2048;  ///< About what a node of a copied graph takes.

/// Cuts a model; see Subgraph.
class Cutter {
 public:
  explicit Cutter(Model& model) : model_(model), order_(model.get_ordered_ops()) {
    for (const auto& node : order_) {
      bool inputs_ready = true;
      for (const auto& source : node->input_values()) inputs_ready &= ready_.count(source.get_node()) > 0;
      if (!inputs_ready)
        late_.insert(node.get());
      else if (planning::is_static(*node))
        ready_.insert(node.get());
      else
        cuts_.push_back(node);
    }
    delay_constants();
  }

  /// The values of the part before that later nodes and results read.
  OutputVector boundary() const {
    NodeVector readers;
    for (const auto& node : order_)
      if (is_op(node, "Result") || !ready_.count(node.get())) readers.push_back(node);
    return planning::crossing_values(readers, [&](const Node& reader, const Output<Node>& source) {
      const Node* producer = source.get_node();
      if (!ready_.count(producer) || is_op(producer, "Parameter") || is_op(producer, "Constant")) return false;
      return !late_.count(&reader) || is_op(&reader, "Result") || !source.get_tensor().value();
    });
  }

  const NodeVector& cuts() const { return cuts_; }

  /// Makes the rest a model of its own. `inputs` name what feeds it, `outputs` the values of results that it makes.
  std::shared_ptr<Model> take_rest(std::vector<ValueKey>& inputs, std::vector<ValueKey>& outputs) {
    OutputVector wanted;
    for (const auto& result : model_.get_results()) {
      const Output<Node> source = result->input_value(0);
      if (late_.count(source.get_node()) &&
          std::find(outputs.begin(), outputs.end(), key_of(source)) == outputs.end()) {
        wanted.push_back(source);
        outputs.push_back(key_of(source));
      }
    }
    if (wanted.empty()) return nullptr;
    NodeVector late;
    for (const auto& node : order_)
      if (late_.count(node.get()) && !is_op(node, "Result")) late.push_back(node);
    auto rest = planning::take_remainder(late, wanted, model_.get_friendly_name(), stand_in);
    inputs = std::move(rest.inputs);
    return std::move(rest.model);
  }

 private:
  /// What follows from known values alone is made after the cut, where it is a constant of the plan: nothing is copied
  /// then. What a cut node reads must be there before.
  void delay_constants() {
    std::set<const Node*> needed;
    for (const auto& node : cuts_)
      for (const auto& source : node->input_values()) needed.insert(source.get_node());
    for (const auto& node : order_) {
      const bool is_computed = ready_.count(node.get()) && node->get_input_size() > 0 && node->operation().evaluate &&
                               !as_type<op::util::MultiSubGraphOp>(node.get()) && !needed.count(node.get());
      if (!is_computed || node->get_output_tensor(0).value()) continue;
      const auto inputs = node->input_values();
      const bool is_known = std::all_of(inputs.begin(), inputs.end(), [&](const auto& source) {
        return is_op(source.get_node(), "Constant") || source.get_tensor().value() || late_.count(source.get_node());
      });
      if (!is_known) continue;
      ready_.erase(node.get());
      late_.insert(node.get());
    }
  }

  /// A constant if the value follows from shapes, so that shapes that depend on it stay known.
  static Output<Node> stand_in(const Output<Node>& source) {
    if (const auto& value = source.get_tensor().value()) return std::make_shared<op::v0::Constant>(*value)->output(0);
    return planning::parameter_for(source, source.get_node()->get_friendly_name())->output(0);
  }

  Model& model_;
  NodeVector order_;
  std::set<const Node*> ready_, late_;
  NodeVector cuts_;
};

void cut(Subgraph& subgraph, const std::shared_ptr<Model>& model, const Options& options, SharedParts& shared) {
  subgraph.is_cut = true;
  subgraph.model = model;
  Cutter cutter(*model);
  subgraph.cuts = cutter.cuts();
  const OutputVector values = cutter.boundary();
  if (!values.empty()) {
    for (const auto& value : values) subgraph.before_outputs.push_back(key_of(value));
    const auto before = std::make_shared<Model>(values, model->get_parameters());
    subgraph.before = before;
    // A copy, since the rest is taken from this one.
    subgraph.plan = Plan::compile_prepared(before->clone(), options, shared);
  }
  if (const auto rest = cutter.take_rest(subgraph.after_inputs, subgraph.after_outputs))
    subgraph.after = std::make_shared<DynamicModel>(rest);
  for (const auto& node : subgraph.cuts) {
    const auto* op = as_type<op::util::MultiSubGraphOp>(node.get());
    if (!op) continue;
    for (const auto& body : op->get_functions()) {
      const auto prepared = run_passes(*body, options, TimeLimit(model_limits().compile_seconds));
      shared.constants.keep(prepared);
      subgraph.bodies[body.get()] = std::make_shared<DynamicModel>(prepared);
    }
  }
}

/// Whether the caches fit; notes in the subgraph what does not.
bool check_growth(Subgraph& subgraph, const Model& model, bool is_static, std::span<const Growth> growths) {
  bool fits = true;
  for (const Growth& growth : growths) {
    const Node* concat = model.get_results()[growth.result]->get_input_node_ptr(0);
    const Node* before = concat->get_input_node_ptr(0);
    // A beam of another width begins a cache of another shape.
    subgraph.is_cut |= !is_static;
    subgraph.refuses_growth |= subgraph.is_cut || (std::string_view(before->get_type_name()) == "Gather" &&
                                                   before->get_output_shape(0) != before->get_input_shape(0));
    if (subgraph.refuses_growth) return false;
    subgraph.needed.push_back(concat->get_output_shape(0)[growth.axis]);
    fits &= subgraph.needed.back() <= growth.capacity;
  }
  if (fits) subgraph.needed.clear();
  return fits;
}

/// Shapes may multiply each other: refuses values that no memory holds before anything is laid out for them.
void check_sizes(const Node& node) {
  for (std::size_t i = 0; i < node.get_output_size(); ++i) {
    if (node.get_output_partial_shape(i).is_dynamic() || node.get_output_element_type(i).is_dynamic()) continue;
    const auto bytes = checked_size_bytes(node.get_output_element_type(i), node.get_output_shape(i));
    if (bytes && *bytes <= allowed_bytes()) continue;
    throw Error(Code::kResourceExhausted,
                "CPU: with the shapes of now " + node.describe() + " makes a value of shape " +
                    to_string(node.get_output_shape(i)) +
                    (bytes ? ", " + std::to_string(*bytes) + " bytes" : ", more bytes than 64 bits count") +
                    limit_text(limit_property::kBytes, allowed_bytes()));
  }
}

/// Whether a step refers to a node, whose shapes must then stay as they are.
bool refers_to_nodes(const Plan& plan) {
  const auto& steps = plan.impl().steps;
  return std::any_of(steps.begin(), steps.end(),
                     [](const auto& step) { return dynamic_cast<const ReferenceStep*>(step.get()) != nullptr; });
}

}  // namespace

bool Subgraph::is_for(std::uint64_t id, std::span<const Tensor> tensors, std::span<const Growth> growths) const {
  if (model_id != id ||
      !std::equal(growths.begin(), growths.end(), capacities.begin(), capacities.end(),
                  [](const Growth& growth, std::size_t capacity) { return growth.capacity == capacity; }))
    return false;
  return std::equal(tensors.begin(), tensors.end(), inputs.begin(), inputs.end(),
                    [](const auto& tensor, const auto& input) {
                      return tensor.element_type() == input.first && tensor.shape() == input.second;
                    });
}

std::shared_ptr<Subgraph> make_subgraph(DynamicModel& open, std::span<const Tensor> inputs,
                                        std::span<const Growth> growths, const Options& options, SharedParts& shared) {
  auto subgraph = std::make_shared<Subgraph>();
  subgraph->model_id = open.id();
  for (const Tensor& input : inputs) subgraph->inputs.emplace_back(input.element_type(), input.shape());
  DynamicModel::Copy copy = open.take(inputs);
  const std::shared_ptr<Model> model = copy.shaped.model();
  const NodeVector& order = copy.shaped.order();
  for (std::size_t i = 0; i < order.size(); ++i)
    if (copy.before.changed[i]) check_sizes(*order[i]);
  for (const Growth& growth : growths) subgraph->capacities.push_back(growth.capacity);
  bool keeps_model = true;
  if (!growths.empty() && !check_growth(*subgraph, *model, copy.shaped.is_closed(), growths)) {
    open.give_back(std::move(copy));
    return subgraph;
  }
  if (copy.shaped.is_closed()) {
    subgraph->plan = Plan::compile_prepared(model, options, shared, growths, &copy.before);
    copy.before.changed.assign(order.size(), false);
    subgraph->is_relowered = copy.before.was_used;
    keeps_model = refers_to_nodes(*subgraph->plan);
  } else {
    cut(*subgraph, model, options, shared);
  }
  subgraph->held_bytes = subgraph->plan ? subgraph->plan->held_bytes() : 0;
  if (keeps_model)
    subgraph->held_bytes += order.size() * kNodeBytes;
  else
    open.give_back(std::move(copy));
  return subgraph;
}

}  // namespace tenon::inline v1::engine
