// SPDX-License-Identifier: Apache-2.0
// Scores as heads give them: probabilities, or logits where the export left out the sigmoid.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/vision/decode_options.hpp>
#include <tenon/vision/internal/reading.hpp>
#include <tenon/vision/nms.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// No output is beyond it that is not damaged.
inline constexpr float kMostScore = 1000;

/// Beyond what rounding makes of a probability, and no damage. Nearly all scores of a head are of background, so that logits have
/// such values in every picture.
inline bool is_logit(float value) {
  constexpr float kLeast = -0.5f, kMost = 1.5f;
  return ((value < kLeast) | (value > kMost)) & (std::fabs(value) <= kMostScore);
}

/// Whether scores of a head are logits. It looks at an eighth of many, which has background, too.
inline bool has_logit(const float* values, std::size_t count) {
  // Compilers make vectors of this: a constant count, and floats that compare as the integers of their bits.
  constexpr std::size_t kBlock = 64;
  constexpr auto kLeast = std::bit_cast<std::int32_t>(-0.5f), kMost = std::bit_cast<std::int32_t>(1.5f);
  const std::size_t step = count >= 16 * kBlock ? 8 * kBlock : kBlock;
  std::size_t i = 0;
  for (; i + kBlock <= count; i += step) {
    std::int32_t beyond = 0;
    for (std::size_t j = 0; j < kBlock; ++j) {
      const auto bits = std::bit_cast<std::int32_t>(values[i + j]);
      beyond |= static_cast<std::int32_t>(bits > kMost) | static_cast<std::int32_t>((bits < 0) & (bits > kLeast));
    }
    if (beyond != 0 && std::any_of(values + i, values + i + kBlock, is_logit)) return true;
  }
  return std::any_of(values + std::min(i, count), values + count, is_logit);
}

/// The scores of one output. Logits are compared as they are, and only those that count become probabilities.
class Scores {
 public:
  Scores(const DecodeOptions& options, bool are_logits)
      : least_(are_logits ? std::log(options.confidence_threshold / (1 - options.confidence_threshold))
                          : options.confidence_threshold),
        are_logits_(are_logits) {}
  /// Whether the probability reaches the threshold; damage does not.
  bool pass(float value) const { return value >= least_ && std::fabs(value) <= kMostScore; }
  float probability(float value) const { return are_logits_ ? sigmoid(value) : value; }

 private:
  float least_;
  bool are_logits_;
};

/// Drops damage, and limits probabilities that were rounded up.
/// @errors kInvalidArgument: scores that are no probabilities
inline void check_scores(std::string_view model_type, std::vector<Candidate>& candidates) {
  for (Candidate& candidate : candidates) {
    if (is_logit(candidate.score))
      throw Error(Code::kInvalidArgument,
                  "decoding " + std::string(model_type) + ": an object has the score " +
                      std::to_string(candidate.score) +
                      ", and probabilities of 0 to 1 are expected; export the model with its sigmoid, or correct the "
                      "model type");
  }
  std::erase_if(candidates, [](const Candidate& candidate) { return !(std::fabs(candidate.score) <= kMostScore); });
  for (Candidate& candidate : candidates) candidate.score = std::min(candidate.score, 1.0f);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
