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

bool is_whole(ElementType type) { return type == ElementType::kI64 || type == ElementType::kI32; }

/// The extents without a batch of 1 in front; empty if there are not `rank`.
Shape extents_of(const Shape& shape, std::size_t rank) {
  if (shape.size() == rank) return shape;
  if (shape.size() != rank + 1 || shape[0] != 1) return {};
  Shape extents(rank, 0);
  std::copy(shape.begin() + 1, shape.end(), extents.begin());
  return extents;
}

bool is_list_of(const Shape& shape, std::size_t count) {
  const Shape extents = extents_of(shape, 1);
  return extents.size() == 1 && extents[0] == count;
}

/// Type and shape as both tensors and descriptions of them have them. A tensor that cannot be read has no type.
ElementType type_of(const TensorInfo& info) { return info.type; }
const Shape& shape_of(const TensorInfo& info) { return info.shape; }
ElementType type_of(const Tensor& tensor) {
  return tensor && tensor.is_contiguous() ? tensor.element_type() : ElementType::kUndefined;
}
const Shape& shape_of(const Tensor& tensor) { return tensor.shape(); }

template <typename Output>
std::optional<LabelledBoxes> find_in(std::span<const Output> outputs) {
  LabelledBoxes found;
  std::size_t width = 0;
  for (std::size_t i = 0; i < outputs.size() && width == 0; ++i) {
    if (!is_real(type_of(outputs[i]))) continue;
    const Shape extents = extents_of(shape_of(outputs[i]), 2);
    if (extents.size() != 2 || (extents[1] != 4 && extents[1] != 5)) continue;
    found.boxes = i, found.count = extents[0], width = extents[1];
  }
  if (width == 0) return std::nullopt;
  bool has_labels = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ElementType type = type_of(outputs[i]);
    if (i == found.boxes || type == ElementType::kUndefined || !is_list_of(shape_of(outputs[i]), found.count)) continue;
    if (is_whole(type) && !has_labels) found.labels = i, has_labels = true;
    if (is_real(type) && width == 4 && !found.scores) found.scores = i;
  }
  return has_labels && (width == 5 || found.scores) ? std::optional(found) : std::nullopt;
}

std::int64_t whole_at(const Tensor& tensor, std::size_t index) {
  return tensor.element_type() == ElementType::kI64 ? static_cast<const std::int64_t*>(tensor.data())[index]
                                                    : static_cast<const std::int32_t*>(tensor.data())[index];
}

}  // namespace

std::optional<LabelledBoxes> find_labelled_boxes(std::span<const Tensor> outputs) { return find_in(outputs); }
std::optional<LabelledBoxes> find_labelled_boxes(std::span<const TensorInfo> outputs) { return find_in(outputs); }

void add_labelled_boxes(const LabelledBoxes& found, std::span<const Tensor> outputs, const DecodeOptions& options,
                        std::int32_t shift, std::vector<Candidate>& candidates) {
  std::vector<float> box_values, score_values;
  const float* boxes = floats(outputs[found.boxes], box_values);
  const float* scores = found.scores ? floats(outputs[*found.scores], score_values) : nullptr;
  const std::size_t width = scores ? 4 : 5;
  const auto is_part = [](float value) { return value >= 0 && value <= 1; };
  const bool are_parts = scores && std::all_of(boxes, boxes + 4 * found.count, is_part);
  const float x = are_parts ? static_cast<float>(options.input_width) : 1.0f;
  const float y = are_parts ? static_cast<float>(options.input_height) : 1.0f;
  for (std::size_t i = 0; i < found.count; ++i) {
    const float* row = boxes + i * width;
    const float score = scores ? scores[i] : row[4];
    const std::int64_t label = whole_at(outputs[found.labels], i);
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
