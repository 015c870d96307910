// SPDX-License-Identifier: Apache-2.0
// The source "file": reads videos, pictures and network streams by FFmpeg.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/credentials.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/elements/ffmpeg/elements.hpp>
#include <tenon/elements/ffmpeg/options.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/elements/read_files.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/packets.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {
namespace {

namespace av = tenon::ffmpeg;
namespace fs = std::filesystem;

av::HardwareDevice open_va(const std::string& node) {
  try {
    return av::HardwareDevice::open("vaapi", node);
  } catch (const Error& error) {
    throw Error(error.code(), std::string(error.what()) +
                                  " `tenon va-env -- PROGRAM` runs PROGRAM with the software driver, also where there "
                                  "is no such node.");
  }
}

/// The lowest number of the files that match a pattern; nothing: there is none that FFmpeg takes.
std::optional<int> first_number(const std::string& pattern) {
  std::optional<int> first;
  const std::size_t digits = fs::path(pattern).filename().string().find('%');
  for (const std::string& each : numbered_files(pattern)) {
    const std::string name = fs::path(each).filename().string();
    int number = 0;
    if (std::from_chars(name.data() + digits, name.data() + name.size(), number).ec == std::errc())
      first = std::min(number, first.value_or(number));
  }
  return first;
}

/// The memory at the end of a path: "pool(memfd)" of "h264 -> pool(memfd)". A copy on the way is skipped.
std::string place_in(const std::string& path) {
  const std::string place = path.substr(path.find(" -> ") + 4);
  return place.starts_with("copy -> ") ? place.substr(8) : place;
}

/// Names the surface of a VA-API driver by the kind of descriptor that it was exported with.
std::string surface_of(const Frame& frame) {
  return "vaapi(" + std::string(frame.plane(0).memory()->fd_kind().name()) + ")";
}

class FileSource final : public Source {
 public:
  FileSource(const Parameters& given, const Environment& environment)
      : path_(given.text("path")),
        picture_rate_(given.number("fps")),
        loops_(given.flag("loop")),
        keeps_time_(given.flag("realtime")),
        never_ends_(given.flag("never_ends")),
        by_va_(given.text("decode") == "va"),
        skips_damaged_(given.flag("skip_damaged")),
        stream_(environment.streams.empty() ? 0 : environment.streams.front()),
        node_(given.text("node")),
        cancelled_(std::make_shared<std::atomic<bool>>(false)) {
    options_.threads = static_cast<int>(given.integer("threads"));
    options_.frame_threads = !given.flag("low_delay");
    options_.sender_time = given.flag("sender_time");
    options_.hardware_frames = static_cast<int>(given.integer("surfaces"));
    options_.policy = Any(given.text("zero_copy")).as<ZeroCopy>();
    options_.ledger = environment.ledger;
    options_.input = pairs_of(given, "options");
    options_.cancelled = cancelled_;
    if (const double keep_s = given.number("keep_s"); keep_s > 0) {
      const auto keep = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(keep_s));
      options_.packets =
          std::make_shared<av::PacketRing>(keep, static_cast<std::size_t>(given.integer("keep_mb")) << 20);
    }
    if (path_.starts_with("rtsp") && path_.find("://") != std::string::npos) {
      const std::string& transport = given.text("transport");
      // Over UDP a busy machine loses packets, and pictures arrive damaged. FFmpeg falls back to UDP for servers without TCP.
      if (transport == "auto")
        options_.input.try_emplace("rtsp_flags", "prefer_tcp");
      else
        options_.input.try_emplace("rtsp_transport", transport);
    }
  }

  StreamInfo open(Deadline deadline) override {
    video_.reset();
    last_ = {};
    files_ = files_of(path_);
    next_file_ = 0;
    given_ = left_out_ = 0;
    are_pictures_ = files_.size() > 1 && std::ranges::all_of(files_, [](const auto& file) { return is_picture(file); });
    time_ = {};
    clock_.reset();
    held_.reset();
    damaged_before_ = 0;
    if (by_va_ && !options_.hardware) options_.hardware = open_va(node_);
    while (!open_next(deadline)) {
    }
    StreamInfo info{video_->info(), rate_, video_->live() || keeps_time_};
    const AVRational aspect = video_->pixel_aspect();
    info.aspect_num = static_cast<std::uint32_t>(aspect.num), info.aspect_den = static_cast<std::uint32_t>(aspect.den);
    return info;
  }

  void allocate(const Requirements& wanted, std::span<const Party> readers) override {
    wanted_ = Wanted(wanted, readers);
    use_pool();
  }

  std::optional<Frame> read(Deadline deadline) override {
    if (!held_) held_ = next(deadline);
    if (held_ && keeps_time_) wait_for_its_time(deadline);
    return std::exchange(held_, std::nullopt);
  }

  void interrupt() noexcept override { *cancelled_ = true; }

  SourceReport report() const override {
    SourceReport told = video_ ? facts() : last_;
    told.damaged = damaged_before_ + (video_ ? damaged() : 0);
    return told;
  }

 private:
  /// False: the next file is damaged, and left out.
  bool open_next(Deadline deadline) {
    try {
      open_file(files_[next_file_++], deadline);
      return true;
    } catch (const Error& error) {
      if (!is_left_out(error)) throw;
      return false;
    }
  }

  /// Whether the present file's failure is no failure of the source. Where all files in a row cannot be read, it is.
  bool is_left_out(const Error& error) {
    const bool is_damage = error.code() == Code::kDataLoss || error.code() == Code::kInvalidArgument;
    if (!skips_damaged_ || !is_damage || ++left_out_ >= files_.size()) return false;
    ++damaged_before_;
    close();
    return true;
  }

  void open_file(const std::string& file, Deadline deadline) {
    av::Options options = options_;
    options.open_timeout = std::max<Clock::duration>(deadline - Clock::now(), std::chrono::milliseconds(1));
    if (file.find('%') != std::string::npos && !fs::exists(file)) {
      options.format = "image2";
      options.input["framerate"] = std::to_string(picture_rate_);
      // FFmpeg itself looks for the numbers 0 to 4.
      if (const std::optional<int> first = first_number(file))
        options.input.try_emplace("start_number", std::to_string(*first));
    }
    video_.emplace(file, std::move(options));
    if (loops_ && video_->live())
      throw Error(Code::kInvalidArgument,
                  "\"" + without_credentials(file) +
                      "\" is a pipe, a camera or a stream, which cannot begin again: loop needs a file");
    const bool is_still = is_picture(file);
    rate_ = is_still ? picture_rate_ : video_->fps();
    time_.begin_again();
    use_pool();
  }

  /// Makes the decoder and the readers share one pool, unless there are no readers with requirements, or a device decodes into
  /// surfaces of its own.
  void use_pool() {
    if (!video_ || by_va_ || wanted_.readers.empty()) return;
    try {
      video_->use_pool(plan_frames(av::context(), video_->info(), wanted_, options_.policy));
    } catch (const Error& error) {
      // zero_copy=require with a decoder that only uses memory of its own: its pictures are read where it puts them.
      if (options_.policy != ZeroCopy::kRequire || error.code() != Code::kFailedPrecondition) throw;
    }
  }

  std::optional<Frame> next(Deadline deadline) {
    for (;;) {
      std::optional<Frame> frame;
      try {
        if (video_) frame = video_->read(deadline);
      } catch (const Error& error) {
        if (!is_left_out(error)) throw;
      }
      if (frame) {
        if (by_va_ && lies_in_.empty()) lies_in_ = surface_of(*frame);
        frame->set_timestamp_ns(time_.next(frame->timestamp_ns(), rate_ > 0 ? std::llround(1e9 / rate_) : 0));
        if (are_pictures_) metadata::of(*frame).add(metadata::Source{files_[next_file_ - 1], stream_, given_});
        ++given_;
        left_out_ = 0;
        return frame;
      }
      if (video_) damaged_before_ += damaged();
      if (next_file_ == files_.size()) {
        if (never_ends_)
          throw Error(Code::kUnavailable, "\"" + without_credentials(path_) + "\" has ended, and never_ends is set");
        if (!loops_) return std::nullopt;
        next_file_ = 0;
      }
      close();
      open_next(std::max(deadline, Clock::now() + std::chrono::seconds(1)));
    }
  }

  /// @pre A file is open.
  SourceReport facts() const {
    SourceReport told;
    told.arrives_as = video_->codec();
    told.lies_in = by_va_ ? lies_in_ : place_in(video_->path());
    if (!loops_ && files_.size() == 1) told.frame_count = video_->frame_count();
    if (!loops_ && are_pictures_) told.frame_count = files_.size();
    return told;
  }
  /// What is known of the stream stays known where the next file cannot be read.
  void close() {
    if (video_) last_ = facts();
    video_.reset();
  }

  /// The damage in the present file.
  std::uint64_t damaged() const { return video_->damaged_packets() + video_->damaged_frames(); }

  /// Waits until the held frame is due. @errors kDeadlineExceeded: it is not due yet, and stays held.
  void wait_for_its_time(Deadline deadline) {
    const auto time = std::chrono::nanoseconds(held_->timestamp_ns());
    if (!clock_) clock_ = Clock::now() - time;
    const auto due = *clock_ + std::chrono::duration_cast<Clock::duration>(time);
    if (due <= Clock::now()) return;
    std::this_thread::sleep_until(std::min<Deadline>(due, deadline));
    if (due > deadline)
      throw Error(Code::kDeadlineExceeded, "\"" + without_credentials(path_) + "\": the next frame is not due yet");
  }

  const std::string path_;
  const double picture_rate_;
  const bool loops_, keeps_time_, never_ends_, by_va_, skips_damaged_;
  const std::uint64_t stream_;
  const std::string node_;
  const std::shared_ptr<std::atomic<bool>> cancelled_;
  av::Options options_;
  Wanted wanted_;
  std::vector<std::string> files_;
  bool are_pictures_ = false;  ///< In a folder or a pattern with *: each frame then says which file it is.
  std::size_t next_file_ = 0;
  std::uint64_t given_ = 0;   ///< Frames.
  std::size_t left_out_ = 0;  ///< Files since the last frame.
  std::optional<av::Video> video_;
  SourceReport last_;  ///< The facts of the file before.
  double rate_ = 0;
  std::string lies_in_;                     ///< For decode=va: the memory of the first frame.
  std::uint64_t damaged_before_ = 0;        ///< The damage in earlier files.
  StreamTime time_;                         ///< Counts on over all files and rounds.
  std::optional<Clock::time_point> clock_;  ///< When the stream's time was 0.
  std::optional<Frame> held_;
};

}  // namespace

KnownElement file_source() {
  KnownElement made{
      {"file",
       "Reads videos, pictures and network streams, decoded by FFmpeg into memory that all readers share",
       Role::kSource,
       {{"path", "A file, a URL (rtsp, http, udp), a folder of pictures, or a pattern (shot%04d.png, *.jpg)",
         std::string("clip.mp4"), true},
        {"loop", "Starts again from the beginning at the end", false},
        {"realtime", "Delivers frames at the pace of their timestamps, as a camera does", false},
        {"never_ends", "Treats the end as a failure, after which a pipeline may restart the stream: for cameras",
         false},
        {"fps", "Pictures per second of a folder or pattern", 25.0, false, 0.001, 1000},
        {"skip_damaged",
         "Leaves out the files of a folder, or of a pattern with *, that cannot be read, and counts them as damaged",
         false},
        choice("decode", "What decodes: FFmpeg on the CPU, or a VA-API driver", "cpu", {"cpu", "va"}),
        {"node", "DRM render node for decode=va", std::string("/dev/dri/renderD128")},
        {"surfaces", "Frames that may be held at a time with decode=va", std::int64_t{24}, false, 1, 256},
        {"threads", "Threads of the decoder; 0: one for each processor", std::int64_t{0}, false, 0, 256},
        {"low_delay", "Lets the decoder's threads share one picture, instead of decoding several at a time", false},
        {"sender_time",
         "Adds the sender's clock to the metadata (reference_time of the clock ntp), where RTSP and RTP servers tell "
         "it",
         false},
        choice("transport", "Transport of RTSP; auto: TCP if the server offers it", "auto",
               {"auto", "tcp", "udp", "http"}),
        choice("zero_copy",
               "Conversions and copies of frames: require: they are errors; prefer: they are avoided; allow: the "
               "cheapest way",
               "prefer", {"require", "prefer", "allow"}),
        {"keep_s", "Keeps the packets of the last seconds for the sink 'record'; 0: none", 0.0, false, 0, 86400},
        {"keep_mb", "Most MiB of packets that are kept", std::int64_t{64}, false, 1, 65536},
        {"options", "More options of FFmpeg's demuxer or protocol: name=value:name=value", std::string()}}},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<FileSource>(given, environment);
      }};
  made.description.files = [](const Parameters& given, const Environment&) {
    return ElementFiles{files_read_for(given.text("path"))};
  };
  return made;
}

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
