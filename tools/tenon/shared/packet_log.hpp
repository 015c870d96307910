// SPDX-License-Identifier: Apache-2.0
// Counts the RTP packets that FFmpeg missed, which it reports in its log and nowhere else.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::tool {

/// Takes FFmpeg's log of this process: counts packets, and prints what is fatal. @thread any.
void watch_packets();

/// The missed packets of all streams of that URL together, since watch_packets(). @thread any.
std::uint64_t packets_missed(const std::string& url);

}  // namespace tenon::tool
