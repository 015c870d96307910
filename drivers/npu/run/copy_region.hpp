// SPDX-License-Identifier: Apache-2.0
// Boxes of bytes in memory, as zeCommandListAppendMemoryCopyRegion takes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <level_zero/ze_api.h>

namespace tenon::npu {

/// Rows of `width` bytes, `height` of them `pitch` apart in each of `depth` slices that are `slice_pitch` apart.
struct Box {
  std::size_t first = 0;  ///< Of its first byte, from the pointer that the client gave.
  std::size_t width = 0, height = 0, depth = 0;
  std::size_t pitch = 0, slice_pitch = 0;

  bool is_empty() const noexcept { return width == 0 || height == 0; }
  /// From its first byte to one past its last.
  std::size_t extent() const noexcept {
    return is_empty() ? 0 : (depth - 1) * slice_pitch + (height - 1) * pitch + width;
  }
};

/// @return ZE_RESULT_ERROR_INVALID_SIZE, and fail() was called: rows or slices that run into each other, or more bytes
/// than there are addresses. A depth of 0 is one slice, whose pitch is then not read.
ze_result_t read_box(const ze_copy_region_t& region, std::uint32_t pitch, std::uint32_t slice_pitch, Box* box);

/// Whether boxes of the same size share a byte. Of boxes with different pitches that lie among each other it says so,
/// whether their rows do or not.
bool overlap(const std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box) noexcept;

/// @pre the boxes are of the same size and do not overlap.
void copy_box(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box) noexcept;

}  // namespace tenon::npu
