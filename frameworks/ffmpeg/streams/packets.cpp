// SPDX-License-Identifier: Apache-2.0
// Keeping packets, and writing them into files.
#include <tenon/frameworks/ffmpeg/packets.hpp>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/frameworks/ffmpeg/frame_lease.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

TENON_INLINE void refer(AVPacket* to, const AVPacket* from) {
  if (const int error = av_packet_ref(to, from); error < 0) throw make_error(error, "packets", "av_packet_ref");
}

TENON_INLINE std::shared_ptr<const AVCodecParameters> copy_of(const AVCodecParameters* from) {
  const std::shared_ptr<AVCodecParameters> made(avcodec_parameters_alloc(),
                                                [](AVCodecParameters* last) { avcodec_parameters_free(&last); });
  if (!made) throw Error(Code::kResourceExhausted, "packets: no memory for a codec's parameters");
  if (const int error = avcodec_parameters_copy(made.get(), from); error < 0)
    throw make_error(error, "packets", "avcodec_parameters_copy");
  return made;
}

#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
/// Later versions have it among the codec's parameters.
TENON_INLINE std::vector<std::uint8_t> display_matrix_of(const AVStream&) { return {}; }
TENON_INLINE void set_display_matrix(AVStream&, const std::vector<std::uint8_t>&) {}
#else
TENON_INLINE std::vector<std::uint8_t> display_matrix_of(const AVStream& stream) {
  std::size_t size = 0;
  const std::uint8_t* const matrix = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  return matrix ? std::vector<std::uint8_t>(matrix, matrix + size) : std::vector<std::uint8_t>();
}
TENON_INLINE void set_display_matrix(AVStream& stream, const std::vector<std::uint8_t>& matrix) {
  if (matrix.empty()) return;
  std::uint8_t* const place = av_stream_new_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, matrix.size());
  if (!place) throw Error(Code::kResourceExhausted, "packets: no memory for side data", "av_stream_new_side_data", 0);
  std::copy(matrix.begin(), matrix.end(), place);
}
#endif

/// A time of decoding that is further ahead of the one before is of another clock, or wrong.
inline constexpr std::int64_t kMostAheadNs = 10'000'000'000;

}  // namespace detail

TENON_INLINE bool is_program_stream(const AVOutputFormat& container) {
  constexpr std::string_view kPrograms[] = {"mpeg", "vcd", "svcd", "vob", "dvd"};
  return std::ranges::count(kPrograms, container.name) != 0;
}

TENON_INLINE bool container_names(const AVOutputFormat& container, AVCodecID codec, std::uint32_t tag) {
  const std::string_view name = container.name;
  const auto is_among = [codec](const auto& all) { return std::ranges::count(all, codec) != 0; };
  constexpr AVCodecID kBoth[] = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO,
                                 AV_CODEC_ID_MPEG4};
  constexpr AVCodecID kTransport[] = {AV_CODEC_ID_CAVS, AV_CODEC_ID_DIRAC, AV_CODEC_ID_VC1};
  if (name == "mpegts") return is_among(kBoth) || is_among(kTransport);
  if (is_program_stream(container)) return is_among(kBoth);
  return name != "avi" || tag != 0 || avformat_query_codec(&container, codec, FF_COMPLIANCE_NORMAL) != 0;
}

TENON_INLINE std::int64_t decode_time_ns(const AVPacket& packet, AVRational time_base) {
  return to_ns(packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts, time_base);
}

TENON_INLINE void PacketRing::begin(const AVStream& stream) {
  const AVRational rate = stream.avg_frame_rate;
  auto codec = detail::copy_of(stream.codecpar);
  std::vector<std::uint8_t> matrix = detail::display_matrix_of(stream);
  const std::lock_guard lock(mutex_);
  const std::uint64_t generation = streams_.back().stream.generation;
  const Numbers last = numbers_of(generation);
  if (last.first != last.end) streams_.emplace_back();  // Else nothing came of it, and it is replaced.
  streams_.back() = {{std::move(codec), stream.time_base, std::move(matrix), generation + 1}, last.end};
  line_.begin_again();
  step_ns_ = usual_step_ns(rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0);
}

TENON_INLINE void PacketRing::add(const AVPacket& packet) {
  const bool is_key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  PacketPtr kept = detail::new_packet();
  detail::refer(kept.get(), &packet);
  const std::lock_guard lock(mutex_);
  const Numbers there = numbers_of(streams_.back().stream.generation);
  if (there.first == there.end && !is_key) return;
  const std::int64_t time_ns = decode_time_ns(packet, there.stream->time_base);
  if (time_ns != kNoTimestamp) last_time_ns_ = time_ns;
  now_ns_ = std::max(now_ns_, line_.next(time_ns, step_ns_, detail::kMostAheadNs));
  if (is_key) keyframes_.push_back({there.end, now_ns_});
  bytes_ += static_cast<std::size_t>(packet.size);
  packets_.push_back(std::move(kept));
  while (keyframes_.size() > 1) {
    const bool is_needed = now_ns_ < later(keyframes_[1].time_ns, keep_.count());
    if (is_needed && bytes_ <= most_bytes_) return;
    drop_first_group();
  }
  if (bytes_ > most_bytes_) drop_first_group();  // One group alone is too large.
}

TENON_INLINE PacketRing::Numbers PacketRing::numbers_of(std::uint64_t generation) const {
  const auto at = std::ranges::find(streams_, generation, [](const Kept& kept) { return kept.stream.generation; });
  if (at == streams_.end()) return {};
  const auto next = std::next(at);
  return {&at->stream, std::max(at->first, first_), next != streams_.end() ? next->first : first_ + packets_.size()};
}

/// @pre The mutex is held, and there is a keyframe.
TENON_INLINE void PacketRing::drop_first_group() {
  keyframes_.pop_front();
  const std::uint64_t end = keyframes_.empty() ? first_ + packets_.size() : keyframes_.front().number;
  for (; first_ != end; ++first_) {
    bytes_ -= static_cast<std::size_t>(packets_.front()->size);
    packets_.pop_front();
  }
  while (streams_.size() > 1 && streams_[1].first <= first_) streams_.pop_front();
}

TENON_INLINE std::uint64_t PacketRing::generation() const {
  const std::lock_guard lock(mutex_);
  return streams_.back().stream.generation;
}

TENON_INLINE std::optional<PacketStream> PacketRing::stream(std::uint64_t generation) const {
  const std::lock_guard lock(mutex_);
  const PacketStream* const stream = numbers_of(generation).stream;
  return stream ? std::optional(*stream) : std::nullopt;
}

TENON_INLINE std::optional<std::uint64_t> PacketRing::keyframe_before(std::uint64_t generation,
                                                                      std::int64_t time_ns) const {
  const std::lock_guard lock(mutex_);
  const Numbers there = numbers_of(generation);
  std::optional<std::uint64_t> found;
  for (auto at = keyframes_.rbegin(); at != keyframes_.rend() && at->number >= there.first; ++at) {
    if (at->number >= there.end) continue;
    found = at->number;
    const AVPacket& packet = *packets_[at->number - first_];
    const std::int64_t shown_ns =
        to_ns(packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts, there.stream->time_base);
    if (shown_ns != kNoTimestamp && shown_ns <= time_ns) break;
  }
  return found;
}

TENON_INLINE bool PacketRing::read(std::uint64_t generation, std::uint64_t& number, AVPacket* packet) const {
  const std::lock_guard lock(mutex_);
  const Numbers there = numbers_of(generation);
  if (!there.stream) return false;
  number = std::max(number, there.first);
  if (number >= there.end) return false;
  av_packet_unref(packet);
  detail::refer(packet, packets_[number - first_].get());
  return true;
}

TENON_INLINE std::int64_t PacketRing::last_time_ns() const {
  const std::lock_guard lock(mutex_);
  return last_time_ns_;
}

TENON_INLINE std::size_t PacketRing::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

TENON_INLINE PacketFile::PacketFile(const std::filesystem::path& path, const PacketStream& stream)
    : path_(path), stream_(stream) {
  try {
    open();
  } catch (...) {
    close();
    throw;
  }
}

TENON_INLINE void PacketFile::check(int error, const char* call) const {
  if (error < 0) throw detail::make_error(error, what() + " cannot be written", call);
  if (format_->pb && format_->pb->error < 0)
    throw detail::make_error(format_->pb->error, what() + " cannot be written", call);
}

TENON_INLINE void PacketFile::open() {
  const AVOutputFormat* const container = av_guess_format(nullptr, path_.c_str(), nullptr);
  if (!container || container->video_codec == AV_CODEC_ID_NONE || (container->flags & AVFMT_NOFILE) != 0)
    throw Error(Code::kInvalidArgument, what() + ": no video container goes by that extension; use .mkv, .mp4 or .ts");
  // Matroska takes what it has no name for under that of another container.
  const bool is_matroska = std::string_view(container->name) == "matroska";
  const int answer = avformat_query_codec(container, stream_.codec->codec_id,
                                          is_matroska ? FF_COMPLIANCE_EXPERIMENTAL : FF_COMPLIANCE_NORMAL);
  if (answer == 0 || (answer == AVERROR_PATCHWELCOME && !container_names(*container, stream_.codec->codec_id)))
    throw Error(Code::kInvalidArgument, what() + ": " + container->name + " does not hold " +
                                            avcodec_get_name(stream_.codec->codec_id) +
                                            (is_matroska ? "" : "; use .mkv"));
  std::error_code ignored;
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, ignored))
    throw Error(Code::kNotFound, what() + ": there is no folder \"" + folder.string() + "\"; make it first", "stat",
                ENOENT);
  file_ = std::make_unique<NewFile>(path_, 0666, Durability::kProcess);
  unfinished_ = Unfinished(file_->temporary());
  const std::string url = "file:" + file_->temporary().string();
  if (const int error = avformat_alloc_output_context2(&format_, container, nullptr, url.c_str()); error < 0)
    throw detail::make_error(error, what(), "avformat_alloc_output_context2");
  AVStream* const track = avformat_new_stream(format_, nullptr);
  if (!track) throw Error(Code::kResourceExhausted, what() + ": no memory for a stream", "avformat_new_stream", 0);
  check(avcodec_parameters_copy(track->codecpar, stream_.codec.get()), "avcodec_parameters_copy");
  track->codecpar->codec_tag = 0;  // The tag is that of the container that the packets come from.
  // Players read the units that files usually have.
  track->time_base = stream_.time_base.den > 1'000'000 ? AVRational{1, 90'000} : stream_.time_base;
  track->sample_aspect_ratio = stream_.codec->sample_aspect_ratio;
  detail::set_display_matrix(*track, stream_.display_matrix);
  check(avio_open(&format_->pb, url.c_str(), AVIO_FLAG_WRITE), "avio_open");
  check(avformat_write_header(format_, nullptr), "avformat_write_header");
}

TENON_INLINE void PacketFile::write(AVPacket* packet) {
  bytes_ += static_cast<std::uint64_t>(packet->size);
  const std::int64_t own = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;
  const std::int64_t at = own != AV_NOPTS_VALUE ? own : later(last_.value_or(0), 1);
  if (!first_) first_ = at;
  const std::int64_t decoded = last_ ? std::max(at, later(*last_, 1)) : at;
  last_ = decoded;
  packet->pts = later(std::max(packet->pts != AV_NOPTS_VALUE ? packet->pts : decoded, decoded), -*first_);
  packet->dts = later(decoded, -*first_);
  packet->stream_index = 0;
  packet->pos = -1;
  av_packet_rescale_ts(packet, stream_.time_base, format_->streams[0]->time_base);
  check(av_interleaved_write_frame(format_, packet), "av_interleaved_write_frame");
  ++packets_;
}

TENON_INLINE void PacketFile::finish() {
  check(av_write_trailer(format_), "av_write_trailer");
  if (const int error = avio_closep(&format_->pb); error < 0) throw detail::make_error(error, what(), "avio_close");
  file_->commit();
  close();
}

TENON_INLINE void PacketFile::close() noexcept {
  if (format_) {
    if (format_->pb) avio_closep(&format_->pb);
    avformat_free_context(format_);
    format_ = nullptr;
  }
  file_.reset();  // Removes a file that was not committed.
  unfinished_.forget();
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
