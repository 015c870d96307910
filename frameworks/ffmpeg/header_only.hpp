// SPDX-License-Identifier: Apache-2.0
// This framework without a library: see core/header_only.hpp.
#pragma once

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/dmabuf/header_only.hpp>

#include <tenon/frameworks/ffmpeg/base/av.cpp>
#include <tenon/frameworks/ffmpeg/base/context.cpp>
#include <tenon/frameworks/ffmpeg/base/misread.cpp>
#include <tenon/frameworks/ffmpeg/base/pixel_format.cpp>
#include <tenon/frameworks/ffmpeg/frames/audio.cpp>
#include <tenon/frameworks/ffmpeg/frames/convert.cpp>
#include <tenon/frameworks/ffmpeg/frames/frame.cpp>
#include <tenon/frameworks/ffmpeg/frames/hardware.cpp>
#include <tenon/frameworks/ffmpeg/frames/pool.cpp>
#include <tenon/frameworks/ffmpeg/frames/repack.cpp>
#include <tenon/frameworks/ffmpeg/streams/input.cpp>
#include <tenon/frameworks/ffmpeg/streams/packets.cpp>
#include <tenon/frameworks/ffmpeg/streams/stream_writer.cpp>
#include <tenon/frameworks/ffmpeg/streams/video.cpp>
#include <tenon/frameworks/ffmpeg/streams/video_encoder.cpp>
#include <tenon/frameworks/ffmpeg/streams/writer.cpp>
