// SPDX-License-Identifier: Apache-2.0
// The sink "write": encodes a stream into a file.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/elements/ffmpeg/elements.hpp>
#include <tenon/elements/ffmpeg/options.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/elements/read_files.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/writer.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {
namespace {

namespace av = tenon::ffmpeg;

/// Claims a path for one sink: no other sink of this process writes it as long as the object lives.
class ClaimedPath {
 public:
  ClaimedPath() = default;
  /// @errors kAlreadyExists: another sink writes the path.
  ClaimedPath(const std::string& path, const std::string& owner) {
    std::error_code ignored;
    std::filesystem::path whole = std::filesystem::weakly_canonical(path, ignored);
    std::string name = ignored || whole.empty() ? path : whole.string();
    const std::lock_guard lock(mutex());
    if (!all().insert(name).second)
      throw Error(Code::kAlreadyExists, owner + ": \"" + path +
                                            "\" is being written by another stream; put {stream} into the path, which "
                                            "becomes the stream's number");
    name_ = std::move(name);
  }
  ClaimedPath(ClaimedPath&& other) noexcept : name_(std::exchange(other.name_, {})) {}
  ClaimedPath& operator=(ClaimedPath&& other) noexcept {
    std::swap(name_, other.name_);
    return *this;
  }
  ~ClaimedPath() {
    if (name_.empty()) return;
    const std::lock_guard lock(mutex());
    all().erase(name_);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::set<std::string>& all() {
    static auto& names = *new std::set<std::string>;  // Outlives static destructors.
    return names;
  }
  std::string name_;
};

std::string path_of_stream(std::string path, std::uint32_t stream) {
  put_in(path, "{stream}", std::to_string(stream));
  return path;
}

class FileSink final : public Sink {
 public:
  FileSink(const Parameters& given, const Environment& environment)
      : owner_(given.owner()),
        path_(given.text("path")),
        fps_(given.number("fps")),
        files_(environment.files),
        on_host_(environment.ledger) {
    options_.codec = given.text("codec");
    options_.quality = static_cast<int>(given.integer("quality"));
    options_.preset = given.text("preset");
    options_.threads = static_cast<int>(given.integer("threads"));
    options_.device = given.text("device");
    options_.encoder = pairs_of(given, "encoder_options");
    options_.ledger = environment.ledger;
  }

  Requirements wanted(const StreamInfo&) const override {
    Requirements all = av::context()->requirements();
    all.host_access = true;
    return all;
  }

  void open(std::uint32_t stream, const StreamInfo& info) override {
    stream_ = stream;
    options_.aspect_num = info.aspect_num, options_.aspect_den = info.aspect_den;
    options_.fps = fps_ > 0 ? fps_ : info.frames_per_second > 0 ? info.frames_per_second : 25;
    claim_ = {};
    claim_ = ClaimedPath(path_of_part(0), owner_);
    // If the frames are known, a path that cannot be written fails here, before any work is done.
    if (!file_ && info.frame.format.fourcc != 0 && info.frame.width_px != 0) start(info.frame);
  }

  void write(std::uint32_t, const Frame& frame) override {
    try {
      if (!file_ || !file_->takes(frame.info())) start(frame.info());
      file_->write(on_host_.map(frame));
    } catch (...) {
      file_.reset();  // This removes the temporary file.
      throw;
    }
  }

  /// The file stays open: the stream may go on after a restart.
  void end(std::uint32_t) override {}

  void finish() override {
    if (!file_) return;
    const std::unique_ptr<av::Writer> last = std::move(file_);
    if (last->frames_written() != 0) last->finish();
  }

 private:
  /// Opens a file for frames of this size. After a change of size the stream continues in another file.
  void start(const FrameInfo& info) {
    if (file_ && file_->frames_written() != 0) {
      finish();
      ++part_;
    }
    file_.reset();
    const std::string path = path_of_part(part_);
    if (part_ != 0 && files_ && files_->is_input(path))
      throw Error(Code::kInvalidArgument, owner_ + ": the stream changed its size and would go on in \"" + path +
                                              "\", which is read; give another path");
    file_ = std::make_unique<av::Writer>(path, info, options_);
  }

  /// The path of a part: "out.mp4", "out-2.mp4".
  std::string path_of_part(int part) const {
    const std::string path = path_of_stream(path_, stream_);
    if (part == 0) return path;
    std::filesystem::path numbered(path);
    numbered.replace_filename(numbered.stem().string() + "-" + std::to_string(part + 1) +
                              numbered.extension().string());
    return numbered.string();
  }

  const std::string owner_, path_;
  const double fps_;
  const std::shared_ptr<UsedFiles> files_;
  HostFrames on_host_;
  av::WriterOptions options_;
  std::uint32_t stream_ = 0;
  ClaimedPath claim_;
  std::unique_ptr<av::Writer> file_;
  int part_ = 0;
};

}  // namespace

KnownElement file_sink() {
  KnownElement made{
      {"write",
       "Encodes a stream into a file, which appears when it is complete, or into a picture for each frame",
       Role::kSink,
       {{"path",
         "Output file, .mp4 or .mkv, or pictures with a number (shot%04d.png). {stream} becomes the stream's number. "
         "A video that changes size continues in NAME-2.mp4",
         std::string("out.mp4"), true},
        {"fps", "Frames per second of frames without timestamps; 0: as the source", 0.0, false, 0, 1000},
        {"codec",
         "Encoder of FFmpeg; empty: libx264 if FFmpeg has it and the file can hold it, else mpeg4, else the usual one "
         "for such files",
         std::string()},
        {"quality", "Quality of libx264 as its crf: lower is better", std::int64_t{23}, false, 0, 51},
        {"preset", "Preset of libx264: faster ones make larger files", std::string("veryfast")},
        {"threads", "Threads of the encoder; 0: one for each processor", std::int64_t{0}, false, 0, 256},
        {"encoder_options", "More options of FFmpeg's encoder: name=value:name=value", std::string()},
        encoder_device()},
       false,
       true},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<FileSink>(given, environment);
      }};
  made.description.files = [](const Parameters& given, const Environment& environment) {
    ElementFiles files;
    for (const std::uint32_t stream : environment.streams) {
      const std::string path = path_of_stream(given.text("path"), stream);
      files.written.push_back(path);
      for (const std::string& picture : numbered_files(path)) files.written.push_back(picture);
    }
    // Streams that share a path are told so when the second begins.
    std::sort(files.written.begin(), files.written.end());
    files.written.erase(std::unique(files.written.begin(), files.written.end()), files.written.end());
    return files;
  };
  return made;
}

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
