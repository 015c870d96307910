// SPDX-License-Identifier: Apache-2.0
// ONNX: forms of Resize that Interpolate lacks (antialiasing, exclude_outside, symmetric half pixels), as a product
// with one matrix of weights per axis. Weights that depend only on constants are folded.
#include <algorithm>
#include <cmath>

#include <tenon/graph/readers/onnx/internal/resize.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

/// The matrix of one axis: for each output position, the weights of all input positions.
class Weights {
 public:
  /// @param extent, count, scale  scalars: extents before and after (i64), and their ratio in the compute type.
  /// @param begin, end  scalars, with a roi: the part of the axis that is resized.
  Weights(const ResizeForm& form, const Out& extent, const Out& count, const Out& scale, const Out& begin,
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

  Out matrix() const {
    const Out zero = int_scalar(0), one = int_scalar(1), last = sub(extent_, one), centre = unsqueeze(centres(), {1});
    const Out slope = form_.antialias ? op("Minimum", 1, {scale_, real(1)}) : real(1);
    const auto over = [&](const Out& places) {
      return filter(unary("Abs", mul(sub(convert(places, type_), centre), slope)));
    };
    const auto whole = [](const Out& weights) { return reduce("ReduceSum", weights, ints({1}), true); };
    const Out places = range(zero, extent_, one, ElementType::kI64);
    Out weights = over(places);
    if (!form_.exclude_outside) {
      // Positions beyond both ends, as far as the filter reaches for at least one output position; they repeat the
      // border.
      const Out min = div(real(1), convert(extent_, type_));
      const Out width = div(real(form_.mode == "linear" ? 1 : 2), op("Maximum", 1, {slope, min}));
      const Out reach = convert(add(unary("Ceiling", width), real(1)), ElementType::kI64);
      const auto at = [&](const Out& place) { return convert(op("Equal", 1, {places, place}), type_); };
      const Out before = whole(over(range(sub(zero, reach), zero, one, ElementType::kI64)));
      const Out after = whole(over(range(extent_, add(extent_, reach), one, ElementType::kI64)));
      weights = add(weights, add(mul(before, at(zero)), mul(after, at(last))));
    }
    return div(weights, whole(weights));
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

Out along(const Out& x, const Out& matrix, std::int64_t axis, std::int64_t rank) {
  if (axis == rank - 1) return matmul(x, matrix, false, true);
  if (axis == rank - 2) return matmul(matrix, x);
  Ints order;
  for (std::int64_t i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[static_cast<std::size_t>(axis)], order[static_cast<std::size_t>(rank - 1)]);
  return transpose(matmul(transpose(x, order), matrix, false, true), order);
}

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

Out resize_by_products(const Out& x, const Out& target, bool by_sizes, const Ints& axes, const ResizeForm& form) {
  const std::int64_t rank = x.get_partial_shape().rank().get_length();
  const ElementType type = x.get_element_type(), real = type == ElementType::kF64 ? type : ElementType::kF32;
  const auto known = known_numbers(target);
  if (known) require_possible(*known, by_sizes);
  Out y = convert(x, real);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dimension& dimension = x.get_partial_shape()[static_cast<std::size_t>(axes[i])];
    if (known && !form.roi &&
        (by_sizes ? dimension == Dimension(static_cast<std::int64_t>((*known)[i])) : (*known)[i] == 1))
      continue;
    const auto at = static_cast<std::int64_t>(i);
    const Out extent = extent_of(x, axes[i]), entry = squeeze(slice(target, at, at + 1, 0), {0});
    const Out wide = convert(extent, real), scale = by_sizes ? div(convert(entry, real), wide) : convert(entry, real);
    const Out count =
        by_sizes ? entry : convert(unary("Floor", add(mul(wide, scale), scalar(real, 1e-6))), ElementType::kI64);
    Out begin, end;
    if (form.roi) {
      const auto entry_of = [&](std::int64_t index) {
        return convert(squeeze(slice(form.roi, index, index + 1, 0), {0}), real);
      };
      begin = entry_of(at), end = entry_of(at + static_cast<std::int64_t>(axes.size()));
    }
    const Weights weights(form, extent, count, scale, begin, end);
    y = along(y, weights.matrix(), axes[i], rank);
    if (!form.roi) continue;
    Ints shape(static_cast<std::size_t>(rank), 1);
    shape[static_cast<std::size_t>(axes[i])] = -1;
    y = select(reshape(weights.inside(), shape), y, scalar(real, form.outside));
  }
  if (info(type).is_real) return convert(y, type);
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
