// SPDX-License-Identifier: Apache-2.0
// Layouts as text, and PrePostProcessor for each input and output.
#include <sstream>

#include <tenon/graph/layout.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>

#include <tenon/bindings/c/internal/guard.hpp>

using tenon::preprocess::PrePostProcessor;

struct tenon_preprocessor : tenon::c::Handle<tenon_preprocessor> {
  static constexpr const char* kType = "tenon_preprocessor_t";
  explicit tenon_preprocessor(std::shared_ptr<PrePostProcessor> from) : value(std::move(from)) {}
  std::shared_ptr<PrePostProcessor> value;
};
struct tenon_preprocess_input : tenon::c::Handle<tenon_preprocess_input> {
  static constexpr const char* kType = "tenon_preprocess_input_t";
  explicit tenon_preprocess_input(std::shared_ptr<tenon::preprocess::InputInfo> from) : value(std::move(from)) {}
  std::shared_ptr<tenon::preprocess::InputInfo> value;  ///< Keeps the preprocessor alive.
};
struct tenon_preprocess_output : tenon::c::Handle<tenon_preprocess_output> {
  static constexpr const char* kType = "tenon_preprocess_output_t";
  explicit tenon_preprocess_output(std::shared_ptr<tenon::preprocess::OutputInfo> from) : value(std::move(from)) {}
  std::shared_ptr<tenon::preprocess::OutputInfo> value;
};

namespace tenon::c {
namespace {

using preprocess::ColorFormat;

Layout layout_of(const char* text) { return text ? Layout(std::string(text)) : Layout(); }

ColorFormat format_of(tenon_colour_format_t format) {
  if (format < TENON_COLOUR_UNDEFINED || format > TENON_COLOUR_BGRX)
    refuse("colour format " + std::to_string(format) + " does not exist");
  return static_cast<ColorFormat>(format);
}
/// TENON_TYPE_UNDEFINED means the other side's type.
element::Type optional_type_of(tenon_element_type_t type) {
  return type == TENON_TYPE_UNDEFINED ? element::Type() : element::Type(type_of(type));
}
preprocess::ResizeAlgorithm algorithm_of(tenon_resize_t algorithm) {
  if (algorithm < TENON_RESIZE_LINEAR || algorithm > TENON_RESIZE_BICUBIC_PILLOW)
    refuse("resize algorithm " + std::to_string(algorithm) + " does not exist");
  return static_cast<preprocess::ResizeAlgorithm>(algorithm);
}
preprocess::PaddingMode pad_mode_of(tenon_pad_mode_t mode) {
  if (mode < TENON_PAD_CONSTANT || mode > TENON_PAD_SYMMETRIC)
    refuse("pad mode " + std::to_string(mode) + " does not exist");
  return static_cast<preprocess::PaddingMode>(mode);
}

template <typename To, typename From>
std::vector<To> list_of(const From* values, std::size_t count, const char* name) {
  constexpr std::size_t kMost = 65536;
  if (count > kMost) refuse("count " + std::to_string(count) + " is above " + std::to_string(kMost));
  required_array(values, count, name);
  return std::vector<To>(values, values + count);
}
std::vector<std::string> texts_of(const char* const* values, std::size_t count, const char* name) {
  std::vector<std::string> texts;
  for (const char* value : list_of<const char*>(values, count, name))
    texts.emplace_back(required(value, (std::string(name) + "[" + std::to_string(texts.size()) + "]").c_str()));
  return texts;
}

const std::shared_ptr<PrePostProcessor>& value_of(const tenon_preprocessor_t* preprocessor) {
  return checked(preprocessor, "preprocessor").value;
}
preprocess::InputInfo& value_of(const tenon_preprocess_input_t* input) { return *checked(input, "input").value; }
preprocess::OutputInfo& value_of(const tenon_preprocess_output_t* output) { return *checked(output, "output").value; }

/// A part of a preprocessor, which it keeps alive.
template <typename Part>
std::shared_ptr<Part> part_of(const std::shared_ptr<PrePostProcessor>& whole, Part& part) {
  return std::shared_ptr<Part>(whole, &part);
}

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;

tenon_status_t tenon_layout_to_text(const char* layout, char** out) {
  return give_text(out, [&] { return layout_of(required(layout, "layout")).to_string(); });
}
tenon_status_t tenon_layout_axis(const char* layout, const char* name, int64_t* out) {
  return give(out, [&] {
    required(layout, "layout");
    return layout_of(layout).get_index_by_name(required(name, "name"));
  });
}
tenon_status_t tenon_port_get_layout(const tenon_port_t* port, char** out) {
  return give_text(out, [&] { return tenon::layout::get_layout(checked(port, "port").value).to_string(); });
}
tenon_status_t tenon_model_set_layout(tenon_model_t* model, const tenon_port_t* port, const char* layout) {
  return run([&] {
    const tenon::Model& value = *checked(model, "model").value;
    const auto& place = checked(port, "port").value;
    const auto is_place = [&](const auto& other) { return other.get_node() == place.get_node(); };
    auto inputs = value.inputs(), outputs = value.outputs();
    if (std::none_of(inputs.begin(), inputs.end(), is_place) && std::none_of(outputs.begin(), outputs.end(), is_place))
      throw tenon::Error(tenon::Code::kNotFound, "port is no input or output of this model");
    tenon::layout::set_layout(tenon::Output<tenon::Node>(
                                  std::const_pointer_cast<tenon::Node>(place.get_node_shared_ptr()), place.get_index()),
                              layout_of(layout));
  });
}

tenon_status_t tenon_preprocessor_create(const tenon_model_t* model, tenon_preprocessor_t** out) {
  return make(out, [&] { return std::make_shared<PrePostProcessor>(checked(model, "model").value->clone()); });
}
tenon_status_t tenon_preprocessor_input(const tenon_preprocessor_t* preprocessor, const char* name,
                                        tenon_preprocess_input_t** out) {
  return make(out, [&] {
    const auto& whole = value_of(preprocessor);
    return part_of(whole, name ? whole->input(std::string(name)) : whole->input());
  });
}
tenon_status_t tenon_preprocessor_input_by_index(const tenon_preprocessor_t* preprocessor, size_t index,
                                                 tenon_preprocess_input_t** out) {
  return make(out, [&] {
    const auto& whole = value_of(preprocessor);
    return part_of(whole, whole->input(index));
  });
}
tenon_status_t tenon_preprocessor_output(const tenon_preprocessor_t* preprocessor, const char* name,
                                         tenon_preprocess_output_t** out) {
  return make(out, [&] {
    const auto& whole = value_of(preprocessor);
    return part_of(whole, name ? whole->output(std::string(name)) : whole->output());
  });
}
tenon_status_t tenon_preprocessor_output_by_index(const tenon_preprocessor_t* preprocessor, size_t index,
                                                  tenon_preprocess_output_t** out) {
  return make(out, [&] {
    const auto& whole = value_of(preprocessor);
    return part_of(whole, whole->output(index));
  });
}
tenon_status_t tenon_preprocessor_to_text(const tenon_preprocessor_t* preprocessor, char** out) {
  return give_text(out, [&] {
    std::ostringstream text;
    text << *value_of(preprocessor);
    return text.str();
  });
}
tenon_status_t tenon_preprocessor_build(tenon_preprocessor_t* preprocessor, tenon_model_t** out) {
  return make(out, [&] { return value_of(preprocessor)->build(); });
}
void tenon_preprocessor_free(tenon_preprocessor_t* preprocessor) { free_handle(preprocessor); }

// ---- Inputs: the caller's tensors, the model's input, the steps between ----

tenon_status_t tenon_preprocess_input_set_element_type(tenon_preprocess_input_t* input, tenon_element_type_t type) {
  return run([&] { value_of(input).tensor().set_element_type(type_of(type)); });
}
tenon_status_t tenon_preprocess_input_set_layout(tenon_preprocess_input_t* input, const char* layout) {
  return run([&] { value_of(input).tensor().set_layout(layout_of(required(layout, "layout"))); });
}
tenon_status_t tenon_preprocess_input_set_model_layout(tenon_preprocess_input_t* input, const char* layout) {
  return run([&] { value_of(input).model().set_layout(layout_of(required(layout, "layout"))); });
}
tenon_status_t tenon_preprocess_input_set_colour_format(tenon_preprocess_input_t* input, tenon_colour_format_t format,
                                                        const char* const* sub_names, size_t count) {
  return run(
      [&] { value_of(input).tensor().set_color_format(format_of(format), texts_of(sub_names, count, "sub_names")); });
}
tenon_status_t tenon_preprocess_input_set_spatial_dynamic_shape(tenon_preprocess_input_t* input) {
  return run([&] { value_of(input).tensor().set_spatial_dynamic_shape(); });
}
tenon_status_t tenon_preprocess_input_set_spatial_static_shape(tenon_preprocess_input_t* input, size_t height_px,
                                                               size_t width_px) {
  return run([&] { value_of(input).tensor().set_spatial_static_shape(height_px, width_px); });
}
tenon_status_t tenon_preprocess_input_set_shape(tenon_preprocess_input_t* input, const tenon_partial_shape_t* shape) {
  return run([&] { value_of(input).tensor().set_shape(checked(shape, "shape").value); });
}
tenon_status_t tenon_preprocess_input_set_from(tenon_preprocess_input_t* input, const tenon_tensor_t* tensor) {
  return run([&] { value_of(input).tensor().set_from(checked(tensor, "tensor").value); });
}
tenon_status_t tenon_preprocess_input_set_memory_type(tenon_preprocess_input_t* input, const char* memory_type) {
  return run([&] { value_of(input).tensor().set_memory_type(required(memory_type, "memory_type")); });
}
tenon_status_t tenon_preprocess_input_clamp(tenon_preprocess_input_t* input, double min, double max) {
  return run([&] { value_of(input).preprocess().clamp(min, max); });
}
tenon_status_t tenon_preprocess_input_convert_element_type(tenon_preprocess_input_t* input, tenon_element_type_t type) {
  return run([&] { value_of(input).preprocess().convert_element_type(optional_type_of(type)); });
}
tenon_status_t tenon_preprocess_input_convert_colour(tenon_preprocess_input_t* input, tenon_colour_format_t format) {
  return run([&] { value_of(input).preprocess().convert_color(format_of(format)); });
}
tenon_status_t tenon_preprocess_input_convert_layout(tenon_preprocess_input_t* input, const char* layout) {
  return run([&] { value_of(input).preprocess().convert_layout(layout_of(layout)); });
}
tenon_status_t tenon_preprocess_input_permute(tenon_preprocess_input_t* input, const uint64_t* order, size_t count) {
  return run([&] { value_of(input).preprocess().convert_layout(list_of<std::uint64_t>(order, count, "order")); });
}
tenon_status_t tenon_preprocess_input_mean(tenon_preprocess_input_t* input, const float* values, size_t count) {
  return run([&] {
    auto& steps = value_of(input).preprocess();
    const auto list = list_of<float>(values, count, "values");
    list.size() == 1 ? steps.mean(list[0]) : steps.mean(list);
  });
}
tenon_status_t tenon_preprocess_input_scale(tenon_preprocess_input_t* input, const float* values, size_t count) {
  return run([&] {
    auto& steps = value_of(input).preprocess();
    const auto list = list_of<float>(values, count, "values");
    list.size() == 1 ? steps.scale(list[0]) : steps.scale(list);
  });
}
tenon_status_t tenon_preprocess_input_resize(tenon_preprocess_input_t* input, tenon_resize_t algorithm,
                                             size_t height_px, size_t width_px) {
  return run([&] {
    auto& steps = value_of(input).preprocess();
    const auto how = algorithm_of(algorithm);
    height_px == 0 && width_px == 0 ? steps.resize(how) : steps.resize(how, height_px, width_px);
  });
}
tenon_status_t tenon_preprocess_input_crop(tenon_preprocess_input_t* input, const int32_t* begin, const int32_t* end,
                                           size_t count) {
  return run([&] {
    auto& steps = value_of(input).preprocess();
    const auto from = list_of<int>(begin, count, "begin"), to = list_of<int>(end, count, "end");
    steps.crop(from, to);
  });
}
tenon_status_t tenon_preprocess_input_pad(tenon_preprocess_input_t* input, const int32_t* begin, const int32_t* end,
                                          size_t count, float value, tenon_pad_mode_t mode) {
  return run([&] {
    auto& steps = value_of(input).preprocess();
    const auto before = list_of<int>(begin, count, "begin"), behind = list_of<int>(end, count, "end");
    steps.pad(before, behind, value, pad_mode_of(mode));
  });
}
tenon_status_t tenon_preprocess_input_reverse_channels(tenon_preprocess_input_t* input) {
  return run([&] { value_of(input).preprocess().reverse_channels(); });
}
void tenon_preprocess_input_free(tenon_preprocess_input_t* input) { free_handle(input); }

// ---- Outputs: the model's output, the caller's tensors, the steps between ----

tenon_status_t tenon_preprocess_output_set_element_type(tenon_preprocess_output_t* output, tenon_element_type_t type) {
  return run([&] { value_of(output).tensor().set_element_type(type_of(type)); });
}
tenon_status_t tenon_preprocess_output_set_layout(tenon_preprocess_output_t* output, const char* layout) {
  return run([&] { value_of(output).tensor().set_layout(layout_of(required(layout, "layout"))); });
}
tenon_status_t tenon_preprocess_output_set_model_layout(tenon_preprocess_output_t* output, const char* layout) {
  return run([&] { value_of(output).model().set_layout(layout_of(required(layout, "layout"))); });
}
tenon_status_t tenon_preprocess_output_set_colour_format(tenon_preprocess_output_t* output,
                                                         tenon_colour_format_t format, const char* const* sub_names,
                                                         size_t count) {
  return run(
      [&] { value_of(output).model().set_color_format(format_of(format), texts_of(sub_names, count, "sub_names")); });
}
tenon_status_t tenon_preprocess_output_clamp(tenon_preprocess_output_t* output, double min, double max) {
  return run([&] { value_of(output).postprocess().clamp(min, max); });
}
tenon_status_t tenon_preprocess_output_convert_element_type(tenon_preprocess_output_t* output,
                                                            tenon_element_type_t type) {
  return run([&] { value_of(output).postprocess().convert_element_type(optional_type_of(type)); });
}
tenon_status_t tenon_preprocess_output_convert_colour(tenon_preprocess_output_t* output, tenon_colour_format_t format) {
  return run([&] { value_of(output).postprocess().convert_color(format_of(format)); });
}
tenon_status_t tenon_preprocess_output_convert_layout(tenon_preprocess_output_t* output, const char* layout) {
  return run([&] { value_of(output).postprocess().convert_layout(layout_of(layout)); });
}
tenon_status_t tenon_preprocess_output_permute(tenon_preprocess_output_t* output, const uint64_t* order, size_t count) {
  return run([&] { value_of(output).postprocess().convert_layout(list_of<std::uint64_t>(order, count, "order")); });
}
void tenon_preprocess_output_free(tenon_preprocess_output_t* output) { free_handle(output); }
