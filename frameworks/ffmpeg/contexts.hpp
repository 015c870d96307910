// SPDX-License-Identifier: Apache-2.0
// The FFmpeg contexts of this machine: always software frames.
#pragma once

#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/ffmpeg/context.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

inline std::vector<Context> contexts() { return {context()}; }

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
