// SPDX-License-Identifier: Apache-2.0
// This framework without a library: see core/header_only.hpp.
#pragma once

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/dmabuf/header_only.hpp>

#include <tenon/frameworks/ffmpeg/audio.cpp>
#include <tenon/frameworks/ffmpeg/av.cpp>
#include <tenon/frameworks/ffmpeg/context.cpp>
#include <tenon/frameworks/ffmpeg/convert.cpp>
#include <tenon/frameworks/ffmpeg/frame.cpp>
#include <tenon/frameworks/ffmpeg/hardware.cpp>
#include <tenon/frameworks/ffmpeg/input.cpp>
#include <tenon/frameworks/ffmpeg/pixel_format.cpp>
#include <tenon/frameworks/ffmpeg/pool.cpp>
#include <tenon/frameworks/ffmpeg/repack.cpp>
#include <tenon/frameworks/ffmpeg/stream_writer.cpp>
#include <tenon/frameworks/ffmpeg/video.cpp>
#include <tenon/frameworks/ffmpeg/video_encoder.cpp>
#include <tenon/frameworks/ffmpeg/writer.cpp>
