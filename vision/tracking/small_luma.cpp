// SPDX-License-Identifier: Apache-2.0
// Sums of columns first, because these are in the order of memory.
#include <tenon/vision/small_luma.hpp>

#include <algorithm>

#include <tenon/core/frame_layout.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// Adds a row of samples to sums, column by column. Steps of a fixed length, so that the compiler uses vectors.
void add_row(const std::uint8_t* row, std::uint32_t* sums, std::size_t count) {
  constexpr std::size_t kStep = 32;
  std::size_t x = 0;
  for (; x + kStep <= count; x += kStep)
    for (std::size_t k = 0; k < kStep; ++k) sums[x + k] += row[x + k];
  for (; x < count; ++x) sums[x] += row[x];
}

}  // namespace

bool SmallLuma::read(const Frame& frame) {
  const bool is_other = !(frame.info() == info_);
  if (is_other) {
    const FrameInfo& info = frame.info();
    frame_layout(info);  // Throws before anything has changed.
    info_ = info;
    scale_ = std::max(1u, (info.width_px + most_ - 1) / most_);
    width_ = (info.width_px + scale_ - 1) / scale_;
    height_ = (info.height_px + scale_ - 1) / scale_;
    sums_.resize(info.width_px);
    pixels_.resize(std::size_t{width_} * height_);
  }
  try {
    read_pixels(frame);
  } catch (...) {
    info_ = {};  // What is made for pictures of this size has not been made: the next one is the first.
    throw;
  }
  return is_other;
}

void SmallLuma::read_pixels(const Frame& frame) {
  for (std::uint32_t row = 0; row < height_; ++row) {
    const std::uint32_t top = row * scale_, bottom = std::min(top + scale_, info_.height_px);
    std::fill(sums_.begin(), sums_.end(), 0);
    add_rows(frame, top, bottom);
    float* const out = &pixels_[std::size_t{row} * width_];
    for (std::uint32_t column = 0; column < width_; ++column) {
      const std::uint32_t left = column * scale_, right = std::min(left + scale_, info_.width_px);
      std::uint64_t sum = 0;
      for (std::uint32_t x = left; x < right; ++x) sum += sums_[x];
      out[column] = static_cast<float>(sum) / static_cast<float>((right - left) * (bottom - top));
    }
  }
}

/// Adds the samples of these rows to sums_.
void SmallLuma::add_rows(const Frame& frame, std::uint32_t top, std::uint32_t bottom) {
  const FrameLayout layout = frame_layout(info_);
  const bool is_rgb = !layout.is_yuv && layout.component_count == 3;
  const FrameComponent& luma = layout.components[is_rgb ? 1 : 0];
  const Tensor& plane = frame.plane(luma.plane);
  const auto* const first = static_cast<const std::byte*>(plane.data());
  for (std::uint32_t y = top; y < bottom; ++y) {
    const std::byte* const line = first + plane.byte_strides()[0] * static_cast<std::ptrdiff_t>(y);
    if (layout.bits > 8) {
      const auto* const samples = reinterpret_cast<const std::uint16_t*>(line) + luma.offset;
      for (std::size_t x = 0; x < sums_.size(); ++x)
        sums_[x] += static_cast<std::uint32_t>(layout.value_of(samples[x * luma.step])) >> (layout.bits - 8);
    } else if (luma.step == 1) {
      add_row(reinterpret_cast<const std::uint8_t*>(line) + luma.offset, sums_.data(), sums_.size());
    } else {
      const auto* const samples = reinterpret_cast<const std::uint8_t*>(line) + luma.offset;
      for (std::size_t x = 0; x < sums_.size(); ++x) sums_[x] += samples[x * luma.step];
    }
  }
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
