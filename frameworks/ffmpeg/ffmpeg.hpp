// SPDX-License-Identifier: Apache-2.0
// Includes all of tenon::ffmpeg: frames both ways, decoding and encoding.
#pragma once

#include <tenon/frameworks/ffmpeg/frame.hpp>
#include <tenon/frameworks/ffmpeg/video.hpp>
#include <tenon/frameworks/ffmpeg/writer.hpp>
