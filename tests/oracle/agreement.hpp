// SPDX-License-Identifier: Apache-2.0
// How close two outputs are, compared in parts of similar scale: a detector's boxes, hundreds of pixels wide, must not
// hide its scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// Each value is the worst of all parts.
struct Agreement {
  double cosine = 1;
  double max_relative_error = 0;  ///< The largest difference, relative to the largest value.
  /// The difference's root mean square, relative to that of the variation around the mean of a row: this tells scores
  /// close to 0.5 from scores that are all 0.5.
  double deviation_error = 0;
};

/// Limits on the difference of a model's outputs from an oracle's that uses the same weights. Random weights and f32
/// sums in another order differ by 1e-6 to 5e-4. In int8 a value on the border between two steps may round
/// either way, and later layers carry that on: between both oracles a single value is 0.21 off, all together 0.06.
struct Limits {
  double min_cosine = 0.99999;
  double max_relative_error = 1e-3;
  double max_deviation_error = 2e-3;
};
inline Limits limits_of(const std::string& model) {
  if (model.find("_int8") != std::string::npos) return {0.998, 0.25, 0.1};
  return {};
}

/// Whether both hold the same numbers: for integers, which are not near or far.
inline bool are_same(const Tensor& a, const Tensor& b) {
  return a.element_type() == b.element_type() && a.shape() == b.shape() && a.is_contiguous() && b.is_contiguous() &&
         (a.size_bytes() == 0 || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

namespace detail {

/// One axis of a tensor, as [outer, extent, inner].
struct AxisView {
  std::size_t outer = 1, extent = 1, inner = 1;
  std::size_t slice() const { return outer * inner; }
  std::size_t at(std::size_t index, std::size_t k) const { return (k / inner * extent + index) * inner + k % inner; }
};

/// The axis along which slices differ most in their largest value, grouped within a factor of kSameScale,
/// if any differ by more; else one slice of everything.
struct Parts {
  AxisView axis;
  std::vector<std::vector<std::size_t>> groups;
};
inline Parts parts_of(std::span<const float> expected, const Shape& shape) {
  constexpr double kSameScale = 3;
  constexpr std::size_t kLeastSlice = 16;  // With fewer values the largest says little.
  Parts found{{1, 1, expected.size()}, {{0}}};
  double widest = kSameScale;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    AxisView axis;
    for (std::size_t k = 0; k < i; ++k) axis.outer *= shape[k];
    axis.extent = shape[i];
    for (std::size_t k = i + 1; k < shape.size(); ++k) axis.inner *= shape[k];
    if (axis.extent < 2 || axis.slice() < kLeastSlice) continue;
    std::vector<double> scales(axis.extent, 0);
    for (std::size_t s = 0; s < axis.extent; ++s)
      for (std::size_t k = 0; k < axis.slice(); ++k)
        scales[s] = std::max(scales[s], std::abs(static_cast<double>(expected[axis.at(s, k)])));
    const auto [least, most] = std::minmax_element(scales.begin(), scales.end());
    const double ratio = *least > 0 ? *most / *least : *most > 0 ? std::numeric_limits<double>::infinity() : 1;
    if (!(ratio > widest)) continue;
    widest = ratio;
    std::vector<std::size_t> order(axis.extent);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scales[a] > scales[b]; });
    found = {axis, {}};
    for (const std::size_t s : order) {
      if (found.groups.empty() || scales[found.groups.back().front()] > kSameScale * scales[s])
        found.groups.emplace_back();
      found.groups.back().push_back(s);
    }
  }
  return found;
}

}  // namespace detail

/// @param shape  The shape of both; without one everything is one part.
inline Agreement agreement(std::span<const float> actual, std::span<const float> expected, const Shape& shape = {}) {
  Agreement worst;
  const detail::Parts parts = detail::parts_of(expected, shape);
  for (const auto& group : parts.groups) {
    double dot = 0, aa = 0, ee = 0, largest = 0, difference = 0, squares = 0, varied = 0;
    for (const std::size_t s : group) {
      double sum = 0, own = 0;
      for (std::size_t k = 0; k < parts.axis.slice(); ++k) {
        const double a = actual[parts.axis.at(s, k)], e = expected[parts.axis.at(s, k)];
        dot += a * e;
        aa += a * a;
        ee += e * e;
        sum += e;
        own += e * e;
        squares += (a - e) * (a - e);
        largest = std::max(largest, std::abs(e));
        // NaN on one side must not count as agreement.
        if (!(std::abs(a - e) <= difference)) difference = std::abs(a - e);
      }
      varied += std::max(0.0, own - sum * sum / static_cast<double>(parts.axis.slice()));
    }
    const double norm = std::sqrt(aa) * std::sqrt(ee);
    // Constant data is compared by its size; zeros must be zero.
    const double scale = varied > 1e-12 * ee ? varied : ee;
    const double cosine = norm > 0 ? dot / norm : (aa == ee ? 1 : 0),
                 relative = largest > 0 ? difference / largest : difference,
                 deviation = scale > 0 ? std::sqrt(squares / scale) : std::sqrt(squares);
    if (!(cosine >= worst.cosine)) worst.cosine = cosine;
    if (!(relative <= worst.max_relative_error)) worst.max_relative_error = relative;
    if (!(deviation <= worst.deviation_error)) worst.deviation_error = deviation;
  }
  return worst;
}

/// For f32 tensors of one shape.
inline Agreement agreement(const Tensor& actual, const Tensor& expected) {
  return agreement({actual.data<float>(), actual.element_count()}, {expected.data<float>(), expected.element_count()},
                   expected.shape());
}

/// The output of yolo_int8 with boxes by their corners. These are what it rounds to 8 bits, in steps of 5 pixels, and random weights make most boxes
/// narrower than a step. So a corner that rounds the other way makes a box of another size: 1 in 2,000 does between any two runtimes, as in
/// ONNX Runtime with its optimisations and without them, and 1 - cosine of the sizes is then 0.005.
inline Tensor by_corners(const Tensor& found) {
  Tensor made(ElementType::kF32, found.shape());  // [1, 4 + classes, boxes]: x and y of the centre, width, height.
  const float* const from = found.data<float>();
  float* const to = made.data<float>();
  std::copy_n(from, found.element_count(), to);
  const std::size_t pairs = 2 * found.shape().at(2);
  for (std::size_t i = 0; i < pairs; ++i) {
    to[i] = from[i] - from[pairs + i] / 2;
    to[pairs + i] = from[i] + from[pairs + i] / 2;
  }
  return made;
}

/// As agreement(), by what an output of this model of the zoo says.
inline Agreement agreement_of(const std::string& model, const Tensor& actual, const Tensor& expected) {
  if (model.rfind("yolo_int8", 0) == 0) return agreement(by_corners(actual), by_corners(expected));
  return agreement(actual, expected);
}

inline bool agrees(const Agreement& found, const Limits& limits) {
  return found.cosine >= limits.min_cosine && found.max_relative_error <= limits.max_relative_error &&
         found.deviation_error <= limits.max_deviation_error;
}

}  // namespace v1
}  // namespace tenon
