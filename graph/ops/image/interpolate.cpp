// SPDX-License-Identifier: Apache-2.0
// Resizing. Every mode is separable: each output position of an axis has a list of input positions and weights.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/ops/resize_taps.hpp>

namespace tenon {
inline namespace v1 {

namespace {
enum class Version { k0, k4, k11 };
Version version_of(const Node& node) {
  return node.operation().opset < 4 ? Version::k0 : node.operation().opset < 11 ? Version::k4 : Version::k11;
}

struct Padding {
  std::vector<std::int64_t> begin, end;
};
Padding padding_of(const Node& node, std::size_t rank) {
  Padding pads{node.get_attributes().get_ints("pads_begin"), node.get_attributes().get_ints("pads_end")};
  for (auto* list : {&pads.begin, &pads.end}) {
    if (list->size() > rank) {
      const bool zeros = std::all_of(list->begin() + static_cast<std::ptrdiff_t>(rank), list->end(),
                                     [](std::int64_t v) { return v == 0; });
      if (!zeros) fail("there are more pads than axes");
    }
    list->resize(rank, 0);
    for (std::int64_t pad : *list) {
      if (pad < 0 || pad > (std::int64_t{1} << 30)) fail("pad " + std::to_string(pad) + " is outside 0..2^30");
    }
  }
  return pads;
}

bool by_scales(const Node& node) {
  return version_of(node) != Version::k0 && node.get_attributes().get_string("shape_calculation_mode") == "scales";
}
std::size_t axes_input(const Node& node) { return version_of(node) == Version::k4 ? 3 : 2; }
std::size_t scales_input(const Node& node) { return version_of(node) == Version::k4 ? 2 : 1; }

/// The axes that change, if known. Without the axes input: all.
std::optional<std::vector<std::size_t>> resized_axes(const Node& node, std::size_t rank) {
  std::vector<std::int64_t> given;
  if (version_of(node) == Version::k0) {
    given = node.get_attributes().get_ints("axes");
  } else if (node.get_input_size() > axes_input(node)) {
    const auto values = known_ints(node, axes_input(node));
    if (!values) return std::nullopt;
    given = *values;
  } else {
    for (std::size_t axis = 0; axis < rank; ++axis) given.push_back(static_cast<std::int64_t>(axis));
  }
  normalized_axes(given, rank);  // Throws for repeated axes.
  std::vector<std::size_t> axes;
  for (std::int64_t axis : given) axes.push_back(normalized_axis(axis, rank));
  return axes;
}

void infer_interpolate(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  if (data.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  const Padding pads = padding_of(node, data.size());
  PartialShape out = data;
  for (std::size_t axis = 0; axis < out.size(); ++axis)
    out[axis] = out[axis] + Dimension(pads.begin[axis] + pads.end[axis]);
  const auto axes = resized_axes(node, data.size());
  if (!axes) return set_output(node, 0, PartialShape::dynamic(static_cast<std::int64_t>(data.size())));
  if (by_scales(node)) {
    const auto scales = known_doubles(node, scales_input(node));
    if (scales && scales->size() != axes->size())
      fail("there are " + std::to_string(scales->size()) + " scales for " + std::to_string(axes->size()) + " axes");
    for (std::size_t i = 0; i < axes->size(); ++i) {
      Dimension& d = out[(*axes)[i]];
      if (!scales) {
        d = Dimension::dynamic();
        continue;
      }
      const double scale = (*scales)[i];
      if (!(scale > 0) || !(scale < 1e9))
        fail("scale " + std::to_string(scale) + " is not a positive number below 1e9");
      const auto scaled = [&](std::int64_t extent) {
        // In f32, as OpenVINO and ONNX Runtime: 1000 times 0.7 is 700, though the nearest f32 to 0.7 is below it.
        const float wide = std::floor(static_cast<float>(extent) * static_cast<float>(scale) + 1e-6f);
        if (wide > 9e15f) fail("scale " + std::to_string(scale) + " makes an extent too large");
        return static_cast<std::int64_t>(wide);
      };
      d = d.get_max_length() < 0 ? Dimension(scaled(d.get_min_length()), -1)
                                 : Dimension(scaled(d.get_min_length()), scaled(d.get_max_length()));
    }
  } else {
    const PartialShape sizes = shape_from_input(node, 1);
    if (sizes.rank().is_static() && sizes.size() != axes->size())
      fail("there are " + std::to_string(sizes.size()) + " sizes for " + std::to_string(axes->size()) + " axes");
    for (std::size_t i = 0; i < axes->size(); ++i)
      out[(*axes)[i]] = sizes.rank().is_static() ? sizes[i] : Dimension::dynamic();
  }
  set_output(node, 0, out);
}

using Taps = ResizeTaps;

struct Axis {
  std::int64_t in = 0, out = 0;
  float scale = 1;
  std::string mode, transform, nearest;
  bool antialias = false;
  float cube = -0.75f;
};

float coordinate(const Axis& a, std::int64_t x) {
  const auto position = static_cast<float>(x);
  if (a.scale == 1.0f || a.in == a.out) return position;
  if (a.transform == "half_pixel") return (position + 0.5f) / a.scale - 0.5f;
  if (a.transform == "pytorch_half_pixel") return a.out > 1 ? (position + 0.5f) / a.scale - 0.5f : 0.0f;
  if (a.transform == "asymmetric") return position / a.scale;
  if (a.transform == "tf_half_pixel_for_nn") return (position + 0.5f) / a.scale;
  return a.out == 1 ? 0.0f : position * static_cast<float>(a.in - 1) / static_cast<float>(a.out - 1);
}

std::int64_t nearest(const Axis& a, float x) {
  if (a.nearest == "round_prefer_floor")
    return static_cast<std::int64_t>(x == std::floor(x) + 0.5f ? std::floor(x) : std::round(x));
  if (a.nearest == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(x + 0.5f));
  if (a.nearest == "floor") return static_cast<std::int64_t>(std::floor(x));
  if (a.nearest == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  return static_cast<std::int64_t>(a.scale < 1.0f ? std::ceil(x) : x);
}

float cubic_weight(float x, float a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

void normalise(Taps& taps) {
  float sum = 0;
  for (float w : taps.weight) sum += w;
  // If no input position lies under the kernel, the value is 0, as in OpenVINO.
  for (float& w : taps.weight) w = sum == 0 ? 0 : w / sum;
}

Taps taps_at(const Axis& a, std::int64_t x) {
  Taps taps;
  const auto add = [&](std::int64_t at, float weight) {
    taps.at.push_back(static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, a.in - 1)));
    taps.weight.push_back(weight);
  };
  if (a.mode == "bilinear_pillow" || a.mode == "bicubic_pillow") {
    const float ratio = static_cast<float>(a.in) / static_cast<float>(a.out), stretch = std::max(ratio, 1.0f);
    const float support = (a.mode == "bilinear_pillow" ? 1.0f : 2.0f) * stretch,
                centre = (static_cast<float>(x) + 0.5f) * ratio;
    const auto first = std::max<std::int64_t>(std::llround(centre - support), 0);
    const auto last = std::min<std::int64_t>(std::llround(centre + support), a.in);
    for (std::int64_t at = first; at < last; ++at) {
      const float distance = (static_cast<float>(at) - centre + 0.5f) / stretch;
      add(at, a.mode == "bilinear_pillow" ? std::max(0.0f, 1.0f - std::abs(distance)) : cubic_weight(distance, a.cube));
    }
    normalise(taps);
    return taps;
  }
  const float at = coordinate(a, x);
  if (a.mode == "nearest") {
    add(nearest(a, at), 1);
  } else if (a.mode == "linear_onnx") {
    const float clamped = std::clamp(at, 0.0f, static_cast<float>(a.in - 1));
    const auto low = static_cast<std::int64_t>(clamped);
    const float rest = clamped - static_cast<float>(low);
    add(low, 1 - rest);
    if (rest > 0) add(low + 1, rest);
  } else if (a.mode == "cubic") {
    const float low = std::floor(at);
    for (int i = -1; i <= 2; ++i)
      add(static_cast<std::int64_t>(low) + i, cubic_weight(at - (low + static_cast<float>(i)), a.cube));
  } else {  // linear: a triangle, widened by the reduction if antialiased; positions outside are ignored.
    const bool wide = a.antialias && a.scale < 1.0f;
    const float slope = wide ? a.scale : 1.0f;
    const auto reach = static_cast<std::int64_t>(wide ? std::ceil(2.0f / slope) : 2.0f);
    const auto centre = static_cast<std::int64_t>(std::round(at));
    for (std::int64_t i = std::max<std::int64_t>(0, centre - reach); i <= std::min(a.in - 1, centre + reach); ++i) {
      const float weight = slope * std::max(0.0f, 1.0f - std::abs(slope * (at - static_cast<float>(i))));
      if (weight > 0) add(i, weight);
    }
    normalise(taps);
  }
  return taps;
}

Axis axis_of(const Node& node, std::size_t in, std::size_t out, float scale) {
  const Attributes& attributes = node.get_attributes();
  const std::string& mode = attributes.get_string("mode");
  Axis a;
  a.in = static_cast<std::int64_t>(in);
  a.out = static_cast<std::int64_t>(out);
  a.scale = scale;
  a.antialias = attributes.get_bool("antialias");
  if (version_of(node) == Version::k0) {
    // The oldest version knows two transforms; its linear is linear_onnx in later versions.
    a.mode = mode == "linear" && !a.antialias ? "linear_onnx" : mode;
    a.transform = attributes.get_bool("align_corners") ? "align_corners" : "asymmetric";
    a.nearest = "simple";
  } else {
    a.mode = mode;
    a.transform = attributes.get_string("coordinate_transformation_mode");
    a.nearest = attributes.get_string("nearest_mode");
    // Pillow has a single cubic; OpenVINO's plugins use it whatever the attribute is.
    a.cube = mode == "bicubic_pillow" ? -0.5f : static_cast<float>(attributes.get_double("cube_coeff"));
  }
  return a;
}

std::vector<float> read_scales(const Node& node, std::span<const Tensor> inputs) {
  std::vector<float> scales;
  for (double scale : to_vector<double>(inputs[scales_input(node)])) scales.push_back(static_cast<float>(scale));
  return scales;
}

std::vector<std::int64_t> axes_of(const Node& node, std::span<const Tensor> inputs, std::size_t rank) {
  if (version_of(node) == Version::k0) return node.get_attributes().get_ints("axes");
  if (inputs.size() > axes_input(node)) return to_vector<std::int64_t>(inputs[axes_input(node)]);
  std::vector<std::int64_t> all(rank);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}

/// The data with zeros around it.
template <typename T>
std::vector<T> padded(std::vector<T> data, const Shape& shape, const Shape& room_shape, const Padding& pads) {
  if (room_shape == shape || data.empty()) return data;
  std::vector<T> room(element_count(room_shape), T{0});
  const auto strides = element_strides(room_shape);
  std::vector<std::size_t> index(shape.size(), 0);
  for (const T& value : data) {
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      at += (index[axis] + static_cast<std::size_t>(pads.begin[axis])) * strides[axis];
    room[at] = value;
    advance(index, shape);
  }
  return room;
}

Shape padded(const Shape& shape, const Padding& pads) {
  Shape result = shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    result[axis] += static_cast<std::size_t>(pads.begin[axis] + pads.end[axis]);
  return result;
}

template <typename T>
std::vector<T> resized(const std::vector<T>& data, const Shape& shape, std::size_t axis,
                       const std::vector<Taps>& taps) {
  const std::size_t outer = extent_product(shape, 0, axis), inner = extent_product(shape, axis + 1, shape.size());
  std::vector<T> result(outer * taps.size() * inner, T{0});
  for (std::size_t x = 0; x < taps.size(); ++x) {
    for (std::size_t o = 0; o < outer; ++o) {
      T* to = result.data() + (o * taps.size() + x) * inner;
      for (std::size_t t = 0; t < taps[x].at.size(); ++t) {
        const T* from = data.data() + (o * shape[axis] + taps[x].at[t]) * inner;
        const T weight = static_cast<T>(taps[x].weight[t]);
        for (std::size_t k = 0; k < inner; ++k) to[k] += weight * from[k];
      }
    }
  }
  return result;
}

void evaluate_interpolate(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& out = outputs[0].shape();
  if (outputs[0].element_count() == 0) return;
  const ResizeRule rule = resize_rule(node, inputs[0].shape(), out, inputs);
  const Padding pads = padding_of(node, out.size());
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    Shape shape = padded(inputs[0].shape(), pads);
    std::vector<T> data = padded(to_vector<T>(inputs[0]), inputs[0].shape(), shape, pads);
    if (data.empty()) fail("there is nothing to resize in shape " + to_string(shape));
    for (const ResizeRule::Axis& axis : rule.axes) {
      data = resized(data, shape, axis.axis, axis.taps);
      shape[axis.axis] = out[axis.axis];
      if (rule.rounds_between)
        for (T& value : data) value = std::clamp<T>(std::nearbyint(value), 0, 255);
    }
    if (rule.rounds)
      for (T& value : data) value = std::nearbyint(value);
    store_elements(outputs[0].element_type(), data.data(), data.size(), outputs[0].data());
  });
}
}  // namespace

std::vector<ResizeTaps> resize_taps(const Node& node, std::size_t in, std::size_t out, float scale) {
  if (node.get_attributes().get_string("mode") == "area") fail("mode 'area' has no taps");
  const Axis axis = axis_of(node, in, out, scale);
  std::vector<ResizeTaps> taps;
  for (std::int64_t x = 0; x < axis.out; ++x) taps.push_back(taps_at(axis, x));
  return taps;
}

ResizeRule resize_rule(const Node& node, const Shape& in, const Shape& out, std::span<const Tensor> inputs) {
  const std::string& mode = node.get_attributes().get_string("mode");
  if (mode == "area") fail("mode 'area' has no reference kernel; nearest, linear and cubic have");
  const Padding pads = padding_of(node, in.size());
  const Shape room = padded(in, pads);
  const std::vector<std::int64_t> axes = axes_of(node, inputs, in.size());
  const std::vector<float> scales = by_scales(node) ? read_scales(node, inputs) : std::vector<float>();
  const ElementType type = node.get_output_element_type(0);
  // Pillow resizes columns before rows, and keeps integer pictures in their type in between.
  const bool pillow = mode.find("pillow") != mode.npos;
  ResizeRule rule;
  rule.is_exact = mode == "nearest";
  rule.rounds = !info(type).is_real && !rule.is_exact;
  rule.rounds_between = pillow && type == ElementType::kU8;
  std::vector<bool> is_listed(in.size(), false);
  for (std::size_t step = 0; step < axes.size(); ++step) {
    const std::size_t i = pillow ? axes.size() - 1 - step : step, axis = normalized_axis(axes[i], in.size());
    is_listed[axis] = true;
    const float scale = i < scales.size() ? scales[i] : static_cast<float>(out[axis]) / static_cast<float>(room[axis]);
    if (room[axis] == out[axis] && scale == 1.0f && !pillow && room[axis] == in[axis]) continue;
    rule.axes.push_back({axis, pads.begin[axis], resize_taps(node, room[axis], out[axis], scale)});
  }
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    if (is_listed[axis] || room[axis] == in[axis]) continue;
    std::vector<ResizeTaps> taps;
    for (std::size_t x = 0; x < room[axis]; ++x) taps.push_back({{x}, {1.0f}});
    rule.axes.push_back({axis, pads.begin[axis], std::move(taps)});
  }
  return rule;
}

void add_interpolate_rows(OperationTable& table) {
  const std::vector<std::int64_t> none;
  const char* description = "Resizes axes to sizes or by scales.";
  const auto common = [&](OperationTable::Row row) {
    row.text("coordinate_transformation_mode", "half_pixel",
             {"half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"})
        .text("nearest_mode", "round_prefer_floor",
              {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"})
        .flag("antialias", false)
        .ints("pads_begin", none)
        .ints("pads_end", none)
        .real("cube_coeff", -0.75);
  };
  table.add("Interpolate", 1, 2, 2, infer_interpolate, evaluate_interpolate, description)
      .ints("axes")
      .text("mode", {}, {"nearest", "linear", "cubic", "area"})
      .flag("align_corners", true)
      .flag("antialias", false)
      .ints("pads_begin", none)
      .ints("pads_end", none);
  common(table.add("Interpolate", 4, 3, 4, infer_interpolate, evaluate_interpolate, description)
             .text("mode", {}, {"nearest", "linear", "linear_onnx", "cubic"})
             .text("shape_calculation_mode", {}, {"sizes", "scales"}));
  common(table.add("Interpolate", 11, 2, 3, infer_interpolate, evaluate_interpolate, description)
             .text("mode", {}, {"nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"})
             .text("shape_calculation_mode", {}, {"sizes", "scales"}));
}

}  // namespace v1
}  // namespace tenon
