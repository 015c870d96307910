// SPDX-License-Identifier: Apache-2.0
// Frames of devices: AVFrames in VAAPI's surfaces or DRM_PRIME as dma-bufs, and dma-bufs as AVFrames. Never copies.
#pragma once

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/frame_lease.hpp>
#include <tenon/frameworks/ffmpeg/hardware_device.hpp>  // IWYU pragma: export

extern "C" {
#include <libavutil/hwcontext_drm.h>
}

namespace tenon {
inline namespace v1 {
namespace dmabuf {

class ImportCache;
}
namespace ffmpeg {
namespace detail {

/// Whether the pixels of `frame` lie in a device's memory.
bool is_hardware(const AVFrame& frame);

}  // namespace detail

/// Wraps a frame of a device (VAAPI, DRM_PRIME, others that FFmpeg maps to DRM_PRIME) in place: its planes are dma-bufs,
/// with the device's offsets, pitches and modifier. Takes its own reference, so that the surface is not used anew before the
/// last plane goes. Work of the device is waited for by the fences that its driver attaches; bridges/ffmpeg_vaapi waits
/// for surfaces by VA-API too, and hears of pictures that could not be decoded.
/// @param cache  The cache of the frames' pool, so that recurring surfaces are imported once; null: anew.
/// @errors kUnimplemented: a device that hands out no dma-bufs, layers without a Tenon format; kInvalidArgument: no
/// picture, a descriptor that is wrong; those of dmabuf::import_frame. @thread any. @cost one export and one import.
/// @source libavutil/hwcontext_drm.h
Frame wrap_hardware(const AVFrame* frame, AVRational time_base = {0, 0}, dmabuf::ImportCache* cache = nullptr);

/// As wrap_hardware(), but takes over the references of `frame` and leaves it blank. On failure `frame` keeps them.
Frame adopt_hardware(AVFrame* frame, AVRational time_base = {0, 0}, dmabuf::ImportCache* cache = nullptr);

/// A frame of dma-bufs as an AVFrame of AV_PIX_FMT_DRM_PRIME over the same pixels, for FFmpeg's hwmap and encoders. It holds
/// the frame and duplicates of its descriptors. Waits for the last write to the memory, but for sync files, which the
/// dma-bufs get as fences.
/// @errors kInvalidArgument: no dma-bufs (map the frame to dmabuf::context() first), an empty frame; kUnimplemented: FFmpeg
/// has no such format; kDeadlineExceeded; kResourceExhausted.
FramePtr drm_frame(const Frame& frame, Deadline deadline = default_deadline(), Ledger* ledger = nullptr);

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
