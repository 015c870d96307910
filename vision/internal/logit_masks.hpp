// SPDX-License-Identifier: Apache-2.0
// Masks in pixels of the input from maps of logits with coarser cells.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/vision/decode_options.hpp>
#include <tenon/vision/detection.hpp>
#include <tenon/vision/internal/cells.hpp>
#include <tenon/vision/internal/reading.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Makes the masks of one picture's objects: a pixel of the input belongs to an object if the logit there is above 0. Between the centres of
/// a map's cells logits are linear, and beyond the outermost ones as there. Masks of whole cells would have steps of as many pixels as a
/// cell has, and lose what is narrower.
/// @source Ultralytics, utils/ops.py (process_mask); rfdetr, models/lwdetr.py (PostProcess)
class LogitMasks {
 public:
  /// As many pixels the masks of a picture have together at most (64 MB): those of further objects have the map's own cells.
  static constexpr std::size_t kMaxPixels = std::size_t{1} << 26;

  /// Begins with the next picture. @param width, height  The extents of its maps, which lie over the whole input.
  void begin(std::size_t width, std::size_t height) { width_ = width, height_ = height, made_ = 0; }

  /// @param fill  Called as fill(y, x1, x2, values): writes the logits of the cells x1 to x2 of row y.
  template <typename Fill>
  metadata::Segmentation over(const DecodeOptions& options, const Box& box, Fill fill) {
    std::size_t columns = std::max(width_, options.input_width), rows = std::max(height_, options.input_height);
    Cells cells = cells_of(box, columns, rows, options);
    if (made_ + area(cells) > kMaxPixels) {
      columns = width_, rows = height_;
      cells = cells_of(box, columns, rows, options);
    }
    made_ += area(cells);
    place(columns_, cells.x1, cells.x2, width_, columns);
    place(rows_, cells.y1, cells.y2, height_, rows);
    const Box frame = to_frame(options, cells.box);
    metadata::Segmentation made{
        {frame.x1, frame.y1, frame.x2, frame.y2}, Tensor(ElementType::kU8, Shape{rows_.size(), columns_.size()}), {}};
    auto* mask = static_cast<std::uint8_t*>(made.mask.data());
    upper_.resize(columns_.size()), lower_.resize(columns_.size());
    std::size_t upper = kNone, lower = kNone;
    for (const Place& row : rows_) {
      if (row.first == lower) std::swap(upper_, lower_), std::swap(upper, lower);
      if (row.first != upper) widen(upper_, upper = row.first, fill);
      if (row.second != lower) widen(lower_, lower = row.second, fill);
      const float *a = upper_.data(), *b = lower_.data(), share = row.share;
      for (std::size_t x = 0; x < columns_.size(); ++x) mask[x] = a[x] + (b[x] - a[x]) * share > 0;
      mask += columns_.size();
    }
    return made;
  }

 private:
  /// Where a pixel lies: between two cells, the share of the second.
  struct Place {
    std::size_t first = 0, second = 0;
    float share = 0;
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  static std::size_t area(const Cells& cells) { return (cells.x2 - cells.x1) * (cells.y2 - cells.y1); }
  /// The places of the pixels `begin` to `end` of `count`, which lie over all `cells`.
  static void place(std::vector<Place>& places, std::size_t begin, std::size_t end, std::size_t cells,
                    std::size_t count) {
    places.resize(end - begin);
    const double step = static_cast<double>(cells) / static_cast<double>(count);
    for (std::size_t i = begin; i < end; ++i) {
      const double at = std::clamp((static_cast<double>(i) + 0.5) * step - 0.5, 0.0, static_cast<double>(cells - 1));
      const auto first = static_cast<std::size_t>(at);
      places[i - begin] = {first, std::min(first + 1, cells - 1), static_cast<float>(at - static_cast<double>(first))};
    }
  }
  /// One row of cells, in the columns of the mask.
  template <typename Fill>
  void widen(std::vector<float>& into, std::size_t y, Fill& fill) {
    const std::size_t x1 = columns_.front().first, x2 = columns_.back().second + 1;
    cells_.resize(x2 - x1);
    fill(y, x1, x2, cells_.data());
    // A logit without bounds, or what is no number and so belongs to nothing, would make the pixels around it no numbers.
    constexpr float kMost = 1e30f;
    for (float& value : cells_) value = value > kMost ? kMost : value >= -kMost ? value : -kMost;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Place& at = columns_[i];
      const float a = cells_[at.first - x1];
      into[i] = a + (cells_[at.second - x1] - a) * at.share;
    }
  }

  std::size_t width_ = 1, height_ = 1, made_ = 0;
  std::vector<Place> columns_, rows_;
  std::vector<float> cells_, upper_, lower_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
