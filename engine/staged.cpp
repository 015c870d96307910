// SPDX-License-Identifier: Apache-2.0
// Stages: cutting a model at what its values decide, and running the parts.
#include <algorithm>
#include <map>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/engine/staged.hpp>
#include <tenon/graph/evaluate.hpp>

namespace tenon::inline v1::engine {
namespace {

constexpr std::size_t kKeptStages = 4;
// A model whose shapes are new this often, and hardly ever seen again, is not worth compiling.
constexpr unsigned kMaxMisses = 8;

struct Cancelled {};

using Key = std::pair<const Node*, std::size_t>;
Key key_of(const Output<Node>& output) { return {output.get_node(), output.get_index()}; }

bool is_static(const Node& node) {
  for (std::size_t i = 0; i < node.get_output_size(); ++i)
    if (node.get_output_partial_shape(i).is_dynamic() || node.get_output_element_type(i).is_dynamic()) return false;
  return true;
}

Tensor copy_of(const Tensor& tensor) {
  Tensor copy(tensor.element_type(), tensor.shape());
  tensor.copy_to(copy);
  return copy;
}

bool is_static(const Model& model) {
  const auto nodes = model.get_ordered_ops();
  return std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return is_static(*node); });
}

}  // namespace

struct Staged::Stage {
  std::vector<Shape> shapes;
  std::shared_ptr<Model> model;  ///< The copy with those shapes; its nodes are what the members below name.

  std::unique_ptr<engine::Execution> execution;  ///< Of all of it, or of `before`.
  std::shared_ptr<const engine::Plan> plan;

  // Of a model that is cut.
  bool is_cut = false;
  std::shared_ptr<const Model> before;  ///< Keeps the nodes that the keys name once the rest no longer reads them.
  std::vector<Key> before_outputs;
  NodeVector cuts;
  std::shared_ptr<const Model> after;  ///< Null when nothing is left.
  std::vector<Key> after_inputs;
  std::vector<Key> after_outputs;
};

struct Staged::Known {
  std::shared_ptr<const Model> model;  ///< Kept, so that its address stays its name.
  std::list<std::unique_ptr<Stage>> stages;
  unsigned misses = 0, hits = 0;
};

namespace {

/// Cuts a model; see Staged.
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
  }

  /// What later nodes and results read of the part before.
  std::vector<Output<Node>> boundary() const {
    std::vector<Output<Node>> values;
    std::set<Key> seen;
    for (const auto& node : order_) {
      const bool is_reader = is_op(node, "Result") || !ready_.count(node.get());
      if (!is_reader) continue;
      for (const auto& source : node->input_values()) {
        const Node* producer = source.get_node();
        if (!ready_.count(producer) || is_op(producer, "Parameter") || is_op(producer, "Constant")) continue;
        if (seen.insert(key_of(source)).second) values.push_back(source);
      }
    }
    return values;
  }

  const NodeVector& cuts() const { return cuts_; }

  /// Makes what is left a model of its own. `inputs` name what feeds it, `outputs` the values of results that it makes.
  std::shared_ptr<Model> take_rest(std::vector<Key>& inputs, std::vector<Key>& outputs) {
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
    std::map<Key, Output<Node>> stands_for;
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
  /// A constant where the value follows from shapes, so that shapes that hang on it stay known.
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

}  // namespace

Staged::Staged(engine::Options options) : options_(std::move(options)) {}
Staged::~Staged() = default;

std::unique_ptr<Staged::Stage> Staged::make_stage(const Model& model, const std::vector<Tensor>& inputs) {
  auto stage = std::make_unique<Stage>();
  for (const Tensor& input : inputs) stage->shapes.push_back(input.shape());
  stage->model = model.clone();
  std::map<std::size_t, PartialShape> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    shapes[i] = PartialShape(inputs[i].shape());
    const auto& parameter = stage->model->get_parameters()[i];
    if (parameter->get_element_type().is_dynamic()) parameter->set_element_type(inputs[i].element_type());
  }
  stage->model->reshape(shapes);
  std::shared_ptr<const Model> planned = stage->model;
  if (!is_static(*stage->model)) {
    stage->is_cut = true;
    Cutter cutter(*stage->model);
    stage->cuts = cutter.cuts();
    const OutputVector values = cutter.boundary();
    planned = nullptr;
    if (!values.empty()) {
      for (const auto& value : values) stage->before_outputs.push_back(key_of(value));
      stage->before = std::make_shared<Model>(values, stage->model->get_parameters());
      planned = stage->before;
    }
    // Compiled before the rest is taken away: the plan works on a copy.
    if (planned) stage->plan = engine::Plan::compile(planned, options_);
    stage->after = cutter.take_rest(stage->after_inputs, stage->after_outputs);
  } else {
    stage->plan = engine::Plan::compile(planned, options_);
  }
  if (stage->plan) {
    stage->execution = std::make_unique<engine::Execution>(stage->plan);
    ++compiled_;
  }
  return stage;
}

Staged::Stage& Staged::stage_for(Known& known, const Model& model, const std::vector<Tensor>& inputs) {
  for (auto it = known.stages.begin(); it != known.stages.end(); ++it) {
    const auto& shapes = (*it)->shapes;
    const bool same = std::equal(inputs.begin(), inputs.end(), shapes.begin(), shapes.end(),
                                 [](const Tensor& tensor, const Shape& shape) { return tensor.shape() == shape; });
    if (!same) continue;
    ++known.hits;
    known.stages.splice(known.stages.begin(), known.stages, it);
    return *known.stages.front();
  }
  ++known.misses;
  known.stages.push_front(make_stage(model, inputs));
  if (known.stages.size() > kKeptStages) {
    if (known.stages.back()->after) known_.erase(known.stages.back()->after.get());
    known.stages.pop_back();
  }
  return *known.stages.front();
}

std::vector<Tensor> Staged::run_plan(Stage& stage, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) stage.execution->bind_input(i, inputs[i]);
  for (std::size_t i = 0; i < stage.plan->outputs().size(); ++i) {
    const engine::Port& port = stage.plan->outputs()[i];
    outputs.emplace_back(port.type, port.shape);
    stage.execution->bind_output(i, outputs.back());
  }
  const auto begin = elapsed();
  if (!stage.execution->run(*workers_, cancellation_.asked, cancellation_.context)) throw Cancelled{};
  if (options_.profile) {
    const auto steps = stage.plan->steps();
    const auto& timings = stage.execution->timings();
    for (std::size_t i = 0; i < steps.size(); ++i)
      timed_.push_back({steps[i], begin + timings[i].start, timings[i].duration});
  }
  // What the plan made belongs to the caller now.
  for (std::size_t i = 0; i < outputs.size(); ++i) stage.execution->bind_output(i, {});
  return outputs;
}

void Staged::throw_if_cancelled() const {
  if (cancellation_.asked && cancellation_.asked(cancellation_.context)) throw Cancelled{};
}

std::vector<Tensor> Staged::run_node(const Node& node, const std::vector<Tensor>& inputs) {
  throw_if_cancelled();
  const auto* op = as_type<op::util::MultiSubGraphOp>(&node);
  if (!op) return run_kernel(node, inputs);
  return run_subgraph(*op, inputs, [&](std::size_t body, const std::vector<Tensor>& values) {
    throw_if_cancelled();
    return run_all(op->get_function(body), values);
  });
}

std::vector<Tensor> Staged::run_kernel(const Node& node, const std::vector<Tensor>& inputs) {
  const auto begin = elapsed();
  auto made = evaluate_node(node, inputs);
  if (options_.profile)
    timed_.push_back(
        {{node.get_friendly_name(), node.get_type_name(), "reference", {}, true}, begin, elapsed() - begin});
  return made;
}

std::vector<Tensor> Staged::run_parts(Stage& stage, const std::vector<Tensor>& inputs) {
  std::map<Key, Tensor> values;
  const auto& parameters = stage.model->get_parameters();
  for (std::size_t i = 0; i < inputs.size(); ++i) values[{parameters[i].get(), 0}] = inputs[i];
  const auto value_of = [&](const Key& key) -> Tensor {
    if (const auto* constant = as_type<op::v0::Constant>(key.first)) return constant->get_tensor();
    return values.at(key);
  };
  if (stage.execution) {
    const auto made = run_plan(stage, inputs);
    for (std::size_t i = 0; i < made.size(); ++i) values[stage.before_outputs[i]] = made[i];
  }
  for (const auto& node : stage.cuts) {
    std::vector<Tensor> arguments;
    for (const auto& source : node->input_values()) arguments.push_back(value_of(key_of(source)));
    // A Result of something dynamic is no work.
    if (is_op(node, "Result")) continue;
    const auto made = run_node(*node, arguments);
    for (std::size_t i = 0; i < made.size(); ++i) values[{node.get(), i}] = made[i];
  }
  if (stage.after) {
    std::vector<Tensor> arguments;
    for (const Key& key : stage.after_inputs) arguments.push_back(value_of(key));
    const auto made = run_all(stage.after, arguments);
    for (std::size_t i = 0; i < made.size(); ++i) values[stage.after_outputs[i]] = made[i];
  }
  std::vector<Tensor> results;
  for (const auto& result : stage.model->get_results()) {
    const Key source = key_of(result->input_value(0));
    results.push_back(value_of(source));
    // What goes out is the caller's alone: an input's memory may be an output's too.
    if (is_op(source.first, "Parameter")) results.back() = copy_of(results.back());
  }
  return results;
}

std::vector<Tensor> Staged::run_all(const std::shared_ptr<const Model>& model, const std::vector<Tensor>& inputs) {
  auto& slot = known_[model.get()];
  if (!slot) {
    slot = std::make_unique<Known>();
    slot->model = model;
  }
  Known& known = *slot;
  if (known.misses > kMaxMisses && known.hits < known.misses) {
    for (const auto& stage : known.stages)
      if (stage->after) known_.erase(stage->after.get());
    known.stages.clear();
    return evaluate(*model, inputs, nullptr, {},
                    [this](const Node& node, const std::vector<Tensor>& arguments, std::vector<Tensor>& made) {
                      throw_if_cancelled();
                      if (!options_.profile && !as_type<op::util::MultiSubGraphOp>(&node)) return false;
                      made = run_node(node, arguments);
                      return true;
                    });
  }
  Stage& stage = stage_for(known, *model, inputs);
  return stage.is_cut ? run_parts(stage, inputs) : run_plan(stage, inputs);
}

std::vector<Tensor> Staged::run(const std::shared_ptr<const Model>& model, const std::vector<Tensor>& inputs,
                                engine::Workers& workers, Cancellation cancellation) {
  workers_ = &workers;
  cancellation_ = cancellation;
  begun_ = std::chrono::steady_clock::now();
  timed_.clear();
  try {
    return run_all(model, inputs);
  } catch (const Cancelled&) {
    return {};
  }
}

}  // namespace tenon::inline v1::engine
