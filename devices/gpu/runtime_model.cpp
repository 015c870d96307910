// SPDX-License-Identifier: Apache-2.0
// Follows values from launch to launch.
#include <tenon/devices/gpu/runtime_model.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tenon/graph/executed_model.hpp>
#include <tenon/planning/executed_plan.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

using exec_model_info::ExecutedModel;
using exec_model_info::StepNotes;
using exec_model_info::StepOutput;
using planning::packed_output;

/// The axes in the order in which they lie.
StepOutput output_of(const View& view) {
  StepOutput output = packed_output(view.type, PartialShape(view.shape));
  if (view.is_packed() || view.shape.size() > 26) return output;
  output.layout.clear();
  for (const std::size_t axis : planning::axes_by_stride(view.strides)) output.layout += static_cast<char>('a' + axis);
  return output;
}

/// The bytes of the elements that a view shows; an element that it repeats counts once.
std::size_t bytes_of(const View& view) {
  std::size_t elements = 1;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis)
    if (view.strides[axis] != 0 || view.shape[axis] == 0) elements *= view.shape[axis];
  return (elements * info(view.type).bits + 7) / 8;
}

/// Not memory of the kernel's own.
bool is_value(const View& view) { return view.type != ElementType::kUndefined; }

class Flow {
 public:
  Flow(ExecutedModel& made, const LaunchPlan& plan, OutputVector inputs)
      : made_(made), plan_(plan), inputs_(std::move(inputs)), values_(made, plan.buffers.size()) {
    std::size_t place = 0;
    for (const auto& node : plan.model->get_ordered_ops())
      nodes_.emplace(node->get_friendly_name(), std::pair(place++, node.get()));
  }

  void add(const Launch& launch, std::optional<std::chrono::nanoseconds> time) {
    StepNotes notes{launch.node_type, launch.node_name, launch.kernel->kind};
    notes.time = time;
    notes.multiply_adds = launch.multiply_adds;
    // A copy to a result: the given model's results are nodes of their own.
    if (launch.node_type != "Result") add_names(notes, launch);
    OutputVector arguments;
    std::vector<StepOutput> outputs;
    for (const bool written : {false, true}) {
      for (std::size_t i = 0; i < launch.operands.size(); ++i) {
        const View& view = launch.views[i];
        if (launch.operands[i].written != written || !is_value(view)) continue;
        if (!written) {
          add_read(notes, arguments, view);
          continue;
        }
        outputs.push_back(output_of(view));
        notes.bytes_written += bytes_of(view);
      }
    }
    const auto node = made_.add_step(notes, arguments, outputs);
    std::size_t port = 0;
    for (std::size_t i = 0; i < launch.operands.size(); ++i)
      if (launch.operands[i].written && is_value(launch.views[i]))
        values_.write(launch.views[i].place.buffer, range_of(launch.views[i]), node->output(port++),
                      launch.views[i].is_packed());
  }

  Output<Node> result(std::size_t index) {
    OutputVector sources;
    for (planning::BufferId id = 0; id < plan_.buffers.size(); ++id)
      if (plan_.buffers[id].kind == planning::BufferKind::kOutput && plan_.buffers[id].index == index)
        add_sources(sources, id, {0, plan_.buffers[id].size_bytes});
    const PlanPort& port = plan_.outputs[index];
    return values_.result(sources, "Concat", port.name, port.name, packed_output(port.type, PartialShape(port.shape)));
  }

 private:
  static planning::ByteRange range_of(const View& view) {
    return {view.place.offset, view.place.offset + view.extent_bytes()};
  }

  /// In the model's order.
  void add_names(StepNotes& notes, const Launch& launch) const {
    std::set<std::pair<std::size_t, const Node*>> computed;
    const auto add = [&](const std::string& name) {
      if (const auto found = nodes_.find(name); found != nodes_.end()) computed.insert(found->second);
    };
    add(launch.node_name);
    for (const auto& [name, type] : launch.fused) add(name);
    for (const auto& [place, node] : computed) exec_model_info::add_originals(notes, *node);
  }

  void add_read(StepNotes& notes, OutputVector& arguments, const View& view) {
    if (plan_.buffers[view.place.buffer].kind == planning::BufferKind::kConstant) {
      notes.weight_bytes += bytes_of(view);
      return;
    }
    notes.bytes_read += bytes_of(view);
    if (!notes.precision) notes.precision = element::Type(view.type);
    add_sources(arguments, view.place.buffer, range_of(view));
  }

  /// The values that lie in these bytes; in memory that no launch has written, what lies there before the run.
  void add_sources(OutputVector& sources, planning::BufferId buffer, const planning::ByteRange& wanted) {
    OutputVector found;
    values_.add_sources(found, buffer, wanted);
    const planning::Buffer& memory = plan_.buffers[buffer];
    if (found.empty() && memory.kind == planning::BufferKind::kInput)
      found.push_back(inputs_.at(memory.index % inputs_.size()));
    if (found.empty() && memory.kind == planning::BufferKind::kState) {
      const std::size_t index = memory.index / 2;
      const PlanVariable& variable = plan_.variables[index];
      found.push_back(values_.state(index, variable.id, variable.type, variable.shape));
    }
    for (const auto& value : found)
      if (std::find(sources.begin(), sources.end(), value) == sources.end()) sources.push_back(value);
  }

  ExecutedModel& made_;
  const LaunchPlan& plan_;
  const OutputVector inputs_;
  std::map<std::string, std::pair<std::size_t, const Node*>> nodes_;  ///< With their places in the model's order.
  planning::ExecutedPlan values_;
};

/// All that the plan's model stands for, of which what steps name is left out later.
void add_nodes(ExecutedModel& made, const Model& model) {
  for (const auto& node : model.get_ordered_ops()) {
    if (as_type<op::v0::Constant>(node.get())) continue;
    StepNotes notes;
    exec_model_info::add_originals(notes, *node);
    for (const auto* names : {&notes.originals, &notes.folded})
      for (const std::string& name : *names) made.add_optimized_out(name);
  }
}

/// The subgraphs, one after the other.
class Subgraphs {
 public:
  Subgraphs(ExecutedModel& made, const std::vector<std::shared_ptr<const PlannedSubgraph>>& subgraphs,
            const SubgraphTimes& times)
      : made_(made), subgraphs_(subgraphs), times_(times) {}

  /// @return the results of the model at `depth`.
  OutputVector add(std::size_t depth, const OutputVector& inputs) {
    const PlannedSubgraph& subgraph = *subgraphs_[depth];
    Flow flow(made_, *subgraph.plan, inputs);
    for (std::size_t i = 0; i < subgraph.plan->launches.size(); ++i)
      flow.add(*subgraph.plan->launches[i],
               depth < times_.size() && i < times_[depth].size() ? std::optional(times_[depth][i]) : std::nullopt);
    using Kind = PlannedSubgraph::Source::Kind;
    OutputVector rest;
    if (subgraph.rest && depth + 1 < subgraphs_.size()) {
      OutputVector handed;
      for (const auto& source : subgraph.rest_inputs)
        handed.push_back(source.kind == Kind::kInput ? inputs.at(source.index) : flow.result(source.index));
      rest = add(depth + 1, handed);
    }
    OutputVector results;
    for (const auto& source : subgraph.results)
      results.push_back(source.kind == Kind::kRest ? rest.at(source.index) : flow.result(source.index));
    return results;
  }

 private:
  ExecutedModel& made_;
  const std::vector<std::shared_ptr<const PlannedSubgraph>>& subgraphs_;
  const SubgraphTimes& times_;
};

}  // namespace

std::shared_ptr<Model> runtime_model(const Model& given,
                                     const std::vector<std::shared_ptr<const PlannedSubgraph>>& subgraphs,
                                     const SubgraphTimes& times) {
  ExecutedModel made;
  OutputVector inputs;
  const auto& ports = subgraphs.front()->plan->inputs;
  const ParameterVector& parameters = given.get_parameters();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const StepOutput as = packed_output(ports[i].type, PartialShape(ports[i].shape));
    // Behind the model's own are states.
    inputs.push_back(i < parameters.size() ? made.add_parameter(*parameters[i], as)
                                           : made.add_memory("ReadValue", ports[i].name, as));
  }
  OutputVector values = Subgraphs(made, subgraphs, times).add(0, inputs);
  values.resize(given.get_results().size());
  add_nodes(made, given);
  std::vector<ExecutedModel::Made> results;
  for (std::size_t i = 0; i < values.size(); ++i) {
    StepNotes notes{"Result", given.get_results()[i]->get_friendly_name(), "none"};
    notes.originals = {notes.name};
    results.push_back({values[i], values[i].get_partial_shape(), std::move(notes)});
  }
  return made.finish(given, results);
}

}  // namespace tenon::inline v1::gpu_device
