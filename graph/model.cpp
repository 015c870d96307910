// SPDX-License-Identifier: Apache-2.0
// Models: ports by name, order, inference, clone.
#include <tenon/graph/model.hpp>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <unordered_set>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {

namespace {
std::string next_model_name() {
  static std::atomic<std::uint64_t> counter{0};
  return "Model" + std::to_string(counter.fetch_add(1, std::memory_order_relaxed));
}

ResultVector to_results(const OutputVector& outputs) {
  ResultVector results;
  for (const Output<Node>& output : outputs) {
    auto result = as_type_ptr<op::v0::Result>(output.get_node_shared_ptr());
    results.push_back(result ? result : std::make_shared<op::v0::Result>(output));
  }
  return results;
}

template <typename T>
std::string names_of(const T& ports) {
  std::string all;
  for (const auto& port : ports) {
    for (const std::string& name : port.get_names()) all += (all.empty() ? "" : ", ") + name;
  }
  return all.empty() ? "none has a name" : all;
}

template <typename T>
auto only_one(const Model& model, const T& ports, const char* what) {
  if (ports.size() != 1) {
    throw Error(Code::kInvalidArgument, "model '" + model.get_friendly_name() + "' has " +
                                            std::to_string(ports.size()) + " " + what +
                                            "s: say which one is meant, by index or name (" + names_of(ports) + ")");
  }
  return ports[0];
}
template <typename T>
auto at_index(const Model& model, const T& ports, std::size_t index, const char* what) {
  if (index >= ports.size()) {
    throw Error(Code::kOutOfRange, "model '" + model.get_friendly_name() + "': there is no " + what + " " +
                                       std::to_string(index) + "; it has " + std::to_string(ports.size()));
  }
  return ports[index];
}
template <typename T>
auto by_name(const Model& model, const T& ports, const std::string& name, const char* what) {
  for (const auto& port : ports) {
    if (port.get_names().count(name)) return port;
  }
  throw Error(Code::kNotFound, "model '" + model.get_friendly_name() + "': no " + what + " is named '" + name +
                                   "'; known: " + names_of(ports));
}

/// @errors kInvalidArgument: one of them is null
template <typename Nodes>
void refuse_nulls(const Nodes& nodes, const char* what, const Model& model) {
  for (const auto& node : nodes)
    if (!node) throw Error(Code::kInvalidArgument, "model '" + model.get_friendly_name() + "': a " + what + " is null");
}
}  // namespace

Model::Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const std::string& name)
    : unique_name_(next_model_name()), friendly_name_(name), parameters_(parameters), results_(results), sinks_(sinks) {
  check();
}
Model::Model(const ResultVector& results, const ParameterVector& parameters, const std::string& name)
    : Model(results, SinkVector{}, parameters, name) {}
Model::Model(const OutputVector& outputs, const ParameterVector& parameters, const std::string& name)
    : Model(to_results(outputs), SinkVector{}, parameters, name) {}
Model::Model(const OutputVector& outputs, const SinkVector& sinks, const ParameterVector& parameters,
             const std::string& name)
    : Model(to_results(outputs), sinks, parameters, name) {}
Model::~Model() = default;

void Model::check() const {
  refuse_nulls(parameters_, "parameter", *this);
  refuse_nulls(results_, "result", *this);
  refuse_nulls(sinks_, "sink", *this);
  std::unordered_set<const Node*> listed;
  for (const auto& parameter : parameters_) {
    if (!listed.insert(parameter.get()).second) {
      throw Error(Code::kInvalidArgument,
                  "model '" + get_friendly_name() + "': " + parameter->describe() + " is listed twice");
    }
  }
  for (const auto& node : get_ordered_ops()) {
    if (is_type<op::v0::Parameter>(node) && !listed.count(node.get())) {
      throw Error(Code::kInvalidArgument, "model '" + get_friendly_name() + "': " + node->describe() +
                                              " is reached from the results but is not among the parameters");
    }
  }
}

std::vector<Output<Node>> Model::inputs() {
  std::vector<Output<Node>> all;
  for (const auto& parameter : parameters_) all.emplace_back(parameter, 0);
  return all;
}
std::vector<Output<const Node>> Model::inputs() const {
  std::vector<Output<const Node>> all;
  for (const auto& parameter : parameters_) all.emplace_back(std::shared_ptr<const Node>(parameter), 0);
  return all;
}
std::vector<Output<Node>> Model::outputs() {
  std::vector<Output<Node>> all;
  for (const auto& result : results_) all.emplace_back(result, 0);
  return all;
}
std::vector<Output<const Node>> Model::outputs() const {
  std::vector<Output<const Node>> all;
  for (const auto& result : results_) all.emplace_back(std::shared_ptr<const Node>(result), 0);
  return all;
}
Output<Node> Model::input() { return only_one(*this, inputs(), "input"); }
Output<Node> Model::input(std::size_t index) { return at_index(*this, inputs(), index, "input"); }
Output<Node> Model::input(const std::string& name) { return by_name(*this, inputs(), name, "input"); }
Output<const Node> Model::input() const { return only_one(*this, inputs(), "input"); }
Output<const Node> Model::input(std::size_t index) const { return at_index(*this, inputs(), index, "input"); }
Output<const Node> Model::input(const std::string& name) const { return by_name(*this, inputs(), name, "input"); }
Output<Node> Model::output() { return only_one(*this, outputs(), "output"); }
Output<Node> Model::output(std::size_t index) { return at_index(*this, outputs(), index, "output"); }
Output<Node> Model::output(const std::string& name) { return by_name(*this, outputs(), name, "output"); }
Output<const Node> Model::output() const { return only_one(*this, outputs(), "output"); }
Output<const Node> Model::output(std::size_t index) const { return at_index(*this, outputs(), index, "output"); }
Output<const Node> Model::output(const std::string& name) const { return by_name(*this, outputs(), name, "output"); }

const Shape& Model::get_output_shape(std::size_t index) const { return output(index).get_shape(); }
const PartialShape& Model::get_output_partial_shape(std::size_t index) const {
  return output(index).get_partial_shape();
}

NodeVector Model::get_ordered_ops() const {
  // Depth first with an explicit stack: models may be deeper than the call stack. 1: on the path, 2: done.
  NodeVector ordered;
  std::unordered_map<const Node*, int> state;
  struct Frame {
    std::shared_ptr<Node> node;
    std::size_t next;
  };
  std::vector<Frame> stack;
  auto visit = [&](const std::shared_ptr<Node>& root) {
    if (state[root.get()] == 2) return;
    stack.push_back({root, 0});
    state[root.get()] = 1;
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.node->get_input_size()) {
        state[top.node.get()] = 2;
        ordered.push_back(std::move(top.node));
        stack.pop_back();
        continue;
      }
      std::shared_ptr<Node> source = top.node->get_input_node_shared_ptr(top.next++);
      int& source_state = state[source.get()];
      if (source_state == 1) {
        throw Error(Code::kInvalidArgument,
                    "model '" + get_friendly_name() + "' has a cycle through " + source->describe());
      }
      if (source_state == 0) {
        source_state = 1;
        stack.push_back({std::move(source), 0});
      }
    }
  };
  for (const auto& parameter : parameters_) visit(parameter);
  for (const auto& result : results_) visit(result);
  for (const auto& sink : sinks_) visit(sink);
  return ordered;
}

bool Model::is_dynamic() const {
  const NodeVector nodes = get_ordered_ops();
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node->is_dynamic(); });
}

void Model::validate_nodes_and_infer_types() {
  for (const auto& node : get_ordered_ops()) node->validate_and_infer_types();
}

std::shared_ptr<Model> Model::clone() const {
  std::unordered_map<const Node*, std::shared_ptr<Node>> copies;
  for (const auto& node : get_ordered_ops()) {
    OutputVector inputs;
    for (std::size_t i = 0; i < node->get_input_size(); ++i) {
      const Output<Node> source = node->input_value(i);
      inputs.emplace_back(copies.at(source.get_node()), source.get_index());
    }
    auto copy = node->clone_with_new_inputs(inputs);
    // Users know a node by its name: a copy keeps it, even where the model's author gave none.
    copy->set_friendly_name(node->get_friendly_name());
    for (std::size_t i = 0; i < node->get_output_size(); ++i) {
      copy->get_output_tensor(i).set_names(node->get_output_tensor(i).get_names());
      copy->get_output_tensor(i).get_rt_info() = node->get_output_tensor(i).get_rt_info();
    }
    copies.emplace(node.get(), std::move(copy));
  }
  ResultVector results;
  ParameterVector parameters;
  SinkVector sinks;
  for (const auto& result : results_) results.push_back(as_type_ptr<op::v0::Result>(copies.at(result.get())));
  for (const auto& parameter : parameters_)
    parameters.push_back(as_type_ptr<op::v0::Parameter>(copies.at(parameter.get())));
  for (const auto& sink : sinks_) sinks.push_back(copies.at(sink.get()));
  auto copy = std::make_shared<Model>(results, sinks, parameters, friendly_name_);
  copy->set_friendly_name(get_friendly_name());
  copy->rt_info_ = rt_info_;
  return copy;
}

void Model::add_results(const ResultVector& results) {
  refuse_nulls(results, "result", *this);
  results_.insert(results_.end(), results.begin(), results.end());
}
void Model::add_parameters(const ParameterVector& parameters) {
  refuse_nulls(parameters, "parameter", *this);
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
}
void Model::add_sinks(const SinkVector& sinks) {
  refuse_nulls(sinks, "sink", *this);
  sinks_.insert(sinks_.end(), sinks.begin(), sinks.end());
}
void Model::remove_result(const std::shared_ptr<op::v0::Result>& result) { std::erase(results_, result); }
void Model::remove_parameter(const std::shared_ptr<op::v0::Parameter>& parameter) {
  std::erase(parameters_, parameter);
}
void Model::replace_parameter(std::size_t index, const std::shared_ptr<op::v0::Parameter>& parameter) {
  input(index);  // Throws when there is none.
  refuse_nulls(ParameterVector{parameter}, "parameter", *this);
  parameters_[index]->output(0).replace(parameter->output(0));
  parameters_[index] = parameter;
}

Output<Node> Model::add_output(const std::string& tensor_name) {
  for (const auto& node : get_ordered_ops()) {
    for (const Output<Node>& output : node->outputs()) {
      if (output.get_names().count(tensor_name)) return add_output(output);
    }
  }
  throw Error(Code::kNotFound, "model '" + get_friendly_name() + "': no tensor is named '" + tensor_name + "'");
}
Output<Node> Model::add_output(const Output<Node>& port) {
  for (const auto& result : results_) {
    if (result.get() == port.get_node() || result->input_value(0) == port) return result->output(0);
  }
  results_.push_back(std::make_shared<op::v0::Result>(port));
  return results_.back()->output(0);
}

std::int64_t Model::get_parameter_index(const std::shared_ptr<op::v0::Parameter>& parameter) const {
  const auto found = std::find(parameters_.begin(), parameters_.end(), parameter);
  return found == parameters_.end() ? -1 : found - parameters_.begin();
}
std::int64_t Model::get_result_index(const Output<Node>& value) const {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].get() == value.get_node() || results_[i]->input_value(0) == value)
      return static_cast<std::int64_t>(i);
  }
  return -1;
}

namespace {
/// Passed by reference, not in an optional, because Any converts from and to everything.
bool find_rt(const AnyMap& map, const std::vector<std::string>& path, std::size_t depth, Any& value) {
  const auto found = map.find(path[depth]);
  if (found == map.end()) return false;
  if (depth + 1 == path.size()) {
    value = found->second;
    return true;
  }
  return found->second.is<AnyMap>() && find_rt(found->second.as<AnyMap>(), path, depth + 1, value);
}
void put_rt(AnyMap& map, const Any& value, const std::vector<std::string>& path, std::size_t depth) {
  Any& slot = map[path[depth]];
  if (depth + 1 == path.size()) {
    slot = value;
    return;
  }
  AnyMap inner = slot.is<AnyMap>() ? slot.as<AnyMap>() : AnyMap{};
  put_rt(inner, value, path, depth + 1);
  slot = std::move(inner);
}
}  // namespace

bool Model::has_rt_info(const std::vector<std::string>& path) const {
  Any value;
  return !path.empty() && find_rt(rt_info_, path, 0, value);
}
Any Model::get_rt_info(const std::vector<std::string>& path) const {
  Any value;
  if (!path.empty() && find_rt(rt_info_, path, 0, value)) return value;
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "" : "/") + part;
  throw Error(Code::kNotFound, "model '" + get_friendly_name() + "' has no run-time information '" + text + "'");
}
void Model::set_rt_info(const Any& value, const std::vector<std::string>& path) {
  if (path.empty()) throw Error(Code::kInvalidArgument, "set_rt_info: the path is empty");
  put_rt(rt_info_, value, path, 0);
}

}  // namespace v1
}  // namespace tenon
