// SPDX-License-Identifier: Apache-2.0
// Lines of text in maps of probabilities, as turned boxes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/function_decoder.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

struct Point {
  double x = 0, y = 0;
};
using Quad = std::array<Point, 4>;

double cross(const Point& o, const Point& a, const Point& b) {
  return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

/// The convex hull, by Andrew's monotone chain; sorts the points.
std::vector<Point> hull_of(std::vector<Point>& points) {
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::vector<Point> hull;
  for (int side = 0; side < 2; ++side) {
    const std::size_t begin = hull.size();
    for (const Point& point : points) {
      while (hull.size() >= begin + 2 && cross(hull[hull.size() - 2], hull.back(), point) <= 0) hull.pop_back();
      hull.push_back(point);
    }
    hull.pop_back();  // It is the first of the other side.
    std::reverse(points.begin(), points.end());
  }
  return hull;
}

/// A rectangle by its centre, its half sides and the direction of the first.
struct Turned {
  Point centre, along;
  double half_length = 0, half_width = 0;
  Quad corners(double grown = 0) const {
    const double a = half_length + grown, b = half_width + grown;
    const Point u{along.x * a, along.y * a}, v{-along.y * b, along.x * b};
    return {Point{centre.x - u.x - v.x, centre.y - u.y - v.y}, Point{centre.x + u.x - v.x, centre.y + u.y - v.y},
            Point{centre.x + u.x + v.x, centre.y + u.y + v.y}, Point{centre.x - u.x + v.x, centre.y - u.y + v.y}};
  }
};

/// The rectangle of least area around a hull: one side of it lies on a side of the hull.
Turned least_rectangle(const std::vector<Point>& hull) {
  Turned best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < hull.size(); ++i) {
    const Point &from = hull[i], &to = hull[(i + 1) % hull.size()];
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    if (!(length > 0)) continue;
    const Point u{(to.x - from.x) / length, (to.y - from.y) / length};
    double low_u = std::numeric_limits<double>::infinity(), high_u = -low_u, low_v = low_u, high_v = -low_u;
    for (const Point& p : hull) {
      const double a = p.x * u.x + p.y * u.y, b = -p.x * u.y + p.y * u.x;
      low_u = std::min(low_u, a), high_u = std::max(high_u, a), low_v = std::min(low_v, b),
      high_v = std::max(high_v, b);
    }
    const double area = (high_u - low_u) * (high_v - low_v);
    if (!(area < least)) continue;
    least = area;
    const double a = (low_u + high_u) / 2, b = (low_v + high_v) / 2;
    best = {{a * u.x - b * u.y, a * u.y + b * u.x}, u, (high_u - low_u) / 2, (high_v - low_v) / 2};
  }
  return best;
}

/// Turns the corners' order so that they go clockwise in the picture from the upper left one.
Quad from_upper_left(Quad corners) {
  const auto first = std::min_element(corners.begin(), corners.end(),
                                      [](const Point& a, const Point& b) { return a.x + a.y < b.x + b.y; });
  std::rotate(corners.begin(), first, corners.end());
  return corners;
}

/// DB: connected pixels above a threshold are one text, in the least rectangle around them; its score is the mean probability in it,
/// and it is grown by area * ratio / perimeter. @source M. Liao et al., Real-time Scene Text Detection with Differentiable Binarization
/// (2019), as PaddleOCR's DBPostProcess does it with quadrangles. Holes in texts are no texts of their own here.
class TextBoxDecoder final : public ObjectDecoder {
 public:
  explicit TextBoxDecoder(const DecoderSettings& settings)
      : pixel_threshold_(static_cast<float>(settings.number("pixel_threshold"))),
        grows_by_(settings.number("unclip_ratio")),
        least_side_(settings.number("min_size")) {}

  static bool is_map(const TensorInfo& output) {
    const Shape& shape = output.shape;
    return ((is_real_of_rank(output, 4) && shape[1] == 1) || is_real_of_rank(output, 3)) &&
           checked_element_count(shape).value_or(0) > 0;
  }

  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    const Tensor& output = first_output(outputs, infos_, is_map);
    const float* map = floats(output, values_);
    height_ = output.shape()[output.shape().size() - 2], width_ = output.shape().back();
    texts_.clear();
    seen_.assign(width_ * height_, 0);
    const auto step_x = static_cast<double>(options.input_width) / static_cast<double>(width_);
    const auto step_y = static_cast<double>(options.input_height) / static_cast<double>(height_);
    for (std::size_t start = 0; start < seen_.size(); ++start) {
      if (seen_[start] || !(map[start] > pixel_threshold_)) continue;
      collect(map, start);
      if (points_.size() < 3) continue;
      const std::vector<Point> hull = hull_of(points_);
      if (hull.size() < 3) continue;
      const Turned text = least_rectangle(hull);
      if (2 * std::min(text.half_length, text.half_width) < least_side_) continue;
      const float score = mean_in(map, text);
      if (!(score >= options.confidence_threshold)) continue;
      const double a = 2 * text.half_length, b = 2 * text.half_width;
      const double grown = a * b * grows_by_ / (2 * (a + b));
      if (std::min(a, b) + 2 * grown < least_side_ + 2) continue;
      Quad corners = from_upper_left(text.corners(grown));
      Box box{1e9f, 1e9f, -1e9f, -1e9f};
      for (Point& corner : corners) {
        corner = {corner.x * step_x, corner.y * step_y};
        const auto x = static_cast<float>(corner.x), y = static_cast<float>(corner.y);
        box = {std::min(box.x1, x), std::min(box.y1, y), std::max(box.x2, x), std::max(box.y2, y)};
      }
      found.push_back({box, score, 0, static_cast<std::uint32_t>(texts_.size())});
      texts_.push_back(corners);
    }
    return true;
  }

  void describe(const DecodeOptions& options, const Candidate& candidate, const ResultTarget& target,
                metadata::Id object) override {
    Tensor made(ElementType::kF32, Shape{4, 3});
    auto* number = made.data<float>();
    for (const Point& corner : texts_[candidate.index]) {
      const auto x = static_cast<float>(corner.x), y = static_cast<float>(corner.y);
      const Box at = to_frame(options, {x, y, x, y});
      *number++ = at.x1, *number++ = at.y1, *number++ = candidate.score;
    }
    add_polygon(std::move(made), target, object);
  }

 private:
  /// The outermost pixels of each row of what is connected with `start`, also over corners.
  void collect(const float* map, std::size_t start) {
    points_.clear();
    rows_.clear();
    todo_.assign(1, start);
    seen_[start] = 1;
    while (!todo_.empty()) {
      const std::size_t at = todo_.back();
      todo_.pop_back();
      const std::size_t x = at % width_, y = at / width_;
      if (rows_.size() <= y) rows_.resize(y + 1, {width_, 0});
      rows_[y] = {std::min(rows_[y].first, x), std::max(rows_[y].second, x)};
      for (std::size_t ny = y - (y > 0); ny <= std::min(y + 1, height_ - 1); ++ny) {
        for (std::size_t nx = x - (x > 0); nx <= std::min(x + 1, width_ - 1); ++nx) {
          const std::size_t next = ny * width_ + nx;
          if (seen_[next] || !(map[next] > pixel_threshold_)) continue;
          seen_[next] = 1;
          todo_.push_back(next);
        }
      }
    }
    for (std::size_t y = 0; y < rows_.size(); ++y) {
      if (rows_[y].first == width_) continue;
      points_.push_back({static_cast<double>(rows_[y].first), static_cast<double>(y)});
      if (rows_[y].second != rows_[y].first)
        points_.push_back({static_cast<double>(rows_[y].second), static_cast<double>(y)});
    }
  }

  /// The mean over what OpenCV's fillPoly fills: the polygon of the corners' whole pixels, and the lines between them.
  float mean_in(const float* map, const Turned& text) {
    const auto cell = [](double value, std::size_t extent) {
      return static_cast<std::ptrdiff_t>(std::clamp(std::floor(value), 0.0, static_cast<double>(extent - 1)));
    };
    const auto columns = static_cast<std::ptrdiff_t>(width_), rows = static_cast<std::ptrdiff_t>(height_);
    spans_.assign(height_, {columns, -1});
    const Quad corners = text.corners();
    for (std::size_t k = 0; k < 4; ++k) {
      const Point &from = corners[k], &to = corners[(k + 1) % 4];
      const std::ptrdiff_t x = cell(from.x, width_), y = cell(from.y, height_);
      const std::ptrdiff_t dx = cell(to.x, width_) - x, dy = cell(to.y, height_) - y;
      const std::ptrdiff_t steps = std::max<std::ptrdiff_t>({std::abs(dx), std::abs(dy), 1});
      for (std::ptrdiff_t i = 0; i <= steps; ++i) {
        const double part = static_cast<double>(i) / static_cast<double>(steps);
        const std::ptrdiff_t at = x + std::lround(part * static_cast<double>(dx));
        auto& [first, last] = spans_[static_cast<std::size_t>(y + std::lround(part * static_cast<double>(dy)))];
        first = std::min(first, at), last = std::max(last, at);
      }
    }
    double sum = 0;
    std::ptrdiff_t count = 0;
    for (std::ptrdiff_t y = 0; y < rows; ++y) {
      const auto& [first, last] = spans_[static_cast<std::size_t>(y)];
      for (std::ptrdiff_t x = first; x <= last; ++x, ++count) sum += static_cast<double>(map[y * columns + x]);
    }
    return count == 0 ? 0 : static_cast<float>(sum / static_cast<double>(count));
  }

  const float pixel_threshold_;
  const double grows_by_, least_side_;
  std::size_t width_ = 0, height_ = 0;
  std::vector<TensorInfo> infos_;
  std::vector<float> values_;
  std::vector<std::uint8_t> seen_;
  std::vector<std::size_t> todo_;
  std::vector<std::pair<std::size_t, std::size_t>> rows_;
  std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> spans_;  ///< First and last column of each row.
  std::vector<Point> points_;
  std::vector<Quad> texts_;
};

}  // namespace

std::vector<DecoderType> text_box_types() {
  DecoderType type{"DB",
                   {"dbnet", "text_detection", "paddle_ocr_detection"},
                   "a map [1,1,h,w] or [1,h,w] of probabilities",
                   {{"pixel_threshold", "0.3", "the probability above which a pixel is text"},
                    {"unclip_ratio", "1.5", "how far boxes are grown: by area * ratio / perimeter"},
                    {"min_size", "3", "the least side of a text, in cells of the map"}},
                   true,
                   {"text"},
                   {},
                   {}};
  type.fits = [](const DecodeOptions&, std::span<const TensorInfo> outputs) {
    return any_output(outputs, TextBoxDecoder::is_map);
  };
  type.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<TextBoxDecoder>(settings);
  };
  return {std::move(type)};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
