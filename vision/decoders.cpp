// SPDX-License-Identifier: Apache-2.0
// The table of model types and how each is read.
#include <algorithm>
#include <cmath>

#include <tenon/vision/internal/decoders.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// Grids of strides 8, 16, 32 (and 64) that together have `rows` cells; 0 when none does.
std::size_t grid_levels(const DecodeOptions& options, std::size_t rows) {
  std::size_t cells = 0;
  for (std::size_t level = 0; level < 4; ++level) {
    const std::size_t stride = std::size_t{8} << level;
    cells += (options.input_width / stride) * (options.input_height / stride);
    if (level >= 2 && cells == rows) return level + 1;
  }
  return 0;
}

void add(DecodeScratch& scratch, const Box& box, float score, std::size_t label, std::size_t index) {
  scratch.candidates.push_back({box, score, static_cast<std::int32_t>(label), static_cast<std::uint32_t>(index)});
}

Box around(float x, float y, float w, float h) { return {x - w / 2, y - h / 2, x + w / 2, y + h / 2}; }

/// Adds a box once for its best label, or for every label above the threshold. `scale` is the objectness.
/// Comparisons are written so that NaN never passes.
template <typename MakeBox>
void add_labels(const DecodeOptions& options, DecodeScratch& scratch, const float* scores, std::size_t count,
                float scale, std::size_t index, MakeBox make_box) {
  const float threshold = options.confidence_threshold;
  if (options.multi_label) {
    for (std::size_t c = 0; c < count; ++c) {
      if (scores[c] * scale >= threshold) add(scratch, make_box(), scores[c] * scale, c, index);
    }
    return;
  }
  std::size_t best = 0;
  for (std::size_t c = 1; c < count; ++c) {
    if (scores[c] > scores[best] || std::isnan(scores[best])) best = c;
  }
  if (scores[best] * scale >= threshold) add(scratch, make_box(), scores[best] * scale, best, index);
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

void decode_yolox(const DecodeOptions& options, const Shape& shape, const float* values, DecodeScratch& scratch) {
  const std::size_t width = shape[2], levels = grid_levels(options, shape[1]);
  const float threshold = options.confidence_threshold;
  const float* row = values;
  std::size_t index = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t step = std::size_t{8} << level;
    const auto stride = static_cast<float>(step);
    for (std::size_t y = 0; y < options.input_height / step; ++y) {
      for (std::size_t x = 0; x < options.input_width / step; ++x, row += width, ++index) {
        if (!(row[4] >= threshold)) continue;  // A class score is at most 1.
        add_labels(options, scratch, row + 5, width - 5, row[4], index, [&] {
          return around((row[0] + static_cast<float>(x)) * stride, (row[1] + static_cast<float>(y)) * stride,
                        std::exp(row[2]) * stride, std::exp(row[3]) * stride);
        });
      }
    }
  }
}

void decode_yolov5(const DecodeOptions& options, const Shape& shape, const float* values, DecodeScratch& scratch) {
  const std::size_t width = shape[2];
  for (std::size_t i = 0; i < shape[1]; ++i) {
    const float* row = values + i * width;
    if (!(row[4] >= options.confidence_threshold)) continue;
    add_labels(options, scratch, row + 5, width - 5, row[4], i, [&] { return around(row[0], row[1], row[2], row[3]); });
  }
}

// 4 + c rows of n values
// ----------------------------------------------------------------------------------------------------

/// True: [1, 4 + c, n]. The number of labels decides; without labels there are more boxes than labels.
bool is_channel_major(const DecodeOptions& options, const Shape& shape) {
  if (!options.labels.empty()) return shape[1] == 4 + options.labels.size();
  return shape[1] < shape[2] || shape[2] < 5;
}

bool fits_yolov8(const DecodeOptions& options, const Shape& shape) {
  if (shape.size() != 3 || shape[0] != 1) return false;
  const std::size_t wide = shape[is_channel_major(options, shape) ? 1 : 2];
  return options.labels.empty() ? wide >= 5 : wide == 4 + options.labels.size();
}

void decode_yolov8(const DecodeOptions& options, const Shape& shape, const float* values, DecodeScratch& scratch) {
  if (!is_channel_major(options, shape)) {
    for (std::size_t i = 0; i < shape[1]; ++i) {
      const float* row = values + i * shape[2];
      add_labels(options, scratch, row + 4, shape[2] - 4, 1, i, [&] { return around(row[0], row[1], row[2], row[3]); });
    }
    return;
  }
  const std::size_t count = shape[2], labels = shape[1] - 4;
  const auto box = [&](std::size_t i) {
    return around(values[i], values[count + i], values[2 * count + i], values[3 * count + i]);
  };
  const float* scores = values + 4 * count;
  if (options.multi_label) {
    for (std::size_t c = 0; c < labels; ++c) {
      for (std::size_t i = 0; i < count; ++i) {
        const float score = scores[c * count + i];
        if (score >= options.confidence_threshold) add(scratch, box(i), score, c, i);
      }
    }
    return;
  }
  // Label by label, so that memory is read in order.
  scratch.best_score.assign(count, -1.0f);
  scratch.best_label.assign(count, 0);
  for (std::size_t c = 0; c < labels; ++c) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!(scores[c * count + i] > scratch.best_score[i])) continue;
      scratch.best_score[i] = scores[c * count + i];
      scratch.best_label[i] = static_cast<std::int32_t>(c);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (scratch.best_score[i] >= options.confidence_threshold)
      add(scratch, box(i), scratch.best_score[i], static_cast<std::size_t>(scratch.best_label[i]), i);
  }
}

// Lists of finished detections
// ---------------------------------------------------------------------------------------------

bool fits_ssd(const DecodeOptions&, const Shape& shape) {
  return shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[3] == 7;
}

void decode_ssd(const DecodeOptions& options, const Shape& shape, const float* values, DecodeScratch& scratch) {
  const auto w = static_cast<float>(options.input_width), h = static_cast<float>(options.input_height);
  for (std::size_t i = 0; i < shape[2]; ++i) {
    const float* row = values + i * 7;
    if (row[0] < 0) break;
    // A label beyond int is damage, not a label.
    if (!(row[2] >= options.confidence_threshold) || !(row[1] >= 0 && row[1] < 1e6f)) continue;
    add(scratch, {row[3] * w, row[4] * h, row[5] * w, row[6] * h}, row[2], static_cast<std::size_t>(row[1]), i);
  }
}

// Classification
// ------------------------------------------------------------------------------------------------------------

bool fits_classification(const DecodeOptions& options, const Shape& shape) {
  if (shape.size() != 2 && !(shape.size() == 4 && shape[2] == 1 && shape[3] == 1)) return false;
  return shape[0] == 1 && shape[1] > 0 && (options.labels.empty() || shape[1] == options.labels.size());
}

void decode_classification(const DecodeOptions& options, const Shape& shape, const float* values,
                           DecodeScratch& scratch) {
  double sum = 0;
  float top = -INFINITY;
  bool probabilities = true;
  for (std::size_t c = 0; c < shape[1]; ++c) {
    probabilities &= values[c] >= 0 && values[c] <= 1;
    sum += values[c];
    if (values[c] > top) top = values[c];
  }
  probabilities &= std::abs(sum - 1) < 1e-2;
  double total = 0;
  if (!probabilities) {
    for (std::size_t c = 0; c < shape[1]; ++c) total += std::exp(static_cast<double>(values[c] - top));
  }
  const Box whole{0, 0, static_cast<float>(options.input_width), static_cast<float>(options.input_height)};
  for (std::size_t c = 0; c < shape[1]; ++c) {
    const float score =
        probabilities ? values[c] : static_cast<float>(std::exp(static_cast<double>(values[c] - top)) / total);
    if (score >= options.confidence_threshold) add(scratch, whole, score, c, c);
  }
}

constexpr const char* kYolox[] = {"yolox"};
constexpr const char* kYolov5[] = {"yolov5", "yolo_v5"};
constexpr const char* kYolov8[] = {"yolov8", "yolo_v8", "yolov11", "yolo_v11", "yolo11", "yolo_v9", "yolov9"};
constexpr const char* kSsd[] = {"ssd", "detection_output"};
constexpr const char* kClassification[] = {"classification"};

constexpr DecoderKind kKinds[] = {
    {"YOLOX", kYolox, "[1,n,5+labels] with one row per cell of the grids of strides 8, 16, 32", true, true, fits_yolox,
     decode_yolox},
    {"YOLOv5", kYolov5, "[1,n,5+labels]", true, true, fits_rows, decode_yolov5},
    {"YOLOv8", kYolov8, "[1,4+labels,n] or [1,n,4+labels]", true, true, fits_yolov8, decode_yolov8},
    {"SSD", kSsd, "[1,1,n,7]", true, true, fits_ssd, decode_ssd},
    {"Classification", kClassification, "[1,labels] or [1,labels,1,1]", false, false, fits_classification,
     decode_classification},
};

}  // namespace

std::span<const DecoderKind> decoder_kinds() { return kKinds; }

}  // namespace vision
}  // namespace v1
}  // namespace tenon
