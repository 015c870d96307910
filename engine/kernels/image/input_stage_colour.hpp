// SPDX-License-Identifier: Apache-2.0
// Rows of NV12 and I420 to rows of colours, for input stages that convert before they resize.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {
inline namespace v1 {
namespace engine {
namespace input_stage {

/// Columns [begin, begin + count) of a row; begin is even. Chroma of column x is u[x / 2 * chroma_step].
struct ColourRow {
  const std::uint8_t *luma, *u, *v;  ///< Point to column 0.
  std::size_t chroma_step, begin, count;
  float matrix[3][3];    ///< Target channel c of (luma - 16, u - 128, v - 128), clamped to 0..255.
  bool round;            ///< To whole numbers, halves to even.
  std::int16_t* out[3];  ///< In 1/128, from position 0.
};
void convert_colour_row(const ColourRow& row);

/// out = a + (b - a) * weight / 32768.
void mix_rows(const std::int16_t* a, const std::int16_t* b, std::int16_t weight, std::size_t count, std::int16_t* out);

}  // namespace input_stage
}  // namespace engine
}  // namespace v1
}  // namespace tenon
