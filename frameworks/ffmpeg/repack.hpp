// SPDX-License-Identifier: Apache-2.0
// Moves samples to other places, for formats that swscale does not know: every value stays as it is.
#pragma once

#include <optional>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

bool swscale_reads(PixelFormat format);
bool swscale_writes(PixelFormat format);

/// The format with the same values in a plane for each component, little endian and without alpha, which swscale reads and
/// writes: NV61 gives I422, Y212 gives I422 of 12 bits. None for formats that are not read pixel by pixel.
std::optional<PixelFormat> planar_of(PixelFormat format);

/// Writes the values of `from` into `to`; alpha becomes opaque. Both lie in host memory and have the same planar_of() and
/// extents. Books the bytes read as copied under "ffmpeg.repack".
void repack(const Frame& from, const Frame& to, Ledger& ledger);

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
