// SPDX-License-Identifier: Apache-2.0
// Turns PrePostProcessor's settings into nodes of the model.
#include <algorithm>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/layout_axes.hpp>
#include <tenon/runtime/preprocess/internal/steps.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {
namespace detail {
namespace {

constexpr const char* kMemoryType = "memory_type_0";

std::string name_of(const Output<const Node>& port) {
  return port.get_names().empty() ? port.get_node()->get_friendly_name() : port.get_any_name();
}

/// The model's layout if none was set: the layout that the steps produce from the tensor's.
Layout propagated(const InputPlan& plan) {
  Layout layout = *plan.tensor_layout;
  for (const Step& step : plan.steps) {
    if (step.layout) layout = *step.layout;
    if (!step.order.empty()) layout = LayoutAxes::permuted(layout, step.order);
  }
  return layout;
}

/// The tensor's shape and layout when the steps permute axes: the model's, permuted back.
std::pair<PartialShape, Layout> permuted_back(const InputPlan& plan, const PartialShape& model_shape,
                                              const Layout& model_layout) {
  PartialShape shape = model_shape;
  Layout layout = model_layout;
  if (shape.rank().is_dynamic()) return {shape, layout};
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    if (step->order.empty()) continue;
    const auto& order = step->order;
    LayoutAxes::permuted(Layout(), order);  // Checks that it is a permutation.
    check(order.size() == shape.size(), "convert_layout: " + std::to_string(order.size()) +
                                            " dimensions are given, but the input's shape is " + shape.to_string());
    PartialShape before = shape;
    std::vector<std::uint64_t> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      before[order[i]] = shape[i];
      back[order[i]] = i;
    }
    shape = before;
    layout = LayoutAxes::permuted(layout, back);
  }
  return {shape, layout};
}

struct TensorForm {
  PartialShape shape;
  Layout tensor_layout, model_layout;
};

/// Shape and layout of the caller's tensor, before it is split in planes.
TensorForm tensor_form(const InputPlan& plan) {
  const PartialShape& model_shape = plan.parameter->get_partial_shape();
  TensorForm form{model_shape, plan.tensor_layout.value_or(Layout()),
                  plan.model_layout.value_or(plan.parameter->get_layout())};
  if (!plan.tensor_layout && plan.colour != ColorFormat::UNDEFINED) form.tensor_layout = "NHWC";
  if (plan.shape) form.shape = *plan.shape;
  if (form.model_layout.empty() && plan.tensor_layout) form.model_layout = propagated(plan);
  if (!form.tensor_layout.empty() && !form.model_layout.empty() && !(form.model_layout == form.tensor_layout)) {
    const auto [shape, layout] = LayoutAxes::without_missing(form.model_layout, model_shape, form.tensor_layout);
    const auto order = LayoutAxes::order(layout, shape, form.tensor_layout);
    form.shape = shape;
    if (shape.rank().is_static()) {
      for (std::size_t i = 0; i < order.size(); ++i) form.shape[i] = shape[static_cast<std::size_t>(order[i])];
    }
  } else {
    const auto [shape, layout] = permuted_back(plan, form.shape, form.model_layout);
    form.shape = shape;
    if (form.tensor_layout.empty()) form.tensor_layout = layout;
  }
  if (plan.shape) {
    form.shape = *plan.shape;
  } else if (plan.spatial) {
    form.shape[named_axis(form.tensor_layout, form.shape, "H", "height")] = plan.spatial->first;
    form.shape[named_axis(form.tensor_layout, form.shape, "W", "width")] = plan.spatial->second;
  }
  return form;
}

std::unordered_set<std::string> plane_names(const InputPlan& plan, std::size_t plane, const Model& model) {
  const auto output = plan.parameter->output(0);
  const auto& names = output.get_names();
  if (plane_count(plan.colour) == 1) return names;
  std::unordered_set<std::string> result;
  if (plan.sub_names.empty()) return result;
  std::unordered_set<std::string> taken;
  for (const auto& node : model.get_ordered_ops()) {
    for (const Output<Node>& output : node->outputs())
      taken.insert(output.get_names().begin(), output.get_names().end());
  }
  for (const std::string& name : names) {
    const std::string made = name + "/" + plan.sub_names[plane];
    check(!taken.count(made), "Error while trying to create plane input with name '" + made +
                                  "' - name already exists in model. Please specify another sub-name for "
                                  "set_color_format");
    result.insert(made);
  }
  return result;
}

std::shared_ptr<op::v0::Parameter> plane_parameter(const InputPlan& plan, std::size_t plane, const TensorForm& form,
                                                   const Model& model) {
  const auto& old = plan.parameter;
  auto parameter = std::make_shared<op::v0::Parameter>(plan.type.value_or(old->get_element_type()),
                                                       plane_shape(plan.colour, plane, form.shape, form.tensor_layout));
  parameter->output(0).set_names(plane_names(plan, plane, model));
  if (plane_count(plan.colour) == 1)
    parameter->set_friendly_name(old->get_friendly_name());
  else if (!plan.sub_names.empty())
    parameter->set_friendly_name(old->get_friendly_name() + "/" + plan.sub_names[plane]);
  parameter->get_rt_info() = old->get_rt_info();
  RTMap& info = parameter->output(0).get_rt_info();
  info = old->output(0).get_rt_info();
  if (!form.tensor_layout.empty()) parameter->set_layout(form.tensor_layout);
  if (plan.memory_type && plan.memory_type->empty()) info.erase(kMemoryType);
  if (plan.memory_type && !plan.memory_type->empty())
    info[kMemoryType] =
        AnyMap{{"name", std::string("memory_type")}, {"version", std::string("0")}, {"value", *plan.memory_type}};
  return parameter;
}

std::vector<Step> implicit_steps(const element::Type& type, const StepContext& context) {
  std::vector<Step> steps;
  if (!(type == context.target_type) && context.target_type.is_static() && type.is_static())
    steps.push_back(convert_type_step(context.target_type));
  if (!context.target_layout.empty() && !(context.target_layout == context.layout))
    steps.push_back(convert_layout_step(context.target_layout));
  return steps;
}

void apply(const Step& step, bool implicit, OutputVector& nodes, StepContext& context, const std::string& what,
           const InputBuild::Seen& seen) {
  const Output<Node> before = nodes[0];
  const StepContext context_before = context;
  try {
    nodes = step.apply(nodes, context);
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument) throw;
    throw AssertFailure(what + ", step '" + step.name + "': " + error.what());
  }
  if (seen) seen(step, implicit, before, context_before, nodes[0]);
}

/// Reverts the changes to a model unless keep() is called.
class Undo {
 public:
  explicit Undo(Model& model) : model_(model), parameters_(model.get_parameters()), results_(model.get_results()) {
    for (const auto& parameter : parameters_) {
      for (const Input<Node>& input : parameter->get_output_target_inputs(0)) edges_.emplace_back(input, parameter);
    }
    for (const auto& result : results_) {
      const Output<Node> source = result->input_value(0);
      edges_.emplace_back(result->input(0), source);
      ports_.push_back({source, source.get_names(), source.get_rt_info()});
    }
  }
  void keep() { keep_ = true; }
  ~Undo() {
    if (keep_) return;
    for (const auto& [input, source] : edges_) input.replace_source_output(source);
    for (const Port& port : ports_) {
      port.source.get_tensor().set_names(port.names);
      port.source.get_tensor().get_rt_info() = port.info;
    }
    put(model_, parameters_, results_);
    try {
      model_.validate_nodes_and_infer_types();
    } catch (const Error&) {
      // The model was valid before; an error of a shape function now is not the one to report.
    }
  }
  static void put(Model& model, const ParameterVector& parameters, const ResultVector& results) {
    while (!model.get_parameters().empty()) {
      const auto first = model.get_parameters().front();
      model.remove_parameter(first);
    }
    model.add_parameters(parameters);
    while (!model.get_results().empty()) {
      const auto first = model.get_results().front();
      model.remove_result(first);
    }
    model.add_results(results);
  }

 private:
  struct Port {
    Output<Node> source;
    std::unordered_set<std::string> names;
    RTMap info;
  };
  Model& model_;
  const ParameterVector parameters_;
  const ResultVector results_;
  std::vector<std::pair<Input<Node>, Output<Node>>> edges_;
  std::vector<Port> ports_;
  bool keep_ = false;
};

void build_input(const InputPlan& plan, Model& model, ParameterVector& parameters) {
  InputBuild build(plan, model);
  const auto place = std::find(parameters.begin(), parameters.end(), plan.parameter);
  check(place != parameters.end(),
        "Parameter to replace has been replaced by previous steps of preprocessing. Use only one InputInfo for one "
        "input parameter, and build() once");
  const auto users = plan.parameter->get_output_target_inputs(0);
  build.run();
  for (const Input<Node>& user : users) user.replace_source_output(build.nodes[0]);
  const auto index = place - parameters.begin();
  parameters.erase(place);
  parameters.insert(parameters.begin() + index, build.parameters.begin(), build.parameters.end());
}

/// Moves an output's tensor names and layout to the new end, unless another output reads the old one as well or it
/// is also an input.
void move_names(const Output<Node>& from, Output<Node> to) {
  std::size_t results = 0;
  for (const Input<Node>& user : from.get_target_inputs()) results += is_op(user.get_node(), "Result");
  if (results > 0 || is_op(from.get_node(), "Parameter")) return;
  to.add_names(from.get_names());
  from.get_tensor().set_names({});
  from.get_tensor().get_rt_info().erase("layout_0");
}

void build_output(const OutputPlan& plan) {
  if (plan.model_layout) plan.result->set_layout(*plan.model_layout);
  OutputBuild build(plan);
  const Output<Node> old = plan.result->input_value(0);
  build.run();
  if (!(build.node == old)) {
    plan.result->set_argument(0, build.node);
    plan.result->validate_and_infer_types();
    build.node.get_node()->set_friendly_name(old.get_node()->get_friendly_name() + "." +
                                             std::to_string(old.get_index()));
    move_names(old, build.node);
  }
  if (!build.context.layout.empty()) plan.result->set_layout(build.context.layout);
}

}  // namespace

InputBuild::InputBuild(const InputPlan& from, const Model& model) : plan(from) {
  TensorForm form = tensor_form(plan);
  for (std::size_t plane = 0; plane < plane_count(plan.colour); ++plane) {
    parameters.push_back(plane_parameter(plan, plane, form, model));
    nodes.push_back(parameters.back()->output(0));
  }
  context.layout = form.tensor_layout;
  context.target_layout = form.model_layout;
  context.model_shape = plan.parameter->get_partial_shape();
  context.target_type = plan.parameter->get_element_type();
  context.colour = plan.colour;
}

void InputBuild::run(const Seen& seen) {
  const std::string what = "input '" + name_of(plan.parameter->output(0)) + "'";
  for (const Step& step : plan.steps) apply(step, false, nodes, context, what, seen);
  check(nodes.size() == 1,
        what +
            ": Multiple plane input is not allowed as model input. Consider using of convert_color preprocessing "
            "operation. Current format is '" +
            color_format_name(context.colour) + "'");
  const ColorFormat colour = context.colour;
  check(colour == ColorFormat::RGB || colour == ColorFormat::BGR || colour == ColorFormat::GRAY ||
            colour == ColorFormat::UNDEFINED,
        what +
            ": model shall have RGB/BGR/GRAY color format. Consider add 'convert_color' preprocessing operation to "
            "convert current color format '" +
            color_format_name(colour) + "' to RGB/BGR/GRAY");
  for (const Step& step : implicit_steps(nodes[0].get_element_type(), context))
    apply(step, true, nodes, context, what, seen);
  check(nodes[0].get_partial_shape().compatible(context.model_shape),
        "Resulting shape '" + nodes[0].get_partial_shape().to_string() +
            "' after preprocessing is not aligned with original parameter's shape: " + context.model_shape.to_string() +
            ", input parameter: " + plan.parameter->get_friendly_name());
}

OutputBuild::OutputBuild(const OutputPlan& from) : plan(from) {
  context.layout = plan.model_layout.value_or(plan.result->get_layout());
  context.target_layout = plan.tensor_layout.value_or(Layout());
  context.target_type = plan.type.value_or(element::Type());
  context.colour = plan.colour.value_or(ColorFormat::UNDEFINED);
  node = plan.result->input_value(0);
}

void OutputBuild::run(const Seen& seen) {
  const std::string what = "output '" + name_of(plan.result->output(0)) + "'";
  OutputVector nodes{node};
  for (const Step& step : plan.steps) apply(step, false, nodes, context, what, seen);
  for (const Step& step : implicit_steps(nodes[0].get_element_type(), context))
    apply(step, true, nodes, context, what, seen);
  node = nodes[0];
}

void build_model(const std::shared_ptr<Model>& model, const std::vector<const InputPlan*>& inputs,
                 const std::vector<const OutputPlan*>& outputs) {
  Undo undo(*model);
  try {
    ParameterVector parameters = model->get_parameters();
    const ResultVector results = model->get_results();
    for (const InputPlan* plan : inputs) build_input(*plan, *model, parameters);
    Undo::put(*model, parameters, results);
    model->validate_nodes_and_infer_types();
    for (const OutputPlan* plan : outputs) build_output(*plan);
    model->validate_nodes_and_infer_types();
  } catch (const AssertFailure&) {
    throw;
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument) throw;
    throw AssertFailure(error.what());
  }
  undo.keep();
}

}  // namespace detail

TensorInfoMemoryType TensorInfoMemoryType::of(const Output<const Node>& port) {
  const auto found = port.get_rt_info().find(detail::kMemoryType);
  if (found == port.get_rt_info().end() || !found->second.is<AnyMap>()) return {};
  const AnyMap values = found->second.as<AnyMap>();
  const auto value = values.find("value");
  return value == values.end() ? TensorInfoMemoryType() : TensorInfoMemoryType(value->second.to_text());
}

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
