// SPDX-License-Identifier: Apache-2.0
// PrePostProcessor and what it is told through: each call notes something in a plan.
#include <tenon/runtime/preprocess/pre_post_process.hpp>

#include <algorithm>
#include <limits>
#include <ostream>

#include <tenon/core/tensor.hpp>
#include <tenon/runtime/preprocess/internal/steps.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {

using detail::check;

// -- What the caller's input is like

InputTensorInfo& InputTensorInfo::set_element_type(const element::Type& type) {
  plan_->type = type;
  return *this;
}
InputTensorInfo& InputTensorInfo::set_layout(const Layout& layout) {
  plan_->tensor_layout = layout;
  return *this;
}
InputTensorInfo& InputTensorInfo::set_spatial_dynamic_shape() {
  check(!plan_->shape, "'set_spatial_dynamic_shape' and 'set_shape/set_from' shall not be used together");
  plan_->spatial.emplace(Dimension::dynamic(), Dimension::dynamic());
  return *this;
}
InputTensorInfo& InputTensorInfo::set_spatial_static_shape(std::size_t height, std::size_t width) {
  check(!plan_->shape, "'set_spatial_static_shape' and 'set_shape/set_from' shall not be used together");
  constexpr auto limit = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  check(height <= limit && width <= limit, "set_spatial_static_shape: " + std::to_string(height) + "x" +
                                               std::to_string(width) + " is larger than " + std::to_string(limit));
  plan_->spatial.emplace(static_cast<std::int64_t>(height), static_cast<std::int64_t>(width));
  return *this;
}
InputTensorInfo& InputTensorInfo::set_color_format(const ColorFormat& format,
                                                   const std::vector<std::string>& sub_names) {
  detail::check_sub_names(format, sub_names);
  plan_->colour = format;
  plan_->sub_names = sub_names;
  return *this;
}
InputTensorInfo& InputTensorInfo::set_memory_type(const std::string& memory_type) {
  plan_->memory_type = memory_type;
  return *this;
}
InputTensorInfo& InputTensorInfo::set_shape(const PartialShape& shape) {
  check(!plan_->spatial,
        "'set_spatial_static_shape', 'set_spatial_dynamic_shape', 'set_shape/set_from' shall not be used together");
  plan_->shape = shape;
  return *this;
}
InputTensorInfo& InputTensorInfo::set_from(const Tensor& runtime_tensor) {
  check(static_cast<bool>(runtime_tensor), "set_from: the tensor is empty");
  set_shape(PartialShape(runtime_tensor.shape()));
  return set_element_type(runtime_tensor.element_type());
}

InputModelInfo& InputModelInfo::set_layout(const Layout& layout) {
  plan_->model_layout = layout;
  return *this;
}

// -- Steps

PreProcessSteps& PreProcessSteps::clamp(double min_value, double max_value) {
  plan_->steps.push_back(detail::clamp_step(min_value, max_value));
  return *this;
}
PreProcessSteps& PreProcessSteps::convert_element_type(const element::Type& type) {
  plan_->steps.push_back(detail::convert_type_step(type));
  return *this;
}
PreProcessSteps& PreProcessSteps::convert_color(const ColorFormat& dst_format) {
  plan_->steps.push_back(detail::convert_color_step(dst_format));
  return *this;
}
PreProcessSteps& PreProcessSteps::scale(float value) { return scale(std::vector<float>{value}); }
PreProcessSteps& PreProcessSteps::scale(const std::vector<float>& values) {
  plan_->steps.push_back(detail::arithmetic_step("scale", "Divide", values));
  return *this;
}
PreProcessSteps& PreProcessSteps::mean(float value) { return mean(std::vector<float>{value}); }
PreProcessSteps& PreProcessSteps::mean(const std::vector<float>& values) {
  plan_->steps.push_back(detail::arithmetic_step("mean", "Subtract", values));
  return *this;
}
PreProcessSteps& PreProcessSteps::pad(const std::vector<int>& pads_begin, const std::vector<int>& pads_end, float value,
                                      PaddingMode mode) {
  return pad(pads_begin, pads_end, std::vector<float>{value}, mode);
}
PreProcessSteps& PreProcessSteps::pad(const std::vector<int>& pads_begin, const std::vector<int>& pads_end,
                                      const std::vector<float>& values, PaddingMode mode) {
  plan_->steps.push_back(detail::pad_step(pads_begin, pads_end, values, mode));
  return *this;
}
PreProcessSteps& PreProcessSteps::custom(const CustomPreprocessOp& preprocess_cb) {
  plan_->steps.push_back(detail::custom_step(preprocess_cb));
  return *this;
}
PreProcessSteps& PreProcessSteps::resize(ResizeAlgorithm alg, std::size_t dst_height, std::size_t dst_width) {
  constexpr auto limit = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  check(dst_height <= limit && dst_width <= limit,
        "Resize: Width/Height dimensions cannot be greater than " + std::to_string(limit));
  plan_->steps.push_back(
      detail::resize_step(alg, static_cast<std::int64_t>(dst_height), static_cast<std::int64_t>(dst_width)));
  return *this;
}
PreProcessSteps& PreProcessSteps::resize(ResizeAlgorithm alg) {
  plan_->steps.push_back(detail::resize_step(alg, -1, -1));
  return *this;
}
PreProcessSteps& PreProcessSteps::crop(const std::vector<int>& begin, const std::vector<int>& end) {
  plan_->steps.push_back(detail::crop_step(begin, end));
  return *this;
}
PreProcessSteps& PreProcessSteps::convert_layout(const Layout& dst_layout) {
  plan_->steps.push_back(detail::convert_layout_step(dst_layout));
  return *this;
}
PreProcessSteps& PreProcessSteps::convert_layout(const std::vector<uint64_t>& dims) {
  if (!dims.empty()) plan_->steps.push_back(detail::convert_layout_step(dims));
  return *this;
}
PreProcessSteps& PreProcessSteps::reverse_channels() {
  plan_->steps.push_back(detail::reverse_step());
  return *this;
}

PostProcessSteps& PostProcessSteps::clamp(double min_value, double max_value) {
  plan_->steps.push_back(detail::clamp_step(min_value, max_value));
  return *this;
}
PostProcessSteps& PostProcessSteps::convert_element_type(const element::Type& type) {
  plan_->steps.push_back(detail::convert_type_step(type));
  return *this;
}
PostProcessSteps& PostProcessSteps::convert_layout(const Layout& dst_layout) {
  plan_->steps.push_back(detail::convert_layout_step(dst_layout));
  return *this;
}
PostProcessSteps& PostProcessSteps::convert_layout(const std::vector<uint64_t>& dims) {
  if (!dims.empty()) plan_->steps.push_back(detail::convert_layout_step(dims));
  return *this;
}
PostProcessSteps& PostProcessSteps::custom(const CustomPostprocessOp& postprocess_cb) {
  plan_->steps.push_back(detail::custom_step(postprocess_cb));
  return *this;
}
PostProcessSteps& PostProcessSteps::convert_color(const ColorFormat& dst_format) {
  plan_->steps.push_back(detail::convert_output_color_step(dst_format));
  return *this;
}

// -- Outputs

OutputTensorInfo& OutputTensorInfo::set_element_type(const element::Type& type) {
  plan_->type = type;
  return *this;
}
OutputTensorInfo& OutputTensorInfo::set_layout(const Layout& layout) {
  plan_->tensor_layout = layout;
  return *this;
}
OutputModelInfo& OutputModelInfo::set_layout(const Layout& layout) {
  plan_->model_layout = layout;
  return *this;
}
OutputModelInfo& OutputModelInfo::set_color_format(const ColorFormat& format,
                                                   const std::vector<std::string>& sub_names) {
  detail::check_sub_names(format, sub_names);
  plan_->colour = format;
  return *this;
}

// -- One input, one output

struct InputInfo::Impl {
  detail::InputPlan plan;
  InputTensorInfo tensor{plan};
  PreProcessSteps steps{plan};
  InputModelInfo model{plan};
};
InputInfo::InputInfo() : impl_(std::make_unique<Impl>()) {}
InputInfo::InputInfo(InputInfo&&) noexcept = default;
InputInfo& InputInfo::operator=(InputInfo&&) noexcept = default;
InputInfo::~InputInfo() = default;
InputTensorInfo& InputInfo::tensor() { return impl_->tensor; }
PreProcessSteps& InputInfo::preprocess() { return impl_->steps; }
InputModelInfo& InputInfo::model() { return impl_->model; }

struct OutputInfo::Impl {
  detail::OutputPlan plan;
  OutputTensorInfo tensor{plan};
  PostProcessSteps steps{plan};
  OutputModelInfo model{plan};
};
OutputInfo::OutputInfo() : impl_(std::make_unique<Impl>()) {}
OutputInfo::OutputInfo(OutputInfo&&) noexcept = default;
OutputInfo& OutputInfo::operator=(OutputInfo&&) noexcept = default;
OutputInfo::~OutputInfo() = default;
OutputTensorInfo& OutputInfo::tensor() { return impl_->tensor; }
PostProcessSteps& OutputInfo::postprocess() { return impl_->steps; }
OutputModelInfo& OutputInfo::model() { return impl_->model; }

// -- The whole

struct PrePostProcessor::Impl {
  std::shared_ptr<Model> model;
  std::vector<InputInfo> inputs;
  std::vector<OutputInfo> outputs;

  /// Position of the port with the name; `what` for the message. Names are those of the model as it came.
  static std::size_t find(const std::vector<Output<Node>>& ports, const std::string& name, const char* what) {
    std::string known;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].get_names().count(name)) return i;
      for (const std::string& other : ports[i].get_names()) known += " '" + other + "'";
    }
    throw AssertFailure(std::string("Model doesn't have ") + what + " with name " + name + "; it has" +
                        (known.empty() ? " none with a name" : known));
  }
};

PrePostProcessor::PrePostProcessor(const std::shared_ptr<Model>& function) : impl_(std::make_unique<Impl>()) {
  check(function != nullptr, "Model can't be nullptr for PrePostProcessor");
  impl_->model = function;
  for (const auto& parameter : function->get_parameters()) {
    impl_->inputs.push_back(InputInfo());
    impl_->inputs.back().impl_->plan.parameter = parameter;
  }
  for (const auto& result : function->get_results()) {
    impl_->outputs.push_back(OutputInfo());
    impl_->outputs.back().impl_->plan.result = result;
  }
}
PrePostProcessor::PrePostProcessor(PrePostProcessor&&) noexcept = default;
PrePostProcessor& PrePostProcessor::operator=(PrePostProcessor&&) noexcept = default;
PrePostProcessor::~PrePostProcessor() = default;

InputInfo& PrePostProcessor::input() {
  check(impl_->inputs.size() == 1,
        "PrePostProcessor::input() - Model must have exactly one input, got " + std::to_string(impl_->inputs.size()));
  return impl_->inputs.front();
}
InputInfo& PrePostProcessor::input(const std::string& tensor_name) {
  std::vector<Output<Node>> ports;
  for (const InputInfo& info : impl_->inputs) ports.push_back(info.impl_->plan.parameter->output(0));
  return impl_->inputs[Impl::find(ports, tensor_name, "input")];
}
InputInfo& PrePostProcessor::input(std::size_t input_index) {
  check(input_index < impl_->inputs.size(), "PrePostProcessor::input(size_t) - Model doesn't have input with index " +
                                                std::to_string(input_index) + ". Total number of inputs is " +
                                                std::to_string(impl_->inputs.size()));
  return impl_->inputs[input_index];
}
OutputInfo& PrePostProcessor::output() {
  check(impl_->outputs.size() == 1, "PrePostProcessor::output() - Model must have exactly one output, got " +
                                        std::to_string(impl_->outputs.size()));
  return impl_->outputs.front();
}
OutputInfo& PrePostProcessor::output(const std::string& tensor_name) {
  std::vector<Output<Node>> ports;
  for (const OutputInfo& info : impl_->outputs) ports.push_back(info.impl_->plan.result->output(0));
  return impl_->outputs[Impl::find(ports, tensor_name, "output")];
}
OutputInfo& PrePostProcessor::output(std::size_t output_index) {
  check(output_index < impl_->outputs.size(),
        "PrePostProcessor::output(size_t) - Model doesn't have output with index " + std::to_string(output_index) +
            ". Total number of outputs is " + std::to_string(impl_->outputs.size()));
  return impl_->outputs[output_index];
}

std::shared_ptr<Model> PrePostProcessor::build() {
  std::vector<const detail::InputPlan*> inputs;
  std::vector<const detail::OutputPlan*> outputs;
  for (const InputInfo& info : impl_->inputs) inputs.push_back(&info.impl_->plan);
  for (const OutputInfo& info : impl_->outputs) outputs.push_back(&info.impl_->plan);
  detail::build_model(impl_->model, inputs, outputs);
  return impl_->model;
}

void PrePostProcessor::dump(std::ostream& out) const {
  for (const InputInfo& info : impl_->inputs) detail::describe_input(out, info.impl_->plan, *impl_->model);
  for (const OutputInfo& info : impl_->outputs) detail::describe_output(out, info.impl_->plan);
}

std::ostream& operator<<(std::ostream& out, const PrePostProcessor& processor) {
  try {
    processor.dump(out);
  } catch (const Error& error) {
    out << "\nError occurred: " << error.what();
  }
  return out;
}

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
