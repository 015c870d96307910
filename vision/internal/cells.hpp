// SPDX-License-Identifier: Apache-2.0
// Maps over the input: which of their cells lie under a box or under the frame.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <tenon/core/metadata.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/vision/decode_options.hpp>
#include <tenon/vision/detection.hpp>
#include <tenon/vision/internal/reading.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Columns and rows of an output, and the pixels of the input that they cover.
struct Cells {
  std::size_t x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  Box box;
};

/// The cells of an output of `width` x `height` that `box` of the input touches.
inline Cells cells_of(const Box& box, std::size_t width, std::size_t height, const DecodeOptions& options) {
  const float step_x = static_cast<float>(options.input_width) / static_cast<float>(width);
  const float step_y = static_cast<float>(options.input_height) / static_cast<float>(height);
  const auto cell = [](float value, std::size_t limit) {
    return static_cast<std::size_t>(std::clamp(value, 0.0f, static_cast<float>(limit)));
  };
  Cells cells;
  cells.x1 = std::min(cell(std::floor(box.x1 / step_x), width), width - 1);
  cells.y1 = std::min(cell(std::floor(box.y1 / step_y), height), height - 1);
  cells.x2 = std::max(cell(std::ceil(box.x2 / step_x), width), cells.x1 + 1);
  cells.y2 = std::max(cell(std::ceil(box.y2 / step_y), height), cells.y1 + 1);
  cells.box = {static_cast<float>(cells.x1) * step_x, static_cast<float>(cells.y1) * step_y,
               static_cast<float>(cells.x2) * step_x, static_cast<float>(cells.y2) * step_y};
  return cells;
}

/// The part of the input that the frame covers.
inline Box placed_in(const DecodeOptions& options) {
  if (!options.geometry)
    return {0, 0, static_cast<float>(options.input_width), static_cast<float>(options.input_height)};
  const PixelRect& placed = options.geometry->placed;
  return {static_cast<float>(placed.x), static_cast<float>(placed.y), static_cast<float>(placed.x + placed.width),
          static_cast<float>(placed.y + placed.height)};
}

/// A mask over the cells that a box of the input touches. @param read  Gives the value of a cell, by its number.
template <typename Read>
metadata::Segmentation mask_over_box(const DecodeOptions& options, const Box& box, std::size_t width,
                                     std::size_t height, Read read) {
  const Cells cells = cells_of(box, width, height, options);
  const Box area = to_frame(options, cells.box);
  metadata::Segmentation made{{area.x1, area.y1, area.x2, area.y2},
                              Tensor(ElementType::kU8, Shape{cells.y2 - cells.y1, cells.x2 - cells.x1}),
                              {}};
  auto* mask = static_cast<std::uint8_t*>(made.mask.data());
  for (std::size_t y = cells.y1; y < cells.y2; ++y) {
    for (std::size_t x = cells.x1; x < cells.x2; ++x) *mask++ = read(y * width + x);
  }
  return made;
}

/// A mask over the part of the frame that the output covers, with the classes that its values are the numbers of.
template <typename Read>
metadata::Segmentation mask_over_frame(const DecodeOptions& options, std::size_t width, std::size_t height, Read read) {
  metadata::Segmentation made = mask_over_box(options, placed_in(options), width, height, read);
  made.labels = options.labels;
  return made;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
