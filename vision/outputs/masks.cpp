// SPDX-License-Identifier: Apache-2.0
// Computes the best class of each pixel, and masks from prototypes, cut to the box of each object.
#include <tenon/vision/masks.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/anchors.hpp>
#include <tenon/vision/internal/cells.hpp>
#include <tenon/vision/internal/labelled_boxes.hpp>
#include <tenon/vision/internal/logit_masks.hpp>
#include <tenon/vision/internal/reading.hpp>
#include <tenon/vision/internal/row_decoder.hpp>
#include <tenon/vision/internal/scores.hpp>
#include <tenon/vision/nms.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

void check_input_size(const DecodeOptions& options) {
  if (options.input_width == 0 || options.input_height == 0)
    throw Error(Code::kInvalidArgument, "decoding " + options.model_type +
                                            ": the size of the model's input is not known; set input_width and "
                                            "input_height");
}

/// Whether it is [1,classes,h,w].
bool has_scores(const Tensor& output) {
  return is_real(output) && output.shape().size() == 4 && output.shape()[0] == 1 && output.element_count() > 0;
}

template <typename Integer>
metadata::Segmentation from_classes(const Tensor& output, const DecodeOptions& options) {
  const Shape& shape = output.shape();
  const auto* values = static_cast<const Integer*>(output.data());
  return mask_over_frame(options, shape[shape.size() - 1], shape[shape.size() - 2], [&](std::size_t i) {
    return static_cast<std::uint8_t>(values[i] >= 0 && values[i] <= 255 ? values[i] : 0);
  });
}

/// Means over a window of `count` values that lie `step` apart, mirrored at both ends without repeating these. @param line  Scratch.
void blur_line(float* values, std::size_t count, std::size_t step, std::size_t window, std::vector<double>& line) {
  const auto period = static_cast<std::ptrdiff_t>(2 * (count - 1));
  const auto mirrored = [&](std::ptrdiff_t at) {
    if (period == 0) return std::size_t{0};
    at = (at % period + period) % period;
    return static_cast<std::size_t>(std::min(at, period - at));
  };
  // Sums of all values before each, from those that lie before the first.
  const auto before = static_cast<std::ptrdiff_t>(window / 2);
  line.assign(count + window, 0);
  for (std::size_t i = 0; i + 1 < line.size(); ++i)
    line[i + 1] = line[i] + static_cast<double>(values[mirrored(static_cast<std::ptrdiff_t>(i) - before) * step]);
  for (std::size_t i = 0; i < count; ++i)
    values[i * step] = static_cast<float>((line[i + window] - line[i]) / static_cast<double>(window));
}

/// @return The smoothed scores of all classes.
std::vector<float> smoothed(const float* scores, const Shape& shape, const Smoothing& smoothing) {
  const std::size_t height = shape[2], width = shape[3], pixels = height * width;
  std::vector<float> made(scores, scores + shape[1] * pixels);
  for (float& value : made)
    if (!std::isfinite(value)) value = 0;
  std::vector<double> line;
  for (std::size_t c = 0; c < shape[1] && smoothing.window > 1; ++c) {
    float* const map = made.data() + c * pixels;
    for (std::size_t y = 0; y < height; ++y) blur_line(map + y * width, width, 1, smoothing.window, line);
    for (std::size_t x = 0; x < width; ++x) blur_line(map + x, height, width, smoothing.window, line);
  }
  for (float& value : made)
    if (value < smoothing.threshold) value = 0;
  return made;
}

metadata::Segmentation from_scores(const Tensor& output, const DecodeOptions& options, const Smoothing& smoothing) {
  std::vector<float> scratch, blurred;
  const float* scores = floats(output, scratch);
  const std::size_t classes = output.shape()[1], height = output.shape()[2], width = output.shape()[3];
  const std::size_t pixels = height * width;
  if (classes == 1) {
    const auto is_share = [](float value) { return value >= 0 && value <= 1; };
    const bool are_probabilities = std::all_of(scores, scores + pixels, is_share);
    return mask_over_frame(options, width, height, [&](std::size_t i) {
      const float score = are_probabilities ? scores[i] : sigmoid(scores[i]);
      return static_cast<std::uint8_t>(score >= options.confidence_threshold);
    });
  }
  if (smoothing.window > 0) {
    blurred = smoothed(scores, output.shape(), smoothing);
    scores = blurred.data();
  }
  return mask_over_frame(options, width, height, [&](std::size_t i) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < std::min<std::size_t>(classes, 256); ++c) {
      if (scores[c * pixels + i] > scores[best * pixels + i]) best = c;
    }
    return static_cast<std::uint8_t>(best);
  });
}

}  // namespace

metadata::Segmentation segment(std::span<const Tensor> outputs, const DecodeOptions& options) {
  return segment(outputs, options, {});
}

metadata::Segmentation segment(std::span<const Tensor> outputs, const DecodeOptions& options,
                               const Smoothing& smoothing) {
  check_input_size(options);
  if (smoothing.window > Smoothing::kMaxWindow)
    throw Error(Code::kInvalidArgument, "decoding Segmentation: a window of " + std::to_string(smoothing.window) +
                                            " cells, expected at most " + std::to_string(Smoothing::kMaxWindow));
  for (const Tensor& output : outputs) {
    if (!output || !output.is_contiguous() || output.element_count() == 0) continue;
    const Shape& shape = output.shape();
    if (has_scores(output)) return from_scores(output, options, smoothing);
    const bool is_flat = (shape.size() == 3 && shape[0] == 1) || (shape.size() == 4 && shape[0] == 1 && shape[1] == 1);
    if (!is_flat) continue;
    if (output.element_type() == ElementType::kU8) return from_classes<std::uint8_t>(output, options);
    if (output.element_type() == ElementType::kI32) return from_classes<std::int32_t>(output, options);
    if (output.element_type() == ElementType::kI64) return from_classes<std::int64_t>(output, options);
  }
  throw Error(
      Code::kInvalidArgument,
      "decoding Segmentation: no output is [1,classes,h,w] of f32 or f16, or [1,h,w] or [1,1,h,w] of u8, i32 or "
      "i64; there are:" +
          list_of(outputs));
}

Tensor soft_prediction(std::span<const Tensor> outputs, const DecodeOptions& options) {
  check_input_size(options);
  const auto output = std::find_if(outputs.begin(), outputs.end(), has_scores);
  if (output == outputs.end())
    throw Error(Code::kInvalidArgument,
                "decoding Segmentation: no output is [1,classes,h,w] of f32 or f16, which soft predictions are made "
                "of; there are:" +
                    list_of(outputs));
  std::vector<float> scratch;
  const float* scores = floats(*output, scratch);
  const std::size_t classes = output->shape()[1], height = output->shape()[2], width = output->shape()[3];
  const Cells cells = cells_of(placed_in(options), width, height, options);
  Tensor made(ElementType::kF32, Shape{classes, cells.y2 - cells.y1, cells.x2 - cells.x1});
  auto* to = made.data<float>();
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t y = cells.y1; y < cells.y2; ++y) {
      const float* const row = scores + (c * height + y) * width;
      to = std::copy(row + cells.x1, row + cells.x2, to);
    }
  }
  return made;
}

namespace {

bool is_flags(const Tensor& tensor) {
  return tensor && tensor.is_contiguous() &&
         (tensor.element_type() == ElementType::kBool || tensor.element_type() == ElementType::kU8);
}

std::string anomaly_label(const DecodeOptions& options, int id) {
  if (options.labels.size() > 1) return options.labels[static_cast<std::size_t>(id)];
  return id ? "Anomaly" : "Normal";
}

/// What a model that has decided itself says: a score [1], a flag [1], and perhaps flags of pixels; nothing if it is no such model.
std::optional<Anomaly> decided_anomaly(std::span<const Tensor> outputs, const DecodeOptions& options) {
  const auto has_one = [](const Tensor& output) { return output.element_count() == 1; };
  const auto label = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const Tensor& output) { return is_flags(output) && has_one(output); });
  const auto score = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const Tensor& output) { return is_real(output) && has_one(output); });
  if (label == outputs.end() || score == outputs.end()) return std::nullopt;
  std::vector<float> scratch;
  const float value = *floats(*score, scratch);
  Anomaly made;
  made.label_id = *static_cast<const std::uint8_t*>(label->data()) != 0;
  made.label = anomaly_label(options, made.label_id);
  const float share = std::isfinite(value) ? std::clamp(value, 0.0f, 1.0f) : 0.5f;
  made.score = made.label_id ? share : 1 - share;
  const auto mask = std::find_if(outputs.begin(), outputs.end(), [&](const Tensor& output) {
    return is_flags(output) && output.element_count() > 1 && output.shape().size() >= 2;
  });
  if (mask == outputs.end()) return made;
  check_input_size(options);
  const auto* flags = static_cast<const std::uint8_t*>(mask->data());
  made.places = mask_over_frame(options, mask->shape().back(), mask->shape()[mask->shape().size() - 2],
                                [&](std::size_t i) { return static_cast<std::uint8_t>(flags[i] != 0); });
  return made;
}

}  // namespace

Anomaly anomaly(std::span<const Tensor> outputs, const DecodeOptions& options) {
  if (auto decided = decided_anomaly(outputs, options)) return std::move(*decided);
  const auto is_map = [](const Tensor& output) {
    const Shape& shape = output.shape();
    return is_real(output) && output.element_count() > 0 &&
           (shape.size() == 3 || (shape.size() == 4 && shape[1] == 1)) && shape[0] == 1;
  };
  const auto is_score = [](const Tensor& output) { return is_real(output) && output.element_count() == 1; };
  auto found = std::find_if(outputs.begin(), outputs.end(), is_map);
  const bool has_map = found != outputs.end();
  if (!has_map) found = std::find_if(outputs.begin(), outputs.end(), is_score);
  if (found == outputs.end())
    throw Error(Code::kInvalidArgument,
                "decoding AnomalyDetection: no output is [1,1,h,w], [1,h,w] or [1] of f32 or f16; there are:" +
                    list_of(outputs));
  std::vector<float> scratch;
  const float* values = floats(*found, scratch);
  const float most = highest_of(values, found->element_count());
  Anomaly made;
  made.label_id = most > options.image_threshold;
  made.label = anomaly_label(options, made.label_id);
  const float above = most - options.image_threshold;
  // An output without a number says nothing.
  const float score = !std::isfinite(most) ? 0.5f
                      : options.normalization_scale > 0
                          ? std::clamp(above / options.normalization_scale + 0.5f, 0.0f, 1.0f)
                          : static_cast<float>(above > 0);
  made.score = made.label_id ? score : 1 - score;
  if (!has_map) return made;
  check_input_size(options);
  const Shape& shape = found->shape();
  made.places = mask_over_frame(options, shape.back(), shape[shape.size() - 2], [&](std::size_t i) {
    return static_cast<std::uint8_t>(values[i] >= options.pixel_threshold);
  });
  return made;
}

std::vector<MaskedObject> masked_objects(std::span<const Tensor> outputs, const DecodeOptions& options) {
  return masked_objects(outputs, options, nullptr);
}

std::vector<MaskedObject> masked_objects(std::span<const Tensor> outputs, const DecodeOptions& options, bool* is_cut) {
  check_input_size(options);
  const auto prototypes = std::find_if(outputs.begin(), outputs.end(), [](const Tensor& output) {
    return is_real(output) && output.shape().size() == 4 && output.shape()[0] == 1 && output.element_count() > 0;
  });
  const std::size_t extra = prototypes == outputs.end() ? 0 : prototypes->shape()[1];
  const auto rows = std::find_if(outputs.begin(), outputs.end(), [&](const Tensor& output) {
    return extra != 0 && is_real(output) && Anchors::fits(output.shape(), options, extra);
  });
  if (rows == outputs.end())
    throw Error(Code::kInvalidArgument,
                "decoding YOLOv8-seg: no outputs are [1,4+labels+m,n] and [1,m,h,w] of f32 or f16; there are:" +
                    list_of(outputs) + "; with suppression inside the first would be [1,n,6+m]");
  std::vector<float> scratch, prototype_scratch;
  const Anchors anchors(*rows, floats(*rows, scratch), options, extra);
  const float* base = floats(*prototypes, prototype_scratch);
  const std::size_t height = prototypes->shape()[2], width = prototypes->shape()[3], pixels = height * width;
  LogitMasks masks;
  masks.begin(width, height);
  std::vector<float> coefficients(extra);
  std::vector<MaskedObject> found;
  for (const Candidate& candidate : anchors.best(is_cut)) {
    MaskedObject& made = found.emplace_back();
    const Box box = clipped(options, to_frame(options, candidate.box));
    const auto label = static_cast<std::size_t>(candidate.label_id);
    made.object = {{box.x1, box.y1, box.x2, box.y2}, label_of(options, label), candidate.label_id, candidate.score, -1};
    for (std::size_t m = 0; m < extra; ++m) coefficients[m] = anchors.extra(candidate.index, m);
    made.mask = masks.over(options, candidate.box, [&](std::size_t y, std::size_t x1, std::size_t x2, float* row) {
      std::fill(row, row + (x2 - x1), 0.0f);
      for (std::size_t m = 0; m < extra; ++m) {
        const float* const from = base + m * pixels + y * width + x1;
        for (std::size_t x = 0; x < x2 - x1; ++x) row[x] += coefficients[m] * from[x];
      }
    });
  }
  return found;
}

std::vector<MaskedObject> box_masked_objects(std::span<const Tensor> outputs, const DecodeOptions& options,
                                             bool* is_cut) {
  const auto found = find_labelled_boxes(outputs);
  const auto masks = std::find_if(outputs.begin(), outputs.end(), [&](const Tensor& output) {
    if (!is_real(output) || !found || &output == &outputs[found->boxes]) return false;
    const Shape& shape = output.shape();
    const std::size_t rank = shape.size();
    return (rank == 3 || (rank == 4 && shape[0] == 1)) && shape[rank - 3] == found->count;
  });
  if (!found || masks == outputs.end())
    throw Error(
        Code::kInvalidArgument,
        "decoding MaskRCNN: no outputs are boxes [n,5], labels [n] and masks [n,h,w]; there are:" + list_of(outputs));
  std::vector<Candidate> best;
  add_labelled_boxes(*found, outputs, options, 1, best);
  check_scores(options.model_type, best);
  std::erase_if(best, [](const Candidate& c) {
    const float width = c.box.width(), height = c.box.height();
    return !(width > 0 && height > 0 && std::isfinite(width + height));
  });
  const bool is_more = keep_best(best, options.top_k, never_suppresses, always_counts);
  if (is_cut) *is_cut = is_more;
  std::vector<float> scratch;
  const float* values = floats(*masks, scratch);
  const std::size_t height = masks->shape()[masks->shape().size() - 2], width = masks->shape().back();
  std::vector<MaskedObject> made;
  for (const Candidate& candidate : best) {
    MaskedObject& one = made.emplace_back();
    const Box whole = to_frame(options, candidate.box), box = clipped(options, whole);
    one.object = {{box.x1, box.y1, box.x2, box.y2},
                  label_of(options, static_cast<std::size_t>(candidate.label_id)),
                  candidate.label_id,
                  candidate.score,
                  -1};
    one.mask = {{whole.x1, whole.y1, whole.x2, whole.y2}, Tensor(ElementType::kU8, Shape{height, width}), {}};
    const float* from = values + candidate.index * height * width;
    std::transform(from, from + height * width, static_cast<std::uint8_t*>(one.mask.mask.data()),
                   [](float share) { return static_cast<std::uint8_t>(share >= 0.5f); });
  }
  return made;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
