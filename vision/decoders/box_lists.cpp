// SPDX-License-Identifier: Apache-2.0
// Lists of finished boxes: with labels and scores beside them, or in rows whose columns are in another order.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/cells.hpp>
#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/function_decoder.hpp>
#include <tenon/vision/internal/labelled_boxes.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// Also what torchvision's detectors have beside their boxes: masks [n,1,h,w], probabilities over the whole input, and points [n,k,3] in pixels of
/// the input with logits [n,k]. @source torchvision, models/detection/roi_heads.py
class LabelledBoxDecoder final : public ObjectDecoder {
 public:
  explicit LabelledBoxDecoder(std::int32_t shift) : shift_(shift) {}
  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    const LabelledBoxes all = *find_labelled_boxes(outputs);
    add_labelled_boxes(all, outputs, options, shift_, found);
    find_masks(all, outputs);
    find_points(all, outputs);
    return true;
  }

  void describe(const DecodeOptions& options, const Candidate& candidate, const ResultTarget& target,
                metadata::Id object) override {
    if (masks_) {
      const float* mask = masks_ + candidate.index * mask_width_ * mask_height_;
      target.into.add(mask_over_box(options, candidate.box, mask_width_, mask_height_,
                                    [&](std::size_t i) { return static_cast<std::uint8_t>(mask[i] >= 0.5f); }),
                      object);
    }
    if (!points_) return;
    Tensor made(ElementType::kF32, Shape{point_count_, 3});
    const float* point = points_ + candidate.index * point_count_ * 3;
    auto* row = made.data<float>();
    for (std::size_t k = 0; k < point_count_; ++k, point += 3, row += 3) {
      const Box at = to_frame(options, {point[0], point[1], point[0], point[1]});
      const float score = point_scores_  ? sigmoid(point_scores_[candidate.index * point_count_ + k])
                          : point[2] > 0 ? 1.0f
                                         : 0.0f;
      row[0] = at.x1, row[1] = at.y1, row[2] = score;
    }
    add_points(std::move(made), target, object);
  }

 private:
  void find_masks(const LabelledBoxes& all, std::span<const Tensor> outputs) {
    masks_ = nullptr;
    for (const Tensor& output : outputs) {
      const Shape& shape = output.shape();
      if (!is_real(output) || shape.size() != 4 || shape[0] != all.count || shape[1] != 1 ||
          output.element_count() == 0)
        continue;
      masks_ = floats(output, mask_values_), mask_height_ = shape[2], mask_width_ = shape[3];
    }
  }
  void find_points(const LabelledBoxes& all, std::span<const Tensor> outputs) {
    points_ = point_scores_ = nullptr;
    const auto is_list = [&](const Tensor& output, std::size_t rank) {
      return is_real(output) && output.shape().size() == rank && output.shape()[0] == all.count &&
             output.element_count() > 0 && &output != &outputs[all.boxes];
    };
    for (const Tensor& output : outputs) {
      if (!is_list(output, 3) || output.shape()[2] != 3) continue;
      points_ = floats(output, point_values_), point_count_ = output.shape()[1];
    }
    for (const Tensor& output : outputs) {
      if (points_ && is_list(output, 2) && output.shape()[1] == point_count_)
        point_scores_ = floats(output, point_score_values_);
    }
  }

  const std::int32_t shift_;
  std::vector<float> mask_values_, point_values_, point_score_values_;
  const float *masks_ = nullptr, *points_ = nullptr, *point_scores_ = nullptr;
  std::size_t mask_width_ = 0, mask_height_ = 0, point_count_ = 0;
};

/// Which columns of a row hold what.
struct Columns {
  std::size_t width, label, score, x1;
};

class RowListDecoder final : public ObjectDecoder {
 public:
  explicit RowListDecoder(const Columns& columns) : columns_(columns) {}
  static bool is_list(const TensorInfo& output, const Columns& columns) {
    const Shape& shape = output.shape;
    return is_real(output.type) && (shape.size() == 2 || (shape.size() == 3 && shape[0] == 1)) &&
           shape.back() == columns.width;
  }
  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    const Tensor& output = first_output(outputs, infos_, [&](const TensorInfo& one) { return is_list(one, columns_); });
    const float* row = floats(output, values_);
    const std::size_t count = output.element_count() / columns_.width;
    for (std::size_t i = 0; i < count; ++i, row += columns_.width) {
      const float label = row[columns_.label], *box = row + columns_.x1;
      if (!(row[columns_.score] >= options.confidence_threshold) || !(label >= 0 && label < 1e6f)) continue;
      found.push_back({{box[0], box[1], box[2], box[3]},
                       row[columns_.score],
                       static_cast<std::int32_t>(label),
                       static_cast<std::uint32_t>(i)});
    }
    return true;
  }

 private:
  const Columns columns_;
  std::vector<TensorInfo> infos_;
  std::vector<float> values_;
};

DecoderType list_type(std::string name, std::vector<std::string> other_names, std::string expects,
                      const Columns& columns) {
  DecoderType type{std::move(name), std::move(other_names), std::move(expects), {}, false, {}, {}, {}};
  type.fits = [columns](const DecodeOptions&, std::span<const TensorInfo> outputs) {
    return any_output(outputs, [&](const TensorInfo& one) { return RowListDecoder::is_list(one, columns); });
  };
  type.make = [columns](const DecodeOptions&, const DecoderSettings&) {
    return std::make_unique<RowListDecoder>(columns);
  };
  return type;
}

/// Boxes [1,n,4] as y1 x1 y2 x2 in parts of the input, classes and scores [1,n] of reals, a count [1]. @source TensorFlow's object
/// detection API; TensorFlow Lite's TFLite_Detection_PostProcess
class TensorFlowDecoder final : public ObjectDecoder {
 public:
  explicit TensorFlowDecoder(std::int32_t first) : first_(first) {}
  struct Places {
    std::size_t boxes, labels, scores, count;
  };
  static std::optional<Places> places_in(const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    for (std::size_t b = 0; b < outputs.size(); ++b) {
      if (!is_real_of_rank(outputs[b], 3) || outputs[b].shape[2] != 4) continue;
      std::vector<std::size_t> lists;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (is_real_of_rank(outputs[i], 2) && outputs[i].shape[1] == outputs[b].shape[1]) lists.push_back(i);
      }
      if (lists.size() != 2) continue;
      const auto is_scores = [&](std::size_t i) {
        return i < options.output_names.size() && options.output_names[i].find("score") != std::string::npos;
      };
      if (is_scores(lists[0])) std::swap(lists[0], lists[1]);
      return Places{b, lists[0], lists[1], outputs[b].shape[1]};
    }
    return std::nullopt;
  }
  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    describe_outputs(outputs, infos_);
    const Places places = *places_in(options, infos_);
    const float* boxes = floats(outputs[places.boxes], values_[0]);
    const float* labels = floats(outputs[places.labels], values_[1]);
    const float* scores = floats(outputs[places.scores], values_[2]);
    const auto w = static_cast<float>(options.input_width), h = static_cast<float>(options.input_height);
    for (std::size_t i = 0; i < places.count; ++i, boxes += 4) {
      if (!(scores[i] >= options.confidence_threshold) || !(labels[i] >= 0 && labels[i] < 1e6f)) continue;
      found.push_back({{boxes[1] * w, boxes[0] * h, boxes[3] * w, boxes[2] * h},
                       scores[i],
                       static_cast<std::int32_t>(labels[i]) - first_,
                       static_cast<std::uint32_t>(i)});
    }
    return true;
  }

 private:
  const std::int32_t first_;
  std::vector<TensorInfo> infos_;
  std::array<std::vector<float>, 3> values_;
};

std::int32_t first_label(const DecoderSettings& settings) {
  constexpr double kMost = 1e6;
  const double first = settings.number("first_label");
  if (!(std::abs(first) <= kMost) || first != std::floor(first))
    throw Error(Code::kInvalidArgument, "decoding boxes: parameter first_label is \"" + settings.text("first_label") +
                                            "\"; it must be a whole number of at most 1000000");
  return static_cast<std::int32_t>(first);
}

}  // namespace

std::vector<DecoderType> box_list_types() {
  const DecoderParameter first{"first_label", "0", "the number of the first of the labels"};
  DecoderType labelled{
      "Boxes",
      {"labelled_boxes", "torchvision", "faster-rcnn", "retinanet", "fcos", "atss", "rtmdet", "keypoint-rcnn"},
      "boxes [n,5] and labels [n], or boxes [n,4], scores [n] and labels [n], each perhaps with a batch of 1, and "
      "perhaps "
      "masks [n,1,h,w] or points [n,k,3],",
      {first},
      true,
      {},
      {},
      {}};
  labelled.fits = [](const DecodeOptions&, std::span<const TensorInfo> outputs) {
    return find_labelled_boxes(outputs).has_value();
  };
  labelled.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<LabelledBoxDecoder>(-first_label(settings));
  };
  DecoderType tensorflow{"TensorFlow",
                         {"tf_od", "tflite_ssd"},
                         "boxes [1,n,4], classes [1,n] and scores [1,n]",
                         {first},
                         true,
                         {},
                         {},
                         {}};
  tensorflow.fits = [](const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    return TensorFlowDecoder::places_in(options, outputs).has_value();
  };
  tensorflow.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<TensorFlowDecoder>(first_label(settings));
  };
  return {std::move(labelled), std::move(tensorflow),
          list_type("PaddleDetection", {"pp-yoloe", "ppyoloe", "picodet"}, "rows [n,6] of class, score and two corners",
                    {6, 0, 1, 2}),
          list_type("YOLOv7-end2end", {"yolo_v7_end2end"}, "rows [n,7] of image, two corners, class and score",
                    {7, 5, 6, 1})};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
