// SPDX-License-Identifier: Apache-2.0
// Lists of finished detections, and boxes beside priors.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/function_decoder.hpp>
#include <tenon/vision/internal/row_decoder.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

bool fits_ssd(const DecodeOptions&, const Shape& shape) {
  return shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[3] == 7;
}

void decode_ssd(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch) {
  const auto w = static_cast<float>(options.input_width), h = static_cast<float>(options.input_height);
  for (std::size_t i = 0; i < shape[2]; ++i) {
    const float* row = values + i * 7;
    if (row[0] < 0) break;
    if (!(row[2] >= options.confidence_threshold) || !(row[1] >= 0 && row[1] < 1e6f)) continue;
    add(scratch, {row[3] * w, row[4] * h, row[5] * w, row[6] * h}, row[2], static_cast<std::size_t>(row[1]), i);
  }
}

/// Boxes beside priors. @source W. Liu et al., SSD: Single Shot MultiBox Detector (2016), as Caffe's DetectionOutput decodes them with
/// code_type CENTER_SIZE
class PriorDecoder final : public ObjectDecoder {
 public:
  explicit PriorDecoder(const DecoderSettings& settings) : is_softmax_(settings.flag("softmax")) {}

  struct Places {
    std::size_t boxes, scores, priors, count, classes;
  };
  /// Priors [1,2,4 n] (two corners in parts of the input, then variances), boxes [1,n,4] or [1,4 n], scores [1,n,c] or [1,n c].
  static std::optional<Places> places_in(std::span<const TensorInfo> outputs) {
    const auto count_of = [&](std::size_t i) {
      return is_real(outputs[i].type) ? checked_element_count(outputs[i].shape).value_or(0) : 0;
    };
    for (std::size_t p = 0; p < outputs.size(); ++p) {
      if (!is_real_of_rank(outputs[p], 3) || outputs[p].shape[1] != 2 || outputs[p].shape[2] % 4 != 0) continue;
      const std::size_t count = outputs[p].shape[2] / 4;
      for (std::size_t b = 0; b < outputs.size() && count > 0; ++b) {
        if (b == p || count_of(b) != 4 * count || outputs[b].shape.size() > 3) continue;
        for (std::size_t s = 0; s < outputs.size(); ++s) {
          if (s == p || s == b || outputs[s].shape.size() > 3 || count_of(s) < 2 * count || count_of(s) % count != 0)
            continue;
          return Places{b, s, p, count, count_of(s) / count};
        }
      }
    }
    return std::nullopt;
  }

  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    describe_outputs(outputs, infos_);
    const Places places = *places_in(infos_);
    const float* boxes = floats(outputs[places.boxes], box_values_);
    const float* scores = floats(outputs[places.scores], score_values_);
    const float* priors = floats(outputs[places.priors], prior_values_);
    const float* variances = priors + 4 * places.count;
    const auto w = static_cast<float>(options.input_width), h = static_cast<float>(options.input_height);
    for (std::size_t i = 0; i < places.count; ++i) {
      const float *b = boxes + 4 * i, *p = priors + 4 * i, *v = variances + 4 * i;
      const float* row = scores + i * places.classes;
      double sum = 1, top = 0;
      if (is_softmax_) {
        top = *std::max_element(row, row + places.classes), sum = 0;
        for (std::size_t c = 0; c < places.classes; ++c) sum += std::exp(row[c] - top);
      }
      for (std::size_t c = 1; c < places.classes; ++c) {  // Class 0 is the background.
        const float score = is_softmax_ ? static_cast<float>(std::exp(row[c] - top) / sum) : row[c];
        if (!(score >= options.confidence_threshold)) continue;
        const float wide = p[2] - p[0], high = p[3] - p[1];
        const Box box =
            around((v[0] * b[0] * wide + (p[0] + p[2]) / 2) * w, (v[1] * b[1] * high + (p[1] + p[3]) / 2) * h,
                   std::exp(v[2] * b[2]) * wide * w, std::exp(v[3] * b[3]) * high * h);
        found.push_back({box, score, static_cast<std::int32_t>(c), static_cast<std::uint32_t>(i)});
      }
    }
    return false;
  }

 private:
  const bool is_softmax_;
  std::vector<TensorInfo> infos_;
  std::vector<float> box_values_, score_values_, prior_values_;
};

}  // namespace

std::vector<DecoderType> ssd_types() {
  DecoderType priors{"SSD-priors",
                     {"ssd_priors"},
                     "boxes [1,n,4], scores [1,n,classes] and priors [1,2,4*n]",
                     {{"softmax", "false", "scores are logits"}},
                     true,
                     {},
                     {},
                     {}};
  priors.fits = [](const DecodeOptions&, std::span<const TensorInfo> outputs) {
    return PriorDecoder::places_in(outputs).has_value();
  };
  priors.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<PriorDecoder>(settings);
  };
  // The layer that gives these rows has suppressed boxes by the threshold that the model was made with.
  return {row_type("SSD", {"detection_output"}, "[1,1,n,7]", {fits_ssd, decode_ssd, true, true, true}),
          std::move(priors)};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
