// SPDX-License-Identifier: Apache-2.0
// Steps become nodes.
#include <tenon/engine/runtime_model.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/engine/lower/build/step_info.hpp>
#include <tenon/engine/plan/flow.hpp>
#include <tenon/graph/executed_model.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/planning/executed_plan.hpp>

namespace tenon::inline v1::engine {
namespace {

namespace info = exec_model_info;

using info::ExecutedModel;
using info::StepNotes;
using info::StepOutput;
using planning::packed_output;
using Times = std::vector<std::chrono::nanoseconds>;

std::size_t bytes_of(ElementType type, const PartialShape& shape) {
  return shape.is_static() ? checked_size_bytes(type, shape.to_shape()).value_or(0) : 0;
}

/// The steps of plans and of cut nodes, as a model that grows.
class Graph {
 public:
  Output<Node> add_parameter(const Node& given, const Port& port) {
    return made_.add_parameter(given, packed_output(port.type, PartialShape(port.shape)));
  }
  Output<Node> add_memory(const std::string& type, const std::string& name, ElementType element, const Shape& shape) {
    return made_.add_memory(type, name, packed_output(element, PartialShape(shape)));
  }

  /// @return its outputs. @param inputs  Values of the plan's inputs. @param times  How long its steps took, or empty.
  OutputVector add_plan(const Plan& plan, const OutputVector& inputs, const Times& times) {
    return add_steps(made_, plan.impl(), inputs, times);
  }

  /// A node at which a model is cut. @param outputs  As far as their shapes are known.
  std::shared_ptr<Node> add_cut(const Node& node, const char* kernel, const OutputVector& arguments,
                                const std::vector<std::pair<ElementType, PartialShape>>& outputs,
                                std::size_t weight_bytes, std::optional<std::chrono::nanoseconds> time) {
    StepNotes notes = notes_of(step_info(node, kernel));
    notes.time = time;
    notes.weight_bytes = weight_bytes;
    for (const auto& argument : arguments)
      notes.bytes_read += bytes_of(argument.get_element_type(), argument.get_partial_shape());
    std::vector<StepOutput> lying;
    for (const auto& [type, shape] : outputs) {
      notes.bytes_written += bytes_of(type, shape);
      lying.push_back(packed_output(type, shape));
    }
    notes.precision = arguments.empty() ? element::Type(outputs.at(0).first) : arguments.front().get_element_type();
    return made_.add_step(notes, arguments, lying);
  }

  /// @param given  The model whose results these are, in order.
  /// @param prepared  The same after its passes.
  std::shared_ptr<Model> finish(const Model& given, const Model& prepared, const OutputVector& outputs,
                                std::span<const Port> ports) {
    std::vector<ExecutedModel::Made> made;
    for (std::size_t i = 0; i < given.get_results().size(); ++i) {
      StepNotes notes = notes_of(step_info(*prepared.get_results()[i], "none"));
      notes.originals.back() = given.get_results()[i]->get_friendly_name();
      made.push_back({outputs[i], PartialShape(ports[i].shape), std::move(notes)});
    }
    return made_.finish(given, made);
  }

 private:
  ExecutedModel made_;
};

/// Puts the parts of a run one after the other.
class Parts {
 public:
  Parts(Graph& graph, const LastRun& run) : graph_(graph), run_(run) {}

  OutputVector add(std::size_t index, const OutputVector& inputs) {
    const Subgraph& subgraph = *run_.parts.at(index).subgraph;
    if (!subgraph.is_cut) return graph_.add_plan(*subgraph.plan, inputs, times_of(*subgraph.plan));
    std::map<ValueKey, Output<Node>> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) values[{subgraph.model->get_parameters()[i].get(), 0}] = inputs[i];
    if (subgraph.plan) {
      const OutputVector made = graph_.add_plan(*subgraph.plan, inputs, times_of(*subgraph.plan));
      for (std::size_t i = 0; i < made.size(); ++i) values[subgraph.before_outputs[i]] = made[i];
    }
    for (const auto& node : subgraph.cuts)
      if (!is_op(node, "Result")) add_cut(index, *node, values);
    if (subgraph.after) {
      OutputVector arguments;
      for (const ValueKey& key : subgraph.after_inputs) arguments.push_back(value_of(values, key));
      const OutputVector made = add(index + 1, arguments);
      for (std::size_t i = 0; i < made.size(); ++i) values[subgraph.after_outputs[i]] = made[i];
    }
    OutputVector results;
    for (const auto& result : subgraph.model->get_results())
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
    const Subgraph& subgraph = *part.subgraph;
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
      const auto found = std::find(subgraph.after_inputs.begin(), subgraph.after_inputs.end(), key);
      if (found == subgraph.after_inputs.end() || index + 1 >= run_.parts.size()) continue;
      const auto& [type, shape] =
          run_.parts[index + 1].subgraph->inputs.at(static_cast<std::size_t>(found - subgraph.after_inputs.begin()));
      outputs.back() = {type, PartialShape(shape)};
    }
    const auto kernel = part.kernels.find(&node);
    const char* const name = as_type<op::util::MultiSubGraphOp>(&node) ? "stages"
                             : kernel == part.kernels.end()            ? "reference"
                                                                       : kernel->second;
    const auto time = next_time(node.get_friendly_name(), name);
    const auto made = graph_.add_cut(node, name, arguments, outputs, weight_bytes, time);
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
  const auto& given = run.parts.front().subgraph->inputs;
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
  const Subgraph& first = *run.parts.front().subgraph;
  return graph.finish(model, first.is_cut ? *first.model : *first.plan->impl().model, outputs, ports);
}

}  // namespace tenon::inline v1::engine
