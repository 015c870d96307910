// SPDX-License-Identifier: Apache-2.0
// ONNX: resizing and sampling of images.
#include <algorithm>
#include <cmath>
#include <set>

#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/readers/onnx/internal/resize.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

std::string interpolation(const std::string& mode) {
  if (mode == "nearest" || mode == "cubic") return mode;
  if (mode == "linear" || mode == "bilinear") return "linear";
  fail("mode \"" + mode + "\" is none of nearest, linear, cubic");
}

bool is_absent(const NodeContext& node, std::size_t index) {
  if (!node.has_input(index)) return true;
  const PartialShape& shape = node.input(index).get_partial_shape();
  return shape.rank() == Rank(1) && shape[0] == Dimension(0);
}

void check_target(const Out& target, bool by_sizes, const Ints& axes) {
  const PartialShape& targets = target.get_partial_shape();
  const auto wanted = static_cast<std::int64_t>(axes.size());
  if (targets.rank() != Rank(1) || !targets[0].compatible(Dimension(wanted)))
    fail((by_sizes ? "sizes have the shape " : "scales have the shape ") + targets.to_string() + ", expected [" +
         std::to_string(wanted) + "]: one for each axis");
  if (std::set<std::int64_t>(axes.begin(), axes.end()).size() != axes.size()) fail("axes names an axis twice");
}

/// Whether scales are known, and none shrinks its axis; antialiasing has an effect only on shrinking axes.
bool only_grow(const Out& scales) {
  const auto& value = scales.get_tensor().value();
  if (!value) return false;
  const std::vector<double> numbers = op::v0::Constant(*value).to_doubles();
  return std::all_of(numbers.begin(), numbers.end(), [](double scale) { return scale >= 1; });
}

/// Whether a scale may be other than the output's extent over the input's although both extents are equal. Interpolate
/// leaves such an axis as it is.
bool may_keep_extent(const Out& scales) {
  const auto& value = scales.get_tensor().value();
  if (!value) return true;
  const std::vector<double> numbers = op::v0::Constant(*value).to_doubles();
  // From 1.5 on only an axis of one element keeps its extent.
  return std::any_of(numbers.begin(), numbers.end(), [](double scale) { return scale > 1 && scale < 1.5; });
}

/// Whether f32 holds the scales, so that positions in the middle of two elements are exact. Interpolate decides others
/// by how they were rounded, as OpenVINO does; ONNX Runtime and onnx.reference take them for the middle.
bool has_exact_scales(const Out& x, const Out& target, bool by_sizes, const Ints& axes) {
  const auto& value = target.get_tensor().value();
  if (!value) return false;
  const std::vector<double> numbers = op::v0::Constant(*value).to_doubles();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Dimension& extent = x.get_partial_shape()[static_cast<std::size_t>(axes[i])];
    if (by_sizes && (extent.is_dynamic() || extent.get_length() == 0)) return false;
    const double scale = by_sizes ? numbers[i] / static_cast<double>(extent.get_length()) : numbers[i];
    if (scale * 256 != std::floor(scale * 256)) return false;
  }
  return true;
}

/// Whether Interpolate lacks the form.
bool is_beyond_interpolate(const Out& x, const Out& target, bool by_sizes, const Ints& axes, const ResizeForm& form) {
  const bool rounds =
      form.mode == "nearest" && form.rounding.starts_with("round") && form.coordinates != "align_corners";
  return (rounds && !has_exact_scales(x, target, by_sizes, axes)) || form.antialias || form.exclude_outside ||
         form.roi || form.scale || form.coordinates == "half_pixel_symmetric" || (!by_sizes && may_keep_extent(target));
}

Out resized(const Out& x, const Out& target, bool by_sizes, const Ints& axes, const ResizeForm& form) {
  if (is_beyond_interpolate(x, target, by_sizes, axes, form))
    return resize_written_out(x, target, by_sizes, axes, form);
  return op("Interpolate", 11, {x, target, ints(axes)},
            {{"mode", form.mode == "linear" ? "linear_onnx" : form.mode},
             {"shape_calculation_mode", by_sizes ? "sizes" : "scales"},
             {"coordinate_transformation_mode", form.coordinates},
             {"nearest_mode", form.rounding},
             {"cube_coeff", form.cube_coeff}});
}

/// Resize-10 and Upsample have only scales, and a mode that later versions call asymmetric. Nearest rounds up where an
/// axis shrinks, as ONNX Runtime and OpenVINO do.
OutputVector resize_by_scales(const NodeContext& node, const Out& scales) {
  Ints axes;
  for (std::int64_t axis = 0; axis < node.rank(0); ++axis) axes.push_back(axis);
  check_target(scales, false, axes);
  return {resized(node.input(0), convert(scales, ElementType::kF32), false, axes,
                  {interpolation(node.get_string("mode", "nearest")), "asymmetric", "simple"})};
}

OutputVector upsample(const NodeContext& node) {
  return resize_by_scales(node,
                          node.has_input(1) ? node.input(1) : reals(ElementType::kF32, node.get_floats("scales")));
}

OutputVector resize(const NodeContext& node) {
  if (node.opset() < 11) return resize_by_scales(node, node.input(1));
  const Out& x = node.input(0);
  const std::int64_t rank = node.rank(0);
  ResizeForm form{interpolation(node.get_string("mode", "nearest")),
                  node.get_string("coordinate_transformation_mode", "half_pixel"),
                  node.get_string("nearest_mode", "round_prefer_floor"), node.get_float("cubic_coeff_a", -0.75)};
  static const std::vector<std::string> kKnown = {"half_pixel",        "pytorch_half_pixel",   "asymmetric",
                                                  "align_corners",     "tf_half_pixel_for_nn", "half_pixel_symmetric",
                                                  "tf_crop_and_resize"};
  if (std::find(kKnown.begin(), kKnown.end(), form.coordinates) == kKnown.end())
    fail("coordinate_transformation_mode \"" + form.coordinates + "\" is not one of ONNX's");
  static const std::vector<std::string> kRoundings = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  if (std::find(kRoundings.begin(), kRoundings.end(), form.rounding) == kRoundings.end())
    fail("nearest_mode \"" + form.rounding + "\" is none of round_prefer_floor, round_prefer_ceil, floor, ceil");
  Ints axes = node.get_ints("axes", {});
  if (!node.has("axes")) {
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (std::int64_t& axis : axes) axis = normalized_axis(axis, rank);
  const bool by_sizes = is_absent(node, 2);
  if (by_sizes && is_absent(node, 3)) fail("has neither scales nor sizes");
  Out target = by_sizes ? convert(node.input(3), ElementType::kI64) : convert(node.input(2), ElementType::kF32);
  check_target(target, by_sizes, axes);
  const std::string policy = node.get_string("keep_aspect_ratio_policy", "stretch");
  if (by_sizes && policy != "stretch") {
    if (policy != "not_larger" && policy != "not_smaller")
      fail("keep_aspect_ratio_policy \"" + policy + "\" is none of stretch, not_larger, not_smaller");
    // One scale for all axes; sizes are rounded half up.
    const Out present =
        convert(op("Gather", 8, {shape_of(x), ints(axes), int_scalar(0)}, {{"batch_dims", 0}}), ElementType::kF32);
    const Out ratio = div(convert(target, ElementType::kF32), present);
    form.scale = reduce(policy == "not_larger" ? "ReduceMin" : "ReduceMax", ratio, ints({0}), false);
    target = convert(unary("Floor", add(mul(present, form.scale), scalar(ElementType::kF32, 0.5))), ElementType::kI64);
  }
  // The modes differ where a scale is not the ratio of the extents.
  if (form.coordinates == "half_pixel_symmetric" && by_sizes && !form.scale) form.coordinates = "half_pixel";
  if (form.coordinates == "tf_crop_and_resize") {
    if (is_absent(node, 1)) fail("coordinate_transformation_mode tf_crop_and_resize needs a roi");
    form.roi = node.input(1);
    form.outside = node.get_float("extrapolation_value", 0);
  }
  // Nearest has one tap, and at most one of linear's two is outside: repeating and excluding the border are the same.
  const bool filters = form.mode != "nearest";
  form.antialias = filters && node.get_int("antialias", 0) != 0 && (by_sizes || !only_grow(target));
  form.exclude_outside = filters && node.get_int("exclude_outside", 0) != 0 && (form.mode == "cubic" || form.antialias);
  return {resized(x, target, by_sizes, axes, form)};
}

/// Sampling along one axis: the index (as a real) and the weight of each neighbour.
using Neighbours = std::vector<std::pair<Out, Out>>;

class GridSampler {
 public:
  explicit GridSampler(const NodeContext& node)
      : x_(node.input(0)),
        grid_(node.input(1)),
        corners_(node.get_int("align_corners", 0) != 0),
        mode_(node.get_string("mode", "linear")),
        padding_(node.get_string("padding_mode", "zeros")) {
    axes_ = node.rank(0) - 2;
    if (axes_ < 1) fail("the input has rank " + std::to_string(axes_ + 2) + ", expected at least 3");
    if (mode_ == "bilinear") mode_ = "linear";
    if (mode_ == "bicubic") mode_ = "cubic";
    type_ = grid_.get_element_type();
  }

  Out sample() const {
    std::vector<Neighbours> all;
    for (std::int64_t axis = 0; axis < axes_; ++axis) all.push_back(neighbours(axis));
    // Pixels as rows: [N, points of the image, C].
    const Out shape = shape_of(x_);
    const Out batch = slice(shape, 0, 1, 0), channels = slice(shape, 1, 2, 0);
    const Out rows = transpose(reshape(x_, concat({batch, channels, ints({-1})}, 0)), {0, 2, 1});
    Out sum;
    std::vector<std::size_t> choice(all.size(), 0);
    bool more = true;
    while (more) {
      const Out part = term(all, choice, rows);
      sum = sum ? add(sum, part) : part;
      more = false;
      for (std::size_t axis = 0; axis < all.size() && !more; ++axis) {
        more = ++choice[axis] < all[axis].size();
        if (!more) choice[axis] = 0;
      }
    }
    const Out points = slice(shape_of(grid_), 1, axes_ + 1, 0);
    return reshape(transpose(sum, {0, 2, 1}), concat({batch, channels, points}, 0));
  }

 private:
  Out real(double value) const { return scalar(type_, value); }
  Out extent(std::int64_t axis) const { return convert(extent_of(x_, axis + 2), type_); }

  // [N, points]: the grid's position in pixels; its coordinates run from the last axis to the first.
  Out coordinate(std::int64_t axis) const {
    const Out flat = op("Reshape", 1, {grid_, ints({0, -1, axes_})}, {{"special_zero", true}});
    const Out g = squeeze(slice(flat, axes_ - 1 - axis, axes_ - axis, 2), {2}), n = extent(axis);
    if (corners_) return mul(div(add(g, real(1)), real(2)), sub(n, real(1)));
    return div(sub(mul(add(g, real(1)), n), real(1)), real(2));
  }

  Out clamped(const Out& value, std::int64_t axis) const {
    return op("Minimum", 1, {op("Maximum", 1, {value, real(0)}), sub(extent(axis), real(1))});
  }

  // Mirrored at the borders as often as necessary: a triangle wave.
  Out reflected(const Out& value, std::int64_t axis) const {
    const Out low = real(corners_ ? 0 : -0.5), n = extent(axis);
    const Out span = op("Maximum", 1, {corners_ ? sub(n, real(1)) : n, real(1e-6)});
    const Out offset = op("FloorMod", 1, {sub(value, low), mul(span, real(2))});
    return add(low, sub(span, unary("Abs", sub(offset, span))));
  }

  Out inside(const Out& value, std::int64_t axis) const {
    if (padding_ == "border") return clamped(value, axis);
    if (padding_ == "reflection") return reflected(value, axis);
    return value;
  }

  Neighbours neighbours(std::int64_t axis) const {
    Out at = coordinate(axis);
    if (mode_ == "nearest") return {{inside(op("Round", 5, {at}, {{"mode", "half_to_even"}}), axis), real(1)}};
    if (mode_ != "linear" && mode_ != "cubic") fail("mode \"" + mode_ + "\" is none of nearest, linear, cubic");
    if (mode_ == "linear") at = inside(at, axis);
    const Out base = unary("Floor", at), t = sub(at, base);
    if (mode_ == "linear") return {{base, sub(real(1), t)}, {add(base, real(1)), t}};
    // Keys' cubic with a = -0.75 over four pixels.
    constexpr double a = -0.75;
    const auto near = [&](const Out& d) { return add(mul(mul(d, d), sub(mul(real(a + 2), d), real(a + 3))), real(1)); };
    const auto far = [&](const Out& d) {
      return sub(mul(add(mul(sub(mul(real(a), d), real(5 * a)), d), real(8 * a)), d), real(4 * a));
    };
    return {{sub(base, real(1)), far(add(t, real(1)))},
            {base, near(t)},
            {add(base, real(1)), near(sub(real(1), t))},
            {add(base, real(2)), far(sub(real(2), t))}};
  }

  // The pixels selected by one choice of neighbours, times their weights; zero outside the image.
  Out term(const std::vector<Neighbours>& all, const std::vector<std::size_t>& choice, const Out& rows) const {
    Out index = int_scalar(0), weight = real(1);
    for (std::int64_t axis = 0; axis < axes_; ++axis) {
      const auto& [place, share] = all[static_cast<std::size_t>(axis)][choice[static_cast<std::size_t>(axis)]];
      const Out kept = padding_ == "zeros" ? place : inside(place, axis);
      const Out safe = clamped(kept, axis);
      weight = mul(weight, share);
      if (padding_ == "zeros") weight = mul(weight, convert(op("Equal", 1, {safe, kept}), type_));
      const Out whole = convert(op("Round", 5, {safe}, {{"mode", "half_to_even"}}), ElementType::kI64);
      index = add(mul(index, extent_of(x_, axis + 2)), whole);
    }
    const Out pixels = op("Gather", 8, {rows, index, int_scalar(1)}, {{"batch_dims", 1}});
    // A single neighbour has a scalar weight only if nothing was cut.
    if (weight.get_partial_shape().rank() == Rank(0)) return pixels;
    return mul(pixels, convert(unsqueeze(weight, {2}), x_.get_element_type()));
  }

  Out x_, grid_;
  bool corners_;
  std::string mode_, padding_;
  std::int64_t axes_ = 0;
  ElementType type_ = ElementType::kF32;
};

OutputVector grid_sample(const NodeContext& node) {
  if (node.rank(0) == 4 && find_operation("GridSample", 9)) {
    std::string mode = node.get_string("mode", "bilinear");
    if (mode == "linear") mode = "bilinear";
    if (mode == "cubic") mode = "bicubic";
    return {op("GridSample", 9, {node.input(0), node.input(1)},
               {{"align_corners", node.get_int("align_corners", 0) != 0},
                {"mode", mode},
                {"padding_mode", node.get_string("padding_mode", "zeros")}})};
  }
  return {GridSampler(node).sample()};
}

// A regular grid of [-1, 1] transformed by theta: coordinates (x first) and 1, times its transpose.
OutputVector affine_grid(const NodeContext& node) {
  const Out &theta = node.input(0), size = convert(node.input(1), ElementType::kI64);
  const ElementType type = theta.get_element_type();
  const PartialShape& shape = size.get_partial_shape();
  if (shape.rank() != Rank(1) || shape[0].is_dynamic()) unimplemented("size needs a known length");
  const std::int64_t axes = shape[0].get_length() - 2;
  if (axes != 2 && axes != 3) fail("size has " + std::to_string(axes + 2) + " entries, expected 4 or 5");
  const bool corners = node.get_int("align_corners", 0) != 0;
  const Out spatial = slice(size, 2, axes + 2, 0), one = scalar(type, 1), two = scalar(type, 2);
  OutputVector coordinates;
  for (std::int64_t axis = axes; axis-- > 0;) {
    const Out extent = squeeze(slice(size, axis + 2, axis + 3, 0), {0});
    const Out steps = convert(range(int_scalar(0), extent, int_scalar(1), ElementType::kI64), type),
              n = convert(extent, type);
    const Out line = corners ? sub(div(mul(steps, two), op("Maximum", 1, {sub(n, one), one})), one)
                             : sub(div(add(mul(steps, two), one), n), one);
    Ints along(static_cast<std::size_t>(axes), 1);
    along[static_cast<std::size_t>(axis)] = -1;
    coordinates.push_back(unsqueeze(broadcast_to(reshape(line, along), spatial), {axes}));
  }
  coordinates.push_back(broadcast_to(one, concat({spatial, ints({1})}, 0)));
  const Out points = reshape(concat(coordinates, axes), Ints{-1, axes + 1});
  return {reshape(matmul(points, theta, false, true), concat({slice(size, 0, 1, 0), spatial, ints({axes})}, 0))};
}

}  // namespace

void add_resize(ConverterTable& table) {
  table[":Resize"] = resize;
  table[":Upsample"] = upsample;
  table[":GridSample"] = grid_sample;
  table[":AffineGrid"] = affine_grid;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
