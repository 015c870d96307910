// SPDX-License-Identifier: Apache-2.0
// Reads, draws and compares masks in run lengths.
#include <tenon/vision/mask_runs.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// COCO's outlines are drawn at this multiple of the picture's size.
constexpr double kFiner = 5;
constexpr double kFarthest = 65536;

[[noreturn]] void refuse_mask(const std::string& what) { throw Error(Code::kInvalidArgument, "a mask: " + what); }

/// Walks over two masks at once, and calls `see` with each stretch of pixels in which neither changes.
template <typename See>
void walk(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b, See see) {
  std::size_t i = 0, k = 0;
  std::uint64_t left_a = a.empty() ? 0 : a[0], left_b = b.empty() ? 0 : b[0];
  while (i < a.size() && k < b.size()) {
    const std::uint64_t length = std::min(left_a, left_b);
    if (length > 0) see(length, i % 2 == 1, k % 2 == 1);
    left_a -= length, left_b -= length;
    if (left_a == 0 && ++i < a.size()) left_a = a[i];
    if (left_b == 0 && ++k < b.size()) left_b = b[k];
  }
}

/// Gathers stretches of 0 and 1 into runs.
class Runs {
 public:
  void add(std::uint64_t length, bool one) {
    if (one == (runs_.size() % 2 == 0))
      runs_.back() += static_cast<std::uint32_t>(length);
    else
      runs_.push_back(static_cast<std::uint32_t>(length));
  }
  std::vector<std::uint32_t> take() { return std::move(runs_); }

 private:
  std::vector<std::uint32_t> runs_{0};
};

struct GridPoint {
  int x, y;
};

/// Calls `see` with the points of a polygon's outline in the finer grid, one for each step along the longer axis of each side.
template <typename See>
void outline(const std::vector<double>& corners, See see) {
  const std::size_t count = corners.size() / 2;
  const auto finer = [&](std::size_t i) { return static_cast<int>(kFiner * corners[i] + 0.5); };
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t next = (i + 1) % count;
    GridPoint from{finer(2 * i), finer(2 * i + 1)}, to{finer(2 * next), finer(2 * next + 1)};
    const int wide = std::abs(to.x - from.x), high = std::abs(to.y - from.y);
    const bool is_flat = wide >= high;
    const bool is_backward = is_flat ? from.x > to.x : from.y > to.y;
    if (is_backward) std::swap(from, to);  // A side has the same points whichever way it is walked.
    const int steps = std::max(wide, high);
    const double rise = is_flat ? to.y - from.y : to.x - from.x, slope = steps ? rise / steps : 0;
    for (int step = 0; step <= steps; ++step) {
      const int along = is_backward ? steps - step : step,
                across = static_cast<int>((is_flat ? from.y : from.x) + slope * along + 0.5);
      see(is_flat ? GridPoint{from.x + along, across} : GridPoint{across, from.y + along});
    }
  }
}

}  // namespace

MaskRuns::MaskRuns(std::size_t height, std::size_t width, std::vector<std::uint32_t> runs)
    : height_(height), width_(width), runs_(std::move(runs)) {
  std::uint64_t all = 0;
  for (const std::uint32_t run : runs_) all += run;
  if (all != static_cast<std::uint64_t>(height) * width)
    refuse_mask("expected runs of " + std::to_string(height) + " * " + std::to_string(width) +
                " pixels in all, found " + std::to_string(all));
}

MaskRuns MaskRuns::from_text(std::size_t height, std::size_t width, std::string_view text) {
  std::vector<std::uint32_t> runs;
  for (std::size_t at = 0; at < text.size();) {
    std::int64_t value = 0;
    for (unsigned shift = 0;; shift += 5) {
      if (at == text.size() || shift > 35) refuse_mask("the text of runs ends within a number");
      const int digit = static_cast<unsigned char>(text[at++]) - '0';
      if (digit < 0 || digit > 63) refuse_mask("the text of runs has a character outside of '0' to 'o'");
      value |= static_cast<std::int64_t>(digit & 31) << shift;
      if (digit & 32) continue;
      if (digit & 16) value -= std::int64_t{1} << (shift + 5);  // The highest bit is the sign.
      break;
    }
    if (runs.size() > 2) value += runs[runs.size() - 2];
    if (value < 0 || value > static_cast<std::int64_t>(UINT32_MAX))
      refuse_mask("the text of runs has one of " + std::to_string(value) + " pixels");
    runs.push_back(static_cast<std::uint32_t>(value));
  }
  return {height, width, std::move(runs)};
}

MaskRuns MaskRuns::of_polygon(std::size_t height, std::size_t width, const std::vector<double>& corners) {
  if (corners.size() < 6 || corners.size() % 2)
    refuse_mask("expected a polygon of three corners or more, x and y of each, found " +
                std::to_string(corners.size()) + " numbers");
  for (const double value : corners)
    if (!(std::abs(value) <= kFarthest)) refuse_mask("a polygon's corner is not finite, or beyond 65536 pixels");
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  // Where the outline passes from one column to the next, pixels change from there on, column after column.
  std::vector<std::uint32_t> changes;
  std::optional<GridPoint> before;
  outline(corners, [&](const GridPoint& point) {
    const GridPoint last = std::exchange(before, point).value_or(point);
    if (point.x == last.x) return;
    const double column = (point.x - (point.x < last.x ? 0 : 1) + 0.5) / kFiner - 0.5;
    if (std::floor(column) != column || column < 0 || column > w - 1) return;
    const double row = std::ceil(std::clamp((std::min(point.y, last.y) + 0.5) / kFiner - 0.5, 0.0, h));
    changes.push_back(static_cast<std::uint32_t>(column * h + row));
  });
  changes.push_back(static_cast<std::uint32_t>(height * width));
  std::sort(changes.begin(), changes.end());
  Runs runs;
  std::uint32_t at = 0;
  bool one = false;
  for (const std::uint32_t change : changes) {
    if (change > at) runs.add(change - at, one);
    at = change;
    one = !one;
  }
  return {height, width, runs.take()};
}

void MaskRuns::join(const MaskRuns& other) {
  Runs runs;
  walk(runs_, other.runs_, [&](std::uint64_t length, bool a, bool b) { runs.add(length, a || b); });
  runs_ = runs.take();
}

MaskRuns MaskRuns::from_polygons(std::size_t height, std::size_t width, std::span<const std::vector<double>> polygons) {
  MaskRuns all(height, width, {static_cast<std::uint32_t>(height * width)});
  for (const std::vector<double>& polygon : polygons) all.join(of_polygon(height, width, polygon));
  return all;
}

MaskRuns MaskRuns::from_pixels(std::size_t height, std::size_t width, std::span<const std::uint8_t> pixels) {
  Runs runs;
  for (std::size_t x = 0; x < width; ++x)
    for (std::size_t y = 0; y < height; ++y) runs.add(1, pixels[y * width + x] != 0);
  return {height, width, runs.take()};
}

std::uint64_t MaskRuns::area() const {
  std::uint64_t area = 0;
  for (std::size_t i = 1; i < runs_.size(); i += 2) area += runs_[i];
  return area;
}

std::uint64_t MaskRuns::shared_area(const MaskRuns& other) const {
  std::uint64_t area = 0;
  walk(runs_, other.runs_, [&](std::uint64_t length, bool a, bool b) { area += a && b ? length : 0; });
  return area;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
