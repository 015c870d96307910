// SPDX-License-Identifier: Apache-2.0
// ONNX: forms of Resize that Interpolate lacks (antialiasing, exclude_outside, symmetric half pixels, a roi, scales that
// are not the ratio of the extents), axis by axis, as a sum of elements that are gathered around each centre: a known number of them, or,
// where antialiasing widens the filter, as many as it reaches. What depends only on constants is folded.
#include <algorithm>
#include <cmath>

#include <tenon/graph/readers/onnx/internal/resize.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

/// One axis: for each output position, the input positions that it is made of, and their weights.
class ResizedAxis {
 public:
  /// @param extent, count, scale  scalars: extents before and after (i64), and their ratio in the compute type.
  /// @param begin, end  scalars, with a roi: the part of the axis that is resized.
  ResizedAxis(const ResizeForm& form, const Out& extent, const Out& count, const Out& scale, const Out& begin,
              const Out& end)
      : form_(form),
        type_(scale.get_element_type()),
        extent_(extent),
        count_(count),
        scale_(scale),
        begin_(begin),
        end_(end) {}

  /// Whether the centre of each output position lies within the input, [outputs].
  Out inside() const {
    const Out at = centres(), last = convert(sub(extent_, int_scalar(1)), type_);
    return op("LogicalAnd", 1, {op("GreaterEqual", 1, {at, real(0)}), op("LessEqual", 1, {at, last})});
  }

  /// The sum of one (nearest), two (linear) or four (cubic) elements of an axis of x.
  Out gathered(const Out& x, std::int64_t axis, std::int64_t rank) const {
    const Out at = centres(), last = convert(sub(extent_, int_scalar(1)), type_);
    const auto clamped = [&](const Out& place) { return op("Minimum", 1, {op("Maximum", 1, {place, real(0)}), last}); };
    const auto pick = [&](const Out& place) {
      return op("Gather", 8, {x, convert(clamped(place), ElementType::kI64), int_scalar(axis)}, {{"batch_dims", 0}});
    };
    if (form_.mode == "nearest") return pick(rounded(at));
    const Out base = unary("Floor", at);
    const std::int64_t first = form_.mode == "cubic" ? -1 : 0;
    OutputVector places, weights;
    for (std::int64_t i = first; i <= 1 - first; ++i) {
      places.push_back(add(base, real(static_cast<double>(i))));
      weights.push_back(filter(unary("Abs", sub(places.back(), at))));
      if (form_.exclude_outside)
        weights.back() = mul(weights.back(), convert(op("Equal", 1, {clamped(places.back()), places.back()}), type_));
    }
    const auto sum_of = [](const OutputVector& parts) {
      Out sum = parts[0];
      for (std::size_t i = 1; i < parts.size(); ++i) sum = add(sum, parts[i]);
      return sum;
    };
    const Out whole = form_.exclude_outside ? sum_of(weights) : Out();
    Ints shape(static_cast<std::size_t>(rank), 1);
    shape[static_cast<std::size_t>(axis)] = -1;
    OutputVector parts;
    for (std::size_t i = 0; i < places.size(); ++i)
      parts.push_back(mul(pick(places[i]), reshape(whole ? div(weights[i], whole) : weights[i], shape)));
    return sum_of(parts);
  }

  /// The weighted sum, for each output position, of the elements that the widened filter reaches. No other element counts: a NaN or an
  /// infinity spreads no further than the filter does.
  Out filtered(const Out& x, std::int64_t axis, std::int64_t rank) const {
    const Out one = int_scalar(1), last = sub(extent_, one), centre = unsqueeze(centres(), {1});
    const Out slope = op("Minimum", 1, {scale_, real(1)});
    // A filter that is wider than the axis reaches all of it from any position within it.
    const Out widest = op("Maximum", 1, {slope, div(real(1), convert(extent_, type_))});
    const Out reach = convert(unary("Ceiling", div(real(form_.mode == "linear" ? 1 : 2), widest)), ElementType::kI64);
    const Out steps = range(sub(one, reach), add(reach, one), one, ElementType::kI64);
    const Out places = add(convert(unary("Floor", centre), ElementType::kI64), steps);
    const Out within = op("Minimum", 1, {op("Maximum", 1, {places, int_scalar(0)}), last});
    const auto where = [&](std::string_view relation, const Out& place) {
      return convert(op(relation, 1, {places, place}), type_);
    };
    const auto whole = [](const Out& parts) { return reduce("ReduceSum", parts, ints({1}), true); };
    const Out reached = filter(unary("Abs", mul(sub(convert(places, type_), centre), slope)));
    Out weights = mul(reached, where("Equal", within));
    if (!form_.exclude_outside) {
      // Positions beyond both ends repeat the border, which gets their weights.
      const Out before = whole(mul(reached, where("Less", int_scalar(0))));
      const Out after = whole(mul(reached, where("Greater", last)));
      weights = add(weights, add(mul(before, where("Equal", int_scalar(0))), mul(after, where("Equal", last))));
    }
    weights = div(weights, whole(weights));
    Ints behind;
    for (std::int64_t i = axis + 1; i < rank; ++i) behind.push_back(i - axis + 1);
    if (!behind.empty()) weights = unsqueeze(weights, behind);
    const Out parts = op("Gather", 8, {x, within, int_scalar(axis)}, {{"batch_dims", 0}});
    const Out counted = select(op("Equal", 1, {weights, real(0)}), real(0), mul(parts, weights));
    return reduce("ReduceSum", counted, ints({axis + 1}), false);
  }

 private:
  Out real(double value) const { return scalar(type_, value); }

  /// Centres of the output positions in the input.
  Out centres() const {
    const Out at = range(int_scalar(0), count_, int_scalar(1), ElementType::kI64), x = convert(at, type_);
    const Out in = convert(extent_, type_), out = convert(count_, type_), half = real(0.5);
    const Out middle = sub(div(add(x, half), scale_), half);
    if (form_.coordinates == "tf_crop_and_resize") {
      const Out last = sub(in, real(1)), many = op("Maximum", 1, {sub(out, real(1)), real(1)});
      const Out even = add(mul(begin_, last), div(mul(x, mul(sub(end_, begin_), last)), many));
      return select(op("Greater", 1, {out, real(1)}), even, mul(half, mul(add(begin_, end_), last)));
    }
    if (form_.coordinates == "asymmetric") return div(x, scale_);
    if (form_.coordinates == "tf_half_pixel_for_nn") return div(add(x, half), scale_);
    if (form_.coordinates == "pytorch_half_pixel")
      return select(op("Greater", 1, {out, real(1)}), middle, mul(x, real(0)));
    if (form_.coordinates == "align_corners")
      return div(mul(x, sub(in, real(1))), op("Maximum", 1, {sub(out, real(1)), real(1)}));
    if (form_.coordinates == "half_pixel_symmetric") {
      // If in * scale is not a whole number, the remainder is cut off equally on both sides.
      const Out kept = div(out, mul(in, scale_));
      return add(mul(div(in, real(2)), sub(real(1), kept)), middle);
    }
    return middle;
  }

  Out rounded(const Out& at) const {
    // A position that the rounding of f32 moved away from the middle of two elements still counts as the middle.
    constexpr double kHalf = 0.5 + 1e-6;
    if (form_.rounding == "floor") return unary("Floor", at);
    if (form_.rounding == "ceil") return unary("Ceiling", at);
    if (form_.rounding == "round_prefer_ceil") return unary("Floor", add(at, real(kHalf)));
    if (form_.rounding == "simple")
      return select(op("Less", 1, {scale_, real(1)}), unary("Ceiling", at), unary("Floor", at));
    return unary("Ceiling", sub(at, real(kHalf)));
  }

  /// A triangle, or Keys' cubic.
  Out filter(const Out& d) const {
    if (form_.mode == "linear") return unary("Relu", sub(real(1), d));
    const double a = form_.cube_coeff;
    const Out near = add(mul(mul(d, d), sub(mul(real(a + 2), d), real(a + 3))), real(1));
    const Out far = sub(mul(add(mul(sub(mul(real(a), d), real(5 * a)), d), real(8 * a)), d), real(4 * a));
    const auto below = [&](double limit) { return op("Less", 1, {d, real(limit)}); };
    return select(below(1), near, select(below(2), far, mul(d, real(0))));
  }

  const ResizeForm& form_;
  ElementType type_;
  Out extent_, count_, scale_, begin_, end_;
};

std::optional<std::vector<double>> known_numbers(const Out& x) {
  const auto& value = x.get_tensor().value();
  if (!value) return std::nullopt;
  return op::v0::Constant(*value).to_doubles();
}

/// Refuses the same cases as Interpolate.
void require_possible(const std::vector<double>& target, bool by_sizes) {
  for (const double value : target) {
    if (by_sizes && !(value >= 0)) fail("size " + std::to_string(value) + " is negative");
    if (!by_sizes && (!(value > 0) || !(value < 1e9)))
      fail("scale " + std::to_string(value) + " is not a positive number below 1e9");
  }
}

/// Range of an integer type of up to 16 bits; overshooting weights may exceed it.
std::pair<double, double> range_of(ElementType type) {
  const double span = std::ldexp(1.0, static_cast<int>(bit_width(type)));
  return info(type).is_signed ? std::pair{-span / 2, span / 2 - 1} : std::pair{0.0, span - 1};
}

}  // namespace

Out resize_written_out(const Out& x, const Out& target, bool by_sizes, const Ints& axes, const ResizeForm& form) {
  const std::int64_t rank = x.get_partial_shape().rank().get_length();
  const ElementType type = x.get_element_type(), real = type == ElementType::kF64 ? type : ElementType::kF32;
  const bool copies = form.mode == "nearest";
  const auto known = known_numbers(target);
  if (known) require_possible(*known, by_sizes);
  Out y = copies ? x : convert(x, real);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dimension& dimension = x.get_partial_shape()[static_cast<std::size_t>(axes[i])];
    // Batch and channels that stay as they are do so after Model::reshape, too.
    const bool stays =
        known && (by_sizes ? axes[i] < 2 && dimension == static_cast<std::int64_t>((*known)[i]) : (*known)[i] == 1);
    if (stays && !form.roi && !form.scale) continue;
    const auto at = static_cast<std::int64_t>(i);
    const Out extent = extent_of(x, axes[i]), entry = squeeze(slice(target, at, at + 1, 0), {0});
    // As everywhere, whether a product with a scale reaches the next whole number is decided in f32.
    const Out product = by_sizes ? Out() : mul(convert(extent, ElementType::kF32), entry);
    const Out count =
        by_sizes ? entry : convert(unary("Floor", add(product, scalar(ElementType::kF32, 1e-6))), ElementType::kI64);
    const Out scale = form.scale ? convert(form.scale, real)
                      : by_sizes ? div(convert(entry, real), convert(extent, real))
                                 : convert(entry, real);
    Out begin, end;
    if (form.roi) {
      const auto entry_of = [&](std::int64_t index) {
        return convert(squeeze(slice(form.roi, index, index + 1, 0), {0}), real);
      };
      begin = entry_of(at), end = entry_of(at + static_cast<std::int64_t>(axes.size()));
    }
    const ResizedAxis axis(form, extent, count, scale, begin, end);
    y = form.antialias ? axis.filtered(y, axes[i], rank) : axis.gathered(y, axes[i], rank);
    if (!form.roi) continue;
    Ints shape(static_cast<std::size_t>(rank), 1);
    shape[static_cast<std::size_t>(axes[i])] = -1;
    y = select(reshape(axis.inside(), shape), y, scalar_like(y, form.outside));
  }
  if (copies || info(type).is_real) return convert(y, type);
  y = op("Round", 5, {y}, {{"mode", "half_to_even"}});
  if (bit_width(type) <= 16) {
    const auto [low, high] = range_of(type);
    y = op("Clamp", 1, {y}, {{"min", low}, {"max", high}});
  }
  return convert(y, type);
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
