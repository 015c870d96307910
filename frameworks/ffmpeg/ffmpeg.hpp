// SPDX-License-Identifier: Apache-2.0
// Includes all of tenon::ffmpeg: frames both ways, decoding and encoding, audio.
#pragma once

#include <tenon/frameworks/ffmpeg/audio.hpp>   // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/frame.hpp>   // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/video.hpp>   // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/writer.hpp>  // IWYU pragma: export
