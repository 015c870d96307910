// SPDX-License-Identifier: Apache-2.0
// Boxes beside the scores of each class: queries of transformers, and heads whose boxes are finished.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/finished_rows.hpp>
#include <tenon/vision/internal/function_decoder.hpp>
#include <tenon/vision/internal/logit_masks.hpp>
#include <tenon/vision/internal/row_decoder.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

// One row each, as Ultralytics exports RT-DETR
// ---------------------------------------------------------------------------------------------

bool fits_queries(const DecodeOptions& options, const Shape& shape) {
  if (shape.size() != 3 || shape[0] != 1) return false;
  return options.labels.empty() ? shape[2] >= 5 : shape[2] == 4 + options.labels.size() || shape[2] == kFinishedRow;
}

/// Since 2026 the exporter leaves each query its best class alone: centre, size, score, class. With two labels the values tell.
bool are_chosen(const DecodeOptions& options, const Shape& shape, const float* values) {
  if (shape[2] != kFinishedRow) return false;
  const bool is_raw = options.labels.empty() || options.labels.size() == kFinishedRow - 4;
  return !is_raw || are_finished_rows(options, shape, false, values);
}

void decode_queries(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch) {
  const std::size_t width = shape[2], labels = width - 4;
  const auto w = static_cast<float>(options.input_width), h = static_cast<float>(options.input_height);
  const auto box_of = [&](const float* row) { return around(row[0] * w, row[1] * h, row[2] * w, row[3] * h); };
  if (are_chosen(options, shape, values)) {
    for (std::size_t i = 0; i < shape[1]; ++i) {
      const float *row = values + i * width, score = row[4], label = row[5];
      if (score >= options.confidence_threshold && is_class_number(label))
        add(scratch, box_of(row), score, static_cast<std::size_t>(label), i);
    }
    return;
  }
  const Scores read = scores_after_boxes(options, shape, values);
  for (std::size_t i = 0; i < shape[1]; ++i) {
    const float* row = values + i * width;
    add_labels(options, scratch, read, row + 4, labels, 1, i, [&] { return box_of(row); });
  }
}

// Two outputs
// ---------------------------------------------------------------------------------------------

/// Places of the outputs; the masks of RF-DETR's heads for segmentation are optional.
struct Pair {
  std::size_t boxes = 0, scores = 0, count = 0, classes = 0;
  std::optional<std::size_t> masks;
};

/// [1,n,4], [1,n,1,4] or [n,4].
std::size_t boxes_in(const TensorInfo& output) {
  const Shape& shape = output.shape;
  if (!is_real(output.type) || shape.size() < 2 || shape.back() != 4) return 0;
  if (shape.size() == 2) return shape[0];
  if (shape[0] != 1 || (shape.size() == 4 && shape[2] != 1) || shape.size() > 4) return 0;
  return shape[1];
}

std::optional<Pair> find_pair(const DecodeOptions& options, std::span<const TensorInfo> outputs) {
  const auto is_named_boxes = [&](std::size_t i) {
    if (i >= options.output_names.size()) return false;
    const std::string name = lower_case(options.output_names[i]);
    return name.find("box") != std::string::npos || name.find("det") != std::string::npos;
  };
  std::optional<Pair> found;
  for (std::size_t b = 0; b < outputs.size(); ++b) {
    const std::size_t count = boxes_in(outputs[b]);
    if (count == 0 || (found && !is_named_boxes(b))) continue;
    for (std::size_t s = 0; s < outputs.size(); ++s) {
      const Shape& shape = outputs[s].shape;
      const bool is_scores = s != b && is_real(outputs[s].type) && (shape.size() == 2 || shape.size() == 3) &&
                             (shape.size() == 2 || shape[0] == 1) && shape[shape.size() - 2] == count &&
                             shape.back() >= std::max<std::size_t>(options.labels.size(), 1);
      if (is_scores && (!found || found->boxes != b)) found = Pair{b, s, count, shape.back(), {}};
    }
  }
  for (std::size_t m = 0; found && m < outputs.size(); ++m) {
    const bool are_masks = is_real_of_rank(outputs[m], 4) && outputs[m].shape[1] == found->count &&
                           checked_element_count(outputs[m].shape).value_or(0) > 0;
    if (are_masks && m != found->boxes) found->masks = m;
  }
  return found;
}

enum class PairActivation : std::uint8_t { kAuto, kNone, kSigmoid, kSoftmax };

PairActivation activation_named(const std::string& name) {
  if (name == "auto") return PairActivation::kAuto;
  if (name == "none") return PairActivation::kNone;
  if (name == "sigmoid") return PairActivation::kSigmoid;
  if (name == "softmax") return PairActivation::kSoftmax;
  throw Error(Code::kInvalidArgument,
              "decoding: parameter activation is \"" + name + "\"; it must be auto, none, sigmoid or softmax");
}

/// Which of the scores' columns is no class.
enum class Background : std::uint8_t { kNone, kFirst, kLast };

Background background_named(const std::string& name) {
  if (name == "none") return Background::kNone;
  if (name == "first") return Background::kFirst;
  if (name == "last") return Background::kLast;
  throw Error(Code::kInvalidArgument,
              "decoding: parameter background is \"" + name + "\"; it must be none, first or last");
}

class PairDecoder final : public ObjectDecoder {
 public:
  explicit PairDecoder(const DecoderSettings& settings)
      : activation_(activation_named(settings.text("activation"))),
        background_(background_named(settings.text("background"))),
        has_corners_(settings.flag("corners")),
        has_pixels_(settings.flag("pixels")),
        suppresses_(settings.flag("suppress")) {}

  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    describe_outputs(outputs, infos_);
    const Pair pair = *find_pair(options, infos_);
    const float* boxes = floats(outputs[pair.boxes], box_values_);
    const float* scores = floats(outputs[pair.scores], score_values_);
    masks_ = nullptr;
    if (pair.masks) {
      masks_ = floats(outputs[*pair.masks], mask_values_);
      mask_shape_ = outputs[*pair.masks].shape();
      maker_.begin(mask_shape_[3], mask_shape_[2]);
    }
    const std::size_t first = background_ == Background::kFirst,
                      classes = pair.classes - (background_ != Background::kNone);
    const bool are_logits = activation_ == PairActivation::kSigmoid ||
                            (activation_ == PairActivation::kAuto && has_logit(scores, pair.count * pair.classes));
    const Scores read(options, are_logits);
    const float w = has_pixels_ ? 1 : static_cast<float>(options.input_width);
    const float h = has_pixels_ ? 1 : static_cast<float>(options.input_height);
    for (std::size_t i = 0; i < pair.count; ++i) {
      const float* b = boxes + 4 * i;
      const Box box =
          has_corners_ ? Box{b[0] * w, b[1] * h, b[2] * w, b[3] * h} : around(b[0] * w, b[1] * h, b[2] * w, b[3] * h);
      const float* row = scores + i * pair.classes;
      if (activation_ == PairActivation::kSoftmax) row = softmax(row, pair.classes);
      const auto add_class = [&](std::size_t c) {
        if (read.pass(row[first + c]))
          found.push_back(
              {box, read.probability(row[first + c]), static_cast<std::int32_t>(c), static_cast<std::uint32_t>(i)});
      };
      // Independent scores of a query are so many answers, of which the best of all queries count.
      if (options.multi_label || (!suppresses_ && activation_ != PairActivation::kSoftmax)) {
        for (std::size_t c = 0; c < classes; ++c) add_class(c);
        continue;
      }
      std::size_t best = 0;
      for (std::size_t c = 1; c < classes; ++c) {
        if (row[first + c] > row[first + best] || std::isnan(row[first + best])) best = c;
      }
      if (classes > 0) add_class(best);
    }
    return !suppresses_;
  }

  void describe(const DecodeOptions& options, const Candidate& candidate, const ResultTarget& target,
                metadata::Id object) override {
    if (!masks_) return;
    const std::size_t height = mask_shape_[2], width = mask_shape_[3];
    const float* mask = masks_ + candidate.index * height * width;
    target.into.add(maker_.over(options, candidate.box,
                                [&](std::size_t y, std::size_t x1, std::size_t x2, float* row) {
                                  std::copy(mask + y * width + x1, mask + y * width + x2, row);
                                }),
                    object);
  }

 private:
  const float* softmax(const float* row, std::size_t count) {
    row_.resize(count);
    float top = -INFINITY;
    for (std::size_t c = 0; c < count; ++c) top = row[c] > top ? row[c] : top;
    double sum = 0;
    for (std::size_t c = 0; c < count; ++c) sum += std::exp(static_cast<double>(row[c] - top));
    for (std::size_t c = 0; c < count; ++c)
      row_[c] = static_cast<float>(std::exp(static_cast<double>(row[c] - top)) / sum);
    return row_.data();
  }

  const PairActivation activation_;
  const Background background_;
  const bool has_corners_, has_pixels_, suppresses_;
  std::vector<TensorInfo> infos_;
  std::vector<float> box_values_, score_values_, mask_values_, row_;
  const float* masks_ = nullptr;
  Shape mask_shape_;
  LogitMasks maker_;
};

/// Two outputs where there are two, else one.
class EitherDecoder final : public ObjectDecoder {
 public:
  EitherDecoder(const DecoderSettings& settings, const DecodeOptions& options, const DecoderType& one)
      : two_(settings), one_(one.make(options, settings)) {}
  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    describe_outputs(outputs, infos_);
    if (find_pair(options, infos_)) return two_.find(options, outputs, found);
    return static_cast<ObjectDecoder&>(*one_).find(options, outputs, found);
  }

 private:
  PairDecoder two_;
  std::unique_ptr<ResultDecoder> one_;
  std::vector<TensorInfo> infos_;
};

struct PairValues {
  const char *activation = "sigmoid", *background = "none", *corners = "false", *pixels = "false", *suppress = "false";
};

DecoderType pair_type(std::string name, std::vector<std::string> other_names, std::string expects,
                      const PairValues& values) {
  DecoderType type{std::move(name), std::move(other_names), std::move(expects), {}, true, {}, {}, {}};
  type.parameters = {
      {"activation", values.activation,
       "what turns scores into probabilities: none, sigmoid, softmax; auto: sigmoid where they are none yet"},
      {"background", values.background, "the column of scores that is no class: none, first, last"},
      {"corners", values.corners, "boxes are two corners, else centre and size"},
      {"pixels", values.pixels, "boxes are in pixels of the input, else in parts of it"},
      {"suppress", values.suppress, "boxes that overlap more than iou are one object"}};
  type.fits = [](const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    return find_pair(options, outputs).has_value();
  };
  type.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<PairDecoder>(settings);
  };
  return type;
}

}  // namespace

std::vector<DecoderType> query_types() {
  const std::string queries = "boxes [1,n,4] and scores [1,n,classes]";
  DecoderType rows = row_type("RT-DETR", {"rtdetr", "rt_detr", "rt-detrv2", "rtdetrv2"}, "[1,n,4+labels] or [1,n,6]",
                              {fits_queries, decode_queries, true, true, true});
  DecoderType pairs = pair_type(
      "RF-DETR",
      {"rfdetr", "rf_detr", "d-fine", "dfine", "d_fine", "deformable-detr", "conditional-detr", "rf-detr-seg"},
      queries + ", logits, and perhaps masks [1,n,h,w]", {});
  // Hugging Face exports RT-DETR with two outputs, Ultralytics with one.
  rows.expects += ", or " + queries;
  rows.parameters = pairs.parameters;
  rows.fits = [one = rows.fits, two = pairs.fits](const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    return two(options, outputs) || one(options, outputs);
  };
  rows.make = [one = rows](const DecodeOptions& options, const DecoderSettings& settings) {
    return std::make_unique<EitherDecoder>(settings, options, one);
  };
  return {std::move(rows),
          std::move(pairs),
          pair_type("DETR", {"yolos", "table-transformer"}, queries + ", logits of which the last is no object",
                    {"softmax", "last"}),
          pair_type("YOLO-NAS", {"yolonas", "yolo_nas", "damo-yolo"}, queries + ", corners in pixels",
                    {"auto", "none", "true", "true", "true"}),
          pair_type("YOLOv4", {"yolo_v4"}, "boxes [1,n,1,4] and scores [1,n,classes], corners in parts of the input",
                    {"auto", "none", "true", "false", "true"}),
          pair_type("UltraFace", {}, queries + ", corners in parts of the input, the first class is no face",
                    {"none", "first", "true", "false", "true"})};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
