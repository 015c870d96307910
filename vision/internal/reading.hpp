// SPDX-License-Identifier: Apache-2.0
// Helpers for all readers of outputs: values as floats, positions in the frame, names of labels.
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/vision/decode_options.hpp>
#include <tenon/vision/detection.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

inline std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

inline bool is_real(ElementType type) { return type == ElementType::kF32 || type == ElementType::kF16; }
inline bool is_real(const Tensor& tensor) {
  return tensor && (tensor.element_type() == ElementType::kF32 || tensor.element_type() == ElementType::kF16) &&
         tensor.is_contiguous();
}

/// Type and shape of each output; the type is undefined where an output cannot be read. Allocates nothing once `infos` has grown.
inline void describe_outputs(std::span<const Tensor> outputs, std::vector<TensorInfo>& infos) {
  infos.resize(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool is_read = outputs[i] && outputs[i].is_contiguous() && outputs[i].is_host_addressable();
    infos[i].type = is_read ? outputs[i].element_type() : ElementType::kUndefined;
    if (is_read)
      infos[i].shape = outputs[i].shape();
    else
      infos[i].shape.clear();
  }
}

/// The tensor's values as floats, in place if they are floats. @pre is_real()
inline const float* floats(const Tensor& tensor, std::vector<float>& scratch) {
  if (tensor.element_type() == ElementType::kF32) return static_cast<const float*>(tensor.data());
  const auto* half = static_cast<const _Float16*>(tensor.data());
  scratch.resize(tensor.element_count());
  for (std::size_t i = 0; i < scratch.size(); ++i) scratch[i] = static_cast<float>(half[i]);
  return scratch.data();
}

/// Maps a position from pixels of the input to pixels of the frame, without clipping.
inline Box to_frame(const DecodeOptions& options, const Box& box) {
  if (!options.geometry) return box;
  const FrameGeometry& g = *options.geometry;
  return {static_cast<float>(g.source_x(box.x1)), static_cast<float>(g.source_y(box.y1)),
          static_cast<float>(g.source_x(box.x2)), static_cast<float>(g.source_y(box.y2))};
}

/// Clips to the frame, or to the input if the frame's size is not known.
inline Box clipped(const DecodeOptions& options, const Box& box) {
  const std::size_t w = options.frame_width ? options.frame_width : options.input_width;
  const std::size_t h = options.frame_height ? options.frame_height : options.input_height;
  if (w == 0 || h == 0) return box;
  const auto right = static_cast<float>(w), bottom = static_cast<float>(h);
  return {std::clamp(box.x1, 0.0f, right), std::clamp(box.y1, 0.0f, bottom), std::clamp(box.x2, 0.0f, right),
          std::clamp(box.y2, 0.0f, bottom)};
}

/// The name of a label; "#7" if it has none.
inline std::string label_of(const DecodeOptions& options, std::size_t id) {
  return id < options.labels.size() ? options.labels[id] : "#" + std::to_string(id);
}

inline float sigmoid(float value) { return 1 / (1 + std::exp(-value)); }

/// Lists the outputs for messages; " none" if there are none.
inline std::string list_of(std::span<const Tensor> outputs) {
  std::string found;
  for (const Tensor& tensor : outputs) found += " " + (tensor ? to_string(tensor) : std::string("an empty tensor"));
  return found.empty() ? " none" : found;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
