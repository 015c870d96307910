// SPDX-License-Identifier: Apache-2.0
// FFmpeg's headers in one place, owners for its objects, and its error numbers as Tenon errors.
#pragma once

#include <cerrno>
#include <memory>
#include <source_location>
#include <string>

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
/// for tools.
inline void silence_log() { av_log_set_level(AV_LOG_FATAL); }

namespace detail {

inline std::string error_text(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(error, text, sizeof text);
  return text;
}

/// The canonical code nearest to an FFmpeg error.
inline Code code_of(int error) {
  switch (error) {
    case AVERROR(ENOENT):
    case AVERROR_HTTP_NOT_FOUND:
    case AVERROR_STREAM_NOT_FOUND:
      return Code::kNotFound;
    case AVERROR(EACCES):
    case AVERROR(EPERM):
    case AVERROR(EROFS):
    case AVERROR_HTTP_UNAUTHORIZED:
    case AVERROR_HTTP_FORBIDDEN:
      return Code::kPermissionDenied;
    case AVERROR(ENOMEM):
    case AVERROR(ENOSPC):
    case AVERROR(EMFILE):
      return Code::kResourceExhausted;
    case AVERROR(EINVAL):
    case AVERROR(EISDIR):
    case AVERROR(ENOTDIR):
      return Code::kInvalidArgument;
    case AVERROR_INVALIDDATA:
      return Code::kDataLoss;
    case AVERROR_EXIT:
    case AVERROR(ETIMEDOUT):
      return Code::kDeadlineExceeded;
    case AVERROR_PROTOCOL_NOT_FOUND:
    case AVERROR_DEMUXER_NOT_FOUND:
    case AVERROR_DECODER_NOT_FOUND:
    case AVERROR_ENCODER_NOT_FOUND:
    case AVERROR_PATCHWELCOME:
    case AVERROR(ENOSYS):
      return Code::kUnimplemented;
    case AVERROR(ENODEV):
    case AVERROR(ENXIO):
    case AVERROR(EBUSY):
    case AVERROR(EIO):
    case AVERROR(ECONNREFUSED):
    case AVERROR(ECONNRESET):
    case AVERROR(EHOSTUNREACH):
    case AVERROR(ENETUNREACH):
    case AVERROR(EPIPE):
      return Code::kUnavailable;
    default:
      return Code::kUnknown;
  }
}

inline Error make_error(int error, const std::string& message, const char* api,
                        std::source_location where = std::source_location::current()) {
  return Error(code_of(error), message + ": " + error_text(error), api, error, where);
}

inline FramePtr new_frame() {
  FramePtr frame(av_frame_alloc());
  if (!frame) throw make_error(AVERROR(ENOMEM), "FFmpeg: no AVFrame", "av_frame_alloc");
  return frame;
}

inline PacketPtr new_packet() {
  PacketPtr packet(av_packet_alloc());
  if (!packet) throw make_error(AVERROR(ENOMEM), "FFmpeg: no AVPacket", "av_packet_alloc");
  return packet;
}

/// FFmpeg options by name.
class Dictionary {
 public:
  Dictionary() = default;
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;
  ~Dictionary() { av_dict_free(&dictionary_); }
  void set(const std::string& key, const std::string& value, int flags = 0) {
    if (av_dict_set(&dictionary_, key.c_str(), value.c_str(), flags) < 0)
      throw Error(Code::kResourceExhausted, "FFmpeg: no memory for an option");
  }
  AVDictionary** get() { return &dictionary_; }
  /// FFmpeg leaves unknown options in the dictionary: misspelt ones must be reported.
  void check_all_taken(const std::string& what) const {
    if (const AVDictionaryEntry* left = av_dict_get(dictionary_, "", nullptr, AV_DICT_IGNORE_SUFFIX)) {
      throw Error(Code::kInvalidArgument,
                  what + ": option \"" + left->key + "\" is not known there; leave it out or correct it");
    }
  }

 private:
  AVDictionary* dictionary_ = nullptr;
};

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
