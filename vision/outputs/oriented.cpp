// SPDX-License-Identifier: Apache-2.0
// Reads turned boxes, and measures how much they overlap.
#include <tenon/vision/oriented.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/anchors.hpp>
#include <tenon/vision/internal/reading.hpp>
#include <tenon/vision/internal/suppression.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// The covariance of points that are spread evenly over a turned box.
struct Spread {
  double xx = 0, yy = 0, xy = 0;
};

Spread spread_of(const Candidate& candidate, double angle) {
  const double a = static_cast<double>(candidate.box.width()) * candidate.box.width() / 12;
  const double b = static_cast<double>(candidate.box.height()) * candidate.box.height() / 12;
  const double c = std::cos(angle), s = std::sin(angle);
  return {a * c * c + b * s * s, a * s * s + b * c * c, (a - b) * c * s};
}

/// 1 minus the Hellinger distance of the two normal distributions, which follows from Bhattacharyya's distance.
double overlap_of(const Candidate& one, double one_angle, const Candidate& other, double other_angle) {
  const Spread p = spread_of(one, one_angle), q = spread_of(other, other_angle);
  const double xx = p.xx + q.xx, yy = p.yy + q.yy, xy = p.xy + q.xy;
  const double dx = (static_cast<double>(one.box.x1) + one.box.x2 - other.box.x1 - other.box.x2) / 2;
  const double dy = (static_cast<double>(one.box.y1) + one.box.y2 - other.box.y1 - other.box.y2) / 2;
  const double whole = xx * yy - xy * xy;
  const double parts = std::max((p.xx * p.yy - p.xy * p.xy) * (q.xx * q.yy - q.xy * q.xy), 0.0);
  if (!(whole > 0) || !(parts > 0)) return 0;
  const double distance =
      (xx * dy * dy + yy * dx * dx - 2 * xy * dx * dy) / whole / 4 + std::log(whole / (4 * std::sqrt(parts))) / 2;
  return 1 - std::sqrt(std::max(1 - std::exp(-std::max(distance, 0.0)), 0.0));
}

}  // namespace

std::vector<OrientedObject> oriented_objects(std::span<const Tensor> outputs, const DecodeOptions& options,
                                             bool* is_cut) {
  const auto rows = std::find_if(outputs.begin(), outputs.end(), [&](const Tensor& output) {
    return is_real(output) && Anchors::fits(output.shape(), options, 1);
  });
  if (rows == outputs.end())
    throw Error(
        Code::kInvalidArgument,
        "decoding YOLOv8-obb: no output is [1,4+labels+1,n] or [1,n,7] of f32 or f16; there are:" + list_of(outputs));
  std::vector<float> scratch;
  const Anchors anchors(*rows, floats(*rows, scratch), options, 1, false);
  std::vector<Candidate> best = anchors.candidates();
  const auto angle = [&](const Candidate& candidate) { return static_cast<double>(anchors.extra(candidate.index, 0)); };
  std::erase_if(best, [&](const Candidate& candidate) { return !std::isfinite(angle(candidate)); });
  const auto corners_of = [&](const Candidate& candidate) {
    const double c = std::cos(angle(candidate)), s = std::sin(angle(candidate));
    const double x = (static_cast<double>(candidate.box.x1) + candidate.box.x2) / 2;
    const double y = (static_cast<double>(candidate.box.y1) + candidate.box.y2) / 2;
    const double w = candidate.box.width() / 2.0, h = candidate.box.height() / 2.0;
    std::array<Box, 4> corners;
    constexpr double kSides[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    for (std::size_t k = 0; k < 4; ++k) {
      const auto at_x = static_cast<float>(x + kSides[k][0] * w * c - kSides[k][1] * h * s);
      const auto at_y = static_cast<float>(y + kSides[k][0] * w * s + kSides[k][1] * h * c);
      corners[k] = to_frame(options, {at_x, at_y, at_x, at_y});
    }
    return corners;
  };
  const auto around = [](const std::array<Box, 4>& corners) {
    Box box = corners[0];
    for (const Box& corner : corners)
      box = {std::min(box.x1, corner.x1), std::min(box.y1, corner.y1), std::max(box.x2, corner.x2),
             std::max(box.y2, corner.y2)};
    return box;
  };
  const auto is_visible = [&](const Candidate& candidate) {
    const Box box = clipped(options, around(corners_of(candidate)));
    return box.width() > 0 && box.height() > 0;
  };
  const auto overlaps = [&](const Candidate& kept, const Candidate& candidate) {
    return kept.label_id == candidate.label_id &&
           overlap_of(kept, angle(kept), candidate, angle(candidate)) > static_cast<double>(options.iou_threshold);
  };
  const bool is_more = anchors.is_finished_rows() ? keep_best(best, options.top_k, never_suppresses, is_visible)
                                                  : keep_best(best, options.top_k, overlaps, is_visible);
  if (is_cut) *is_cut = is_more;
  std::vector<OrientedObject> found;
  for (const Candidate& candidate : best) {
    const std::array<Box, 4> corners = corners_of(candidate);
    const Box box = clipped(options, around(corners));
    OrientedObject& made = found.emplace_back();
    made.object = {{box.x1, box.y1, box.x2, box.y2},
                   label_of(options, static_cast<std::size_t>(candidate.label_id)),
                   candidate.label_id,
                   candidate.score,
                   -1};
    made.corners = Tensor(ElementType::kF32, Shape{4, 3});
    auto* number = made.corners.data<float>();
    for (const Box& corner : corners) *number++ = corner.x1, *number++ = corner.y1, *number++ = candidate.score;
  }
  return found;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
