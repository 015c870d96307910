// SPDX-License-Identifier: Apache-2.0
// Models: their inputs, outputs and variables, shapes, rt_info, batches.
#include <algorithm>
#include <map>
#include <ostream>
#include <string_view>

#include <openvino/core/graph_util.hpp>
#include <openvino/core/model.hpp>
#include <openvino/op/sink.hpp>
#include <openvino/op/util/make.hpp>
#include <openvino/op/util/multi_subgraph_base.hpp>
#include <openvino/op/util/variable_extension.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model_ops.hpp>

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

}  // namespace ov
