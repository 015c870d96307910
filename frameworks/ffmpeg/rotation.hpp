// SPDX-License-Identifier: Apache-2.0
// The display matrix: how a stored picture must be rotated to be upright.
#pragma once

#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// Rotation in the frame's side data. @source libavutil/frame.h AV_FRAME_DATA_DISPLAYMATRIX
Rotation rotation_of(const AVFrame& frame);

/// Rotation that the container gives for the stream. @source libavcodec/packet.h AV_PKT_DATA_DISPLAYMATRIX
Rotation rotation_of(const AVStream& stream);

/// Writes it into the frame's side data. @errors kResourceExhausted
void set_rotation(AVFrame& frame, Rotation rotation);

/// Writes it into the stream's side data; call before the container's header is written. @errors kResourceExhausted
void set_rotation(AVStream& stream, Rotation rotation);

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
