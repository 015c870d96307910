// SPDX-License-Identifier: Apache-2.0
// The sink "record": writes what came before, during and after events into files, as the packets that the source read.
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/elements/ffmpeg/elements.hpp>
#include <tenon/elements/ffmpeg/numbered_path.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/packet_sink.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/frame_lease.hpp>
#include <tenon/frameworks/ffmpeg/packets.hpp>
#include <tenon/frameworks/ffmpeg/rotation.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {
namespace {

namespace av = tenon::ffmpeg;
using What = metadata::ZoneEvent::What;

/// Times of packets that lie further apart are of another clock. Packets come in the order of decoding, so that times of showing go back
/// by some pictures.
constexpr std::int64_t kMostBackNs = 100'000'000, kMostShownBackNs = 2'000'000'000, kMostAheadNs = 10'000'000'000;

/// The time of a packet.
struct PacketTime {
  std::int64_t ns = 0;
  bool is_of_decoding =
      false;  ///< Else of showing: Matroska has none of decoding, and FFmpeg finds it some packets later.
};

bool is_jump(std::int64_t from_ns, std::int64_t to_ns, std::int64_t most_back_ns = kMostBackNs) {
  const double way = static_cast<double>(to_ns) - static_cast<double>(from_ns);
  return way < -static_cast<double>(most_back_ns) || way > static_cast<double>(kMostAheadNs);
}
bool is_jump(const PacketTime& from, const PacketTime& to) {
  return from.is_of_decoding == to.is_of_decoding &&
         is_jump(from.ns, to.ns, to.is_of_decoding ? kMostBackNs : kMostShownBackNs);
}

std::vector<What> events_of(const Parameters& given) {
  std::vector<What> events;
  for (const std::string& word : split(given.text("events"), ',')) {
    std::vector<std::string> known;
    std::optional<What> found;
    for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(What::kMoves); ++i) {
      known.emplace_back(metadata::name(static_cast<What>(i)));
      if (known.back() == word) found = static_cast<What>(i);
    }
    if (!found)
      throw Error(Code::kInvalidArgument, given.owner() + ": parameter 'events': there is no event " + in_quotes(word) +
                                              "; there are: " + joined(known));
    events.push_back(*found);
  }
  return events;
}

class RecordSink final : public PacketSink {
 public:
  RecordSink(const Parameters& given, const Environment& environment)
      : owner_(given.owner()),
        labels_(split(given.text("labels"), ',')),
        events_(events_of(given)),
        confidence_(given.number("confidence")),
        before_ns_(nanoseconds(given, "before_s")),
        after_ns_(nanoseconds(given, "after_s")),
        most_ns_(nanoseconds(given, "segment_s")),
        most_bytes_(static_cast<std::uint64_t>(given.integer("segment_mb")) << 20),
        most_files_(static_cast<std::size_t>(given.integer("files"))),
        paths_(given, environment, "recording"),
        own_(std::make_shared<av::PacketRing>(std::chrono::nanoseconds(before_ns_) + kOwnKeep, kOwnBytes)) {
    if (!packet_) throw Error(Code::kResourceExhausted, owner_ + ": no memory for a packet", "av_packet_alloc", 0);
  }

  void open(std::uint32_t stream, const StreamInfo&) override { stream_ = stream; }

  void write(std::uint32_t, const Frame& frame) override {
    const auto known = metadata::find(frame);
    const auto given = known ? known->first<av::Packets>() : nullptr;
    const std::uint64_t own = own_->generation();
    if (!given && own == 0)
      throw Error(Code::kFailedPrecondition, owner_ +
                                                 ": frames come without the packets that they were decoded from; let "
                                                 "the source 'file' keep them (keep_s=10), with no mosaic between");
    const av::Packets packets = given ? *given : av::Packets{own_, own, frame.timestamp_ns()};
    if (packets.time_ns == kNoTimestamp)
      throw Error(Code::kInvalidArgument, owner_ + ": a frame has no time, so its packets are not known");
    static const metadata::Collection none;
    try {
      if (ring_ != packets.ring || generation_ != packets.generation) {
        record_rest();
        ring_ = packets.ring;
        generation_ = packets.generation;
        frame_ns_.reset();
      }
      look(known ? *known : none, packets.time_ns);
    } catch (...) {
      file_.reset();  // This removes the temporary file.
      end_ns_.reset();
      throw;
    }
  }

  void begin_packets(const EncodedStream& stream) override {
    const AVCodecDescriptor* const codec = avcodec_descriptor_get_by_name(stream.codec.c_str());
    if (!codec)
      throw Error(Code::kUnimplemented, owner_ + ": this FFmpeg does not know packets of " + in_quotes(stream.codec));
    const std::unique_ptr<AVFormatContext, void (*)(AVFormatContext*)> format(avformat_alloc_context(),
                                                                              &avformat_free_context);
    AVStream* const made = format ? avformat_new_stream(format.get(), nullptr) : nullptr;
    if (!made) throw Error(Code::kResourceExhausted, owner_ + ": no memory for a stream", "avformat_new_stream", 0);
    AVCodecParameters& all = *made->codecpar;
    all.codec_type = AVMEDIA_TYPE_VIDEO;
    all.codec_id = codec->id;
    all.width = static_cast<int>(stream.width_px), all.height = static_cast<int>(stream.height_px);
    if (!stream.header.empty()) {
      all.extradata = static_cast<std::uint8_t*>(av_mallocz(stream.header.size() + AV_INPUT_BUFFER_PADDING_SIZE));
      if (!all.extradata) throw Error(Code::kResourceExhausted, owner_ + ": no memory for headers", "av_mallocz", 0);
      std::copy(stream.header.begin(), stream.header.end(), all.extradata);
      all.extradata_size = static_cast<int>(stream.header.size());
    }
    made->time_base = {1, 1'000'000'000};
    av::set_rotation(*made, stream.rotation);
    own_->begin(*made);
  }

  void add_packet(const EncodedPacket& packet) override {
    const av::PacketPtr made(av_packet_alloc());
    if (!made || packet.bytes.size() > INT_MAX || av_new_packet(made.get(), static_cast<int>(packet.bytes.size())) < 0)
      throw Error(Code::kResourceExhausted,
                  owner_ + ": no memory for a packet of " + std::to_string(packet.bytes.size()) + " bytes",
                  "av_new_packet", 0);
    std::copy(packet.bytes.begin(), packet.bytes.end(), made->data);
    const auto time_of = [](std::int64_t ns) { return ns == kNoTimestamp ? AV_NOPTS_VALUE : ns; };
    made->pts = time_of(packet.shown_ns), made->dts = time_of(packet.decoded_ns);
    made->duration = packet.duration_ns;
    if (packet.is_key) made->flags |= AV_PKT_FLAG_KEY;
    own_->add(*made);
  }

  void end(std::uint32_t) override {
    record_rest();
    ring_.reset();
  }
  void finish() override { stop(); }

 private:
  static std::int64_t nanoseconds(const Parameters& given, const char* name) {
    return static_cast<std::int64_t>(given.number(name) * 1e9);
  }

  void look(const metadata::Collection& known, std::int64_t time_ns) {
    // Where the clock jumps, what is left of the recording goes on by the new one.
    if (frame_ns_ && end_ns_ && is_jump(*frame_ns_, time_ns)) end_ns_ = later(time_ns, *end_ns_ - *frame_ns_);
    frame_ns_ = time_ns;
    if (is_event(known)) {
      if (!end_ns_) {
        const auto first = ring_->keyframe_before(generation_, later(time_ns, -before_ns_));
        if (!first) return;  // No keyframe yet: nothing could be decoded.
        next_ = *first;      // Also where the recording before has some of these packets: each file is whole.
      }
      end_ns_ = std::max(end_ns_.value_or(INT64_MIN), later(time_ns, after_ns_));
    }
    if (!end_ns_) return;
    // The packets of a picture may come after those of later ones.
    const bool is_whole = record();
    if (time_ns > *end_ns_ && (is_whole || is_jump(*end_ns_, time_ns))) stop();
  }

  bool is_event(const metadata::Collection& known) const {
    if (labels_.empty() && events_.empty()) return true;
    for (const auto& event : known.all<metadata::ZoneEvent>())
      if (std::find(events_.begin(), events_.end(), event->what) != events_.end()) return true;
    for (const auto& object : known.all<metadata::Detection>())
      if (static_cast<double>(object->score) >= confidence_ &&
          std::find(labels_.begin(), labels_.end(), object->label) != labels_.end())
        return true;
    return false;
  }

  /// Writes the packets that have come, up to the end of the recording. @return Whether its last packet has come.
  bool record() {
    const std::optional<av::PacketStream> stream = ring_->stream(generation_);
    if (!stream) return true;
    for (;;) {
      const std::uint64_t wanted = next_;
      if (!ring_->read(generation_, next_, packet_.get())) return false;
      if (next_ != wanted && file_)
        begins_ = true;  // Packets were dropped before they were read: go on in another file.
      const std::int64_t time_ns = av::decode_time_ns(*packet_, stream->time_base);
      const bool is_key = (packet_->flags & AV_PKT_FLAG_KEY) != 0;
      const bool has_time = time_ns != kNoTimestamp;
      const PacketTime time{time_ns, packet_->dts != AV_NOPTS_VALUE};
      if (has_time && packet_time_ && is_jump(*packet_time_, time)) {
        begins_ = true;
      } else if (has_time && time_ns > *end_ns_ && !is_shown_before(*stream)) {
        av_packet_unref(packet_.get());
        return true;
      }
      if (has_time) packet_time_ = time;
      if (file_ && is_key && (begins_ || is_full(time_ns))) complete();
      if (!file_ && is_key) begin(*stream, time_ns);
      if (file_) {
        if (packet_->pts != AV_NOPTS_VALUE) shown_ns_ = std::max(shown_ns_, av::to_ns(packet_->pts, stream->time_base));
        file_->write(packet_.get());
      }
      av_packet_unref(packet_.get());
      ++next_;
    }
  }

  /// Whether the packet's picture is shown before another one that is written already: without it there would be a gap.
  bool is_shown_before(const av::PacketStream& stream) const {
    return file_ && packet_->pts != AV_NOPTS_VALUE && av::to_ns(packet_->pts, stream.time_base) < shown_ns_;
  }

  bool is_full(std::int64_t time_ns) const {
    return (most_bytes_ != 0 && file_->size_bytes() >= most_bytes_) ||
           (most_ns_ != 0 && time_ns != kNoTimestamp && begin_ns_ != kNoTimestamp &&
            time_ns >= later(begin_ns_, most_ns_));
  }

  void begin(const av::PacketStream& stream, std::int64_t time_ns) {
    const std::string path = paths_.next(stream_, [](std::string&) {});
    file_ = std::make_unique<av::PacketFile>(path, stream);
    if (most_files_ != 0) written_.push_back(path);
    begin_ns_ = time_ns;
    shown_ns_ = INT64_MIN;
    begins_ = false;
  }

  void complete() {
    const std::unique_ptr<av::PacketFile> last = std::move(file_);
    if (!last) return;
    last->finish();
    while (written_.size() > most_files_) {
      std::error_code ignored;
      std::filesystem::remove(written_.front(), ignored);
      written_.pop_front();
    }
  }

  /// No frame of the stream comes any more, but packets that came after its last frame may belong to the recording.
  void record_rest() {
    if (end_ns_) record();
    stop();
  }

  void stop() {
    end_ns_.reset();
    packet_time_.reset();
    complete();
  }

  /// What is kept of packets that the host brings, beside those before an event: decoders and models are behind by so much at most.
  static constexpr std::chrono::seconds kOwnKeep{10};
  static constexpr std::size_t kOwnBytes = std::size_t{256} << 20;

  const std::string owner_;
  const std::vector<std::string> labels_;
  const std::vector<What> events_;
  const double confidence_;
  const std::int64_t before_ns_, after_ns_, most_ns_;
  const std::uint64_t most_bytes_;
  const std::size_t most_files_;
  NumberedPath paths_;
  const std::shared_ptr<av::PacketRing> own_;  ///< Packets that come apart from the pictures.
  std::uint32_t stream_ = 0;
  std::shared_ptr<av::PacketRing> ring_;
  std::uint64_t generation_ = 0;
  std::uint64_t next_ = 0;                 ///< The number of the packet to write next.
  std::optional<std::int64_t> end_ns_;     ///< When the recording that runs ends.
  std::optional<std::int64_t> frame_ns_;   ///< The time of the last frame.
  std::optional<PacketTime> packet_time_;  ///< That of the last packet that was written.
  std::int64_t begin_ns_ = 0;              ///< When the file begins; kNoTimestamp: unknown.
  std::int64_t shown_ns_ = INT64_MIN;      ///< The latest time at which a picture of the file is shown.
  bool begins_ = false;                    ///< The next keyframe begins another file.
  std::unique_ptr<av::PacketFile> file_;
  av::PacketPtr packet_{av_packet_alloc()};
  std::deque<std::string> written_;  ///< Files that stay until there are too many; none if all stay.
};

}  // namespace

KnownElement record_sink() {
  KnownElement made{
      {"record",
       "Writes what came before, during and after events into files, as the packets that the source 'file' read "
       "(keep_s); in GStreamer, as those of its pad 'packets'",
       Role::kSink,
       {{"path", "Output files: events/{number}.mkv, or .mp4 or .ts. {number} counts, {stream} is the stream's number",
         std::string("{number}.mkv"), true},
        {"labels", "Objects with these labels are events, separated by commas", std::string()},
        {"confidence", "Minimum score of such objects", 0.5, false, 0, 1},
        {"events",
         "What 'analytics' adds that is an event: entered, left, stays_long, crossed_in, crossed_out, inside, moves. "
         "Without "
         "labels and events all is recorded",
         std::string()},
        {"before_s", "Seconds before an event; a file begins with the keyframe before them", 5.0, false, 0, 86400},
        {"after_s", "Seconds after the last frame with an event", 5.0, false, 0, 86400},
        {"segment_s", "Seconds after which another file begins, at the next keyframe; 0: none", 0.0, false, 0, 1e6},
        {"segment_mb", "MiB after which another file begins, at the next keyframe; 0: none", std::int64_t{0}, false, 0,
         1e6},
        {"files", "Files that stay: the oldest one that the element wrote is removed for another; 0: all",
         std::int64_t{0}, false, 0, 1e6}},
       false,
       true},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<RecordSink>(given, environment);
      }};
  made.description.files = &NumberedPath::files_before;
  made.description.takes_packets = true;
  return made;
}

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
