// SPDX-License-Identifier: Apache-2.0
// Steps become nodes.
#include <tenon/engine/runtime_model.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/engine/lower/step_info.hpp>
#include <tenon/engine/plan/flow.hpp>
#include <tenon/graph/exec_model_info.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {
namespace {

namespace info = exec_model_info;

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ",") + one;
  return text;
}

std::vector<std::string> names_of(const std::vector<std::pair<std::string, std::string>>& nodes) {
  std::vector<std::string> names;
  for (const auto& [name, type] : nodes) names.push_back(name);
  return names;
}

std::string in_microseconds(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

using Times = std::vector<std::chrono::nanoseconds>;

/// A model of steps while it grows.
class Graph {
 public:
  /// One of the given model's inputs.
  Output<Node> add_parameter(const Node& given, const Port& port) {
    const auto made = std::make_shared<op::v0::Parameter>(port.type, PartialShape(port.shape));
    made->set_friendly_name(given.get_friendly_name());
    made->get_output_tensor(0).set_names(given.get_output_tensor(0).get_names());
    describe(*made, "Parameter", "none", {given.get_friendly_name()});
    describe_outputs(*made, {{port.type, port.shape, layout_name({}, port.shape.size())}});
    parameters_.push_back(made);
    return made->output(0);
  }

  /// What lies in memory before the run: a state's value, or a constant that is a result as it is.
  Output<Node> add_memory(const std::string& type, const std::string& name, ElementType element, const Shape& shape) {
    const FlowOutput as{element, shape, layout_name({}, shape.size())};
    return add({}, {as}, type, name, "none", {})->output(0);
  }

  /// @return its outputs. @param inputs  Values of the plan's inputs. @param times  Of its steps, or empty.
  OutputVector add_plan(const Plan& plan, const OutputVector& inputs, const Times& times) {
    const PlanImpl& impl = plan.impl();
    const PlanFlow flow = flow_of(impl);
    std::vector<std::shared_ptr<Node>> nodes;
    std::map<std::size_t, Output<Node>> states;
    const auto value_of = [&](const FlowSource& source) -> Output<Node> {
      if (source.kind == FlowSource::Kind::kStep) return nodes[source.index]->output(source.port);
      if (source.kind == FlowSource::Kind::kInput) return inputs[source.index];
      const Variable& variable = impl.variables[source.index];
      auto& state = states[source.index];
      if (!state) state = add_memory("ReadValue", variable.id, variable.type, variable.shape);
      return state;
    };
    for (std::size_t i = 0; i < impl.steps.size(); ++i) {
      OutputVector arguments;
      for (const FlowSource& source : flow.steps[i].sources) arguments.push_back(value_of(source));
      nodes.push_back(add_step(impl.steps[i]->info, flow.steps[i], arguments));
      if (!times.empty()) nodes.back()->get_rt_info()[info::PERF_COUNTER] = Any(in_microseconds(times.at(i)));
    }
    for (const auto& [name, type] : plan.optimized_out()) optimized_out_.push_back(name);
    OutputVector results;
    for (std::size_t i = 0; i < flow.results.size(); ++i) {
      const ResultFlow& result = flow.results[i];
      const Port& port = impl.outputs[i];
      OutputVector values;
      for (const FlowSource& source : result.sources) values.push_back(value_of(source));
      if (values.empty())
        results.push_back(add_memory("Const", port.name, port.type, port.shape));
      else if (values.size() == 1)
        results.push_back(values.front());
      else
        results.push_back(add(values, {{port.type, port.shape, layout_name({}, port.shape.size())}},
                              result.joined_type.empty() ? "Concat" : result.joined_type,
                              result.joined_name.empty() ? port.name : result.joined_name, "in place", {})
                              ->output(0));
    }
    return results;
  }

  /// A node at which a model is cut. @param outputs  As far as their shapes are known.
  std::shared_ptr<Node> add_cut(const Node& node, const char* kernel, const OutputVector& arguments,
                                std::vector<std::pair<ElementType, PartialShape>> outputs, std::size_t weight_bytes) {
    const StepInfo step = step_info(node, kernel);
    const auto made = add(arguments, {}, step.node_type, step.node_name, step.kernel, names_of(step.originals));
    std::size_t read = 0, written = 0;
    for (const auto& argument : arguments) read += bytes_of(argument.get_element_type(), argument.get_partial_shape());
    std::vector<FlowOutput> lying;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto& [type, shape] = outputs[i];
      made->set_output_type(i, type, shape);
      written += bytes_of(type, shape);
      lying.push_back({type, {}, shape.rank().is_static() ? layout_name({}, shape.size()) : "undef"});
    }
    if (outputs.empty()) made->set_output_size(0);
    describe_outputs(*made, lying);
    RTMap& notes = made->get_rt_info();
    notes[info::RUNTIME_PRECISION] = Any(
        (arguments.empty() ? element::Type(outputs.at(0).first) : arguments.front().get_element_type()).to_string());
    note_bytes(notes, read, written, weight_bytes);
    note_folded(notes, step);
    return made;
  }

  /// @param given  The model whose results these are, in order.
  /// @param prepared  The same after its passes.
  std::shared_ptr<Model> finish(const Model& given, const Model& prepared, const OutputVector& outputs,
                                std::span<const Port> ports) {
    ResultVector results;
    for (std::size_t i = 0; i < given.get_results().size(); ++i) {
      const auto& named = given.get_results()[i];
      Output<Node> source = outputs[i];
      RTMap notes;
      // The copy to the user's tensor is the result itself.
      const std::shared_ptr<Node> copy = source.get_node_shared_ptr();
      const bool is_only_copy = is_result_copy(*copy) && copy->get_input_size() <= 1 && !copy->has_readers() &&
                                std::count(outputs.begin(), outputs.end(), source) == 1;
      if (is_only_copy) {
        notes = copy->get_rt_info();
        notes.erase(info::ORIGINAL_NAMES);
        notes.erase(info::FOLDED_NAMES);
        source = copy->get_input_size() ? copy->input_value(0)
                                        : add_memory("Const", named->get_input_node_ptr(0)->get_friendly_name(),
                                                     ports[i].type, ports[i].shape);
        std::erase(steps_, copy);
      }
      const auto result = std::make_shared<op::v0::Result>(source);
      result->set_friendly_name(named->get_friendly_name());
      source.get_tensor().add_names(named->get_input_tensor(0).get_names());
      const StepInfo step = step_info(*prepared.get_results()[i], "none");
      std::vector<std::string> originals = names_of(step.originals);
      originals.back() = named->get_friendly_name();
      describe(*result, step.node_type, step.kernel, originals);
      note_folded(result->get_rt_info(), step);
      const element::Type type = source.get_element_type();
      describe_outputs(*result, {{type, {}, layout_name({}, ports[i].shape.size())}});
      for (auto& [key, note] : notes) result->get_rt_info()[key] = std::move(note);
      results.push_back(result);
    }
    NodeVector sinks;
    for (const auto& step : steps_)
      if (!step->has_readers()) sinks.push_back(step);
    auto model = std::make_shared<Model>(results, sinks, parameters_, given.get_friendly_name());
    number(results);
    note_optimized_out(*model);
    return model;
  }

 private:
  static bool is_result_copy(const Node& node) {
    const auto found = node.get_rt_info().find(info::LAYER_TYPE);
    return found != node.get_rt_info().end() && found->second.to_text() == "Result";
  }
  static std::size_t bytes_of(ElementType type, const PartialShape& shape) {
    return shape.is_static() ? checked_size_bytes(type, shape.to_shape()).value_or(0) : 0;
  }
  static void note_bytes(RTMap& notes, std::size_t read, std::size_t written, std::size_t weights) {
    notes[info::BYTES_READ] = Any(std::to_string(read));
    notes[info::BYTES_WRITTEN] = Any(std::to_string(written));
    notes[info::WEIGHT_BYTES] = Any(std::to_string(weights));
  }
  static void note_folded(RTMap& notes, const StepInfo& step) {
    if (!step.folded.empty()) notes[info::FOLDED_NAMES] = Any(joined(names_of(step.folded)));
  }

  static void describe(Node& node, const std::string& type, const std::string& kernel,
                       const std::vector<std::string>& originals) {
    RTMap& notes = node.get_rt_info();
    notes[info::LAYER_TYPE] = Any(type);
    notes[info::IMPL_TYPE] = Any(kernel);
    notes[info::ORIGINAL_NAMES] = Any(joined(originals));
    notes[info::PERF_COUNTER] = Any(std::string(info::kNotExecuted));
    note_bytes(notes, 0, 0, 0);
  }
  static void describe_outputs(Node& node, const std::vector<FlowOutput>& outputs) {
    std::vector<std::string> precisions, layouts;
    for (const FlowOutput& output : outputs) {
      precisions.push_back(element::Type(output.type).to_string());
      layouts.push_back(output.layout);
    }
    RTMap& notes = node.get_rt_info();
    notes[info::OUTPUT_PRECISIONS] = Any(joined(precisions));
    notes[info::OUTPUT_LAYOUTS] = Any(joined(layouts));
    if (!outputs.empty()) notes[info::RUNTIME_PRECISION] = Any(precisions.front());
  }

  std::shared_ptr<info::ExecutionNode> add(const OutputVector& arguments, const std::vector<FlowOutput>& outputs,
                                           const std::string& type, const std::string& name, const std::string& kernel,
                                           const std::vector<std::string>& originals) {
    const auto made = std::make_shared<info::ExecutionNode>(arguments, outputs.size());
    made->set_friendly_name(name);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      made->set_output_type(i, outputs[i].type, PartialShape(outputs[i].shape));
    describe(*made, type, kernel, originals);
    describe_outputs(*made, outputs);
    steps_.push_back(made);
    return made;
  }

  std::shared_ptr<Node> add_step(const StepInfo& step, const StepFlow& flow, const OutputVector& arguments) {
    // A copy to a part's result: the given model's results are nodes of their own.
    const bool is_copy = step.node_type == "Result";
    const auto made = add(arguments, flow.outputs, step.node_type, step.node_name, step.kernel,
                          is_copy ? std::vector<std::string>() : names_of(step.originals));
    RTMap& notes = made->get_rt_info();
    notes[info::RUNTIME_PRECISION] = Any(element::Type(flow.precision).to_string());
    note_bytes(notes, flow.bytes_read, flow.bytes_written, flow.weight_bytes);
    note_folded(notes, step);
    if (flow.multiply_adds) notes[info::MULTIPLY_ADDS] = Any(std::to_string(*flow.multiply_adds));
    return made;
  }

  void number(const ResultVector& results) {
    std::size_t order = 0;
    const auto next = [&](Node& node) { node.get_rt_info()[info::EXECUTION_ORDER] = Any(std::to_string(order++)); };
    for (const auto& parameter : parameters_) next(*parameter);
    for (const auto& step : steps_) next(*step);
    for (const auto& result : results) next(*result);
  }

  /// What no node of the model names.
  void note_optimized_out(Model& model) const {
    std::set<std::string> seen;
    for (const auto& node : model.get_ordered_ops()) {
      for (const char* key : {info::ORIGINAL_NAMES, info::FOLDED_NAMES}) {
        const auto found = node->get_rt_info().find(key);
        if (found == node->get_rt_info().end()) continue;
        const std::string names = found->second.to_text() + ',';
        for (std::size_t begin = 0, end; (end = names.find(',', begin)) != names.npos; begin = end + 1)
          seen.insert(names.substr(begin, end - begin));
      }
    }
    std::vector<std::string> none;
    for (const std::string& name : optimized_out_)
      if (seen.insert(name).second) none.push_back(name);
    model.get_rt_info()[info::OPTIMIZED_OUT_NAMES] = Any(joined(none));
  }

  ParameterVector parameters_;
  NodeVector steps_;  ///< In the order of execution.
  std::vector<std::string> optimized_out_;
};

/// Puts the parts of a run one after the other.
class Parts {
 public:
  Parts(Graph& graph, const LastRun& run) : graph_(graph), run_(run) {}

  OutputVector add(std::size_t index, const OutputVector& inputs) {
    const Stage& stage = *run_.parts.at(index).stage;
    if (!stage.is_cut) return graph_.add_plan(*stage.plan, inputs, times_of(*stage.plan));
    std::map<ValueKey, Output<Node>> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) values[{stage.model->get_parameters()[i].get(), 0}] = inputs[i];
    if (stage.plan) {
      const OutputVector made = graph_.add_plan(*stage.plan, inputs, times_of(*stage.plan));
      for (std::size_t i = 0; i < made.size(); ++i) values[stage.before_outputs[i]] = made[i];
    }
    for (const auto& node : stage.cuts)
      if (!is_op(node, "Result")) add_cut(index, *node, values);
    if (stage.after) {
      OutputVector arguments;
      for (const ValueKey& key : stage.after_inputs) arguments.push_back(value_of(values, key));
      const OutputVector made = add(index + 1, arguments);
      for (std::size_t i = 0; i < made.size(); ++i) values[stage.after_outputs[i]] = made[i];
    }
    OutputVector results;
    for (const auto& result : stage.model->get_results())
      results.push_back(value_of(values, key_of(result->input_value(0))));
    return results;
  }

 private:
  Output<Node> value_of(const std::map<ValueKey, Output<Node>>& values, const ValueKey& key) {
    if (const auto* constant = as_type<op::v0::Constant>(key.first)) {
      const Tensor& tensor = constant->get_tensor();
      return graph_.add_memory("Const", constant->get_friendly_name(), tensor.element_type(), tensor.shape());
    }
    return values.at(key);
  }

  void add_cut(std::size_t index, const Node& node, std::map<ValueKey, Output<Node>>& values) {
    const LastRun::Part& part = run_.parts[index];
    const Stage& stage = *part.stage;
    OutputVector arguments;
    std::size_t weight_bytes = 0;
    for (const auto& source : node.input_values()) {
      if (const auto* constant = as_type<op::v0::Constant>(source.get_node()))
        weight_bytes += constant->get_byte_size();
      else
        arguments.push_back(values.at(key_of(source)));
    }
    // The part that follows knows the shapes that the values had.
    std::vector<std::pair<ElementType, PartialShape>> outputs;
    for (std::size_t i = 0; i < node.get_output_size(); ++i) {
      outputs.emplace_back(node.get_output_element_type(i), node.get_output_partial_shape(i));
      const ValueKey key{&node, i};
      const auto found = std::find(stage.after_inputs.begin(), stage.after_inputs.end(), key);
      if (found == stage.after_inputs.end() || index + 1 >= run_.parts.size()) continue;
      const auto& [type, shape] =
          run_.parts[index + 1].stage->inputs.at(static_cast<std::size_t>(found - stage.after_inputs.begin()));
      outputs.back() = {type, PartialShape(shape)};
    }
    const auto kernel = part.kernels.find(&node);
    const char* const name = as_type<op::util::MultiSubGraphOp>(&node) ? "stages"
                             : kernel == part.kernels.end()            ? "reference"
                                                                       : kernel->second;
    const auto made = graph_.add_cut(node, name, arguments, std::move(outputs), weight_bytes);
    if (const auto time = next_time(node.get_friendly_name(), name))
      made->get_rt_info()[info::PERF_COUNTER] = Any(in_microseconds(*time));
    for (std::size_t i = 0; i < node.get_output_size(); ++i) values[{&node, i}] = made->output(i);
  }

  /// Those of a loop's body lie between.
  std::optional<std::chrono::nanoseconds> next_time(const std::string& node, const std::string& kernel) {
    for (std::size_t i = next_; i < run_.times.size(); ++i) {
      if (run_.times[i].step.node_name != node || run_.times[i].step.kernel != kernel) continue;
      next_ = i + 1;
      return run_.times[i].duration;
    }
    return std::nullopt;
  }
  Times times_of(const Plan& plan) {
    Times times;
    for (const StepInfo& step : plan.steps()) {
      const auto time = next_time(step.node_name, step.kernel);
      if (!time) return {};
      times.push_back(*time);
    }
    return times;
  }

  Graph& graph_;
  const LastRun& run_;
  std::size_t next_ = 0;
};

}  // namespace

std::shared_ptr<Model> runtime_model(const Plan& plan, std::span<const Execution::Timing> times) {
  const Model& given = *plan.impl().model;
  Graph graph;
  OutputVector inputs;
  for (std::size_t i = 0; i < plan.inputs().size(); ++i)
    inputs.push_back(graph.add_parameter(*given.get_parameters()[i], plan.inputs()[i]));
  Times durations;
  for (const Execution::Timing& time : times) durations.push_back(time.duration);
  return graph.finish(given, given, graph.add_plan(plan, inputs, durations), plan.outputs());
}

std::shared_ptr<Model> runtime_model(const Model& model, const LastRun& run) {
  if (run.parts.empty()) throw Error(Code::kFailedPrecondition, "CPU: nothing has run, so there are no steps to show");
  Graph graph;
  OutputVector inputs;
  const auto& given = run.parts.front().stage->inputs;
  const std::size_t own = model.get_parameters().size();
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto& [type, shape] = given[i];
    inputs.push_back(i < own ? graph.add_parameter(*model.get_parameters()[i], Port{{}, type, shape})
                             : graph.add_memory("ReadValue", run.states.at(i - own), type, shape));
  }
  const OutputVector outputs = Parts(graph, run).add(0, inputs);
  std::vector<Port> ports;
  for (const auto& output : outputs) {
    const PartialShape& shape = output.get_partial_shape();
    ports.push_back({{}, output.get_element_type(), shape.is_static() ? shape.to_shape() : Shape()});
  }
  const Stage& first = *run.parts.front().stage;
  return graph.finish(model, first.is_cut ? *first.model : *first.plan->impl().model, outputs, ports);
}

}  // namespace tenon::inline v1::engine
