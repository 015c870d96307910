// SPDX-License-Identifier: Apache-2.0
// This bridge without a library: see core/header_only.hpp.
#pragma once

#include <tenon/frameworks/ffmpeg/header_only.hpp>
#include <tenon/frameworks/vaapi/header_only.hpp>

#include <tenon/bridges/ffmpeg_vaapi/ffmpeg_vaapi.cpp>
