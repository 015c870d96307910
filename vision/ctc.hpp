// SPDX-License-Identifier: Apache-2.0
// Texts from the outputs of networks that were trained with connectionist temporal classification (OCR, speech).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct CtcOptions {
  std::vector<std::string> alphabet;  ///< Texts of the classes, without the blank.
  bool blank_first = false;           ///< Class 0 is the blank; else the last one.
  std::size_t beam_width = 1;         ///< Texts that are followed at once; 1: the best class of each step.
};

struct CtcText {
  std::string text;
  /// Greedy: the product of the steps' best probabilities. Beams: the probability of the text, all of its paths that were followed.
  double probability = 0;
};

/// The most probable text of steps x classes. @param outputs  [steps,1,classes] or [1,steps,classes], f32 or f16: probabilities, or
/// logits (softmax is applied to steps that are not 0..1 with the sum 1). With several outputs, the first that fits.
/// Steps with a NaN, and those without a finite largest value, are left out; with no other there is no text, of probability 0.
/// @errors kInvalidArgument: none fits the alphabet and its blank; a beam width of 0.
/// @source A. Graves et al. (2006); prefix search as in A. Hannun et al., First-Pass Large Vocabulary Continuous Speech Recognition (2014),
/// without a language model.
TENON_API CtcText ctc_text(std::span<const Tensor> outputs, const CtcOptions& options);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
