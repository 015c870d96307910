// SPDX-License-Identifier: Apache-2.0
// Packets of one stream from a file, a stream or a device.
#include <tenon/frameworks/ffmpeg/input.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include <tenon/core/credentials.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/platform/modules.hpp>

extern "C" {
#include <libavdevice/version.h>
#include <libavutil/opt.h>
}

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

/// Adds FFmpeg's capture devices to its demuxers. Their library brings a hundred others and is half of a program's start, so it is loaded where
/// a device is asked for, and stays. @return why it cannot be loaded, or nothing.
TENON_INLINE std::string load_devices() {
  std::string why;
  void* const library = platform::load_module("libavdevice.so." AV_STRINGIFY(LIBAVDEVICE_VERSION_MAJOR), false, why);
  if (!library) return why;
  if (void* const add = platform::symbol_of(library, "avdevice_register_all")) reinterpret_cast<void (*)()>(add)();
  return {};
}

TENON_INLINE const AVInputFormat* demuxer_of(const std::string& format, const std::string& source) {
  if (const AVInputFormat* known = av_find_input_format(format.c_str())) return known;
  const std::string why = load_devices();
  if (const AVInputFormat* device = av_find_input_format(format.c_str())) return device;
  throw Error(Code::kNotFound, source + ": this FFmpeg has no input \"" + format +
                                   "\"; `ffmpeg -demuxers -devices` lists what it has" +
                                   (why.empty() ? "" : "; its library of devices cannot be loaded: " + why));
}

/// The demuxers that FFmpeg may choose by what a medium says or is called. Those that run a script or load libraries that an input names
/// (AviSynth's and VapourSynth's scripts, graphs of filters) are taken only where they are asked for by name: "clip.avs" is no medium.
TENON_INLINE const std::string& demuxers_of_media() {
  static const std::string names = [] {
    std::string all;
    void* state = nullptr;
    while (const AVInputFormat* one = av_demuxer_iterate(&state)) {
      const std::string_view name = one->name;
      if (name == "avisynth" || name == "vapoursynth" || name == "lavfi") continue;
      all.append(all.empty() ? "" : ",").append(name);
    }
    return all;
  }();
  return names;
}

TENON_INLINE Input::Input(const std::string& name, const Options& options, AVMediaType type)
    : address_(name),
      name_(without_credentials(name)),
      type_(type),
      cancelled_(options.cancelled),
      kind_(type == AVMEDIA_TYPE_AUDIO ? "audio" : "video") {
  deadline_ = Clock::now() + options.open_timeout;
  read_timeout_ = std::chrono::duration_cast<Clock::duration>(options.read_timeout);
  try {
    open(options);
  } catch (const Error& error) {
    const Error known = explained(error);
    close();
    throw known;
  } catch (...) {
    close();
    throw;
  }
}

TENON_INLINE Error Input::explained(const Error& error) const {
  if (is_cancelled()) return stopped();
  // What FFmpeg calls invalid may only be unread: its demuxers take an interrupted read for the end.
  const bool is_of_ffmpeg =
      error.code() == Code::kInvalidArgument || error.code() == Code::kDataLoss || error.code() == Code::kUnknown;
  return is_of_ffmpeg && is_late_ ? late("did not start") : error;
}

/// When this thread began to read the packet that it waits for.
TENON_INLINE Deadline& reading_since() {
  thread_local Deadline since{};
  return since;
}

TENON_INLINE bool Input::read(AVPacket* packet, Deadline deadline) {
  // To a demuxer of a file, a read that was interrupted is damaged data; and files respond at once.
  deadline_ = live_ ? deadline : std::max<Deadline>(deadline, Clock::now() + read_timeout_);
  forgive_deadline();
  while (true) {
    if (is_cancelled()) throw stopped();
    reading_since() = Clock::now();
    const int error = av_read_frame(format_, packet);
    if (error >= 0) {
      if (packet->stream_index != stream_->index) {
        av_packet_unref(packet);
        continue;
      }
      corrupt_ = (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
      packet_at_ = packet->pos;
      has_gaps_ = has_gaps_ || (corrupt_ && has_joints());
      note_time(*packet);
      return true;
    }
    if (is_cancelled()) throw stopped();
    if (error == AVERROR(EAGAIN)) {
      if (interrupted(this)) throw late("gave no picture");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    if (error == AVERROR_EXIT || (Clock::now() >= deadline_ && error != AVERROR_EOF)) throw late("gave no picture");
    // Demuxers of old games' films call a file's end so.
    const bool is_at_end = error == AVERROR(EIO) && !live_ && format_->pb && avio_feof(format_->pb);
    if (error == AVERROR_EOF || is_at_end || (error == AVERROR(EIO) && ends_with_connection())) {
      // To many demuxers a read error in the middle of a file looks like its end.
      if (format_->pb && format_->pb->error < 0 && format_->pb->error != AVERROR_EOF &&
          !(format_->pb->error == AVERROR(EIO) && ends_with_connection())) {
        if (format_->pb->error == AVERROR_EXIT) throw late("gave no picture");
        throw make_error(format_->pb->error, kind_ + " \"" + name_ + "\" stopped", "av_read_frame");
      }
      return false;
    }
    if (error == AVERROR(ENODEV) || error == AVERROR(EIO)) {
      throw Error(Code::kUnavailable,
                  kind_ + " \"" + name_ + "\" is gone: " + error_text(error) + "; check the device or connection",
                  "av_read_frame", error);
    }
    throw make_error(error, kind_ + " \"" + name_ + "\" cannot be read on", "av_read_frame");
  }
}

TENON_INLINE int Input::interrupted(void* opaque) {
  auto* self = static_cast<Input*>(opaque);
  const auto now = Clock::now();
  self->is_late_ = now >= self->deadline_;
  // A packet that is cut off is damaged data to FFmpeg, which says so on the error output. What a file has comes before that.
  constexpr std::chrono::milliseconds kPatience{100};
  return self->is_late_ || (self->is_cancelled() && now - reading_since() > kPatience) ? 1 : 0;
}

TENON_INLINE Error Input::stopped() const {
  return Error(Code::kCancelled, kind_ + " \"" + name_ + "\" was told to stop");
}

TENON_INLINE Error Input::late(const std::string& what) const {
  if (is_cancelled()) return stopped();
  return Error(Code::kDeadlineExceeded,
               kind_ + " \"" + name_ + "\" " + what + " in time; the source is slow, stalled or gone", "av_read_frame",
               AVERROR_EXIT);
}

TENON_INLINE void Input::open(const Options& options) {
  if (name_.empty())
    throw Error(Code::kInvalidArgument, kind_ + ": an empty name; give a file, a stream URL or a device");
  std::string url = address_;
  std::string format = options.format;
  const bool is_path = name_.find("://") == std::string::npos && format.empty();
  if (is_path) url = check_path(format);
  const AVInputFormat* const demuxer = format.empty() ? nullptr : demuxer_of(format, kind_ + " \"" + name_ + "\"");
  Dictionary dictionary;
  for (const auto& [key, value] : options.input) dictionary.set(key, value);
  if (!demuxer && !options.input.contains("format_whitelist")) dictionary.set("format_whitelist", demuxers_of_media());
  const bool device = demuxer && demuxer->priv_class && AV_IS_INPUT_DEVICE(demuxer->priv_class->category);
  if (device && options.width_px && options.height_px) {
    dictionary.set("video_size", std::to_string(options.width_px) + "x" + std::to_string(options.height_px));
  }
  if (device && options.fps > 0) dictionary.set("framerate", std::to_string(options.fps));
  format_ = avformat_alloc_context();
  if (!format_) throw Error(Code::kResourceExhausted, "video: no memory for a demuxer");
  format_->interrupt_callback = {&Input::interrupted, this};
  // A capture device blocks inside the kernel, where no interrupt callback reaches it.
  if (device) format_->flags |= AVFMT_FLAG_NONBLOCK;
  if (const int error = avformat_open_input(&format_, url.c_str(), demuxer, dictionary.get()); error < 0) {
    format_ = nullptr;  // Freed by the call.
    throw open_error(error, "avformat_open_input");
  }
  dictionary.check_all_taken(kind_ + " \"" + name_ + "\"");
  // FFmpeg renders any .txt and .nfo as ANSI art; our users do not expect a video.
  if (options.format.empty() && std::string_view(format_->iformat->name) == "tty")
    throw open_error(AVERROR_INVALIDDATA, "avformat_open_input");
  if (const int error = avformat_find_stream_info(format_, nullptr); error < 0)
    throw open_error(error, "avformat_find_stream_info");
  const int index = av_find_best_stream(format_, type_, -1, -1, nullptr, 0);
  if (index < 0 || (format_->streams[index]->disposition & AV_DISPOSITION_ATTACHED_PIC)) {
    if (Clock::now() >= deadline_) throw late("did not start");
    throw Error(Code::kInvalidArgument, "\"" + name_ + "\" (" + format_->iformat->long_name + ") holds no " + kind_ +
                                            "; give a file with a stream of it");
  }
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    format_->streams[i]->discard = static_cast<int>(i) == index ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
  }
  stream_ = format_->streams[index];
  if (is_unknown(*stream_->codecpar)) {
    if (Clock::now() >= deadline_) throw late("did not start");
    // A few start codes make a raw MPEG-4 stream of any program to FFmpeg; it calls such a score a reason to look on.
    if (options.format.empty() && format_->probe_score <= AVPROBE_SCORE_RETRY)
      throw open_error(AVERROR_INVALIDDATA, "avformat_open_input");
    throw Error(Code::kDataLoss, kind_ + " \"" + name_ + "\": no " +
                                     (type_ == AVMEDIA_TYPE_AUDIO ? "sound" : "picture") +
                                     " was found in it; it is truncated or damaged, or of a kind that this FFmpeg "
                                     "does not decode");
  }
  live_ = device || fifo_ || is_endless() || (format_->pb ? (format_->pb->seekable & AVIO_SEEKABLE_NORMAL) == 0 : true);
}

TENON_INLINE bool Input::is_endless() const {
  // The byte stream is that of the playlist, which says nothing of the segments.
  const std::string_view demuxer = format_->iformat->name;
  if (demuxer != "hls" && demuxer != "dash") return false;
  const bool states_duration =
      format_->duration > 0 && format_->duration_estimation_method != AVFMT_DURATION_FROM_BITRATE;
  return (format_->ctx_flags & AVFMTCTX_UNSEEKABLE) != 0 || !states_duration;
}

TENON_INLINE bool Input::is_unknown(const AVCodecParameters& stream) const {
  if (type_ == AVMEDIA_TYPE_AUDIO) return stream.sample_rate <= 0;
  return stream.width <= 0 || stream.height <= 0;
}

TENON_INLINE std::string Input::check_path(std::string& format) {
  struct stat status {};
  // "file:x", "pipe:0" and "rtp:..." are FFmpeg's own forms and left to it.
  if (::stat(name_.c_str(), &status) != 0) {
    const int error = errno;
    if (name_.find(':') != std::string::npos) return name_;
    throw Error(error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kPermissionDenied,
                kind_ + " \"" + name_ +
                    "\": " + std::string(error == ENOENT ? "no such file; check the path" : error_text(AVERROR(error))),
                "stat", error);
  }
  if (S_ISDIR(status.st_mode))
    throw Error(Code::kInvalidArgument, kind_ + " \"" + name_ + "\" is a folder; give a file");
  if (S_ISCHR(status.st_mode) && name_.rfind("/dev/video", 0) == 0) {
    format = "v4l2";
    return name_;
  }
  if (S_ISREG(status.st_mode) && status.st_size == 0)
    throw Error(Code::kInvalidArgument, kind_ + " \"" + name_ + "\" is empty; check how it was written");
  if (S_ISFIFO(status.st_mode)) return open_fifo();
  return "file:" + name_;  // So that a colon in a file name does not look like a protocol.
}

TENON_INLINE std::string Input::open_fifo() {
  fifo_.reset(::open(name_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fifo_) throw make_error(AVERROR(errno), kind_ + " \"" + name_ + "\"", "open");
  // Without a writer a read gives "end of file": wait for the first byte instead.
  pollfd wanted{fifo_.get(), POLLIN, 0};
  while (::poll(&wanted, 1, 5) >= 0 && !(wanted.revents & POLLIN)) {
    if (interrupted(this)) throw late("has no writer that sent anything");
    if (wanted.revents & POLLHUP) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return "pipe:" + std::to_string(fifo_.get());
}

TENON_INLINE Error Input::open_error(int error, const char* api) const {
  if (error == AVERROR_EXIT || error == AVERROR(ETIMEDOUT)) return late("did not start");
  if (error == AVERROR_INVALIDDATA || error == AVERROR_EOF || error == AVERROR(EINVAL)) {
    return Error(Code::kInvalidArgument,
                 "\"" + name_ + "\" is no " + kind_ + " that FFmpeg can read, or its head is missing or damaged: " +
                     error_text(error) + "; try `ffprobe` on it",
                 api, error);
  }
  if (error == AVERROR(EPERM) && name_.ends_with(".ffconcat"))
    return Error(
        Code::kInvalidArgument,
        "\"" + name_ +
            "\" lists files outside of its folder, or by names that FFmpeg calls unsafe; name them relative to "
            "it, or set FFmpeg's option safe=0 (options=safe=0 of the element 'file')",
        api, error);
  const Error known = make_error(error, kind_ + " \"" + name_ + "\" cannot be opened", api);
  if (name_.find("://") == std::string::npos || name_.starts_with("file:")) return known;
  // FFmpeg has one code for names that are not known, and for much else.
  return {known.code(), std::string(known.what()) + "; are host, port and path right, and does the server run?", api,
          error};
}

TENON_INLINE bool Input::ends_with_connection() const {
  std::uint8_t* version = nullptr;  // An option of FFmpeg's HTTP alone.
  const bool is_http = format_->pb && av_opt_get(format_->pb, "http_version", AV_OPT_SEARCH_CHILDREN, &version) >= 0;
  av_free(version);
  return is_http && avio_size(format_->pb) < 0;
}

TENON_INLINE void Input::forgive_deadline() {
  if (format_->pb && format_->pb->error == AVERROR_EXIT) {
    format_->pb->error = 0;
    format_->pb->eof_reached = 0;
  }
}

TENON_INLINE void Input::note_time(const AVPacket& packet) {
  if (packet.pts == AV_NOPTS_VALUE) return;
  const std::int64_t start = stream_->start_time == AV_NOPTS_VALUE ? 0 : stream_->start_time;
  const std::int64_t end =
      av_rescale_q(packet.pts + packet.duration - start, stream_->time_base, AVRational{1, AV_TIME_BASE});
  if (end > end_us_) end_us_ = end;
}

TENON_INLINE bool Input::has_part_of_a_packet() const {
  std::int64_t packet = 0;
  if (!format_->pb || std::string_view(format_->iformat->name) != "mpegts" ||
      av_opt_get_int(format_->priv_data, "ts_packetsize", 0, &packet) < 0)
    return false;
  const std::int64_t size = avio_size(format_->pb);
  // Counted from a packet that was read: a recording may also begin within one. Those of 204 bytes are not where FFmpeg says.
  return (packet == 188 || packet == 192) && packet_at_ >= 0 && size > packet_at_ && (size - packet_at_) % packet != 0;
}

TENON_INLINE bool Input::index_past_end() const {
  if (!format_->pb) return false;
  const std::int64_t size = avio_size(format_->pb);
  const int count = avformat_index_get_entries_count(stream_);
  if (size <= 0 || count == 0) return false;
  const AVIndexEntry* last = avformat_index_get_entry(stream_, count - 1);
  return last && last->size > 0 && last->pos + last->size > size;
}

/// A number of EBML: the zeros before the first one say how many bytes follow. @return nothing: the bytes end within it, or it is unknown
TENON_INLINE std::optional<std::uint64_t> ebml_size(std::span<const unsigned char> bytes, std::size_t& at) {
  if (at >= bytes.size() || bytes[at] == 0) return std::nullopt;
  const auto length = static_cast<std::size_t>(std::countl_zero(bytes[at])) + 1;
  if (length > bytes.size() - at) return std::nullopt;
  std::uint64_t value = bytes[at] & (0xFFU >> length);
  for (std::size_t i = 1; i < length; ++i) value = value << 8 | bytes[at + i];
  at += length;
  const std::uint64_t unknown = (std::uint64_t{1} << (7 * length)) - 1;
  if (value == unknown) return std::nullopt;
  return value;
}

TENON_INLINE bool Input::segment_past_end() const {
  constexpr std::array<unsigned char, 4> kHeader{0x1A, 0x45, 0xDF, 0xA3}, kSegment{0x18, 0x53, 0x80, 0x67};
  std::error_code none;
  if (!format_->pb || !std::string_view(format_->iformat->name).starts_with("matroska") ||
      !std::filesystem::is_regular_file(name_, none))
    return false;
  std::array<unsigned char, 1024> begin{};
  std::ifstream file(name_, std::ios::binary);
  file.read(reinterpret_cast<char*>(begin.data()), begin.size());
  const std::span<const unsigned char> bytes(begin.data(), static_cast<std::size_t>(file.gcount()));
  if (bytes.size() < 16 || !std::equal(kHeader.begin(), kHeader.end(), bytes.begin())) return false;
  std::size_t at = kHeader.size();
  const auto header = ebml_size(bytes, at);
  if (!header || *header > bytes.size() - at) return false;
  at += static_cast<std::size_t>(*header);
  if (bytes.size() - at < kSegment.size() ||
      !std::equal(kSegment.begin(), kSegment.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at)))
    return false;
  at += kSegment.size();
  const auto segment = ebml_size(bytes, at);
  const std::uintmax_t size = std::filesystem::file_size(name_, none);
  return segment && !none && *segment > size - std::min<std::uintmax_t>(size, at);
}

TENON_INLINE std::int64_t Input::duration_us() const {
  const std::int64_t stated = format_->duration, start = format_->start_time;
  if (stated == AV_NOPTS_VALUE || stated <= 0) return 0;
  // FFmpeg's muxers state the time of the end, whatever that of the begin is: that of a camera's clock, for example.
  const std::string_view name = format_->iformat->name;
  const bool is_end = (name.starts_with("matroska") || name == "nut") && start > 0 && start < stated;
  return is_end ? stated - start : stated;
}

TENON_INLINE bool Input::ends_early() const {
  if (has_joints() || format_->duration <= 0 || format_->duration == AV_NOPTS_VALUE || end_us_ == 0 ||
      format_->nb_streams != 1)
    return false;
  if (format_->duration_estimation_method != AVFMT_DURATION_FROM_STREAM) return false;
  // What is stated may also be the time of the end: that of MP4 as FFmpeg writes it, for example.
  const std::int64_t start = format_->start_time == AV_NOPTS_VALUE ? 0 : std::max<std::int64_t>(format_->start_time, 0);
  return format_->duration - start - end_us_ > std::max<std::int64_t>(AV_TIME_BASE, format_->duration / 50);
}

TENON_INLINE void Input::close() {
  deadline_ = Clock::now() + std::chrono::seconds(1);  // Limits the goodbye to an RTSP server.
  avformat_close_input(&format_);
  fifo_.reset();
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
