// SPDX-License-Identifier: Apache-2.0
// Models, and what is done with whole ones.
#include <algorithm>
#include <fstream>
#include <iomanip>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string_view>

#include <openvino/core/graph_util.hpp>
#include <openvino/core/model.hpp>
#include <openvino/core/rt_info.hpp>
#include <openvino/op/sink.hpp>
#include <openvino/op/util/make.hpp>
#include <openvino/op/util/multi_subgraph_base.hpp>
#include <openvino/op/util/op_types.hpp>
#include <openvino/op/util/variable_extension.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/passes/compress.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

#include "graph.hpp"

namespace ov {

using detail::from;
using detail::guarded;
using detail::Lock;
using detail::model_of;
using detail::to;

namespace detail {

std::shared_ptr<Model> from(std::shared_ptr<tenon::Model> model) {
  if (!model) return nullptr;
  auto impl = std::make_unique<Model::Impl>();
  impl->model = std::move(model);
  return std::make_shared<Model>(std::move(impl));
}
const std::shared_ptr<tenon::Model>& model_of(const std::shared_ptr<const Model>& model) {
  if (!model) OPENVINO_THROW("the model is null");
  store_rt_info(*model);
  return model->impl().model;
}
void store_rt_info(const Model& model) {
  const Lock lock(wrappers_mutex());
  Model::Impl& impl = model.impl();
  store(impl.rt_info, impl.rt_read, impl.model->get_rt_info());
  guarded([&] {
    for (const auto& node : impl.model->get_ordered_ops()) {
      Node* wrapper = known_wrapper(node.get());
      if (!wrapper) continue;
      Node::Impl& each = wrapper->impl();
      store(each.rt_info, each.rt_read, node->get_rt_info());
      if (const auto* bodies = dynamic_cast<const op::util::MultiSubGraphOp*>(wrapper)) bodies->store();
      for (const auto& tensor : each.tensors)
        if (tensor) store(tensor->impl().rt_info, tensor->impl().rt_read, tensor->impl().tensor->get_rt_info());
    }
  });
}

namespace {
/// Reads the model's lists again after a change.
void refresh(Model::Impl& impl) {
  impl.parameters = list_of<op::v0::Parameter>(impl.model->get_parameters());
  impl.results = list_of<op::v0::Result>(impl.model->get_results());
  impl.sinks = list_of<op::Sink>(impl.model->get_sinks());
}
}  // namespace
void read_again(const Model& model) {
  const Lock lock(wrappers_mutex());
  refresh(model.impl());
  model.impl().rt_read = false;
  guarded([&] {
    for (const auto& node : model.impl().model->get_ordered_ops()) {
      Node* wrapper = known_wrapper(node.get());
      if (!wrapper) continue;
      wrapper->impl().rt_read = false;
      if (const auto* bodies = dynamic_cast<const op::util::MultiSubGraphOp*>(wrapper)) bodies->read_again();
      for (const auto& tensor : wrapper->impl().tensors)
        if (tensor) tensor->impl().rt_read = false;
    }
  });
}
}  // namespace detail

namespace {
template <typename... Args>
std::unique_ptr<Model::Impl> new_model(Args&&... args) {
  return guarded([&] {
    auto impl = std::make_unique<Model::Impl>();
    impl->model = std::make_shared<tenon::Model>(std::forward<Args>(args)...);
    return impl;
  });
}
tenon::ResultVector to_results(const ResultVector& results) { return detail::nodes_of<tenon::op::v0::Result>(results); }
/// An output of a Result stands for that Result; others get one.
tenon::ResultVector results_for(const OutputVector& outputs) {
  return guarded([&] {
    tenon::ResultVector results;
    for (const tenon::Output<tenon::Node>& output : to(outputs)) {
      auto result = std::dynamic_pointer_cast<tenon::op::v0::Result>(output.get_node_shared_ptr());
      results.push_back(result ? result : std::make_shared<tenon::op::v0::Result>(output));
    }
    return results;
  });
}
tenon::ParameterVector to_parameters(const ParameterVector& parameters) {
  return detail::nodes_of<tenon::op::v0::Parameter>(parameters);
}
}  // namespace
Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) { detail::refresh(*impl_); }
Model::Model(const OutputVector& results, const ParameterVector& parameters, const std::string& name)
    : Model(new_model(results_for(results), to_parameters(parameters), name)) {}
Model::Model(const std::shared_ptr<Node>& result, const ParameterVector& parameters, const std::string& name)
    : Model(OutputVector(result ? result->outputs() : OutputVector()), parameters, name) {}
Model::Model(const ResultVector& results, const ParameterVector& parameters, const std::string& name)
    : Model(new_model(to_results(results), to_parameters(parameters), name)) {}
Model::Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const std::string& name)
    : Model(new_model(to_results(results), detail::nodes_of<tenon::Node>(sinks), to_parameters(parameters), name)) {}
Model::Model(const OutputVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const std::string& name)
    : Model(new_model(results_for(results), detail::nodes_of<tenon::Node>(sinks), to_parameters(parameters), name)) {}
Model::Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const op::util::VariableVector& variables, const std::string& name)
    : Model(results, sinks, parameters, name) {
  add_variables(variables);
}
Model::Model(const OutputVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const op::util::VariableVector& variables, const std::string& name)
    : Model(results, sinks, parameters, name) {
  add_variables(variables);
}
Model::Model(const ResultVector& results, const ParameterVector& parameters, const op::util::VariableVector& variables,
             const std::string& name)
    : Model(results, SinkVector{}, parameters, variables, name) {}
Model::Model(const OutputVector& results, const ParameterVector& parameters, const op::util::VariableVector& variables,
             const std::string& name)
    : Model(results, SinkVector{}, parameters, variables, name) {}
namespace {
ParameterVector parameters_of(const OutputVector& results, const SinkVector& sinks) {
  NodeVector roots = as_node_vector(results);
  roots.insert(roots.end(), sinks.begin(), sinks.end());
  ParameterVector parameters;
  for (const auto& node : detail::nodes_up_to(roots))
    if (auto parameter = std::dynamic_pointer_cast<op::v0::Parameter>(node)) parameters.push_back(std::move(parameter));
  return parameters;
}
}  // namespace
Model::Model(const OutputVector& results, const std::string& name) : Model(results, SinkVector{}, name) {}
Model::Model(const OutputVector& results, const SinkVector& sinks, const std::string& name)
    : Model(results, sinks, parameters_of(results, sinks), name) {}
Model::~Model() = default;

const std::string& Model::get_name() const { return impl_->model->get_name(); }
const std::string& Model::get_friendly_name() const { return impl_->model->get_friendly_name(); }
void Model::set_friendly_name(const std::string& name) { impl_->model->set_friendly_name(name); }
std::shared_ptr<Model> Model::clone() const {
  detail::store_rt_info(*this);
  return guarded([&] { return from(impl_->model->clone()); });
}

#define OV_TENON_PORTS(name)                                                                              \
  std::vector<Output<Node>> Model::name##s() {                                                            \
    return guarded([&] { return detail::ports_of<Node>(impl_->model->name##s()); });                      \
  }                                                                                                       \
  Output<Node> Model::name() {                                                                            \
    return guarded([&] { return from(impl_->model->name()); });                                           \
  }                                                                                                       \
  Output<Node> Model::name(std::size_t index) {                                                           \
    return guarded([&] { return from(impl_->model->name(index)); });                                      \
  }                                                                                                       \
  Output<Node> Model::name(const std::string& tensor_name) {                                              \
    return guarded([&] { return from(impl_->model->name(tensor_name)); });                                \
  }                                                                                                       \
  std::vector<Output<const Node>> Model::name##s() const {                                                \
    return guarded([&] { return detail::ports_of<const Node>(std::as_const(*impl_->model).name##s()); }); \
  }                                                                                                       \
  Output<const Node> Model::name() const {                                                                \
    return guarded([&] { return from(std::as_const(*impl_->model).name()); });                            \
  }                                                                                                       \
  Output<const Node> Model::name(std::size_t index) const {                                               \
    return guarded([&] { return from(std::as_const(*impl_->model).name(index)); });                       \
  }                                                                                                       \
  Output<const Node> Model::name(const std::string& tensor_name) const {                                  \
    return guarded([&] { return from(std::as_const(*impl_->model).name(tensor_name)); });                 \
  }
OV_TENON_PORTS(input)
OV_TENON_PORTS(output)
#undef OV_TENON_PORTS

namespace {
/// Changes a model, and reads its lists again.
template <typename F>
auto changed(Model::Impl& impl, F&& change) {
  return guarded([&] {
    if constexpr (std::is_void_v<decltype(change())>) {
      change();
      detail::refresh(impl);
    } else {
      auto result = change();
      detail::refresh(impl);
      return result;
    }
  });
}
}  // namespace
Output<Node> Model::add_output(const std::string& tensor_name) {
  return changed(*impl_, [&] { return from(impl_->model->add_output(tensor_name)); });
}
Output<Node> Model::add_output(const std::string& op_name, std::size_t output_index) {
  for (const auto& node : get_ops())
    if (node->get_friendly_name() == op_name) return add_output(node->output(output_index));
  OPENVINO_THROW("the model ", get_friendly_name(), " has no node of the name ", op_name);
}
Output<Node> Model::add_output(const Output<Node>& port) {
  return changed(*impl_, [&] { return from(impl_->model->add_output(to(port))); });
}
namespace {
template <typename Key, typename Result = Key>
std::map<Result, tenon::PartialShape> shapes_of(const std::map<Key, PartialShape>& shapes) {
  std::map<Result, tenon::PartialShape> result;
  for (const auto& [key, shape] : shapes) {
    if constexpr (std::is_same_v<Key, Result>)
      result.emplace(key, to(shape));
    else
      result.emplace(to(key), to(shape));
  }
  return result;
}
}  // namespace
namespace {
/// Reshapes a model whose states have other shapes; on failure they have the old ones.
template <typename Shapes>
void reshape_with_states(const Model& model, const Shapes& shapes, const Model::VariableShapes& variables) {
  std::vector<std::function<void()>> undo;
  guarded([&] {
    try {
      for (const auto& node : model.get_ordered_ops()) {
        const auto* state = dynamic_cast<const op::util::VariableExtension*>(node.get());
        const auto shape = state ? variables.find(state->get_variable_id()) : variables.end();
        if (shape == variables.end()) continue;
        const auto variable = state->get_variable();
        op::util::VariableInfo info = variable->get_info();
        undo.emplace_back([variable, info] { variable->update(info); });
        info.data_shape = shape->second;
        variable->update(info);
        const auto there = node->impl().node;
        if (!there->get_attributes().has("variable_shape")) continue;
        undo.emplace_back([there, before = *there->get_attributes().find("variable_shape")] {
          there->set_attribute("variable_shape", before);
        });
        there->set_attribute("variable_shape", to(shape->second));
      }
      model.impl().model->reshape(shapes);
    } catch (...) {
      std::for_each(undo.rbegin(), undo.rend(), [](const auto& each) { each(); });
      throw;
    }
  });
}
}  // namespace
void Model::reshape(const PartialShape& shape, const VariableShapes& variables) {
  reshape_with_states(*this, to(shape), variables);
}
void Model::reshape(const std::map<std::size_t, PartialShape>& shapes, const VariableShapes& variables) {
  reshape_with_states(*this, shapes_of(shapes), variables);
}
void Model::reshape(const std::map<std::string, PartialShape>& shapes, const VariableShapes& variables) {
  reshape_with_states(*this, shapes_of(shapes), variables);
}
void Model::reshape(const std::map<Output<Node>, PartialShape>& shapes, const VariableShapes& variables) {
  reshape_with_states(*this, shapes_of<Output<Node>, tenon::Output<tenon::Node>>(shapes), variables);
}
std::size_t Model::get_output_size() const { return impl_->results.size(); }
const element::Type& Model::get_output_element_type(std::size_t index) const {
  return output(index).get_element_type();
}
const Shape& Model::get_output_shape(std::size_t index) const { return output(index).get_shape(); }
const PartialShape& Model::get_output_partial_shape(std::size_t index) const {
  return output(index).get_partial_shape();
}
std::shared_ptr<Node> Model::get_output_op(std::size_t index) const {
  return std::const_pointer_cast<Node>(output(index).get_node_shared_ptr());
}
std::shared_ptr<Node> Model::get_result() const {
  OPENVINO_ASSERT(impl_->results.size() == 1, "the model has ", impl_->results.size(), " outputs");
  return impl_->results.front();
}
void Model::set_topological_sort(topological_sort_t sorter) { impl_->sorter = std::move(sorter); }
std::vector<std::shared_ptr<Node>> Model::get_ordered_ops() const {
  NodeVector roots(impl_->results.begin(), impl_->results.end());
  roots.insert(roots.end(), impl_->sinks.begin(), impl_->sinks.end());
  roots.insert(roots.end(), impl_->parameters.begin(), impl_->parameters.end());
  return guarded([&] { return impl_->sorter ? impl_->sorter(roots) : detail::nodes_up_to(roots); });
}
std::vector<std::shared_ptr<Node>> Model::get_ops() const { return get_ordered_ops(); }
std::size_t Model::get_graph_size() const { return impl_->model->get_ordered_ops().size(); }
bool Model::is_dynamic() const { return impl_->model->is_dynamic(); }
void Model::validate_nodes_and_infer_types() const {
  guarded([&] {
    for (const auto& node : impl_->model->get_ordered_ops())
      if (const auto& known = impl_->model->get_parameters();
          node->get_type_name() == std::string_view("Parameter") && !std::count(known.begin(), known.end(), node))
        OPENVINO_THROW("Model references undeclared parameters: ", node->get_friendly_name());
    impl_->model->validate_nodes_and_infer_types();
  });
}
const ParameterVector& Model::get_parameters() const { return impl_->parameters; }
const ResultVector& Model::get_results() const { return impl_->results; }
const SinkVector& Model::get_sinks() const { return impl_->sinks; }
std::int64_t Model::get_parameter_index(const std::shared_ptr<op::v0::Parameter>& parameter) const {
  const auto found = std::find(impl_->parameters.begin(), impl_->parameters.end(), parameter);
  return found == impl_->parameters.end() ? -1 : found - impl_->parameters.begin();
}
std::int64_t Model::get_result_index(const Output<Node>& value) const {
  return guarded([&] { return impl_->model->get_result_index(to(value)); });
}
std::int64_t Model::get_result_index(const Output<const Node>& value) const {
  return get_result_index(Output<Node>(std::const_pointer_cast<Node>(value.get_node_shared_ptr()), value.get_index()));
}
void Model::replace_parameter(std::size_t index, const std::shared_ptr<op::v0::Parameter>& parameter) {
  changed(*impl_, [&] { impl_->model->replace_parameter(index, to_parameters({parameter}).front()); });
}
void Model::add_results(const ResultVector& results) {
  changed(*impl_, [&] { impl_->model->add_results(to_results(results)); });
}
void Model::remove_result(const std::shared_ptr<op::v0::Result>& result) {
  changed(*impl_, [&] { impl_->model->remove_result(to_results({result}).front()); });
}
void Model::add_parameters(const ParameterVector& parameters) {
  changed(*impl_, [&] { impl_->model->add_parameters(to_parameters(parameters)); });
}
void Model::remove_parameter(const std::shared_ptr<op::v0::Parameter>& parameter) {
  changed(*impl_, [&] { impl_->model->remove_parameter(to_parameters({parameter}).front()); });
}
void Model::add_sinks(const SinkVector& sinks) {
  changed(*impl_, [&] { impl_->model->add_sinks(detail::nodes_of<tenon::Node>(sinks)); });
}
void Model::remove_sink(const std::shared_ptr<op::Sink>& sink) {
  SinkVector rest = impl_->sinks;
  rest.erase(std::remove(rest.begin(), rest.end(), sink), rest.end());
  changed(*impl_, [&, there = impl_->model] {  // Tenon's models keep their sinks.
    auto without = std::make_shared<tenon::Model>(there->get_results(), detail::nodes_of<tenon::Node>(rest),
                                                  there->get_parameters(), there->get_friendly_name());
    without->get_rt_info() = there->get_rt_info();
    impl_->model = std::move(without);
  });
}
const op::util::VariableVector& Model::get_variables() const {
  const Lock lock(detail::wrappers_mutex());
  std::map<std::string, op::util::Variable::Ptr> known;
  op::util::VariableVector& all = impl_->variables;
  all = impl_->added_variables;
  for (const auto& variable : all) known.emplace(variable->get_info().variable_id, variable);
  for (const auto& node : get_ordered_ops()) {
    const auto state = std::dynamic_pointer_cast<op::util::VariableExtension>(node);
    if (!state) continue;
    const auto [found, is_new] = known.try_emplace(state->get_variable_id(), state->get_variable());
    if (is_new)
      all.push_back(found->second);
    else if (state->get_variable() != found->second)
      state->set_variable(found->second);
  }
  return all;
}
void Model::add_variables(const op::util::VariableVector& variables) {
  for (const auto& variable : variables) {
    OPENVINO_ASSERT(variable, "a variable is null");
    auto& all = impl_->added_variables;
    if (std::find(all.begin(), all.end(), variable) == all.end()) all.push_back(variable);
  }
}
void Model::remove_variable(const op::util::Variable::Ptr& variable) {
  auto& all = impl_->added_variables;
  all.erase(std::remove(all.begin(), all.end(), variable), all.end());
}
op::util::Variable::Ptr Model::get_variable_by_id(const std::string& variable_id) const {
  for (const auto& variable : get_variables())
    if (variable->get_info().variable_id == variable_id) return variable;
  return nullptr;
}
op::util::VariableExtension::~VariableExtension() = default;
std::string op::util::VariableExtension::get_variable_id() const {
  return detail::attribute<std::string>(dynamic_cast<const Node&>(*this), "variable_id");
}
void op::util::VariableExtension::set_variable_id(const std::string& variable_id) {
  VariableInfo info = get_variable()->get_info();
  info.variable_id = variable_id;
  m_variable->update(info);
  set_variable(m_variable);
}
op::util::Variable::Ptr op::util::VariableExtension::get_variable() const {
  if (m_variable) return m_variable;
  const Node& node = dynamic_cast<const Node&>(*this);
  return m_variable = std::make_shared<Variable>(
             VariableInfo{node.get_output_partial_shape(0), node.get_output_element_type(0), get_variable_id()});
}
void op::util::VariableExtension::set_variable(const Variable::Ptr& variable) {
  OPENVINO_ASSERT(variable, "set_variable of null");
  const Node& node = dynamic_cast<const Node&>(*this);
  const VariableInfo& info = variable->get_info();
  detail::set_attribute(node, "variable_id", info.variable_id);
  if (node.impl().node->get_attributes().has("variable_shape")) {
    detail::set_attribute(node, "variable_type", info.data_type);
    detail::set_attribute(node, "variable_shape", info.data_shape.to_string());
  }
  m_variable = variable;
}
void Model::replace_node(const std::shared_ptr<Node>& old, const std::shared_ptr<Node>& replacement) {
  ov::replace_node(old, replacement);
}
void Model::map_unordered_ops(const std::function<void(Node*)>& f) const {
  for (const auto& node : get_ordered_ops()) f(node.get());
}
bool Model::evaluate(TensorVector& outputs, const TensorVector& inputs) const {
  return guarded([&] {
    detail::store_outputs(outputs, tenon::evaluate(*impl_->model, detail::tensors_of(inputs)));
    return true;
  });
}
bool Model::evaluate(TensorVector& outputs, const TensorVector& inputs, EvaluationContext&) const {
  return evaluate(outputs, inputs);
}
RTMap& Model::get_rt_info() {
  return detail::read_rt_info(impl_->rt_info, impl_->rt_read, impl_->model->get_rt_info());
}
const RTMap& Model::get_rt_info() const { return const_cast<Model*>(this)->get_rt_info(); }
namespace {
const Any* find_value(const RTMap& map, const std::vector<std::string>& path) {
  const RTMap* level = &map;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto found = level->find(path[i]);
    if (found == level->end()) return nullptr;
    if (i + 1 == path.size()) return &found->second;
    if (!found->second.is<AnyMap>()) return nullptr;
    level = &found->second.as<AnyMap>();
  }
  return nullptr;
}
}  // namespace
bool Model::has_rt_info(const std::vector<std::string>& path) const {
  return find_value(get_rt_info(), path) != nullptr;
}
const Any& Model::rt_value(const std::vector<std::string>& path) const {
  const Any* found = find_value(get_rt_info(), path);
  if (!found) OPENVINO_THROW("Cannot get runtime attribute. Path to runtime attribute is incorrect.");
  return *found;
}
Any& Model::new_rt_value(const std::vector<std::string>& path) {
  OPENVINO_ASSERT(!path.empty(), "the path of a value in rt_info is empty");
  RTMap* level = &get_rt_info();
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    Any& next = (*level)[path[i]];
    if (next.empty()) next = AnyMap();
    level = &next.as<AnyMap>();
  }
  return (*level)[path.back()];
}
std::ostream& operator<<(std::ostream& out, const Model& model) { return out << "Model(" << model.get_name() << ")"; }
namespace {
/// The axis N of each input whose layout has one.
std::vector<std::pair<Output<const Node>, std::size_t>> batch_axes(const Model& model) {
  std::vector<std::pair<Output<const Node>, std::size_t>> axes;
  for (const auto& input : model.inputs()) {
    const Layout layout = layout::get_layout(input);
    if (!layout::has_batch(layout)) continue;
    const std::int64_t axis = layout::batch_idx(layout);
    axes.emplace_back(input, axis < 0 ? static_cast<std::size_t>(axis) + input.get_partial_shape().size()
                                      : static_cast<std::size_t>(axis));
  }
  OPENVINO_ASSERT(!axes.empty(), "[ get_batch ] no input of the model '", model.get_friendly_name(),
                  "' has a layout with N: set it by ov::layout::set_layout");
  return axes;
}
}  // namespace
Dimension get_batch(const std::shared_ptr<const Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  Dimension batch;
  for (const auto& [input, axis] : batch_axes(*model)) {
    OPENVINO_ASSERT(Dimension::merge(batch, batch, input.get_partial_shape()[static_cast<std::ptrdiff_t>(axis)]),
                    "get_batch: the inputs have different batches, ", input, " among them");
  }
  return batch;
}
void set_batch(const std::shared_ptr<Model>& model, Dimension batch_size) {
  OPENVINO_ASSERT(model, "the model is null");
  std::map<Output<Node>, PartialShape> shapes;
  for (const auto& input : model->inputs()) shapes[input] = input.get_partial_shape();
  for (const auto& [input, axis] : batch_axes(*model)) {
    for (auto& [port, shape] : shapes)
      if (port.get_node() == input.get_node()) shape[static_cast<std::ptrdiff_t>(axis)] = batch_size;
  }
  model->reshape(shapes);
}

void serialize(const std::shared_ptr<const Model>& model, const std::filesystem::path& xml_path,
               const std::filesystem::path& bin_path, pass::Serialize::Version version) {
  OPENVINO_ASSERT(version != pass::Serialize::Version::IR_V10, "IR of version 10 is not written, but version 11");
  guarded([&] { tenon::serialize(*model_of(model), xml_path, bin_path); });
}
void save_model(const std::shared_ptr<const Model>& model, const std::filesystem::path& output_model,
                bool compress_to_fp16) {
  guarded([&] {
    const auto copy = model_of(model)->clone();
    if (compress_to_fp16) tenon::pass::compress_to_f16(*copy);
    tenon::serialize(*copy, output_model);
  });
}
void replace_node(const std::shared_ptr<Node>& target, const OutputVector& replacement_values) {
  OPENVINO_ASSERT(target, "replace_node of null");
  OPENVINO_ASSERT(target->get_output_size() == replacement_values.size(), "replace_node: ", *target, " has ",
                  target->get_output_size(), " outputs, the replacement ", replacement_values.size());
  for (std::size_t i = 0; i < replacement_values.size(); ++i) target->output(i).replace(replacement_values[i]);
}
void replace_node(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement) {
  OPENVINO_ASSERT(target && replacement, "replace_node of null");
  replace_node(target, replacement->outputs());
}
void replace_node(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement,
                  const std::vector<std::int64_t>& output_order) {
  OPENVINO_ASSERT(target && replacement, "replace_node of null");
  OutputVector values;
  for (const std::int64_t index : output_order) values.push_back(replacement->output(static_cast<std::size_t>(index)));
  replace_node(target, values);
}
void replace_nodes(const std::shared_ptr<Model>& f,
                   const std::unordered_map<std::shared_ptr<op::v0::Parameter>, std::shared_ptr<op::v0::Parameter>>&
                       parameter_replacement_map,
                   const std::unordered_map<std::shared_ptr<Node>, std::shared_ptr<Node>>& body_replacement_map) {
  OPENVINO_ASSERT(f, "the model is null");
  for (const auto& [old, replacement] : parameter_replacement_map) {
    const std::int64_t index = f->get_parameter_index(old);
    if (index >= 0) f->replace_parameter(static_cast<std::size_t>(index), replacement);
  }
  for (const auto& [old, replacement] : body_replacement_map) replace_node(old, replacement);
}
bool replace_node_update_name(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement) {
  const auto is_result = [](const Input<Node>& input) { return op::util::is_output(input.get_node()); };
  const auto readers = target->output(0).get_target_inputs();
  // A node that the program knows as an output would change its name.
  if (op::util::is_parameter(replacement) && std::any_of(readers.begin(), readers.end(), is_result)) return false;
  replace_node(target, replacement);
  replacement->set_friendly_name(target->get_friendly_name());
  copy_runtime_info(target, replacement);
  return true;
}
bool detail::is_used(const Node& node) {
  std::vector<std::shared_ptr<const Node>> open{node.shared_from_this()};
  std::set<const Node*> seen;
  while (!open.empty()) {
    const auto each = open.back();
    open.pop_back();
    if (op::util::is_output(each.get()) || op::util::is_sink(each.get())) return true;
    if (!seen.insert(each.get()).second) continue;
    for (const auto& user : each->get_users()) open.push_back(user);
  }
  return false;
}
bool replace_output_update_name(Output<Node> node, const Output<Node>& node_input) {
  const auto is_result = [](const Input<Node>& input) { return op::util::is_output(input.get_node()); };
  const auto readers = node.get_target_inputs();
  if (std::any_of(readers.begin(), readers.end(), is_result)) {
    if (op::util::is_parameter(node_input.get_node()) || node_input.get_node()->get_users(true).size() != 1)
      return false;
    node_input.get_node_shared_ptr()->set_friendly_name(node.get_node()->get_friendly_name());
  }
  node.replace(node_input);
  copy_runtime_info({node.get_node_shared_ptr(), node_input.get_node_shared_ptr()}, node_input.get_node_shared_ptr());
  return true;
}
bool replace_outputs_update_name(OutputVector nodes, const OutputVector& node_inputs) {
  OPENVINO_ASSERT(nodes.size() == node_inputs.size(), nodes.size(), " outputs, and ", node_inputs.size(),
                  " to replace them");
  bool all = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) all &= replace_output_update_name(nodes[i], node_inputs[i]);
  return all;
}
void traverse_nodes(const Model* model, const std::function<void(const std::shared_ptr<Node>&)>& f) {
  OPENVINO_ASSERT(model, "the model is null");
  for (const auto& node : model->get_ordered_ops()) f(node);
}
void traverse_nodes(const std::shared_ptr<const Model>& model,
                    const std::function<void(const std::shared_ptr<Node>&)>& f) {
  traverse_nodes(model.get(), f);
}
void traverse_nodes(const NodeVector& results, const std::function<void(const std::shared_ptr<Node>&)>& f,
                    const NodeVector& parameters) {
  for (const auto& node : detail::nodes_up_to(results, parameters)) f(node);
}
NodeVector detail::nodes_up_to(const NodeVector& roots, const NodeVector& stops) {
  // In the original's order: the last root comes first, and a node's first input.
  NodeVector sorted, open = roots;
  std::set<const Node*> done, begun;
  while (!open.empty()) {
    const std::shared_ptr<Node> node = open.back();
    OPENVINO_ASSERT(node, "a node is null");
    if (done.count(node.get())) {
      open.pop_back();
    } else if (begun.insert(node.get()).second && std::find(stops.begin(), stops.end(), node) == stops.end()) {
      const OutputVector sources = node->input_values();
      for (auto source = sources.rbegin(); source != sources.rend(); ++source)
        if (!done.count(source->get_node())) open.push_back(source->get_node_shared_ptr());
    } else {
      done.insert(node.get());
      sorted.push_back(node);
      open.pop_back();
    }
  }
  return sorted;
}
bool compare_constants(const std::shared_ptr<Node>& first, const std::shared_ptr<Node>& second) {
  const auto a = std::dynamic_pointer_cast<op::v0::Constant>(first),
             b = std::dynamic_pointer_cast<op::v0::Constant>(second);
  return a && b && a->get_element_type() == b->get_element_type() && a->get_shape() == b->get_shape() &&
         std::memcmp(a->get_data_ptr(), b->get_data_ptr(), a->get_byte_size()) == 0;
}

}  // namespace ov
