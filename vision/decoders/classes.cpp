// SPDX-License-Identifier: Apache-2.0
// Classes of the whole picture: exclusive, independent, and in a tree.
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/reading.hpp>
#include <tenon/vision/internal/row_decoder.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

bool fits_classification(const DecodeOptions& options, const Shape& shape) {
  if (shape.size() != 2 && !(shape.size() == 4 && shape[2] == 1 && shape[3] == 1)) return false;
  return shape[0] == 1 && shape[1] > 0 && (options.labels.empty() || shape[1] == options.labels.size());
}

/// What turns the outputs into probabilities.
enum class Activation : std::uint8_t { kNone, kSigmoid, kSoftmax };

Activation activation_of(const DecodeOptions& options, std::span<const float> values) {
  if (options.multi_label) return options.has_sigmoid ? Activation::kNone : Activation::kSigmoid;
  double sum = 0;
  bool are_probabilities = true;
  for (const float value : values) {
    are_probabilities &= value >= 0 && value <= 1;
    sum += value;
  }
  return are_probabilities && std::abs(sum - 1) < 1e-2 ? Activation::kNone : Activation::kSoftmax;
}

void decode_classification(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch) {
  const std::span<const float> all(values, shape[1]);
  const Activation activation = activation_of(options, all);
  float top = -INFINITY;
  for (const float value : all) {
    if (value > top) top = value;
  }
  double total = 0;
  for (const float value : all) total += std::exp(static_cast<double>(value - top));
  const Box whole{0, 0, static_cast<float>(options.input_width), static_cast<float>(options.input_height)};
  for (std::size_t c = 0; c < all.size(); ++c) {
    float score = all[c];
    if (activation == Activation::kSigmoid) score = sigmoid(score);
    if (activation == Activation::kSoftmax)
      score = static_cast<float>(std::exp(static_cast<double>(score - top)) / total);
    if (score >= options.confidence_threshold) add(scratch, whole, score, c, c);
  }
}

}  // namespace

std::vector<DecoderType> class_types() {
  return {row_type("Classification", {}, "[1,labels] or [1,labels,1,1]",
                   {fits_classification, decode_classification, false, false, false})};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
