// SPDX-License-Identifier: Apache-2.0
// Pictures that FFmpeg's decoders take for others, without an error.
#pragma once

#include <cstddef>
#include <span>

#include <tenon/frameworks/ffmpeg/av.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

/// What the picture is that FFmpeg would decode to something else, for a message: "a TIFF ..."; null: nothing is known of that kind.
/// Never reads beyond `data`, which may be damaged. @cost some tens of nanoseconds for a TIFF, else a comparison
const char* why_misread(AVCodecID codec, std::span<const std::byte> data) noexcept;

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
