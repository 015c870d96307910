// SPDX-License-Identifier: Apache-2.0
// Stages: giving an open model shapes, and cutting it where values determine shapes.
#include <tenon/engine/stage.hpp>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <tenon/core/error.hpp>
#include <tenon/engine/lower/build/same_value.hpp>
#include <tenon/engine/lower/passes.hpp>
#include <tenon/engine/lower/walk.hpp>  // Lowered
#include <tenon/engine/plan/plan.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {
namespace {

constexpr std::size_t kNodeBytes = 2048;  ///< About what a node of a copied graph takes.
constexpr std::size_t kIdleCopies = 4;

bool is_static(const Node& node) {
  for (std::size_t i = 0; i < node.get_output_size(); ++i)
    if (node.get_output_partial_shape(i).is_dynamic() || node.get_output_element_type(i).is_dynamic()) return false;
  return true;
}

/// Cuts a model; see Stage.
class Cutter {
 public:
  explicit Cutter(Model& model) : model_(model), order_(model.get_ordered_ops()) {
    for (const auto& node : order_) {
      bool inputs_ready = true;
      for (const auto& source : node->input_values()) inputs_ready &= ready_.count(source.get_node()) > 0;
      if (!inputs_ready)
        late_.insert(node.get());
      else if (is_static(*node))
        ready_.insert(node.get());
      else
        cuts_.push_back(node);
    }
    delay_constants();
  }

  /// The values of the part before that later nodes and results read.
  OutputVector boundary() const {
    OutputVector values;
    std::set<ValueKey> seen;
    for (const auto& node : order_) {
      const bool is_reader = is_op(node, "Result") || !ready_.count(node.get());
      if (!is_reader) continue;
      for (const auto& source : node->input_values()) {
        const Node* producer = source.get_node();
        if (!ready_.count(producer) || is_op(producer, "Parameter") || is_op(producer, "Constant")) continue;
        if (late_.count(node.get()) && !is_op(node, "Result") && source.get_tensor().value()) continue;
        if (seen.insert(key_of(source)).second) values.push_back(source);
      }
    }
    return values;
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
    ParameterVector parameters;
    std::map<ValueKey, Output<Node>> stands_for;
    for (const auto& node : order_) {
      if (!late_.count(node.get()) || is_op(node, "Result")) continue;
      for (std::size_t i = 0; i < node->get_input_size(); ++i) {
        const Output<Node> source = node->input_value(i);
        if (late_.count(source.get_node()) || is_op(source.get_node(), "Constant")) continue;
        auto found = stands_for.find(key_of(source));
        if (found == stands_for.end()) {
          found = stands_for.emplace(key_of(source), stand_in(source, parameters)).first;
          if (is_op(found->second.get_node(), "Parameter")) inputs.push_back(key_of(source));
        }
        node->input(i).replace_source_output(found->second);
      }
    }
    return std::make_shared<Model>(wanted, parameters, model_.get_friendly_name());
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
  static Output<Node> stand_in(const Output<Node>& source, ParameterVector& parameters) {
    if (const auto& value = source.get_tensor().value()) return std::make_shared<op::v0::Constant>(*value)->output(0);
    auto parameter = std::make_shared<op::v0::Parameter>(source.get_element_type(), source.get_partial_shape());
    parameter->set_friendly_name(source.get_node()->get_friendly_name());
    parameters.push_back(parameter);
    return parameter->output(0);
  }

  Model& model_;
  NodeVector order_;
  std::set<const Node*> ready_, late_;
  NodeVector cuts_;
};

void cut(Stage& stage, const std::shared_ptr<Model>& model, const Options& options, SharedParts& shared) {
  stage.is_cut = true;
  stage.model = model;
  Cutter cutter(*model);
  stage.cuts = cutter.cuts();
  const OutputVector values = cutter.boundary();
  if (!values.empty()) {
    for (const auto& value : values) stage.before_outputs.push_back(key_of(value));
    const auto before = std::make_shared<Model>(values, model->get_parameters());
    stage.before = before;
    // A copy, since the rest is taken from this one.
    stage.plan = Plan::compile_prepared(before->clone(), options, shared);
  }
  if (const auto rest = cutter.take_rest(stage.after_inputs, stage.after_outputs))
    stage.after = std::make_shared<OpenModel>(rest);
  for (const auto& node : stage.cuts) {
    const auto* op = as_type<op::util::MultiSubGraphOp>(node.get());
    if (!op) continue;
    for (const auto& body : op->get_functions()) {
      const auto prepared = run_passes(*body, options, TimeLimit(model_limits().compile_seconds));
      shared.constants.keep(prepared);
      stage.bodies[body.get()] = std::make_shared<OpenModel>(prepared);
    }
  }
}

/// Whether the caches fit; notes in the stage what does not.
bool check_growth(Stage& stage, const Model& model, bool is_static, std::span<const Growth> growths) {
  bool fits = true;
  for (const Growth& growth : growths) {
    const Node* concat = model.get_results()[growth.result]->get_input_node_ptr(0);
    const Node* before = concat->get_input_node_ptr(0);
    // A beam of another width begins a cache of another shape.
    stage.is_cut |= !is_static;
    stage.refuses_growth |= stage.is_cut || (std::string_view(before->get_type_name()) == "Gather" &&
                                             before->get_output_shape(0) != before->get_input_shape(0));
    if (stage.refuses_growth) return false;
    stage.needed.push_back(concat->get_output_shape(0)[growth.axis]);
    fits &= stage.needed.back() <= growth.capacity;
  }
  if (fits) stage.needed.clear();
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

OpenModel::Copy copy_of(const Model& model) {
  OpenModel::Copy copy{model.clone(), {}, {}, {}, {}};
  copy.order = copy.model->get_ordered_ops();
  std::unordered_map<const Node*, std::uint32_t> at;
  for (const auto& node : copy.order) {
    auto& sources = copy.sources.emplace_back();
    for (const auto& source : node->input_values()) sources.push_back(at.at(source.get_node()));
    const auto index = static_cast<std::uint32_t>(at.size());
    at.emplace(node.get(), index);
    if (!is_static(*node)) copy.open.insert(index);
  }
  // Nothing has been checked yet.
  copy.before.changed.assign(copy.order.size(), true);
  return copy;
}

/// What readers of an output may know.
struct Known {
  element::Type type;
  PartialShape shape;
  std::shared_ptr<const Tensor> value;
  std::vector<ValueBound> bounds;

  explicit Known(const descriptor::Tensor& tensor)
      : type(tensor.get_element_type()),
        shape(tensor.get_partial_shape()),
        value(tensor.value()),
        bounds(tensor.bounds()) {}
  bool is_still(const descriptor::Tensor& tensor) const {
    const auto& now = tensor.value();
    const bool same_bounds = std::ranges::equal(bounds, tensor.bounds(), [](const ValueBound& a, const ValueBound& b) {
      return a.min == b.min && a.max == b.max;
    });
    return type == tensor.get_element_type() && shape == tensor.get_partial_shape() && same_bounds &&
           (value == now || (value && now && is_same_value(*value, *now)));
  }
};

/// Asks the node for its outputs' shapes again. @return whether its readers are concerned.
bool revalidate(Node& node) {
  std::vector<Known> before;
  for (std::size_t i = 0; i < node.get_output_size(); ++i) before.emplace_back(node.get_output_tensor(i));
  node.validate_and_infer_types();
  if (node.get_output_size() != before.size()) return true;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!before[i].is_still(node.get_output_tensor(i))) return true;
  return false;
}

/// Whether a step refers to a node, whose shapes must then stay as they are.
bool refers_to_nodes(const Plan& plan) {
  const auto& steps = plan.impl().steps;
  return std::any_of(steps.begin(), steps.end(),
                     [](const auto& step) { return dynamic_cast<const ReferenceStep*>(step.get()) != nullptr; });
}

}  // namespace

OpenModel::OpenModel(std::shared_ptr<const Model> prepared)
    : id_([] {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
      }()),
      prepared_(std::move(prepared)) {}

OpenModel::Copy OpenModel::take(std::span<const Tensor> inputs) {
  Copy copy;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      copy = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!copy.model) copy = copy_of(*prepared_);
  const auto& parameters = copy.model->get_parameters();
  std::unordered_set<const Node*> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& parameter = parameters[i];
    if (parameter->get_element_type() == inputs[i].element_type() &&
        parameter->get_partial_shape() == PartialShape(inputs[i].shape()))
      continue;
    // The body of a loop may leave the type open as well.
    parameter->set_element_type(inputs[i].element_type());
    parameter->set_partial_shape(PartialShape(inputs[i].shape()));
    given.insert(parameter.get());
  }
  // Not Model::reshape(), which finds the order anew and asks all nodes. A copy whose shapes do not fit is dropped.
  std::vector<bool> differs(copy.order.size());
  for (std::size_t i = 0; i < copy.order.size(); ++i) {
    const auto& from = copy.sources[i];
    const bool is_given = given.count(copy.order[i].get()) > 0;
    if (!is_given && std::none_of(from.begin(), from.end(), [&](std::uint32_t source) { return differs[source]; }))
      continue;
    copy.before.changed[i] = true;
    differs[i] = revalidate(*copy.order[i]) || is_given;
    const auto index = static_cast<std::uint32_t>(i);
    if (is_static(*copy.order[i]))
      copy.open.erase(index);
    else
      copy.open.insert(index);
  }
  return copy;
}

void OpenModel::give_back(Copy copy) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kIdleCopies) idle_.push_back(std::move(copy));
}

bool Stage::is_for(std::uint64_t id, std::span<const Tensor> tensors, std::span<const Growth> growths) const {
  if (model_id != id ||
      !std::equal(growths.begin(), growths.end(), capacities.begin(), capacities.end(),
                  [](const Growth& growth, std::size_t capacity) { return growth.capacity == capacity; }))
    return false;
  return std::equal(tensors.begin(), tensors.end(), inputs.begin(), inputs.end(),
                    [](const auto& tensor, const auto& input) {
                      return tensor.element_type() == input.first && tensor.shape() == input.second;
                    });
}

std::shared_ptr<Stage> make_stage(OpenModel& open, std::span<const Tensor> inputs, std::span<const Growth> growths,
                                  const Options& options, SharedParts& shared) {
  auto stage = std::make_shared<Stage>();
  stage->model_id = open.id();
  for (const Tensor& input : inputs) stage->inputs.emplace_back(input.element_type(), input.shape());
  OpenModel::Copy copy = open.take(inputs);
  const std::shared_ptr<Model> model = copy.model;
  const NodeVector& order = copy.order;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (copy.before.changed[i]) check_sizes(*order[i]);
  for (const Growth& growth : growths) stage->capacities.push_back(growth.capacity);
  bool keeps_model = true;
  if (!growths.empty() && !check_growth(*stage, *model, copy.open.empty(), growths)) {
    open.give_back(std::move(copy));
    return stage;
  }
  if (copy.open.empty()) {
    stage->plan = Plan::compile_prepared(model, options, shared, growths, &copy.before);
    copy.before.changed.assign(order.size(), false);
    stage->is_relowered = copy.before.was_used;
    keeps_model = refers_to_nodes(*stage->plan);
  } else {
    cut(*stage, model, options, shared);
  }
  stage->held_bytes = stage->plan ? stage->plan->held_bytes() : 0;
  if (keeps_model)
    stage->held_bytes += order.size() * kNodeBytes;
  else
    open.give_back(std::move(copy));
  return stage;
}

}  // namespace tenon::inline v1::engine
