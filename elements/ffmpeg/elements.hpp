// SPDX-License-Identifier: Apache-2.0
// Elements over FFmpeg.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {

std::vector<KnownElement> elements();

KnownElement file_source();
KnownElement sound_source();
KnownElement file_sink();
KnownElement stream_sink();
KnownElement crop_sink();
KnownElement record_sink();
KnownElement convert();

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
