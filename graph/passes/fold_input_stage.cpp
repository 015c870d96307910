// SPDX-License-Identifier: Apache-2.0
// Folds the chain of operations from pre-processing a picture (colours, type, crop, resize, layout, channel order, mean
// and scale, padding) to one InputStage.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/ops/resize_taps.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

namespace {

/// The picture after the nodes folded so far: the output of an InputStage with these numbers.
struct Picture {
  InputStageOptions options;
  OutputVector planes;
  std::shared_ptr<Node> last;  ///< The last node folded.
  std::size_t channels = 3;    ///< At this point; 4 only right at a source with an unused channel.
  bool planar = false;         ///< NCHW at this point, else NHWC.
  element::Type type = element::u8;
  bool resized = false, padded = false, has_colour = false;
  int moves = 0;  ///< Nodes folded that pass over all elements, not counting plain arithmetic.
  std::array<double, 3> gain{1, 1, 1}, bias{0, 0, 0}, pad{0, 0, 0};  ///< Per channel at this point; pad after both.

  std::size_t channel_axis() const { return planar ? 1 : 3; }
  std::size_t row_axis() const { return planar ? 2 : 1; }
};

std::optional<std::vector<std::int64_t>> constant_ints(const Node& node, std::size_t index) {
  if (index >= node.get_input_size()) return std::nullopt;
  const auto constant = constant_input(node, index);
  if (!constant || info(constant->get_tensor().element_type()).is_real) return std::nullopt;
  return constant->to_integers();
}

std::size_t extent(const Output<Node>& output, std::size_t axis) {
  return static_cast<std::size_t>(output.get_partial_shape()[axis].get_length());
}

/// Exactly one image, of a static shape.
bool is_picture(const PartialShape& shape) {
  if (!shape.is_static() || shape.size() != 4 || shape[0].get_length() != 1) return false;
  for (std::size_t axis = 1; axis < 4; ++axis) {
    if (shape[axis].get_length() < 1 || shape[axis].get_length() > 65536) return false;
  }
  return true;
}

// -- Beginnings of chains

void set_source(Picture& p, PixelFormat format, std::size_t width, std::size_t height) {
  p.options.source.format = format;
  p.options.source.width_px = static_cast<std::uint32_t>(width);
  p.options.source.height_px = static_cast<std::uint32_t>(height);
  p.options.source.colour_space = ColourSpace::kBt601;
  p.options.source.colour_range = format == kGray8 ? ColourRange::kFull : ColourRange::kLimited;
  p.options.width = width;
  p.options.height = height;
}

/// NV12toBGR and similar operations over u8 parameters, converted to a real type before or not.
std::optional<Picture> start_at_colours(const std::shared_ptr<Node>& node) {
  const std::string_view type = node->get_type_info().name;
  if (type != "NV12toRGB" && type != "NV12toBGR" && type != "I420toRGB" && type != "I420toBGR") return std::nullopt;
  if (!is_picture(node->get_output_partial_shape(0))) return std::nullopt;
  Picture p;
  p.type = node->get_output_element_type(0);
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    Output<Node> plane = node->input_value(i);
    if (is_op(plane.get_node(), "Convert")) plane = plane.get_node()->input_value(0);
    if (!is_op(plane.get_node(), "Parameter") || !(plane.get_element_type() == element::u8)) return std::nullopt;
    p.planes.push_back(plane);
  }
  if (!(p.type == element::u8) && !(p.type == element::f32)) return std::nullopt;
  set_source(p, type.substr(0, 4) == "NV12" ? kNv12 : kI420, extent(node->output(0), 2), extent(node->output(0), 1));
  p.options.packed = p.planes.size() == 1;
  p.options.channels = type.substr(6) == "BGR" ? ChannelOrder::kBgr : ChannelOrder::kRgb;
  p.options.colour_rule = p.type == element::u8 ? ColourRule::kPerPixelRounded : ColourRule::kPerPixel;
  p.last = node;
  p.has_colour = true;
  return p;
}

/// A u8 parameter [1,h,w,c] or [1,3,h,w]. Its channels count as R, G, B: only their order matters here.
std::optional<Picture> start_at_picture(const std::shared_ptr<Node>& node, bool planar) {
  const Output<Node> output = node->output(0);
  if (!is_op(node, "Parameter") || !(output.get_element_type() == element::u8) ||
      !is_picture(output.get_partial_shape()))
    return std::nullopt;
  Picture p;
  p.planar = planar;
  p.channels = extent(output, p.channel_axis());
  const bool known = planar ? p.channels == 3 : p.channels == 1 || p.channels == 3 || p.channels == 4;
  if (!known) return std::nullopt;
  const PixelFormat format = planar ? kRgbPlanar : p.channels == 1 ? kGray8 : p.channels == 3 ? kRgb24 : kRgbx;
  set_source(p, format, extent(output, p.row_axis() + 1), extent(output, p.row_axis()));
  p.options.packed = planar;
  p.options.channels = p.channels == 1 ? ChannelOrder::kGray : ChannelOrder::kRgb;
  p.planes = {output};
  p.last = node;
  return p;
}

// -- Steps that can be folded; each function returns whether it folded

bool fold_convert(Picture& p, const Node& node) {
  const element::Type to = node.get_output_element_type(0);
  // Whole numbers up to 255 are exact in either type; a narrower type later rounds once, at the end.
  const bool whole = p.type == element::u8;
  if (!(to == element::f32 && (whole || p.type == element::f32)) &&
      !(to == element::f16 && (whole || p.type == element::f32)))
    return false;
  p.type = to;
  return true;
}

/// True if the stage picks the same nearest neighbours as the node: rounding decides when a position falls between two.
bool same_neighbours(const Node& node, const PixelRect& crop, const Picture& p) {
  const std::size_t extents[2][2] = {{crop.height, p.options.height}, {crop.width, p.options.width}};
  for (const auto& [in, out] : extents) {
    const auto theirs = resize_taps(node, in, out, static_cast<float>(out) / static_cast<float>(in));
    const AxisTaps ours = make_taps(0, in, out, ResizeMode::kNearest);
    for (std::size_t i = 0; i < out; ++i) {
      if (theirs[i].at.size() != 1 || static_cast<std::int32_t>(theirs[i].at[0]) != ours.low[i]) return false;
    }
  }
  return true;
}

bool fold_resize(Picture& p, const Node& node) {
  const Attributes& a = node.get_attributes();
  if (p.resized || p.padded || p.channels == 4 || node.operation().opset < 4) return false;
  const std::string& mode = a.get_string("mode");
  const bool nearest = mode == "nearest";
  if (!nearest && mode != "linear" && mode != "linear_onnx") return false;
  if (a.get_string("coordinate_transformation_mode") != "half_pixel" || a.get_bool("antialias")) return false;
  if (nearest && a.get_string("nearest_mode") != "round_prefer_floor") return false;
  if (a.get_string("shape_calculation_mode") != "sizes") return false;
  for (const char* name : {"pads_begin", "pads_end"}) {
    for (std::int64_t pad : a.get_ints(name)) {
      if (pad != 0) return false;
    }
  }
  // A blend of integers is rounded before the next operation.
  if (!nearest && p.type == element::u8) return false;
  const Output<const Node> out = node.output(0), in(node.input_value(0));
  for (std::size_t axis : {std::size_t{0}, p.channel_axis()}) {
    if (!(out.get_partial_shape()[axis] == in.get_partial_shape()[axis])) return false;
  }
  const PixelRect from{0, 0, p.options.width, p.options.height};
  p.options.resize = nearest ? ResizeMode::kNearest : ResizeMode::kLinear;
  p.options.height = static_cast<std::size_t>(out.get_partial_shape()[p.row_axis()].get_length());
  p.options.width = static_cast<std::size_t>(out.get_partial_shape()[p.row_axis() + 1].get_length());
  if (nearest && !same_neighbours(node, from, p)) return false;
  p.resized = true;
  ++p.moves;
  return true;
}

bool fold_transpose(Picture& p, const Node& node) {
  const auto order = constant_ints(node, 1);
  const std::vector<std::int64_t> to_planar{0, 3, 1, 2}, from_planar{0, 2, 3, 1};
  if (p.channels == 4 || !order || *order != (p.planar ? from_planar : to_planar)) return false;
  p.planar = !p.planar;
  ++p.moves;
  return true;
}

bool fold_reverse(Picture& p, const Node& node) {
  const auto indices = constant_ints(node, 1), axis = constant_ints(node, 2);
  if (p.channels != 3 || !indices || !axis || axis->size() != 1) return false;
  if (node.get_attributes().get_int("batch_dims", 0) != 0) return false;
  const std::int64_t at = axis->front() < 0 ? axis->front() + 4 : axis->front();
  const bool same_rank = node.get_output_partial_shape(0).size() == 4;
  if (at != static_cast<std::int64_t>(p.channel_axis()) || !same_rank) return false;
  if (*indices != std::vector<std::int64_t>{2, 1, 0}) return false;
  p.options.channels = p.options.channels == ChannelOrder::kRgb ? ChannelOrder::kBgr : ChannelOrder::kRgb;
  for (auto* values : {&p.gain, &p.bias, &p.pad}) std::swap((*values)[0], (*values)[2]);
  ++p.moves;
  return true;
}

/// Folds a slice: a part of the picture, or its first three channels.
bool fold_slice(Picture& p, const Node& node) {
  const auto start = constant_ints(node, 1), stop = constant_ints(node, 2), step = constant_ints(node, 3);
  if (!start || !stop || !step || p.resized || p.padded) return false;
  std::vector<std::int64_t> axes{0, 1, 2, 3};
  if (node.get_input_size() > 4) {
    const auto given = constant_ints(node, 4);
    if (!given) return false;
    axes = *given;
  }
  if (start->size() > axes.size() || start->size() != stop->size() || start->size() != step->size()) return false;
  PixelRect& crop = p.options.crop;
  PixelRect next = crop == PixelRect{} ? PixelRect{0, 0, p.options.width, p.options.height} : crop;
  std::size_t channels = p.channels;
  const Output<const Node> in(node.input_value(0)), out = node.output(0);
  for (std::size_t i = 0; i < start->size(); ++i) {
    if ((*step)[i] != 1) return false;
    const auto axis = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + 4 : axes[i]);
    if (axis > 3) return false;
    const std::int64_t before = in.get_partial_shape()[axis].get_length();
    const std::int64_t after = out.get_partial_shape()[axis].get_length();
    const std::int64_t first =
        std::clamp<std::int64_t>((*start)[i] < 0 ? (*start)[i] + before : (*start)[i], 0, before);
    if (before == after) continue;
    if (after < 1) return false;
    if (axis == p.row_axis()) {
      next.y += static_cast<std::size_t>(first);
      next.height = static_cast<std::size_t>(after);
    } else if (axis == p.row_axis() + 1) {
      next.x += static_cast<std::size_t>(first);
      next.width = static_cast<std::size_t>(after);
    } else if (axis == p.channel_axis() && before == 4 && after == 3 && first == 0) {
      channels = 3;
    } else {
      return false;
    }
  }
  crop = next;
  p.options.width = next.width;
  p.options.height = next.height;
  p.channels = channels;
  ++p.moves;
  return true;
}

/// The numbers per channel of a constant operand, which must not enlarge the picture's shape.
std::optional<std::array<double, 3>> per_channel(const Picture& p, const Node& node, std::size_t index) {
  const auto constant = constant_input(node, index);
  if (!constant || !(node.get_output_partial_shape(0) == node.get_input_partial_shape(1 - index))) return std::nullopt;
  const Shape& shape = constant->get_tensor().shape();
  const std::size_t count = constant->get_tensor().element_count();
  const std::vector<double> values = constant->to_doubles();
  if (count == 1) return std::array<double, 3>{values[0], values[0], values[0]};
  if (count != p.channels || count != 3 || shape.size() > 4) return std::nullopt;
  const std::size_t missing = 4 - shape.size();
  if (p.channel_axis() < missing || shape[p.channel_axis() - missing] != count) return std::nullopt;
  return std::array<double, 3>{values[0], values[1], values[2]};
}

bool fold_arithmetic(Picture& p, const Node& node) {
  const std::string_view type = node.get_type_info().name;
  if (!p.type.is_real() || p.channels == 4 || node.get_input_size() != 2) return false;
  const std::size_t index = node.get_input_node_ptr(0) == p.last.get() ? 1 : 0;
  const bool commutes = type == "Add" || type == "Multiply";
  if (index == 0 && !commutes) return false;
  const auto values = per_channel(p, node, index);
  if (!values) return false;
  for (std::size_t c = 0; c < 3; ++c) {
    const double v = (*values)[c];
    if (!std::isfinite(v) || ((type == "Multiply" || type == "Divide") && v == 0)) return false;
  }
  for (std::size_t c = 0; c < 3; ++c) {
    const double v = (*values)[c];
    const double factor = type == "Multiply" ? v : type == "Divide" ? 1 / v : 1;
    const double term = type == "Add" ? v : type == "Subtract" ? -v : 0;
    p.gain[c] *= factor;
    p.bias[c] = p.bias[c] * factor + term;
    p.pad[c] = p.pad[c] * factor + term;
  }
  return true;
}

bool fold_pad(Picture& p, const Node& node) {
  const auto begin = constant_ints(node, 1), end = constant_ints(node, 2);
  if (p.padded || p.channels == 4 || !begin || !end || begin->size() != 4 || end->size() != 4) return false;
  if (node.get_attributes().get_string("pad_mode") != "constant") return false;
  double value = 0;
  if (node.get_input_size() > 3 && !scalar_input(node, 3, value)) return false;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const bool spatial = axis == p.row_axis() || axis == p.row_axis() + 1;
    if ((*begin)[axis] < 0 || (*end)[axis] < 0) return false;
    if (!spatial && ((*begin)[axis] != 0 || (*end)[axis] != 0)) return false;
  }
  const auto at = [](std::int64_t v) { return static_cast<std::size_t>(v); };
  const std::size_t rows = p.row_axis(), columns = rows + 1;
  p.options.placed = {at((*begin)[columns]), at((*begin)[rows]), p.options.width, p.options.height};
  p.options.width += at((*begin)[columns] + (*end)[columns]);
  p.options.height += at((*begin)[rows] + (*end)[rows]);
  p.pad = {value, value, value};
  p.padded = true;
  ++p.moves;
  return true;
}

bool fold_node(Picture& p, const Node& node) {
  if (node.get_output_size() != 1 || !is_picture(node.get_output_partial_shape(0))) return false;
  const std::string_view type = node.get_type_info().name;
  if (type == "Convert") return fold_convert(p, node);
  if (type == "Interpolate") return fold_resize(p, node);
  if (type == "Transpose") return fold_transpose(p, node);
  if (type == "Gather") return fold_reverse(p, node);
  if (type == "Slice") return fold_slice(p, node);
  if (type == "Pad") return fold_pad(p, node);
  if (type == "Add" || type == "Subtract" || type == "Multiply" || type == "Divide") return fold_arithmetic(p, node);
  return false;
}

Picture follow(Picture p) {
  for (;;) {
    const auto user = only_user(*p.last);
    if (!user) return p;
    Picture next = p;
    if (!fold_node(next, *user)) return p;
    next.last = user;
    p = std::move(next);
  }
}

/// The first kernel passes over the picture anyway, so a fold that saves no pass is not done.
bool pays(const Picture& p) { return p.channels != 4 && (p.has_colour || (p.moves > 0 && p.type.is_real())); }

bool ends_at_resize(const Picture& p) {
  const auto user = only_user(*p.last);
  return user && is_op(user, "Interpolate");
}

bool replace(Picture& p) {
  InputStageOptions& o = p.options;
  o.type = static_cast<ElementType>(p.type);
  o.layout = p.planar ? ImageLayout::kNchw : ImageLayout::kNhwc;
  for (std::size_t c = 0; c < 3; ++c) {
    o.scale[c] = 1 / p.gain[c];
    o.mean[c] = -p.bias[c] / p.gain[c];
    o.pad[c] = p.padded ? (p.pad[c] - p.bias[c]) / p.gain[c] : 0;
  }
  std::shared_ptr<Node> stage;
  try {
    stage = make_input_stage(p.planes, o, p.last->get_friendly_name());
  } catch (const Error& error) {
    // The stage does not support this form: the nodes stay.
    if (error.code() == Code::kUnimplemented || error.code() == Code::kInvalidArgument) return false;
    throw;
  }
  if (!(stage->get_output_partial_shape(0) == p.last->get_output_partial_shape(0))) return false;
  replace_node(p.last, stage->output(0));
  return true;
}

}  // namespace

Pass fold_input_stage(bool before_resizes) {
  return {"fold_input_stage", [before_resizes](Model& model) {
            bool changed = false;
            for (const auto& node : model.get_ordered_ops()) {
              std::vector<Picture> found;
              if (auto p = start_at_colours(node)) found.push_back(follow(*std::move(p)));
              for (const bool planar : {false, true}) {
                if (auto p = start_at_picture(node, planar)) found.push_back(follow(*std::move(p)));
              }
              std::erase_if(found,
                            [&](const Picture& p) { return !pays(p) || (!before_resizes && ends_at_resize(p)); });
              if (found.empty()) continue;
              const auto best = std::max_element(found.begin(), found.end(),
                                                 [](const Picture& a, const Picture& b) { return a.moves < b.moves; });
              changed |= replace(*best);
            }
            return changed;
          }};
}

}  // namespace pass
}  // namespace v1
}  // namespace tenon
