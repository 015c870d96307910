// SPDX-License-Identifier: Apache-2.0
// Reads FFmpeg's log for messages about packets.
#include <tenon/tools/tenon/shared/packet_log.hpp>

#include <cstdarg>
#include <map>
#include <mutex>
#include <string_view>

#include <tenon/frameworks/ffmpeg/av.hpp>

extern "C" {
#include <libavformat/avformat.h>
}

namespace tenon::tool {
namespace {

// The format in rtpdec.c of FFmpeg 4 to 7. With another format nothing is counted.
constexpr std::string_view kMissed = "RTP: missed %d packets\n";

struct Missed {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> by_url;
};
Missed& missed() {
  static auto& all = *new Missed;  // FFmpeg's threads may log until the process ends.
  return all;
}

/// The demuxer that wrote the message; null: another component wrote it.
const AVFormatContext* demuxer(void* object) {
  const AVClass* const type = object ? *static_cast<AVClass**>(object) : nullptr;
  const bool is_demuxer = type && type->class_name == std::string_view("AVFormatContext");
  return is_demuxer ? static_cast<AVFormatContext*>(object) : nullptr;
}

void on_message(void* object, int level, const char* format, std::va_list arguments) {
  const AVFormatContext* const from = format == kMissed ? demuxer(object) : nullptr;
  if (from && from->url) {
    std::va_list copy;
    va_copy(copy, arguments);
    const int count = va_arg(copy, int);
    va_end(copy);
    const std::lock_guard lock(missed().mutex);
    if (count > 0) missed().by_url[from->url] += static_cast<std::uint64_t>(count);
  }
  ffmpeg::on_log(object, level, format, arguments);
}

}  // namespace

void watch_packets() {
  ffmpeg::silence_log();
  av_log_set_callback(&on_message);
}

std::uint64_t packets_missed(const std::string& url) {
  const std::lock_guard lock(missed().mutex);
  const auto found = missed().by_url.find(url);
  return found == missed().by_url.end() ? 0 : found->second;
}

}  // namespace tenon::tool
