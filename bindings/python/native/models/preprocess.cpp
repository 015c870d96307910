// SPDX-License-Identifier: Apache-2.0
// PrePostProcessor: steps before and after a model, as part of it.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/bindings/python/native/base/shapes.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>

namespace tenon::python {
namespace {

using namespace preprocess;  // NOLINT(google-build-using-namespace): its class names are Python's, too.

/// What chains: each step returns the object that it was called on.
constexpr auto kSelf = nb::rv_policy::reference;

void add_enums(nb::module_& module) {
  nb::enum_<ColorFormat>(module, "ColorFormat")
      .value("UNDEFINED", ColorFormat::UNDEFINED)
      .value("NV12_SINGLE_PLANE", ColorFormat::NV12_SINGLE_PLANE)
      .value("NV12_TWO_PLANES", ColorFormat::NV12_TWO_PLANES)
      .value("I420_SINGLE_PLANE", ColorFormat::I420_SINGLE_PLANE)
      .value("I420_THREE_PLANES", ColorFormat::I420_THREE_PLANES)
      .value("RGB", ColorFormat::RGB)
      .value("BGR", ColorFormat::BGR)
      .value("GRAY", ColorFormat::GRAY)
      .value("RGBX", ColorFormat::RGBX)
      .value("BGRX", ColorFormat::BGRX);
  nb::enum_<ResizeAlgorithm>(module, "ResizeAlgorithm")
      .value("RESIZE_LINEAR", ResizeAlgorithm::RESIZE_LINEAR)
      .value("RESIZE_CUBIC", ResizeAlgorithm::RESIZE_CUBIC)
      .value("RESIZE_NEAREST", ResizeAlgorithm::RESIZE_NEAREST)
      .value("RESIZE_BILINEAR_PILLOW", ResizeAlgorithm::RESIZE_BILINEAR_PILLOW)
      .value("RESIZE_BICUBIC_PILLOW", ResizeAlgorithm::RESIZE_BICUBIC_PILLOW);
  nb::enum_<PaddingMode>(module, "PaddingMode")
      .value("CONSTANT", PaddingMode::CONSTANT)
      .value("EDGE", PaddingMode::EDGE)
      .value("REFLECT", PaddingMode::REFLECT)
      .value("SYMMETRIC", PaddingMode::SYMMETRIC);
}

void add_input(nb::module_& module) {
  nb::class_<InputTensorInfo>(module, "InputTensorInfo", "The tensor that the caller sets.")
      .def(
          "set_element_type",
          [](InputTensorInfo& self, nb::handle type) -> InputTensorInfo& {
            return self.set_element_type(element_type_from(type));
          },
          kSelf, nb::arg("type"), "The type of its elements; the model's where none is set.")
      .def("set_layout", &InputTensorInfo::set_layout, kSelf, nb::arg("layout"), "The meaning of its axes.")
      .def("set_spatial_dynamic_shape", &InputTensorInfo::set_spatial_dynamic_shape, kSelf,
           "Its height and width may be any.")
      .def("set_spatial_static_shape", &InputTensorInfo::set_spatial_static_shape, kSelf, nb::arg("height"),
           nb::arg("width"), "Its height and width, in pixels.")
      .def("set_color_format", &InputTensorInfo::set_color_format, kSelf, nb::arg("format"),
           nb::arg("sub_names") = std::vector<std::string>(),
           "Its colours: a ColorFormat. Formats of several planes become several inputs, whose names end in sub_names.")
      .def("set_memory_type", &InputTensorInfo::set_memory_type, kSelf, nb::arg("memory_type"),
           "The memory that it will lie in, as devices name it.")
      .def(
          "set_shape",
          [](InputTensorInfo& self, nb::handle shape) -> InputTensorInfo& {
            return self.set_shape(partial_shape_from(shape));
          },
          kSelf, nb::arg("shape"), "Its shape, of which extents may be open.")
      .def(
          "set_from",
          [](InputTensorInfo& self, nb::handle tensor) -> InputTensorInfo& {
            return self.set_from(tensor_from(tensor, Sharing::kShare));
          },
          kSelf, nb::arg("tensor"), "Its type and shape are those of this tensor or array.");
  nb::class_<InputModelInfo>(module, "InputModelInfo", "The input that the model has.")
      .def("set_layout", &InputModelInfo::set_layout, kSelf, nb::arg("layout"),
           "The meaning of the axes of the model's input.");
  nb::class_<PreProcessSteps>(module, "PreProcessSteps",
                              "Steps from the caller's tensor to the model's input, in their order.")
      .def("clamp", &PreProcessSteps::clamp, kSelf, nb::arg("min"), nb::arg("max"), "Limits values to an interval.")
      .def(
          "convert_element_type",
          [](PreProcessSteps& self, nb::handle type) -> PreProcessSteps& {
            return type.is_none() ? self.convert_element_type() : self.convert_element_type(element_type_from(type));
          },
          kSelf, nb::arg("type") = nb::none(), "Converts to a type; without one to the model's.")
      .def("convert_color", &PreProcessSteps::convert_color, kSelf, nb::arg("dst_format"),
           "Converts to another ColorFormat.")
      .def("scale", nb::overload_cast<float>(&PreProcessSteps::scale), kSelf, nb::arg("value"),
           "Divides by a value, or by one for each channel.")
      .def("scale", nb::overload_cast<const std::vector<float>&>(&PreProcessSteps::scale), kSelf, nb::arg("values"))
      .def("mean", nb::overload_cast<float>(&PreProcessSteps::mean), kSelf, nb::arg("value"),
           "Subtracts a value, or one for each channel.")
      .def("mean", nb::overload_cast<const std::vector<float>&>(&PreProcessSteps::mean), kSelf, nb::arg("values"))
      .def("pad",
           nb::overload_cast<const std::vector<int>&, const std::vector<int>&, float, PaddingMode>(
               &PreProcessSteps::pad),
           kSelf, nb::arg("pads_begin"), nb::arg("pads_end"), nb::arg("value"), nb::arg("mode"),
           "Adds elements at the begin and the end of each axis, as the mode says.")
      .def("pad",
           nb::overload_cast<const std::vector<int>&, const std::vector<int>&, const std::vector<float>&, PaddingMode>(
               &PreProcessSteps::pad),
           kSelf, nb::arg("pads_begin"), nb::arg("pads_end"), nb::arg("values"), nb::arg("mode"))
      .def("resize", nb::overload_cast<ResizeAlgorithm>(&PreProcessSteps::resize), kSelf, nb::arg("alg"),
           "Scales height and width; without sizes to the model's.")
      .def("resize", nb::overload_cast<ResizeAlgorithm, std::size_t, std::size_t>(&PreProcessSteps::resize), kSelf,
           nb::arg("alg"), nb::arg("dst_height"), nb::arg("dst_width"))
      .def("crop", &PreProcessSteps::crop, kSelf, nb::arg("begin"), nb::arg("end"), "Takes the region [begin, end).")
      .def(
          "convert_layout", [](PreProcessSteps& self) -> PreProcessSteps& { return self.convert_layout(); }, kSelf,
          "Reorders axes: to a layout, by their numbers, or to the model's layout.")
      .def("convert_layout", nb::overload_cast<const Layout&>(&PreProcessSteps::convert_layout), kSelf,
           nb::arg("dst_layout"))
      .def("convert_layout", nb::overload_cast<const std::vector<std::uint64_t>&>(&PreProcessSteps::convert_layout),
           kSelf, nb::arg("dims"))
      .def("reverse_channels", &PreProcessSteps::reverse_channels, kSelf, "Reverses the channels: BGR becomes RGB.");
  nb::class_<InputInfo>(module, "InputInfo",
                        "What is said of an input: tensor(), the steps of preprocess(), and model().")
      .def("tensor", &InputInfo::tensor, nb::rv_policy::reference_internal, "The tensor that the caller sets.")
      .def("preprocess", &InputInfo::preprocess, nb::rv_policy::reference_internal, "The steps, in their order.")
      .def("model", &InputInfo::model, nb::rv_policy::reference_internal, "The input that the model has.");
}

void add_output(nb::module_& module) {
  nb::class_<OutputTensorInfo>(module, "OutputTensorInfo", "The tensor that the caller gets.")
      .def(
          "set_element_type",
          [](OutputTensorInfo& self, nb::handle type) -> OutputTensorInfo& {
            return self.set_element_type(element_type_from(type));
          },
          kSelf, nb::arg("type"), "The type of its elements; the model's where none is set.")
      .def("set_layout", &OutputTensorInfo::set_layout, kSelf, nb::arg("layout"), "The meaning of its axes.");
  nb::class_<OutputModelInfo>(module, "OutputModelInfo", "The output that the model has.")
      .def("set_layout", &OutputModelInfo::set_layout, kSelf, nb::arg("layout"),
           "The meaning of the axes of the model's output.")
      .def("set_color_format", &OutputModelInfo::set_color_format, kSelf, nb::arg("format"),
           nb::arg("sub_names") = std::vector<std::string>(), "The colours of the model's output: a ColorFormat.");
  nb::class_<PostProcessSteps>(module, "PostProcessSteps", "Steps from the model's output to the caller's tensor.")
      .def("clamp", &PostProcessSteps::clamp, kSelf, nb::arg("min"), nb::arg("max"), "Limits values to an interval.")
      .def(
          "convert_element_type",
          [](PostProcessSteps& self, nb::handle type) -> PostProcessSteps& {
            return type.is_none() ? self.convert_element_type() : self.convert_element_type(element_type_from(type));
          },
          kSelf, nb::arg("type") = nb::none(), "Converts to a type; without one to the caller's.")
      .def(
          "convert_layout", [](PostProcessSteps& self) -> PostProcessSteps& { return self.convert_layout(); }, kSelf,
          "Reorders axes: to a layout, by their numbers, or to the caller's layout.")
      .def("convert_layout", nb::overload_cast<const Layout&>(&PostProcessSteps::convert_layout), kSelf,
           nb::arg("dst_layout"))
      .def("convert_layout", nb::overload_cast<const std::vector<std::uint64_t>&>(&PostProcessSteps::convert_layout),
           kSelf, nb::arg("dims"))
      .def("convert_color", &PostProcessSteps::convert_color, kSelf, nb::arg("dst_format"),
           "Converts to another ColorFormat.");
  nb::class_<OutputInfo>(module, "OutputInfo",
                         "What is said of an output: model(), the steps of postprocess(), and tensor().")
      .def("tensor", &OutputInfo::tensor, nb::rv_policy::reference_internal, "The tensor that the caller gets.")
      .def("postprocess", &OutputInfo::postprocess, nb::rv_policy::reference_internal, "The steps, in their order.")
      .def("model", &OutputInfo::model, nb::rv_policy::reference_internal, "The output that the model has.");
}

}  // namespace

void add_preprocess(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("preprocess", "Pre- and post-processing as part of a model.");
  add_enums(module);
  add_input(module);
  add_output(module);
  nb::class_<PrePostProcessor>(module, "PrePostProcessor",
                               "Adds conversions to a model: of colour, type, size, layout, mean and scale.")
      .def(nb::init<const std::shared_ptr<Model>&>(), nb::arg("model"))
      .def(
          "input", [](PrePostProcessor& self) -> InputInfo& { return self.input(); }, nb::rv_policy::reference_internal,
          "What is said of an input, by its index or tensor name; without either of the only one.")
      .def(
          "input", [](PrePostProcessor& self, std::size_t index) -> InputInfo& { return self.input(index); },
          nb::rv_policy::reference_internal, nb::arg("input_index"))
      .def(
          "input", [](PrePostProcessor& self, const std::string& name) -> InputInfo& { return self.input(name); },
          nb::rv_policy::reference_internal, nb::arg("tensor_name"))
      .def(
          "output", [](PrePostProcessor& self) -> OutputInfo& { return self.output(); },
          nb::rv_policy::reference_internal,
          "What is said of an output, by its index or tensor name; without either of the only one.")
      .def(
          "output", [](PrePostProcessor& self, std::size_t index) -> OutputInfo& { return self.output(index); },
          nb::rv_policy::reference_internal, nb::arg("output_index"))
      .def(
          "output", [](PrePostProcessor& self, const std::string& name) -> OutputInfo& { return self.output(name); },
          nb::rv_policy::reference_internal, nb::arg("tensor_name"))
      .def("build", &PrePostProcessor::build,
           "The model with the steps in front of it and behind it. @errors InvalidArgument: steps that contradict each "
           "other or the model.")
      .def("__str__", [](const PrePostProcessor& self) {
        std::ostringstream text;
        text << self;
        return text.str();
      });
}

}  // namespace tenon::python
