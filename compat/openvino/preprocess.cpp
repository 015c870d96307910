// SPDX-License-Identifier: Apache-2.0
// PrePostProcessor: each class hands its calls to Tenon's.
#include <openvino/core/preprocess/pre_post_process.hpp>

#include <map>

#include <tenon/runtime/preprocess/pre_post_process.hpp>

#include "convert.hpp"

namespace ov {
namespace preprocess {

using detail::from;
using detail::guarded;
using detail::model_of;
using detail::to;

InputInfo::InputInfo(void* there)
    : tensor_(&static_cast<tenon::preprocess::InputInfo*>(there)->tensor()),
      preprocess_(&static_cast<tenon::preprocess::InputInfo*>(there)->preprocess()),
      model_(&static_cast<tenon::preprocess::InputInfo*>(there)->model()) {}
OutputInfo::OutputInfo(void* there)
    : model_(&static_cast<tenon::preprocess::OutputInfo*>(there)->model()),
      postprocess_(&static_cast<tenon::preprocess::OutputInfo*>(there)->postprocess()),
      tensor_(&static_cast<tenon::preprocess::OutputInfo*>(there)->tensor()) {}

namespace {
/// The function as Tenon's nodes call it. Errors of the program's pass through as they are.
template <typename F>
auto custom_step(const F& step) {
  return [step](const tenon::Output<tenon::Node>& node) { return to(step(from(node))); };
}
tenon::preprocess::ColorFormat to_color(ColorFormat format) {
  return static_cast<tenon::preprocess::ColorFormat>(format);
}
tenon::preprocess::ResizeAlgorithm to_resize(ResizeAlgorithm algorithm) {
  return static_cast<tenon::preprocess::ResizeAlgorithm>(algorithm);
}
tenon::preprocess::PaddingMode to_padding(PaddingMode mode) {
  return static_cast<tenon::preprocess::PaddingMode>(mode);
}
tenon::element::Type to_type(const element::Type& type) { return to(type); }
}  // namespace

#define OV_TENON_STEP(Class, name, parameters, arguments)                             \
  Class& Class::name parameters {                                                     \
    guarded([&] { static_cast<tenon::preprocess::Class*>(there_)->name arguments; }); \
    return *this;                                                                     \
  }
OV_TENON_STEP(InputTensorInfo, set_element_type, (const element::Type& type), (to_type(type)))
OV_TENON_STEP(InputTensorInfo, set_layout, (const Layout& layout), (to(layout)))
OV_TENON_STEP(InputTensorInfo, set_spatial_dynamic_shape, (), ())
OV_TENON_STEP(InputTensorInfo, set_spatial_static_shape, (std::size_t height, std::size_t width), (height, width))
OV_TENON_STEP(InputTensorInfo, set_color_format, (const ColorFormat& format, const std::vector<std::string>& sub_names),
              (to_color(format), sub_names))
OV_TENON_STEP(InputTensorInfo, set_memory_type, (const std::string& memory_type), (memory_type))
OV_TENON_STEP(InputTensorInfo, set_shape, (const PartialShape& shape), (to(shape)))
OV_TENON_STEP(InputTensorInfo, set_from, (const Tensor& runtime_tensor), (to(runtime_tensor)))
OV_TENON_STEP(InputModelInfo, set_layout, (const Layout& layout), (to(layout)))
OV_TENON_STEP(OutputModelInfo, set_layout, (const Layout& layout), (to(layout)))
OV_TENON_STEP(OutputModelInfo, set_color_format, (const ColorFormat& format, const std::vector<std::string>& sub_names),
              (to_color(format), sub_names))
OV_TENON_STEP(OutputTensorInfo, set_element_type, (const element::Type& type), (to_type(type)))
OV_TENON_STEP(OutputTensorInfo, set_layout, (const Layout& layout), (to(layout)))
OV_TENON_STEP(PostProcessSteps, clamp, (double min_value, double max_value), (min_value, max_value))
OV_TENON_STEP(PostProcessSteps, convert_element_type, (const element::Type& type), (to_type(type)))
OV_TENON_STEP(PostProcessSteps, convert_layout, (const Layout& dst_layout), (to(dst_layout)))
OV_TENON_STEP(PostProcessSteps, convert_layout, (const std::vector<std::uint64_t>& dims), (dims))
OV_TENON_STEP(PostProcessSteps, convert_color, (const ColorFormat& dst_format), (to_color(dst_format)))
OV_TENON_STEP(PostProcessSteps, custom, (const CustomPostprocessOp& postprocess_cb), (custom_step(postprocess_cb)))
OV_TENON_STEP(PreProcessSteps, clamp, (double min_value, double max_value), (min_value, max_value))
OV_TENON_STEP(PreProcessSteps, convert_element_type, (const element::Type& type), (to_type(type)))
OV_TENON_STEP(PreProcessSteps, convert_color, (const ColorFormat& dst_format), (to_color(dst_format)))
OV_TENON_STEP(PreProcessSteps, scale, (float value), (value))
OV_TENON_STEP(PreProcessSteps, scale, (const std::vector<float>& values), (values))
OV_TENON_STEP(PreProcessSteps, mean, (float value), (value))
OV_TENON_STEP(PreProcessSteps, mean, (const std::vector<float>& values), (values))
OV_TENON_STEP(PreProcessSteps, pad,
              (const std::vector<int>& pads_begin, const std::vector<int>& pads_end, float value, PaddingMode mode),
              (pads_begin, pads_end, value, to_padding(mode)))
OV_TENON_STEP(PreProcessSteps, pad,
              (const std::vector<int>& pads_begin, const std::vector<int>& pads_end, const std::vector<float>& values,
               PaddingMode mode),
              (pads_begin, pads_end, values, to_padding(mode)))
OV_TENON_STEP(PreProcessSteps, resize, (ResizeAlgorithm alg, std::size_t dst_height, std::size_t dst_width),
              (to_resize(alg), dst_height, dst_width))
OV_TENON_STEP(PreProcessSteps, resize, (ResizeAlgorithm alg), (to_resize(alg)))
OV_TENON_STEP(PreProcessSteps, crop, (const std::vector<int>& begin, const std::vector<int>& end), (begin, end))
OV_TENON_STEP(PreProcessSteps, convert_layout, (const Layout& dst_layout), (to(dst_layout)))
OV_TENON_STEP(PreProcessSteps, convert_layout, (const std::vector<std::uint64_t>& dims), (dims))
OV_TENON_STEP(PreProcessSteps, reverse_channels, (), ())
OV_TENON_STEP(PreProcessSteps, custom, (const CustomPreprocessOp& preprocess_cb), (custom_step(preprocess_cb)))
#undef OV_TENON_STEP

struct PrePostProcessor::Impl {
  explicit Impl(const std::shared_ptr<Model>& given)
      : model(given), processor(guarded([&] { return tenon::preprocess::PrePostProcessor(model_of(given)); })) {}
  std::shared_ptr<Model> model;
  tenon::preprocess::PrePostProcessor processor;
  std::map<void*, std::unique_ptr<InputInfo>> inputs;
  std::map<void*, std::unique_ptr<OutputInfo>> outputs;
};
PrePostProcessor::PrePostProcessor(const std::shared_ptr<Model>& function) : impl_(std::make_unique<Impl>(function)) {}
PrePostProcessor::PrePostProcessor(PrePostProcessor&&) noexcept = default;
PrePostProcessor& PrePostProcessor::operator=(PrePostProcessor&&) noexcept = default;
PrePostProcessor::~PrePostProcessor() = default;
#define OV_TENON_PORT(Info, name, parameters, arguments)                     \
  Info& PrePostProcessor::name parameters {                                  \
    void* there = guarded([&] { return &impl_->processor.name arguments; }); \
    auto& made = impl_->name##s[there];                                      \
    if (!made) made.reset(new Info(there));                                  \
    return *made;                                                            \
  }
OV_TENON_PORT(InputInfo, input, (), ())
OV_TENON_PORT(InputInfo, input, (const std::string& tensor_name), (tensor_name))
OV_TENON_PORT(InputInfo, input, (std::size_t input_index), (input_index))
OV_TENON_PORT(OutputInfo, output, (), ())
OV_TENON_PORT(OutputInfo, output, (const std::string& tensor_name), (tensor_name))
OV_TENON_PORT(OutputInfo, output, (std::size_t output_index), (output_index))
#undef OV_TENON_PORT
std::shared_ptr<Model> PrePostProcessor::build() {
  model_of(impl_->model);
  guarded([&] { impl_->processor.build(); });
  detail::read_again(*impl_->model);
  return impl_->model;
}
std::ostream& operator<<(std::ostream& out, const PrePostProcessor& processor) {
  return guarded([&]() -> std::ostream& { return out << processor.impl_->processor; });
}

}  // namespace preprocess
}  // namespace ov
