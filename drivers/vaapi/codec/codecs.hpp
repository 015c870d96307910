// SPDX-License-Identifier: Apache-2.0
// Settings that all libavcodec codecs of this driver share.
#pragma once

namespace tenon::va {

/// TENON_VA_THREADS, else the machine's processors, at most four: more gain nothing within one picture.
int codec_threads();

/// AVCodecContext::log_level_offset: the process belongs to a client, which gets status codes instead of messages.
inline constexpr int kQuiet = 64;

}  // namespace tenon::va
