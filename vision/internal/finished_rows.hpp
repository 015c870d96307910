// SPDX-License-Identifier: Apache-2.0
// Outputs of detectors with suppression inside: rows of x1 y1 x2 y2 score class, perhaps with further numbers.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>

#include <tenon/core/shape.hpp>
#include <tenon/vision/decode_options.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Numbers of a row before the further ones.
inline constexpr std::size_t kFinishedRow = 6;

/// Number of boxes that heads over grids of these strides have; raw heads give one box for each cell, or three.
inline std::size_t grid_cells(const DecodeOptions& options, std::size_t first_stride, std::size_t last_stride) {
  std::size_t cells = 0;
  for (std::size_t stride = first_stride; stride <= last_stride; stride *= 2)
    cells += (options.input_width / stride) * (options.input_height / stride);
  return cells;
}

inline bool is_grid(const DecodeOptions& options, std::size_t rows) {
  for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{8, 32}, {8, 64}, {4, 32}}) {
    const std::size_t cells = grid_cells(options, first, last);
    if (rows == cells || rows == 3 * cells) return true;
  }
  return false;
}

/// Whether an output of this shape can hold such rows with `extra` further numbers.
inline bool can_be_finished(const DecodeOptions& options, const Shape& shape, std::size_t extra) {
  if (shape.size() != 3 || shape[0] != 1 || shape[2] != kFinishedRow + extra) return false;
  return options.end_to_end.value_or(!is_grid(options, shape[1]));
}

/// The same for the values: whether they are boxes with two corners (or turned boxes with a centre and a size), a score and the number
/// of a class.
inline bool are_finished_rows(const DecodeOptions& options, const Shape& shape, bool has_corners, const float* values) {
  for (std::size_t i = 0; i < shape[1]; ++i) {
    const float* row = values + i * shape[2];
    if (!std::isfinite(row[0] + row[1] + row[2] + row[3] + row[4] + row[5])) continue;
    const bool is_class = row[5] >= 0 && row[5] == std::floor(row[5]) &&
                          (options.labels.empty() || row[5] < static_cast<float>(options.labels.size()));
    const bool is_box = has_corners ? row[2] >= row[0] && row[3] >= row[1] : row[2] >= 0 && row[3] >= 0;
    if (!is_class || !is_box || !(row[4] >= 0 && row[4] <= 1)) return false;
  }
  return true;
}

/// Whether an output is to be read as such rows. @param is_raw  Whether its shape also fits a head without suppression. Where the
/// model does not say which it is, the values do: a class is a whole number, a second score is not.
inline bool is_finished(const DecodeOptions& options, const Shape& shape, std::size_t extra, bool is_raw,
                        const float* values, bool has_corners = true) {
  if (!can_be_finished(options, shape, extra)) return false;
  return options.end_to_end.has_value() || !is_raw || are_finished_rows(options, shape, has_corners, values);
}

/// The class of such a row; nothing that a label could be called is above a million.
inline bool is_class_number(float value) { return value >= 0 && value < 1e6f; }

}  // namespace vision
}  // namespace v1
}  // namespace tenon
