// SPDX-License-Identifier: Apache-2.0
// Tells boxes, scores and labels apart by their shapes and types.
#include <tenon/vision/internal/labelled_boxes.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <tenon/vision/internal/reading.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr std::int64_t kMaxLabel = 1'000'000;  ///< A label beyond it is corrupt data.

bool is_whole(const Tensor& tensor) {
  return tensor && tensor.is_contiguous() &&
         (tensor.element_type() == ElementType::kI64 || tensor.element_type() == ElementType::kI32);
}

/// The extents without a batch of 1 in front.
std::vector<std::size_t> extents_of(const Tensor& tensor, std::size_t rank) {
  const Shape& shape = tensor.shape();
  std::vector<std::size_t> extents(shape.begin(), shape.end());
  if (extents.size() == rank + 1 && extents[0] == 1) extents.erase(extents.begin());
  return extents.size() == rank ? extents : std::vector<std::size_t>();
}

bool is_list_of(const Tensor& tensor, std::size_t count) {
  const auto extents = extents_of(tensor, 1);
  return extents.size() == 1 && extents[0] == count;
}

std::int64_t whole_at(const Tensor& tensor, std::size_t index) {
  return tensor.element_type() == ElementType::kI64 ? static_cast<const std::int64_t*>(tensor.data())[index]
                                                    : static_cast<const std::int32_t*>(tensor.data())[index];
}

}  // namespace

std::optional<LabelledBoxes> find_labelled_boxes(std::span<const Tensor> outputs) {
  LabelledBoxes found;
  std::size_t width = 0;
  for (const Tensor& output : outputs) {
    if (!is_real(output)) continue;
    const auto extents = extents_of(output, 2);
    if (extents.size() != 2 || (extents[1] != 4 && extents[1] != 5) || found.boxes) continue;
    found.boxes = &output, found.count = extents[0], width = extents[1];
  }
  if (!found.boxes) return std::nullopt;
  for (const Tensor& output : outputs) {
    if (is_whole(output) && is_list_of(output, found.count) && !found.labels) found.labels = &output;
    if (is_real(output) && is_list_of(output, found.count) && !found.scores) found.scores = &output;
  }
  if (width == 5) found.scores = nullptr;
  if (!found.labels || (width == 4 && !found.scores)) return std::nullopt;
  return found;
}

void add_labelled_boxes(const LabelledBoxes& found, const DecodeOptions& options, std::int32_t shift,
                        std::vector<Candidate>& candidates) {
  std::vector<float> box_values, score_values;
  const float* boxes = floats(*found.boxes, box_values);
  const float* scores = found.scores ? floats(*found.scores, score_values) : nullptr;
  const std::size_t width = scores ? 4 : 5;
  const auto is_part = [](float value) { return value >= 0 && value <= 1; };
  const bool are_parts = scores && std::all_of(boxes, boxes + 4 * found.count, is_part);
  const float x = are_parts ? static_cast<float>(options.input_width) : 1.0f;
  const float y = are_parts ? static_cast<float>(options.input_height) : 1.0f;
  for (std::size_t i = 0; i < found.count; ++i) {
    const float* row = boxes + i * width;
    const float score = scores ? scores[i] : row[4];
    const std::int64_t label = whole_at(*found.labels, i);
    if (!(score >= options.confidence_threshold) || label < 0 || label >= kMaxLabel) continue;
    candidates.push_back({{row[0] * x, row[1] * y, row[2] * x, row[3] * y},
                          score,
                          static_cast<std::int32_t>(label) + shift,
                          static_cast<std::uint32_t>(i)});
  }
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
