// SPDX-License-Identifier: Apache-2.0
// Slices, greedy merging, masks of several pieces.
#include <tenon/vision/slices.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/vision/detection.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

using metadata::Segmentation;

constexpr std::size_t kMostSlices = 4096;

/// The first pixel of each slice along one axis.
std::vector<std::size_t> begins(std::size_t extent, std::size_t slice, double overlap) {
  const std::size_t length = std::min(slice, extent);
  const auto shared = static_cast<std::size_t>(overlap * static_cast<double>(slice));
  std::vector<std::size_t> all{0};
  while (all.back() + length < extent) {
    all.push_back(std::min(all.back() + slice - shared, extent - length));
    if (all.size() > kMostSlices) break;
  }
  return all;
}

struct Object {
  metadata::Id id = metadata::kFrame;
  std::uint32_t slice = 0;
  std::shared_ptr<const metadata::Detection> value;
  bool is_taken = false;
};

float overlap_of(const metadata::Box& a, const metadata::Box& b, JoinOptions::Measure measure) {
  const Box first{a.x1, a.y1, a.x2, a.y2}, second{b.x1, b.y1, b.x2, b.y2};
  if (measure == JoinOptions::Measure::kUnion) return intersection_over_union(first, second);
  const float w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1), h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(w > 0) || !(h > 0)) return 0;
  return w * h / std::min(first.width() * first.height(), second.width() * second.height());
}

metadata::Box around(const metadata::Box& a, const metadata::Box& b) {
  return {std::min(a.x1, b.x1), std::min(a.y1, b.y1), std::max(a.x2, b.x2), std::max(a.y2, b.y2)};
}

bool is_mask(const Segmentation& piece) {
  return piece.mask && piece.mask.is_host_addressable() && piece.mask.is_contiguous() &&
         piece.mask.element_type() == ElementType::kU8 && piece.mask.shape().size() == 2 &&
         element_count(piece.mask.shape()) != 0 && piece.box.x2 > piece.box.x1 && piece.box.y2 > piece.box.y1;
}

/// One mask over all pieces, as fine as the first one.
Segmentation joined(const std::vector<Segmentation>& pieces) {
  constexpr float kMostPixels = 4096;
  Segmentation all = pieces.front();
  for (const Segmentation& piece : pieces) all.box = around(all.box, piece.box);
  const Shape& fine = pieces.front().mask.shape();
  const auto extent = [&](float whole, float part, std::size_t pixels) {
    return static_cast<std::size_t>(
        std::clamp(std::ceil(whole / part * static_cast<float>(pixels)), 1.0f, kMostPixels));
  };
  const metadata::Box &whole = all.box, &part = pieces.front().box;
  const std::size_t width = extent(whole.x2 - whole.x1, part.x2 - part.x1, fine[1]),
                    height = extent(whole.y2 - whole.y1, part.y2 - part.y1, fine[0]);
  all.mask = Tensor(ElementType::kU8, {height, width});
  auto* const out = all.mask.data<std::uint8_t>();
  std::fill_n(out, width * height, std::uint8_t{0});
  for (const Segmentation& piece : pieces) {
    const auto* const mask = piece.mask.data<std::uint8_t>();
    const std::size_t rows = piece.mask.shape()[0], columns = piece.mask.shape()[1];
    /// SIZE_MAX: outside. Compared as numbers, since a small box makes of a place far away one that no integer holds.
    const auto pixel_of = [](float at, float begin, float end, std::size_t pixels) {
      const float pixel = std::floor((at - begin) / (end - begin) * static_cast<float>(pixels));
      return pixel >= 0 && pixel < static_cast<float>(pixels) ? static_cast<std::size_t>(pixel) : SIZE_MAX;
    };
    for (std::size_t y = 0; y < height; ++y) {
      const float at_y = whole.y1 + (static_cast<float>(y) + 0.5f) * (whole.y2 - whole.y1) / static_cast<float>(height);
      const std::size_t row = pixel_of(at_y, piece.box.y1, piece.box.y2, rows);
      if (row == SIZE_MAX) continue;
      for (std::size_t x = 0; x < width; ++x) {
        const float at_x =
            whole.x1 + (static_cast<float>(x) + 0.5f) * (whole.x2 - whole.x1) / static_cast<float>(width);
        const std::size_t column = pixel_of(at_x, piece.box.x1, piece.box.x2, columns);
        if (column == SIZE_MAX) continue;
        std::uint8_t& pixel = out[y * width + x];
        pixel = std::max(pixel, mask[row * columns + column]);
      }
    }
  }
  return all;
}

}  // namespace

std::vector<PixelRect> slices_of(std::size_t width, std::size_t height, std::size_t slice_width,
                                 std::size_t slice_height, double overlap) {
  if (width == 0 || height == 0 || slice_width == 0 || slice_height == 0 || !(overlap >= 0 && overlap <= 0.9))
    throw Error(Code::kInvalidArgument,
                "slices: a picture of " + std::to_string(width) + "x" + std::to_string(height) + " in slices of " +
                    std::to_string(slice_width) + "x" + std::to_string(slice_height) + " with an overlap of " +
                    std::to_string(overlap) + "; extents must not be 0, and the overlap 0 to 0.9");
  const std::vector<std::size_t> columns = begins(width, slice_width, overlap),
                                 rows = begins(height, slice_height, overlap);
  if (columns.size() * rows.size() > kMostSlices)
    throw Error(Code::kInvalidArgument, "slices: a picture of " + std::to_string(width) + "x" + std::to_string(height) +
                                            " has more than " + std::to_string(kMostSlices) +
                                            " slices; make them larger");
  std::vector<PixelRect> all;
  for (const std::size_t y : rows)
    for (const std::size_t x : columns)
      all.push_back({x, y, std::min(slice_width, width), std::min(slice_height, height)});
  return all;
}

void join_slices(metadata::Collection& known, std::span<const SlicedObject> objects, const JoinOptions& options) {
  std::map<metadata::Id, std::uint32_t> slice_of;
  for (const SlicedObject& one : objects) slice_of[one.id] = one.slice;
  std::vector<Object> all;
  for (const auto& entry : known.all<metadata::Detection>())
    if (const auto at = slice_of.find(entry.id); at != slice_of.end())
      all.push_back({entry.id, at->second, entry.value});
  std::stable_sort(all.begin(), all.end(),
                   [](const Object& a, const Object& b) { return a.value->score > b.value->score; });
  std::vector<Segmentation> masks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].is_taken) continue;
    metadata::Detection whole = *all[i].value;
    masks.clear();
    const auto own = known.of<Segmentation>(all[i].id);
    if (!own.empty() && is_mask(*own[0].value)) masks.push_back(*own[0].value);
    bool is_joined = false;
    // What was too far away may overlap the box when it has grown.
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      for (std::size_t k = i + 1; k < all.size(); ++k) {
        Object& other = all[k];
        if (other.is_taken || (other.slice == all[i].slice && !is_joined)) continue;
        if (!options.across_labels && (other.value->label_id != whole.label_id || other.value->label != whole.label))
          continue;
        const float overlap = overlap_of(whole.box, other.value->box, options.measure);
        if (!(overlap > 0) || overlap < options.threshold) continue;
        other.is_taken = true;
        if (options.how == JoinOptions::How::kMerge) {
          whole.box = around(whole.box, other.value->box);
          has_grown = is_joined = true;
          const auto more = known.of<Segmentation>(other.id);
          if (!masks.empty() && !more.empty() && is_mask(*more[0].value)) masks.push_back(*more[0].value);
        }
        known.remove(other.id);
      }
    }
    // A piece may lie within the box and have pixels that the mask lacks.
    if (masks.size() > 1) known.replace(own[0].id, joined(masks));
    if (!(whole.box == all[i].value->box)) known.replace(all[i].id, std::move(whole));
  }
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
