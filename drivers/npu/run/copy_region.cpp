// SPDX-License-Identifier: Apache-2.0
// Copies boxes row by row.
#include <algorithm>
#include <cstring>
#include <string>

#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/run/copy_region.hpp>

namespace tenon::npu {
namespace {

/// Computes the end of `count` pieces of `size` bytes, `pitch` apart. @return false if the address space is too small.
bool end_of(std::size_t count, std::size_t pitch, std::size_t size, std::size_t* end) noexcept {
  return !__builtin_mul_overflow(count == 0 ? 0 : count - 1, pitch, end) && !__builtin_add_overflow(*end, size, end);
}

std::byte* at(std::byte* data, const Box& box, std::size_t row, std::size_t slice) noexcept {
  return data + box.first + slice * box.slice_pitch + row * box.pitch;
}

}  // namespace

ze_result_t read_box(const ze_copy_region_t& region, std::uint32_t pitch, std::uint32_t slice_pitch, Box* box) {
  *box = {0, region.width, region.height, std::max(region.depth, 1u), pitch, region.depth == 0 ? 0 : slice_pitch};
  const std::size_t row_end = std::size_t{region.originX} + region.width;
  if (!box->is_empty() && box->height > 1 && row_end > pitch)
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "rows of " + std::to_string(row_end) + " bytes at a pitch of " +
                                                  std::to_string(pitch) + " run into each other");
  std::size_t slice_end = 0, end = 0;
  bool fits = end_of(std::size_t{region.originY} + region.height, pitch, row_end, &slice_end);
  if (fits && !box->is_empty() && box->depth > 1 && slice_end > slice_pitch)
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "slices of " + std::to_string(slice_end) + " bytes at a pitch of " +
                                                  std::to_string(slice_pitch) + " run into each other");
  const std::size_t slices = (region.depth == 0 ? 0 : std::size_t{region.originZ}) + box->depth;
  fits = fits && end_of(slices, box->slice_pitch, slice_end, &end);
  if (!fits || end > SIZE_MAX / 2) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the region ends beyond the last address");
  box->first = (slices - box->depth) * box->slice_pitch + std::size_t{region.originY} * pitch + region.originX;
  return ZE_RESULT_SUCCESS;
}

bool overlap(const std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box) noexcept {
  const auto begin = [](const std::byte* data, const Box& box) {
    return reinterpret_cast<std::uintptr_t>(data) + box.first;
  };
  const std::uintptr_t a = begin(to, to_box), b = begin(from, from_box);
  if (to_box.is_empty() || a + to_box.extent() <= b || b + from_box.extent() <= a) return false;
  if (to_box.pitch != from_box.pitch || to_box.slice_pitch != from_box.slice_pitch) return true;
  // Same layout: rows overlap if they start less than a width apart, for some row and slice offset.
  const auto distance = static_cast<std::intptr_t>(a - b);
  const auto width = static_cast<std::intptr_t>(to_box.width), height = static_cast<std::intptr_t>(to_box.height);
  const auto depth = static_cast<std::intptr_t>(to_box.depth), pitch = static_cast<std::intptr_t>(to_box.pitch);
  for (std::intptr_t slice = 1 - depth; slice < depth; ++slice) {
    const std::intptr_t rest = distance - slice * static_cast<std::intptr_t>(to_box.slice_pitch);
    const std::intptr_t row = pitch == 0 ? 0 : rest / pitch;
    for (const std::intptr_t each : {row - 1, row, row + 1}) {
      const std::intptr_t gap = rest - each * pitch;
      if (each > -height && each < height && gap > -width && gap < width) return true;
    }
  }
  return false;
}

void copy_box(std::byte* to, const Box& to_box, const std::byte* from, const Box& from_box) noexcept {
  for (std::size_t slice = 0; slice < to_box.depth; ++slice)
    for (std::size_t row = 0; row < to_box.height; ++row)
      std::memcpy(at(to, to_box, row, slice), at(const_cast<std::byte*>(from), from_box, row, slice), to_box.width);
}

}  // namespace tenon::npu
