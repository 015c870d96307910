// SPDX-License-Identifier: Apache-2.0
// Includes all of tenon::ffmpeg: frames both ways, decoding and encoding, audio.
#pragma once

#include <tenon/frameworks/ffmpeg/audio.hpp>          // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/context.hpp>        // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/frame.hpp>          // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/hardware.hpp>       // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/input.hpp>          // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>   // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/pool.hpp>           // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/rotation.hpp>       // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/stream_writer.hpp>  // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/video.hpp>          // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/writer.hpp>         // IWYU pragma: export
