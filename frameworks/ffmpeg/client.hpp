// SPDX-License-Identifier: Apache-2.0
// What tools may use of this framework: FFmpeg's objects with owners, its errors, and conversion between formats.
#pragma once

#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/convert.hpp>
#include <tenon/frameworks/ffmpeg/frame.hpp>
#include <tenon/frameworks/ffmpeg/hardware_device.hpp>
#include <tenon/frameworks/ffmpeg/repack.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::another;
using detail::Converter;
using detail::make_error;
using detail::make_frames;
using detail::new_frame;
using detail::new_packet;
using detail::planar_of;
using detail::Quality;
using detail::repack;
using detail::swscale_reads;
using detail::swscale_writes;

}  // namespace client

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
