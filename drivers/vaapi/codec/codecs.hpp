// SPDX-License-Identifier: Apache-2.0
// What all of libavcodec's codecs here have in common.
#pragma once

namespace tenon::va {

/// TENON_VA_THREADS, else the machine's processors, at most four: more gain nothing within one picture.
int codec_threads();

/// AVCodecContext::log_level_offset: the process is a client's, which gets statuses instead of messages.
inline constexpr int kQuiet = 64;

}  // namespace tenon::va
