// SPDX-License-Identifier: Apache-2.0
// Rows and columns of YOLO's heads: with a grid, with or without objectness, with suppression inside.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/finished_rows.hpp>
#include <tenon/vision/internal/row_decoder.hpp>
#include <tenon/vision/internal/scores.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// Number of grids of strides 8, 16, 32 (and 64) that together have `rows` cells; 0 if there is none.
std::size_t grid_levels(const DecodeOptions& options, std::size_t rows) {
  std::size_t cells = 0;
  for (std::size_t level = 0; level < 4; ++level) {
    const std::size_t stride = std::size_t{8} << level;
    cells += (options.input_width / stride) * (options.input_height / stride);
    if (level >= 2 && cells == rows) return level + 1;
  }
  return 0;
}

// Rows of x1 y1 x2 y2 score class
// -------------------------------------------------------------------------------------------------------

bool fits_finished(const DecodeOptions&, const Shape& shape) {
  return shape.size() == 3 && shape[0] == 1 && shape[2] == kFinishedRow;
}

void decode_finished(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch) {
  scratch.is_suppressed = true;
  for (std::size_t i = 0; i < shape[1]; ++i) {
    const float* row = values + i * shape[2];
    if (!(row[4] >= options.confidence_threshold) || !is_class_number(row[5])) continue;
    add(scratch, {row[0], row[1], row[2], row[3]}, row[4], static_cast<std::size_t>(row[5]), i);
  }
}

// Rows of 5 + c values
// -------------------------------------------------------------------------------------------------------

bool fits_rows(const DecodeOptions& options, const Shape& shape) {
  if (shape.size() != 3 || shape[0] != 1 || shape[2] < 6) return false;
  return options.labels.empty() || shape[2] == 5 + options.labels.size();
}

bool fits_yolox(const DecodeOptions& options, const Shape& shape) {
  return fits_rows(options, shape) && grid_levels(options, shape[1]) > 0;
}

/// The scores of rows that begin with a box and its objectness.
Scores scores_of_rows(const DecodeOptions& options, const Shape& shape, const float* values) {
  bool are_logits = false;
  for (std::size_t i = 0; i < shape[1] && !are_logits; ++i) are_logits = is_logit(values[i * shape[2] + 4]);
  return Scores(options, are_logits);
}

void decode_yolox(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch) {
  const std::size_t width = shape[2], levels = grid_levels(options, shape[1]);
  const Scores read = scores_of_rows(options, shape, values);
  const float* row = values;
  std::size_t index = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t step = std::size_t{8} << level;
    const auto stride = static_cast<float>(step);
    for (std::size_t y = 0; y < options.input_height / step; ++y) {
      for (std::size_t x = 0; x < options.input_width / step; ++x, row += width, ++index) {
        if (!read.pass(row[4])) continue;  // A class score is at most 1.
        add_labels(options, scratch, read, row + 5, width - 5, read.probability(row[4]), index, [&] {
          return around((row[0] + static_cast<float>(x)) * stride, (row[1] + static_cast<float>(y)) * stride,
                        std::exp(row[2]) * stride, std::exp(row[3]) * stride);
        });
      }
    }
  }
}

void decode_rows(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch) {
  const std::size_t width = shape[2];
  const Scores read = scores_of_rows(options, shape, values);
  for (std::size_t i = 0; i < shape[1]; ++i) {
    const float* row = values + i * width;
    if (!read.pass(row[4])) continue;
    add_labels(options, scratch, read, row + 5, width - 5, read.probability(row[4]), i,
               [&] { return around(row[0], row[1], row[2], row[3]); });
  }
}

// 4 + c rows of n values
// ----------------------------------------------------------------------------------------------------

/// Whether the shape is [1, 4 + c, n]. The number of labels decides; without labels, the longer axis is the boxes'.
bool is_channel_major(const DecodeOptions& options, const Shape& shape) {
  if (!options.labels.empty()) return shape[1] == 4 + options.labels.size();
  return shape[1] < shape[2] || shape[2] < 5;
}

bool fits_raw_yolov8(const DecodeOptions& options, const Shape& shape) {
  if (shape.size() != 3 || shape[0] != 1) return false;
  const std::size_t wide = shape[is_channel_major(options, shape) ? 1 : 2];
  return options.labels.empty() ? wide >= 5 : wide == 4 + options.labels.size();
}

bool fits_yolov8(const DecodeOptions& options, const Shape& shape) {
  return fits_raw_yolov8(options, shape) || can_be_finished(options, shape, 0);
}

void decode_yolov8(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch) {
  if (is_finished(options, shape, 0, fits_raw_yolov8(options, shape), values))
    return decode_finished(options, shape, values, scratch);
  if (!is_channel_major(options, shape)) {
    const Scores read = scores_after_boxes(options, shape, values);
    for (std::size_t i = 0; i < shape[1]; ++i) {
      const float* row = values + i * shape[2];
      add_labels(options, scratch, read, row + 4, shape[2] - 4, 1, i,
                 [&] { return around(row[0], row[1], row[2], row[3]); });
    }
    return;
  }
  const std::size_t count = shape[2], labels = shape[1] - 4;
  const auto box = [&](std::size_t i) {
    return around(values[i], values[count + i], values[2 * count + i], values[3 * count + i]);
  };
  const float* scores = values + 4 * count;
  if (options.multi_label) {
    const Scores read(options, has_logit(scores, labels * count));
    for (std::size_t c = 0; c < labels; ++c) {
      for (std::size_t i = 0; i < count; ++i) {
        const float score = scores[c * count + i];
        if (read.pass(score)) add(scratch, box(i), read.probability(score), c, i);
      }
    }
    return;
  }
  const Scores read(options, has_logit(scores, labels * count));
  // The best scores of some columns at once, label by label; the label is searched where the score counts.
  constexpr std::size_t kBlock = 256;
  float best[kBlock];
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t width = std::min(kBlock, count - begin);
    std::fill_n(best, kBlock, -std::numeric_limits<float>::infinity());
    for (std::size_t c = 0; c < labels; ++c) {
      const float* row = scores + c * count + begin;
      if (width == kBlock) {  // A constant count, so that compilers make vectors of it.
        for (std::size_t j = 0; j < kBlock; ++j) best[j] = row[j] > best[j] ? row[j] : best[j];
      } else {
        for (std::size_t j = 0; j < width; ++j) best[j] = row[j] > best[j] ? row[j] : best[j];
      }
    }
    for (std::size_t j = 0; j < width; ++j) {
      if (!read.pass(best[j])) continue;
      std::size_t label = 0;
      while (scores[label * count + begin + j] != best[j]) ++label;
      add(scratch, box(begin + j), read.probability(best[j]), label, begin + j);
    }
  }
}

// YOLOv5: its own rows, or the head of YOLOv8, which Ultralytics gave it later
// ---------------------------------------------------------------------------------------------

bool fits_yolov5(const DecodeOptions& options, const Shape& shape) {
  return fits_rows(options, shape) || fits_yolov8(options, shape);
}

void decode_yolov5(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch) {
  if (is_finished(options, shape, 0, fits_rows(options, shape), values))
    return decode_finished(options, shape, values, scratch);
  fits_rows(options, shape) ? decode_rows(options, shape, values, scratch)
                            : decode_yolov8(options, shape, values, scratch);
}

}  // namespace

std::vector<DecoderType> yolo_row_types() {
  const RowFormat yolox{fits_yolox, decode_yolox, true, false, true};
  const RowFormat yolov5{fits_yolov5, decode_yolov5, true, false, true};
  const RowFormat yolov8{fits_yolov8, decode_yolov8, true, false, true};
  const RowFormat yolov10{fits_finished, decode_finished, true, true, true};
  return {
      row_type("YOLOX", {}, "[1,n,5+labels] with one row per cell of the grids of strides 8, 16, 32", yolox),
      row_type("YOLOv5", {"yolo_v5", "yolov6", "yolo_v6", "yolov7", "yolo_v7"},
               "[1,n,5+labels], [1,4+labels,n] or [1,n,6]", yolov5),
      row_type("YOLOv8",
               {"yolo_v8", "yolov11", "yolo_v11", "yolo11", "yolo_v9", "yolov9", "yolov12", "yolo_v12", "yolo12",
                "yolov13", "yolo_v13", "yolo13", "yolo"},
               "[1,4+labels,n] or [1,n,4+labels] or [1,n,6]", yolov8),
      row_type("YOLOv10", {"yolo_v10", "yolo26", "yolov26", "yolo_v26"}, "[1,n,6]", yolov10),
  };
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
