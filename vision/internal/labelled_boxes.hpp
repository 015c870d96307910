// SPDX-License-Identifier: Apache-2.0
// Detectors that give boxes and labels as outputs of their own, as OpenVINO's Model API and torchvision know them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/vision/nms.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct DecodeOptions;

/// Boxes [n,5] or [1,n,5] of two corners and a score, in pixels of the input, and integer labels [n] or [1,n]; or boxes [n,4] or [1,n,4],
/// scores and labels. Boxes of four numbers that all lie in 0..1 are parts of the input.
struct LabelledBoxes {
  std::size_t boxes = 0, labels = 0;  ///< Places among the outputs.
  std::optional<std::size_t> scores;  ///< Nothing: the fifth column of the boxes.
  std::size_t count = 0;
};

/// Nothing if the outputs are no such boxes. @{
std::optional<LabelledBoxes> find_labelled_boxes(std::span<const Tensor> outputs);
std::optional<LabelledBoxes> find_labelled_boxes(std::span<const TensorInfo> outputs);
/// @}
/// Those above the threshold, in pixels of the input; `index` is the row. @param shift  Added to labels.
void add_labelled_boxes(const LabelledBoxes& found, std::span<const Tensor> outputs, const DecodeOptions& options,
                        std::int32_t shift, std::vector<Candidate>& candidates);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
