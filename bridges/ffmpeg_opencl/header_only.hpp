// SPDX-License-Identifier: Apache-2.0
// FFmpeg and OpenCL without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error \
    "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::ffmpeg_opencl instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/ffmpeg/header_only.hpp>
#include <tenon/frameworks/opencl/header_only.hpp>

#include <tenon/bridges/ffmpeg_opencl/ffmpeg_opencl.cpp>
