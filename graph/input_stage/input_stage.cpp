// SPDX-License-Identifier: Apache-2.0
// The operation InputStage, a model's description of its input, and models that take frames.
#include <tenon/graph/input_stage/input_stage.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/knowledge/internal/values.hpp>
#include <tenon/graph/knowledge/keys.hpp>
#include <tenon/graph/knowledge/model_info.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {
namespace {

template <typename E>
struct Named {
  E value;
  const char* name;
};

constexpr Named<ColourSpace> kSpaces[] = {{ColourSpace::kBt601, "bt601"},
                                          {ColourSpace::kBt709, "bt709"},
                                          {ColourSpace::kBt2020, "bt2020"},
                                          {ColourSpace::kSmpte240m, "smpte240m"}};
constexpr Named<ColourRange> kRanges[] = {{ColourRange::kLimited, "limited"}, {ColourRange::kFull, "full"}};
constexpr Named<ChannelOrder> kOrders[] = {
    {ChannelOrder::kRgb, "RGB"}, {ChannelOrder::kBgr, "BGR"}, {ChannelOrder::kGray, "GRAY"}};
constexpr Named<ImageLayout> kLayouts[] = {{ImageLayout::kNchw, "NCHW"}, {ImageLayout::kNhwc, "NHWC"}};
constexpr Named<ResizeMode> kModes[] = {{ResizeMode::kLinear, "linear"}, {ResizeMode::kNearest, "nearest"}};
constexpr Named<Fit> kFits[] = {{Fit::kStretch, "standard"},
                                {Fit::kTopLeft, "fit_to_window"},
                                {Fit::kLetterbox, "fit_to_window_letterbox"},
                                {Fit::kCrop, "crop"}};
constexpr Named<Rotation> kRotations[] = {{Rotation::kNone, "0"},
                                          {Rotation::k90, "90"},
                                          {Rotation::k180, "180"},
                                          {Rotation::k270, "270"},
                                          {Rotation::kMirrored, "mirrored"},
                                          {Rotation::kMirrored90, "mirrored_90"},
                                          {Rotation::kMirrored180, "mirrored_180"},
                                          {Rotation::kMirrored270, "mirrored_270"}};
constexpr Named<ColourRule> kRules[] = {{ColourRule::kBlended, "blended"},
                                        {ColourRule::kPerPixel, "per_pixel"},
                                        {ColourRule::kPerPixelRounded, "per_pixel_rounded"}};

template <typename E, std::size_t N>
std::string text_of(const Named<E> (&names)[N], E value) {
  for (const auto& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return names[0].name;
}

template <typename E, std::size_t N>
E value_of(const Named<E> (&names)[N], const std::string& text, const std::string& what) {
  std::string known;
  for (const auto& entry : names) {
    if (text == entry.name) return entry.value;
    known += std::string(known.empty() ? "" : ", ") + entry.name;
  }
  throw Error(Code::kInvalidArgument, what + " is \"" + text + "\"; it must be one of " + known);
}

template <typename E, std::size_t N>
std::vector<std::string> all_names(const Named<E> (&names)[N]) {
  std::vector<std::string> texts;
  for (const auto& entry : names) texts.push_back(entry.name);
  return texts;
}

[[noreturn]] void refuse_fact(const ModelInfo& info, const char* key, const std::string& wanted) {
  throw Error(Code::kInvalidArgument, info.quoted(key) + " must be " + wanted);
}

/// Reads one number for all channels, or one per channel.
void read_samples(const ModelInfo& info, const char* key, std::size_t channels, std::array<double, 3>& values) {
  const std::string text = info.text(key);
  if (text.empty()) return;
  std::vector<double> numbers;
  if (!read_numbers(text, numbers) || (numbers.size() != 1 && numbers.size() != channels))
    refuse_fact(info, key, "one number or " + std::to_string(channels) + ", separated by blanks");
  const FactKey* const known = find_fact_key(key);
  for (const double number : numbers)
    if (known && !(number >= known->least && number <= known->most))
      refuse_fact(info, key, "from " + number_text(known->least) + " to " + number_text(known->most));
  for (std::size_t c = 0; c < channels; ++c) values[c] = numbers[numbers.size() == 1 ? 0 : c];
}

/// One number in a range; `otherwise` where the model states none.
double read_in_range(const ModelInfo& info, const char* key, double low, double high, double otherwise) {
  const std::string text = info.text(key);
  if (text.empty()) return otherwise;
  std::vector<double> numbers;
  if (!read_numbers(text, numbers) || numbers.size() != 1 || !(numbers[0] >= low && numbers[0] <= high))
    refuse_fact(info, key, "a number from " + number_text(low) + " to " + number_text(high));
  return numbers[0];
}

template <typename E, std::size_t N>
E read_named(const ModelInfo& info, const char* key, const std::string& text, const Named<E> (&names)[N]) {
  for (const auto& entry : names) {
    if (lower_case(text) == lower_case(entry.name)) return entry.value;
  }
  std::string known;
  for (const auto& entry : names) known += std::string(known.empty() ? "" : ", ") + entry.name;
  refuse_fact(info, key, "one of " + known);
}

ChannelOrder order_of(const ModelInfo& info, std::size_t channels) {
  if (!info.text("reverse_input_channels").empty()) refuse_fact(info, "reverse_input_channels", "YES or NO");
  if (channels == 1) return ChannelOrder::kGray;
  const std::string text = info.text("color_space");
  return text.empty() ? ChannelOrder::kRgb : read_named(info, "color_space", text, kOrders);
}

/// The size of an input without a fixed one: what the model states, else the frame's.
/// @return Height and width.
std::array<std::size_t, 2> open_size(const ModelInfo& info, const FrameInfo& source) {
  if (const std::vector<std::size_t> stated = info.picture_size(); !stated.empty()) return {stated[0], stated[1]};
  const double height = std::max(1.0, static_cast<double>(source.upright_height_px())),
               width = std::max(1.0, static_cast<double>(source.upright_width_px()));
  constexpr double kMost = 65536;
  const double shortest = read_in_range(info, "shortest_edge", 1, kMost, 0);
  const double longest = read_in_range(info, "longest_edge", 1, kMost, 0);
  const double multiple = read_in_range(info, "size_multiple", 1, 4096, 1);
  double ratio = shortest > 0 ? shortest / std::min(width, height) : 1;
  if (longest > 0) ratio = std::min(ratio, longest / std::max(width, height));
  const auto extent = [&](double pixels) {
    return static_cast<std::size_t>(
        std::clamp(std::round(pixels * ratio / multiple), 1.0, std::floor(kMost / multiple)) * multiple);
  };
  return {extent(height), extent(width)};
}

std::shared_ptr<op::v0::Parameter> find_parameter(const Model& model, const std::string& input) {
  std::string known;
  for (const auto& parameter : model.get_parameters()) {
    const Output<Node> output = parameter->output(0);
    const auto& names = output.get_names();
    if (input.empty() || names.count(input) || parameter->get_friendly_name() == input) return parameter;
    known += " \"" + parameter->get_friendly_name() + "\"";
  }
  throw Error(Code::kNotFound,
              "input stage: the model has no input \"" + input + "\"; it has" + (known.empty() ? " none" : known));
}

/// An input for one picture, [c,h,w] or [h,w,c], as if it had a batch of 1.
PartialShape as_batch(const PartialShape& shape) {
  if (shape.rank().is_dynamic() || shape.size() != 3) return shape;
  return {Dimension(1), shape[0], shape[1], shape[2]};
}

std::vector<std::int64_t> rect(const PixelRect& r) {
  return {static_cast<std::int64_t>(r.x), static_cast<std::int64_t>(r.y), static_cast<std::int64_t>(r.width),
          static_cast<std::int64_t>(r.height)};
}

std::vector<double> list(const std::array<double, 3>& values) { return {values.begin(), values.end()}; }

Attributes attributes_of(const InputStageOptions& o) {
  return {{"format", std::string(format_info(o.source.format).name)},
          {"source_width", static_cast<std::int64_t>(o.source.width_px)},
          {"source_height", static_cast<std::int64_t>(o.source.height_px)},
          {"colour_space", text_of(kSpaces, resolved_colour_space(o.source))},
          {"colour_range", text_of(kRanges, resolved_colour_range(o.source))},
          {"width", static_cast<std::int64_t>(o.width)},
          {"height", static_cast<std::int64_t>(o.height)},
          {"layout", text_of(kLayouts, o.layout)},
          {"channels", text_of(kOrders, o.channels)},
          {"output_type", o.type},
          {"mean", list(o.mean)},
          {"scale", list(o.scale)},
          {"pad", list(o.pad)},
          {"mode", text_of(kModes, o.resize)},
          {"resize_type", text_of(kFits, o.fit)},
          {"crop", rect(used_crop(o))},
          {"placed", rect(o.placed)},
          {"colour_rule", text_of(kRules, o.colour_rule)},
          {"packed", o.packed},
          {"rotation", text_of(kRotations, o.source.rotation)}};
}

std::size_t extent(const Node& node, const char* name) {
  const std::int64_t value = node.get_attributes().get_int(name);
  if (value < 1 || value > 65536)
    throw Error(Code::kInvalidArgument,
                node.describe() + ": " + name + " is " + std::to_string(value) + "; it must be 1 to 65536");
  return static_cast<std::size_t>(value);
}

std::array<double, 3> triple(const Node& node, const char* name) {
  const auto& values = node.get_attributes().get_doubles(name);
  if (values.size() != 3)
    throw Error(Code::kInvalidArgument,
                node.describe() + ": " + name + " has " + std::to_string(values.size()) + " numbers; it must have 3");
  return {values[0], values[1], values[2]};
}

PixelRect rect_of(const Node& node, const char* name) {
  const auto& values = node.get_attributes().get_ints(name);
  if (values.size() != 4 || *std::min_element(values.begin(), values.end()) < 0)
    throw Error(Code::kInvalidArgument, node.describe() + ": " + name + " must be x, y, width, height, none below 0");
  const auto at = [&](std::size_t i) { return static_cast<std::size_t>(values[i]); };
  return {at(0), at(1), at(2), at(3)};
}

InputStageOptions options_of(const Node& node) {
  const Attributes& a = node.get_attributes();
  InputStageOptions o;
  const auto format = format_from_name(a.get_string("format"));
  if (!format)
    throw Error(Code::kInvalidArgument,
                node.describe() + ": no pixel format is named \"" + a.get_string("format") + "\"");
  o.source.format = *format;
  o.source.width_px = static_cast<std::uint32_t>(extent(node, "source_width"));
  o.source.height_px = static_cast<std::uint32_t>(extent(node, "source_height"));
  o.source.colour_space = value_of(kSpaces, a.get_string("colour_space"), node.describe() + ": colour_space");
  o.source.colour_range = value_of(kRanges, a.get_string("colour_range"), node.describe() + ": colour_range");
  o.width = extent(node, "width");
  o.height = extent(node, "height");
  o.layout = value_of(kLayouts, a.get_string("layout"), node.describe() + ": layout");
  o.channels = value_of(kOrders, a.get_string("channels"), node.describe() + ": channels");
  o.type = a.get_type("output_type");
  o.mean = triple(node, "mean");
  o.scale = triple(node, "scale");
  o.pad = triple(node, "pad");
  o.resize = value_of(kModes, a.get_string("mode"), node.describe() + ": mode");
  o.fit = value_of(kFits, a.get_string("resize_type"), node.describe() + ": resize_type");
  o.crop = rect_of(node, "crop");
  o.placed = rect_of(node, "placed");
  o.colour_rule = value_of(kRules, a.get_string("colour_rule"), node.describe() + ": colour_rule");
  o.packed = a.get_bool("packed");
  o.source.rotation = value_of(kRotations, a.get_string("rotation"), node.describe() + ": rotation");
  return o;
}

void infer(Node& node) {
  const InputStageSpec spec = spec_of(node);
  if (node.get_input_size() != spec.input_count())
    throw Error(Code::kInvalidArgument, node.describe() + ": " + std::to_string(spec.input_count()) +
                                            " planes are expected, " + std::to_string(node.get_input_size()) +
                                            " inputs found");
  for (std::size_t plane = 0; plane < spec.input_count(); ++plane) {
    const PartialShape wanted(spec.input_shape(plane));
    const element::Type found = node.get_input_element_type(plane);
    if (found != spec.layout.sample_type() || !node.get_input_partial_shape(plane).compatible(wanted))
      throw Error(Code::kInvalidArgument, node.describe() + ": plane " + std::to_string(plane) + " must be " +
                                              std::string(name(spec.layout.sample_type())) + " " + to_string(wanted) +
                                              ", but is " + found.get_type_name() + " " +
                                              to_string(node.get_input_partial_shape(plane)));
  }
  node.set_output_size(1);
  node.set_output_type(0, spec.type, PartialShape(spec.target_shape()));
}

void evaluate_input_stage(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const InputStageSpec spec = spec_of(node);
  const auto views = plane_views(spec, inputs);
  check_target(spec, outputs[0]);
  run_input_stage_reference(spec, views, outputs[0].data());
}

}  // namespace

std::shared_ptr<Node> make_input_stage(const OutputVector& planes, const InputStageOptions& options,
                                       const std::string& friendly_name) {
  if (!is_quarter_turn(options.source.rotation))
    return make_node("InputStage", 1, planes, attributes_of(options), friendly_name);
  const auto stage = make_node("InputStage", 1, planes, attributes_of(options), friendly_name + "/planes");
  const std::vector<std::int64_t> order = options.layout == ImageLayout::kNchw ? std::vector<std::int64_t>{0, 1, 3, 2}
                                                                               : std::vector<std::int64_t>{0, 2, 1, 3};
  const auto axes = op::v0::Constant::create(element::i64, Shape{4}, order);
  axes->set_friendly_name(friendly_name + "/axes");
  return make_node("Transpose", 1, {stage->output(0), axes->output(0)}, {}, friendly_name);
}

std::vector<std::string> plane_suffixes(PixelFormat format) {
  const FrameLayout layout = frame_layout({format, 1, 1});
  if (layout.plane_count == 1) return {""};
  if (layout.plane_count == 2) return {"/y", "/uv"};
  const std::string_view letters = layout.is_yuv ? "yuv" : "rgb";
  std::vector<std::string> names(layout.plane_count);
  for (std::size_t k = 0; k < layout.component_count; ++k)
    names[layout.components[k].plane] = std::string("/") + letters[k];
  return names;
}

InputStageSpec spec_of(const Node& node) { return make_spec(options_of(node)); }

InputStageOptions options_from(const Model& model, const FrameInfo& source, const std::string& input) {
  const auto parameter = find_parameter(model, input);
  const PartialShape shape = as_batch(parameter->get_partial_shape());
  const std::string what = "input stage: input \"" + parameter->get_friendly_name() + "\" of shape " +
                           to_string(parameter->get_partial_shape());
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::kInvalidArgument, what + " cannot take frames: " + why);
  };
  if (shape.rank().is_dynamic() || shape.size() != 4)
    refuse("it must be [1,c,h,w] or [1,h,w,c], or the same without a batch");
  if (!shape[0].compatible(Dimension(1))) refuse("the batch must be 1 or open; export the model so");
  const auto colours = [&](std::size_t axis) {
    return shape[axis].is_static() && (shape[axis].get_length() == 1 || shape[axis].get_length() == 3);
  };
  const ModelInfo info(model);
  InputStageOptions options;
  options.source = source;
  if (const std::string text = info.text("layout"); !text.empty()) {
    // Model API also writes "image:NCHW": only the part after the colon matters.
    options.layout = read_named(info, "layout", text.substr(text.find(':') + 1), kLayouts);
  } else {
    options.layout = colours(1) || !colours(3) ? ImageLayout::kNchw : ImageLayout::kNhwc;
  }
  const bool planar = options.layout == ImageLayout::kNchw;
  // Exporters leave even these open (OpenVINO's converter where it is given no example): what the model says of its colours counts then.
  const Dimension stated = shape[planar ? 1 : 3];
  const std::string colour = info.text("color_space");
  const bool is_grey = !colour.empty() && read_named(info, "color_space", colour, kOrders) == ChannelOrder::kGray;
  const std::size_t said = is_grey ? 1 : 3;
  if (stated.is_static() ? !colours(planar ? 1 : 3) : !stated.compatible(Dimension(static_cast<std::int64_t>(said))))
    refuse("the channels must be 1 or 3, at axis 1 (NCHW) or 3 (NHWC)");
  const std::size_t channels = stated.is_static() ? static_cast<std::size_t>(stated.get_length()) : said;
  const auto size = [&](std::size_t axis, std::size_t open) {
    return shape[axis].is_static() ? static_cast<std::size_t>(shape[axis].get_length()) : open;
  };
  const std::array<std::size_t, 2> open = open_size(info, source);
  options.height = size(planar ? 2 : 1, open[0]);
  options.width = size(planar ? 3 : 2, open[1]);
  options.type = parameter->get_element_type();
  options.channels = order_of(info, channels);
  if ((options.channels == ChannelOrder::kGray) != (channels == 1))
    refuse(info.quoted("color_space") + ", but it has " + std::to_string(channels) + " channels");
  read_samples(info, "mean_values", channels, options.mean);
  read_samples(info, "scale_values", channels, options.scale);
  read_samples(info, "pad_value", channels, options.pad);
  options.crop_fraction = read_in_range(info, "crop_fraction", 0.01, 1, 1);
  if (const std::string text = info.text("resize_type"); !text.empty())
    options.fit = read_named(info, "resize_type", text, kFits);
  if (lower_case(info.text("interpolation")) == "nearest") options.resize = ResizeMode::kNearest;
  return options;
}

std::shared_ptr<Model> with_input_stage(const Model& model, const std::string& input,
                                        const InputStageOptions& options) {
  const InputStageSpec spec = make_spec(options);
  std::shared_ptr<Model> staged = model.clone();
  const auto old = find_parameter(*staged, input);
  if (old->get_element_type() != spec.type ||
      !as_batch(old->get_partial_shape()).compatible(PartialShape(spec.model_shape())))
    throw Error(Code::kInvalidArgument,
                "input stage: it makes " + std::string(name(spec.type)) + " " + to_string(spec.model_shape()) +
                    ", but input \"" + old->get_friendly_name() + "\" takes " +
                    old->get_element_type().get_type_name() + " " + to_string(old->get_partial_shape()));
  const auto suffixes = options.packed ? std::vector<std::string>{""} : plane_suffixes(options.source.format);
  const auto names = old->output(0).get_names();
  ParameterVector planes;
  OutputVector arguments;
  for (std::size_t plane = 0; plane < spec.input_count(); ++plane) {
    auto parameter =
        std::make_shared<op::v0::Parameter>(spec.layout.sample_type(), PartialShape(spec.input_shape(plane)));
    parameter->set_friendly_name(old->get_friendly_name() + suffixes[plane]);
    std::unordered_set<std::string> plane_names;
    for (const std::string& name : names) plane_names.insert(name + suffixes[plane]);
    parameter->output(0).set_names(plane_names);
    arguments.push_back(parameter->output(0));
    planes.push_back(std::move(parameter));
  }
  // The stage's own output has no name: a name refers to the planes, or to nothing.
  old->output(0).set_names({});
  auto stage = make_input_stage(arguments, options, old->get_friendly_name() + "/input_stage");
  if (old->get_partial_shape().rank().is_static() && old->get_partial_shape().size() == 3) {
    const auto axes = op::v0::Constant::create(element::i64, Shape{1}, std::vector<std::int64_t>{0});
    axes->set_friendly_name(old->get_friendly_name() + "/batch");
    stage = make_node("Squeeze", 1, {stage->output(0), axes->output(0)}, {}, old->get_friendly_name() + "/picture");
  }
  old->output(0).replace(stage->output(0));
  stage->output(0).set_names({});
  // The planes take the place of the input they replace; the other inputs keep their order.
  ParameterVector later;
  const ParameterVector before = staged->get_parameters();
  const auto index = static_cast<std::size_t>(staged->get_parameter_index(old));
  later.assign(before.begin() + static_cast<std::ptrdiff_t>(index) + 1, before.end());
  staged->remove_parameter(old);
  for (const auto& parameter : later) staged->remove_parameter(parameter);
  staged->add_parameters(planes);
  staged->add_parameters(later);
  staged->validate_nodes_and_infer_types();
  return staged;
}

std::optional<FrameGeometry> geometry_of(const Model& model) {
  for (const auto& node : model.get_ordered_ops()) {
    if (is_op(node, "InputStage")) return spec_of(*node).upright;
  }
  return std::nullopt;
}

void add_input_stage_rows(OperationTable& table) {
  const std::vector<double> none{0, 0, 0}, ones{1, 1, 1};
  table
      .add("InputStage", 1, 1, 3, infer, evaluate_input_stage,
           "Frame planes to a model's input: colour conversion, resize, normalisation in one pass.")
      .text("format")
      .integer("source_width")
      .integer("source_height")
      .text("colour_space", "bt601", all_names(kSpaces))
      .text("colour_range", "limited", all_names(kRanges))
      .integer("width")
      .integer("height")
      .text("layout", "NCHW", all_names(kLayouts))
      .text("channels", "RGB", all_names(kOrders))
      .type("output_type", ElementType::kF32)
      .reals("mean", none)
      .reals("scale", ones)
      .reals("pad", none)
      .text("mode", "linear", all_names(kModes))
      .text("resize_type", "standard", all_names(kFits))
      .ints("crop", std::vector<std::int64_t>{0, 0, 0, 0})
      .ints("placed", std::vector<std::int64_t>{0, 0, 0, 0})
      .text("colour_rule", "blended", all_names(kRules))
      .flag("packed", false)
      .text("rotation", "0", all_names(kRotations));
}

}  // namespace v1
}  // namespace tenon
