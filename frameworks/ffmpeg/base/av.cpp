// SPDX-License-Identifier: Apache-2.0
// FFmpeg's errors, objects and options.
#include <tenon/frameworks/ffmpeg/av.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

TENON_INLINE Reasons*& reasons_of_thread() {
  static thread_local Reasons* now = nullptr;
  return now;
}

TENON_INLINE Reasons::Reasons(int level) : level_(level), before_(std::exchange(reasons_of_thread(), this)) {}
TENON_INLINE Reasons::~Reasons() { reasons_of_thread() = before_; }

TENON_INLINE void Reasons::add(std::string line) {
  constexpr std::size_t kMost = 4;
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  if (!line.empty() && lines_.size() < kMost && std::find(lines_.begin(), lines_.end(), line) == lines_.end())
    lines_.push_back(std::move(line));
}

TENON_INLINE std::string Reasons::text() const {
  std::string all;
  for (const std::string& line : lines_) all += (all.empty() ? " (FFmpeg: " : "; ") + line;
  return all.empty() ? all : all + ")";
}

/// The level of a message as its writer gave it: objects may have an offset, which FFmpeg adds.
TENON_INLINE int own_level(void* object, int level) {
  const AVClass* const type = object ? *static_cast<AVClass**>(object) : nullptr;
  if (!type || type->log_level_offset_offset == 0) return level;
  int offset = 0;
  std::memcpy(&offset, static_cast<const char*>(object) + type->log_level_offset_offset, sizeof offset);
  return level - offset;
}

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

TENON_INLINE void on_log(void* object, int level, const char* format, std::va_list arguments) {
  detail::Reasons* const reasons = detail::reasons_of_thread();
  if (reasons && detail::own_level(object, level) <= reasons->level()) {
    std::array<char, 512> line{};
    int has_prefix = 0;  // Names of objects and addresses say nothing to a user.
    std::va_list copy;
    va_copy(copy, arguments);
    av_log_format_line(object, level, format, copy, line.data(), static_cast<int>(line.size()), &has_prefix);
    va_end(copy);
    reasons->add(line.data());
  }
  av_log_default_callback(object, level, format, arguments);
}

TENON_INLINE void silence_log() {
  av_log_set_level(AV_LOG_FATAL);
  av_log_set_callback(&on_log);
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
