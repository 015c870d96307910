// SPDX-License-Identifier: Apache-2.0
// Boxes of bytes in memory, as in zeCommandListAppendMemoryCopyRegion.
#pragma once

#include <cstddef>
#include <cstdint>

#include <level_zero/ze_api.h>

namespace tenon::npu {

/// `depth` slices that are `slice_pitch` apart, each of `height` rows of `width` bytes that are `pitch` apart.
struct Box {
  std::size_t first = 0;  ///< Offset of its first byte from the client's pointer.
  std::size_t width = 0, height = 0, depth = 0;
  std::size_t pitch = 0, slice_pitch = 0;

  bool is_empty() const noexcept { return width == 0 || height == 0; }
  /// Distance from its first byte to one past its last.
  std::size_t extent() const noexcept {
    return is_empty() ? 0 : (depth - 1) * slice_pitch + (height - 1) * pitch + width;
  }
};

/// A depth of 0 is one slice, and its pitch is ignored. @return ZE_RESULT_ERROR_INVALID_SIZE, after fail(), if rows or
/// slices overlap or the box exceeds the address space.
ze_result_t read_box(const ze_copy_region_t& region, std::uint32_t pitch, std::uint32_t slice_pitch, Box* box);

/// Whether two boxes of the same size share a byte. With different pitches, boxes whose ranges overlap count as sharing
/// even if their rows do not.
bool overlap(const std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box) noexcept;

/// @pre the boxes have the same size and do not overlap.
void copy_box(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box) noexcept;

}  // namespace tenon::npu
