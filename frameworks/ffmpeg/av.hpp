// SPDX-License-Identifier: Apache-2.0
// FFmpeg's headers in one place, owners for its objects, and its error numbers as Tenon errors.
#pragma once

#include <cstdarg>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/buffer.h>
#include <libavutil/dict.h>
#include <libavutil/frame.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

struct FreeFrame {
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};
/// Owns an AVFrame and its references.
using FramePtr = std::unique_ptr<AVFrame, FreeFrame>;

struct FreePacket {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};
using PacketPtr = std::unique_ptr<AVPacket, FreePacket>;

struct FreeCodec {
  void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
};
using CodecPtr = std::unique_ptr<AVCodecContext, FreeCodec>;

/// Keeps FFmpeg and its encoders from writing to stderr, except for fatal errors. Applies to the whole process: meant
/// for tools. Errors of encoders then say what the log would have said. Replaces the callback of FFmpeg's log.
void silence_log();
/// That callback, which a callback of the program's own calls with what it gets. @thread any.
void on_log(void* object, int level, const char* format, std::va_list arguments);

namespace detail {

/// Collects what FFmpeg's log gets from the calling thread as errors, after silence_log(). @thread the one that made it; at most one at a
/// time, the last made.
class Reasons {
 public:
  /// @param level  The least important messages that are collected; AV_LOG_WARNING: warnings, too.
  explicit Reasons(int level = AV_LOG_ERROR);
  ~Reasons();
  Reasons(const Reasons&) = delete;
  Reasons& operator=(const Reasons&) = delete;
  void add(std::string line);
  void clear() { lines_.clear(); }
  int level() const { return level_; }
  const std::vector<std::string>& lines() const { return lines_; }
  /// " (FFmpeg: LINE; LINE)", or nothing.
  std::string text() const;

 private:
  const int level_;
  std::vector<std::string> lines_;
  Reasons* before_;
};

std::string error_text(int error);

Error make_error(int error, const std::string& message, const char* api,
                 std::source_location where = std::source_location::current());

FramePtr new_frame();
PacketPtr new_packet();

/// FFmpeg options by name.
class Dictionary {
 public:
  Dictionary() = default;
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;
  ~Dictionary() { av_dict_free(&dictionary_); }
  void set(const std::string& key, const std::string& value, int flags = 0);
  AVDictionary** get() { return &dictionary_; }
  /// FFmpeg leaves unknown options in the dictionary: misspelt ones must be reported.
  void check_all_taken(const std::string& what) const;

 private:
  AVDictionary* dictionary_ = nullptr;
};

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
