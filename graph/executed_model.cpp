// SPDX-License-Identifier: Apache-2.0
// Converts steps to nodes, and their descriptions to run-time information.
#include <tenon/graph/executed_model.hpp>

#include <algorithm>
#include <set>

#include <tenon/graph/exec_model_info.hpp>
#include <tenon/graph/passes/original_names.hpp>

namespace tenon {
inline namespace v1 {
namespace exec_model_info {
namespace {

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ",") + one;
  return text;
}

void describe(Node& node, const StepNotes& notes, const std::vector<StepOutput>& outputs) {
  RTMap& map = node.get_rt_info();
  map[LAYER_TYPE] = Any(notes.type);
  map[IMPL_TYPE] = Any(notes.kernel);
  map[ORIGINAL_NAMES] = Any(joined(notes.originals));
  if (!notes.folded.empty()) map[FOLDED_NAMES] = Any(joined(notes.folded));
  using std::chrono::microseconds;
  map[PERF_COUNTER] =
      Any(notes.time ? std::to_string(std::chrono::duration_cast<microseconds>(*notes.time).count()) : kNotExecuted);
  if (notes.time) map[TIME_NS] = Any(std::to_string(notes.time->count()));
  map[BYTES_READ] = Any(std::to_string(notes.bytes_read));
  map[BYTES_WRITTEN] = Any(std::to_string(notes.bytes_written));
  map[WEIGHT_BYTES] = Any(std::to_string(notes.weight_bytes));
  if (notes.multiply_adds) map[MULTIPLY_ADDS] = Any(std::to_string(*notes.multiply_adds));
  std::vector<std::string> precisions, layouts;
  for (const StepOutput& output : outputs) {
    precisions.push_back(output.type.to_string());
    layouts.push_back(output.layout);
  }
  map[OUTPUT_PRECISIONS] = Any(joined(precisions));
  map[OUTPUT_LAYOUTS] = Any(joined(layouts));
  if (notes.precision || !outputs.empty())
    map[RUNTIME_PRECISION] = Any(notes.precision ? notes.precision->to_string() : precisions.front());
}

bool is_result_copy(const Node& node) {
  const auto found = node.get_rt_info().find(LAYER_TYPE);
  return found != node.get_rt_info().end() && found->second.to_text() == "Result";
}

}  // namespace

std::string packed_layout(std::size_t rank) {
  std::string text;
  for (std::size_t i = 0; i < std::max<std::size_t>(rank, 1); ++i) text += static_cast<char>('a' + i);
  return rank > 26 ? "undef" : text;
}

void add_originals(StepNotes& notes, const Node& node) {
  for (const pass::OriginalNode& original : pass::original_nodes(node))
    (original.is_folded ? notes.folded : notes.originals).push_back(original.name);
  if (!pass::is_made_by_pass(node)) notes.originals.push_back(node.get_friendly_name());
}

Output<Node> ExecutedModel::add_parameter(const Node& given, const StepOutput& as) {
  const auto made = std::make_shared<op::v0::Parameter>(as.type, as.shape);
  made->set_friendly_name(given.get_friendly_name());
  made->get_output_tensor(0).set_names(given.get_output_tensor(0).get_names());
  describe(*made, {"Parameter", made->get_friendly_name(), "none", {given.get_friendly_name()}}, {as});
  parameters_.push_back(made);
  return made->output(0);
}

Output<Node> ExecutedModel::add_memory(const std::string& type, const std::string& name, const StepOutput& as) {
  return add_step({type, name, "none"}, {}, {as})->output(0);
}

std::shared_ptr<Node> ExecutedModel::add_step(const StepNotes& notes, const OutputVector& arguments,
                                              const std::vector<StepOutput>& outputs) {
  const auto made = std::make_shared<ExecutionNode>(arguments, outputs.size());
  made->set_friendly_name(notes.name);
  for (std::size_t i = 0; i < outputs.size(); ++i) made->set_output_type(i, outputs[i].type, outputs[i].shape);
  describe(*made, notes, outputs);
  steps_.push_back(made);
  return made;
}

std::shared_ptr<Model> ExecutedModel::finish(const Model& given, const std::vector<Made>& made) {
  ResultVector results;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto& named = given.get_results()[i];
    Output<Node> source = made[i].value;
    RTMap of_copy;
    // The copy to the user's tensor is the result itself.
    const std::shared_ptr<Node> copy = source.get_node_shared_ptr();
    const auto users = std::count_if(made.begin(), made.end(), [&](const Made& one) { return one.value == source; });
    if (is_result_copy(*copy) && copy->get_input_size() <= 1 && !copy->has_readers() && users == 1) {
      of_copy = copy->get_rt_info();
      of_copy.erase(ORIGINAL_NAMES);
      of_copy.erase(FOLDED_NAMES);
      source = copy->get_input_size()
                   ? copy->input_value(0)
                   : add_memory("Const", named->get_input_node_ptr(0)->get_friendly_name(),
                                {copy->get_output_element_type(0), made[i].shape, packed_layout(made[i].shape.size())});
      std::erase(steps_, copy);
    }
    const auto result = std::make_shared<op::v0::Result>(source);
    result->set_friendly_name(named->get_friendly_name());
    source.get_tensor().add_names(named->get_input_tensor(0).get_names());
    const auto rank = made[i].shape.rank();
    describe(*result, made[i].notes,
             {{source.get_element_type(), made[i].shape, packed_layout(rank.is_static() ? made[i].shape.size() : 0)}});
    for (auto& [key, note] : of_copy) result->get_rt_info()[key] = std::move(note);
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

void ExecutedModel::number(const ResultVector& results) {
  std::size_t order = 0;
  const auto next = [&](Node& node) { node.get_rt_info()[EXECUTION_ORDER] = Any(std::to_string(order++)); };
  for (const auto& parameter : parameters_) next(*parameter);
  for (const auto& step : steps_) next(*step);
  for (const auto& result : results) next(*result);
}

/// Notes the nodes that no node of the model names.
void ExecutedModel::note_optimized_out(Model& model) const {
  std::set<std::string> seen;
  for (const auto& node : model.get_ordered_ops()) {
    for (const char* key : {ORIGINAL_NAMES, FOLDED_NAMES}) {
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
  model.get_rt_info()[OPTIMIZED_OUT_NAMES] = Any(joined(none));
}

}  // namespace exec_model_info
}  // namespace v1
}  // namespace tenon
