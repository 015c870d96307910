// SPDX-License-Identifier: Apache-2.0
// The interface of decoders, one for each model type.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/nms.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Reused from picture to picture.
struct DecodeScratch {
  std::vector<Candidate>& candidates;
  std::vector<float>& best_score;
  std::vector<std::int32_t>& best_label;
  bool& is_suppressed;  ///< Set where the model itself has suppressed boxes, so that all are kept.
};

/// One row of the table of model types.
struct DecoderKind {
  const char* name;  ///< The name in messages.
  std::span<const char* const> other_names;
  const char* expects;  ///< The output's shape, for messages.
  bool needs_input_size;
  bool has_boxes;  ///< Candidates have boxes, which are mapped to the frame; else each is a class of the whole picture.
  bool is_suppressed;  ///< Boxes overlap only where the model means it.
  bool (*fits)(const DecodeOptions& options, const Shape& shape);
  /// Candidates above the threshold, boxes in pixels of the model's input. `values` holds the whole tensor.
  void (*decode)(const DecodeOptions& options, const Shape& shape, const float* values, DecodeScratch& scratch);
};

std::span<const DecoderKind> decoder_kinds();

}  // namespace vision
}  // namespace v1
}  // namespace tenon
