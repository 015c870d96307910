// SPDX-License-Identifier: Apache-2.0
// Decoders of one output with a row, or a column, for each box.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/vision/decoder_types.hpp>
#include <tenon/vision/internal/scores.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Reused from picture to picture.
struct RowScratch {
  std::vector<Candidate>* candidates = nullptr;
  std::vector<float> values;
  bool is_suppressed = false;  ///< Set where the model itself has suppressed boxes.
};

/// How one output is read.
struct RowFormat {
  bool (*fits)(const DecodeOptions& options, const Shape& shape);
  /// Candidates above the threshold, boxes in pixels of the model's input. `values` holds the whole tensor.
  void (*decode)(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch);
  bool has_boxes = true;
  bool is_suppressed = false;  ///< Boxes overlap only where the model means it.
  bool takes_own_boxes =
      false;  ///< Where no output fits, boxes with labels beside them are read (internal/labelled_boxes.hpp).
};

/// A type that reads the first output that fits.
DecoderType row_type(std::string name, std::vector<std::string> other_names, std::string expects,
                     const RowFormat& format);

inline void add(RowScratch& scratch, const Box& box, float score, std::size_t label, std::size_t index) {
  scratch.candidates->push_back({box, score, static_cast<std::int32_t>(label), static_cast<std::uint32_t>(index)});
}

inline Box around(float x, float y, float w, float h) { return {x - w / 2, y - h / 2, x + w / 2, y + h / 2}; }

/// The highest of the scores; -infinity if none is a number.
inline float highest_of(const float* scores, std::size_t count) {
  // Compilers make vectors of this: a constant count, and a choice without a branch. NaN is never higher.
  constexpr std::size_t kBlock = 16;
  float tops[kBlock];
  std::fill_n(tops, kBlock, -std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    for (std::size_t j = 0; j < kBlock; ++j) tops[j] = scores[i + j] > tops[j] ? scores[i + j] : tops[j];
  }
  for (; i < count; ++i) tops[0] = scores[i] > tops[0] ? scores[i] : tops[0];
  return *std::max_element(tops, tops + kBlock);
}

/// Adds a box once for its best label, or for every label above the threshold. `scale` is the objectness.
/// Comparisons are written so that NaN never passes.
template <typename MakeBox>
void add_labels(const DecodeOptions& options, RowScratch& scratch, const Scores& read, const float* scores,
                std::size_t count, float scale, std::size_t index, MakeBox make_box) {
  const auto add_label = [&](std::size_t c) {
    if (!read.pass(scores[c])) return;
    const float score = read.probability(scores[c]) * scale;
    if (score >= options.confidence_threshold) add(scratch, make_box(), score, c, index);
  };
  if (options.multi_label) {
    for (std::size_t c = 0; c < count; ++c) add_label(c);
    return;
  }
  const float highest = highest_of(scores, count);
  if (read.pass(highest)) add_label(static_cast<std::size_t>(std::find(scores, scores + count, highest) - scores));
}

/// The scores of rows that begin with a box. An eighth of many rows tells whether they are logits, as in has_logit().
inline Scores scores_after_boxes(const DecodeOptions& options, const Shape& shape, const float* values) {
  const std::size_t step = shape[1] >= 1024 ? 8 : 1;
  bool are_logits = false;
  for (std::size_t i = 0; i < shape[1] && !are_logits; i += step)
    are_logits = has_logit(values + i * shape[2] + 4, shape[2] - 4);
  return Scores(options, are_logits);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
