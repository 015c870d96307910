// SPDX-License-Identifier: Apache-2.0
// FFmpeg's errors, objects and options.
#include <tenon/frameworks/ffmpeg/av.hpp>

#include <cerrno>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

TENON_INLINE std::string error_text(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(error, text, sizeof text);
  return text;
}

/// The canonical code nearest to an FFmpeg error.
TENON_INLINE Code code_of(int error) {
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

TENON_INLINE Error make_error(int error, const std::string& message, const char* api, std::source_location where) {
  return Error(code_of(error), message + ": " + error_text(error), api, error, where);
}

TENON_INLINE FramePtr new_frame() {
  FramePtr frame(av_frame_alloc());
  if (!frame) throw make_error(AVERROR(ENOMEM), "FFmpeg: no AVFrame", "av_frame_alloc");
  return frame;
}

TENON_INLINE PacketPtr new_packet() {
  PacketPtr packet(av_packet_alloc());
  if (!packet) throw make_error(AVERROR(ENOMEM), "FFmpeg: no AVPacket", "av_packet_alloc");
  return packet;
}

TENON_INLINE void Dictionary::set(const std::string& key, const std::string& value, int flags) {
  if (av_dict_set(&dictionary_, key.c_str(), value.c_str(), flags) < 0)
    throw Error(Code::kResourceExhausted, "FFmpeg: no memory for an option");
}

TENON_INLINE void Dictionary::check_all_taken(const std::string& what) const {
  if (const AVDictionaryEntry* left = av_dict_get(dictionary_, "", nullptr, AV_DICT_IGNORE_SUFFIX)) {
    throw Error(Code::kInvalidArgument,
                what + ": option \"" + left->key + "\" is not known there; leave it out or correct it");
  }
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
