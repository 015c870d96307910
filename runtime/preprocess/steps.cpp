// SPDX-License-Identifier: Apache-2.0
// The steps of pre- and post-processing but for colours.
#include <sstream>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/layout_axes.hpp>
#include <tenon/runtime/preprocess/internal/steps.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {
namespace detail {
namespace {

template <typename T>
std::string list(const std::vector<T>& values, const char* open = "(", const char* close = ")",
                 const char* comma = ",") {
  std::ostringstream text;
  text << open;
  for (std::size_t i = 0; i < values.size(); ++i) text << (i ? comma : "") << values[i];
  text << close;
  return text.str();
}

void check_one_plane(const OutputVector& nodes, const char* what) {
  check(nodes.size() == 1, std::string("Can't ") + what +
                               " multi-plane input. Suggesting to convert current image to RGB/BGR color format using "
                               "'convert_color'");
}

const char* mode_name(ResizeAlgorithm algorithm) {
  switch (algorithm) {
    case ResizeAlgorithm::RESIZE_CUBIC:
      return "cubic";
    case ResizeAlgorithm::RESIZE_NEAREST:
      return "nearest";
    case ResizeAlgorithm::RESIZE_BILINEAR_PILLOW:
      return "bilinear_pillow";
    case ResizeAlgorithm::RESIZE_BICUBIC_PILLOW:
      return "bicubic_pillow";
    default:
      return "linear";
  }
}

std::int64_t model_extent(const StepContext& context, const char* letter, const char* word, const char* title) {
  const std::size_t axis = named_axis(context.target_layout, context.model_shape, letter, word);
  const Dimension& extent = context.model_shape[axis];
  check(extent.is_static(), std::string("Dynamic resize: Model ") + word + " dimension shall be static; " + title +
                                " of shape " + context.model_shape.to_string() + " is not");
  return extent.get_length();
}

/// One value for all, or one per channel at its axis.
Shape values_shape(const Output<Node>& x, std::size_t count, const StepContext& context) {
  if (count == 1) return {1};
  const PartialShape& shape = x.get_partial_shape();
  const std::size_t axis = named_axis(context.layout, shape, "C", "channels");
  const auto wanted = static_cast<std::int64_t>(count);
  check(shape[axis].compatible(wanted),
        "Number of channels and mean/values size mismatch: Channels = " + shape[axis].to_string() + ", mean/scale = " +
            std::to_string(count) + ", shape = " + shape.to_string() + ", layout = " + context.layout.to_string());
  Shape result(shape.size(), 1);
  result[axis] = count;
  return result;
}

OutputVector convert_layout(const OutputVector& nodes, StepContext& context, const Layout& given) {
  check_one_plane(nodes, "convert layout for");
  const Layout to = given.empty() ? context.target_layout : given;
  Output<Node> x = nodes[0];
  const auto [widened, added] = LayoutAxes::with_missing(context.layout, to);
  if (added > 0) {
    std::vector<std::int64_t> axes;
    for (std::size_t axis = 0; axis < added; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
    x = node_of("Unsqueeze", 1, {x, constant_of(axes)});
  }
  const auto order = LayoutAxes::order(widened, x.get_partial_shape(), to);
  if (!order.empty()) x = node_of("Transpose", 1, {x, constant_of(order)});
  if (!to.empty()) context.layout = to;
  return {x};
}

}  // namespace

std::size_t named_axis(const Layout& layout, const PartialShape& shape, const char* letter, const char* word) {
  check(layout.has_name(letter),
        "Layout " + layout.to_string() + " doesn't have `" + word + "` dimension: set_layout must name it");
  check(shape.rank().is_static(), std::string("Can't get the ") + word + " axis of a shape with dynamic rank");
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t axis = layout.get_index_by_name(letter);
  if (axis < 0) axis += rank;
  check(axis >= 0 && axis < rank, std::string(word) + " dimension is out of bounds: layout " + layout.to_string() +
                                      ", shape " + shape.to_string());
  return static_cast<std::size_t>(axis);
}

Output<Node> node_of(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes) {
  return make_node(type, version, inputs, attributes)->output(0);
}

Output<Node> constant_of(const std::vector<std::int64_t>& values, element::Type type) {
  return std::make_shared<op::v0::Constant>(type, Shape{values.size()}, values)->output(0);
}

Step convert_type_step(element::Type type) {
  return {"convert type (" + type.get_type_name() + ")",
          [type](const OutputVector& nodes, StepContext& context) {
            const element::Type to = type.is_dynamic() ? context.target_type : type;
            check(to.is_static(),
                  "Can't convert to dynamic/unknown element type, consider using of InputTensorInfo::set_element_type");
            OutputVector made;
            for (const Output<Node>& node : nodes) {
              check(node.get_element_type().is_static(),
                    "Can't insert 'convert_element_type' for dynamic source tensor type.");
              made.push_back(to == node.get_element_type() ? node
                                                           : node_of("Convert", 1, {node}, {{"destination_type", to}}));
            }
            return made;
          },
          {},
          {}};
}

Step convert_layout_step(const Layout& layout) {
  return {"convert layout " + layout.to_string(),
          [layout](const OutputVector& nodes, StepContext& context) { return convert_layout(nodes, context, layout); },
          {},
          layout};
}

Step convert_layout_step(const std::vector<std::uint64_t>& order) {
  return {"convert layout " + list(order),
          [order](const OutputVector& nodes, StepContext& context) {
            check_one_plane(nodes, "convert layout for");
            context.layout = LayoutAxes::permuted(context.layout, order);
            const std::vector<std::int64_t> axes(order.begin(), order.end());
            return OutputVector{node_of("Transpose", 1, {nodes[0], constant_of(axes)})};
          },
          order,
          {}};
}

Step arithmetic_step(const char* name, const char* operation, const std::vector<float>& values) {
  const std::string title = std::string(name) == "mean" ? "Mean" : "Scale";
  return {name + (" " + list(values)),
          [=](const OutputVector& nodes, StepContext& context) {
            check_one_plane(nodes, "apply scale preprocessing for");
            const Output<Node>& x = nodes[0];
            check(!values.empty(), title + " preprocessing: no value is given");
            const Shape shape = values_shape(x, values.size(), context);
            const element::Type type = x.get_element_type();
            check(type.is_real(), title +
                                      " preprocessing can be applied to 'float' inputs. Consider using of "
                                      "'convert_element_type' before scaling. Current type is: " +
                                      type.get_type_name());
            const std::vector<double> numbers(values.begin(), values.end());
            const auto constant = std::make_shared<op::v0::Constant>(type, shape, numbers);
            return OutputVector{node_of(operation, 1, {x, constant->output(0)})};
          },
          {},
          {}};
}

Step clamp_step(double min, double max) {
  std::ostringstream name;
  name << "clamp (min " << min << ", max " << max << ")";
  return {name.str(),
          [=](const OutputVector& nodes, StepContext&) {
            check_one_plane(nodes, "clamp");
            return OutputVector{node_of("Clamp", 1, {nodes[0]}, {{"min", min}, {"max", max}})};
          },
          {},
          {}};
}

Step pad_step(const std::vector<int>& begin, const std::vector<int>& end, const std::vector<float>& values,
              PaddingMode mode) {
  return {
      "pad(begin " + list(begin) + ", end " + list(end) + ", with " + list(values) + ")",
      [=](const OutputVector& nodes, StepContext&) {
        check_one_plane(nodes, "pad");
        check(values.size() == 1, "pad: one value is expected, found " + std::to_string(values.size()));
        const PartialShape& shape = nodes[0].get_partial_shape();
        const element::Type type = nodes[0].get_element_type();
        check(type.is_real(),
              "Pad preprocessing can be applied to 'float' inputs. Consider using of 'convert_element_type' before "
              "padding. Current type is: " +
                  type.get_type_name());
        for (const auto* pads : {&begin, &end})
          check(shape.rank().is_dynamic() || pads->size() == shape.size(),
                std::string("length of ") + (pads == &begin ? "pads_begin" : "pads_end") +
                    " mismatches with rank of input, expect " + std::to_string(shape.size()) + ", but got " +
                    std::to_string(pads->size()));
        constexpr const char* names[] = {"constant", "edge", "reflect", "symmetric"};
        const std::vector<std::int64_t> before(begin.begin(), begin.end()), after(end.begin(), end.end());
        const auto value =
            std::make_shared<op::v0::Constant>(type, Shape{}, std::vector<double>{static_cast<double>(values[0])});
        return OutputVector{node_of("Pad", 12, {nodes[0], constant_of(before), constant_of(after), value->output(0)},
                                    {{"pad_mode", names[static_cast<int>(mode)]}})};
      },
      {},
      {}};
}

Step resize_step(ResizeAlgorithm algorithm, std::int64_t height, std::int64_t width) {
  const std::string size = "(" + std::to_string(height) + ", " + std::to_string(width) + ")";
  return {height < 0 ? std::string("resize to model width/height") : "resize to " + size,
          [=](const OutputVector& nodes, StepContext& context) {
            check_one_plane(nodes, "resize");
            check(layout::has_height(context.layout) && layout::has_width(context.layout),
                  "Can't add resize for layout without W/H specified. Use 'set_layout' API to define layout of image "
                  "data, like `NCHW`");
            const Output<Node>& x = nodes[0];
            const PartialShape& shape = x.get_partial_shape();
            check(shape.rank().is_static(), "Resize operation is not supported for fully dynamic shape");
            const auto rows = static_cast<std::int64_t>(named_axis(context.layout, shape, "H", "height"));
            const auto columns = static_cast<std::int64_t>(named_axis(context.layout, shape, "W", "width"));
            check(height >= 0 || context.model_shape.rank().is_static(),
                  "Resize is not fully specified while target model shape is dynamic");
            const std::int64_t to_height = height < 0 ? model_extent(context, "H", "height", "H") : height;
            const std::int64_t to_width = width < 0 ? model_extent(context, "W", "width", "W") : width;
            return OutputVector{
                node_of("Interpolate", 11, {x, constant_of({to_height, to_width}), constant_of({rows, columns})},
                        {{"mode", mode_name(algorithm)},
                         {"shape_calculation_mode", "sizes"},
                         {"cube_coeff", algorithm == ResizeAlgorithm::RESIZE_BICUBIC_PILLOW ? -0.5 : -0.75}})};
          },
          {},
          {}};
}

Step crop_step(const std::vector<int>& begin, const std::vector<int>& end) {
  const std::string name = "Crop (" + list(begin, "[ ", " ]", ", ") + "," + list(end, "[ ", " ]", ", ") + ")";
  check(begin.size() == end.size(), name + " begin/end coordinates must have the same size. Begin size=" +
                                        std::to_string(begin.size()) + ", end size=" + std::to_string(end.size()));
  return {
      name,
      [=](const OutputVector& nodes, StepContext&) {
        check_one_plane(nodes, "crop");
        const std::vector<std::int64_t> first(begin.begin(), begin.end()), last(end.begin(), end.end());
        const std::vector<std::int64_t> steps(begin.size(), 1);
        return OutputVector{node_of("Slice", 8, {nodes[0], constant_of(first), constant_of(last), constant_of(steps)})};
      },
      {},
      {}};
}

Step reverse_step() {
  return {"reverse channels",
          [](const OutputVector& nodes, StepContext& context) { return reverse_channels(nodes, context); },
          {},
          {}};
}

Step custom_step(std::function<Output<Node>(const Output<Node>&)> callback) {
  return {"custom",
          [callback = std::move(callback)](const OutputVector& nodes, StepContext&) {
            check_one_plane(nodes, "apply custom preprocessing step for");
            check(static_cast<bool>(callback), "the custom step has no function");
            const Output<Node> made = callback(nodes[0]);
            check(static_cast<bool>(made), "the custom step's function returned no output");
            return OutputVector{made};
          },
          {},
          {}};
}

}  // namespace detail
}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
