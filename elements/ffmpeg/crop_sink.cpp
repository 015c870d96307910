// SPDX-License-Identifier: Apache-2.0
// The sink "crops": writes each object into a picture of its own.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/elements/ffmpeg/elements.hpp>
#include <tenon/elements/ffmpeg/numbered_path.hpp>
#include <tenon/elements/ffmpeg/options.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/writer.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {
namespace {

namespace av = tenon::ffmpeg;

constexpr std::size_t kMostIds = 100'000;  ///< Objects with an id for which it is known when they were written.

/// A label as a part of a file's name.
std::string as_name(const std::string& label) {
  std::string name;
  for (const char c : label) name += std::isalnum(static_cast<unsigned char>(c)) || c == '-' ? c : '_';
  return name.empty() ? "object" : name.substr(0, 60);
}

class CropSink final : public Sink {
 public:
  CropSink(const Parameters& given, const Environment& environment)
      : owner_(given.owner()),
        labels_(split(given.text("labels"), ',')),
        min_size_(given.number("min_size")),
        grow_(given.number("grow")),
        every_ns_(static_cast<std::int64_t>(given.number("every_s") * 1e9)),
        limit_(static_cast<std::uint64_t>(given.integer("limit"))),
        paths_(given, environment, "picture"),
        on_host_(environment.ledger) {
    options_.codec = given.text("codec");
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
    step_ns_ = usual_step_ns(info.frames_per_second);
    time_.begin_again();
    written_ns_.clear();
  }

  void write(std::uint32_t, const Frame& frame) override {
    const std::int64_t now_ns = time_.next(frame.timestamp_ns(), step_ns_);
    const auto known = metadata::find(frame);
    if (!known) return;
    std::optional<Frame> host;
    for (const auto& object : known->all<metadata::Detection>()) {
      if (!is_wanted(*object.value)) continue;
      const std::optional<Area<std::uint32_t>> part = part_of(frame.info(), object->box);
      if (!part || !is_due(object->track_id, now_ns)) continue;
      if (paths_.count() == limit_)
        throw Error(Code::kResourceExhausted,
                    owner_ + ": " + std::to_string(limit_) + " pictures are written; 'limit' allows no more");
      if (!host) host = on_host_.map(frame);
      write_part(crop(*host, part->x, part->y, part->width, part->height), *object.value, now_ns);
    }
  }

 private:
  bool is_wanted(const metadata::Detection& object) const {
    return labels_.empty() || std::find(labels_.begin(), labels_.end(), object.label) != labels_.end();
  }

  /// Whether the object was not written for a while.
  bool is_due(std::int64_t id, std::int64_t now_ns) {
    if (every_ns_ == 0 || id < 0) return true;
    const auto [at, is_new] = written_ns_.try_emplace(id, now_ns);
    if (!is_new && now_ns - at->second < every_ns_) return false;
    at->second = now_ns;
    if (written_ns_.size() > kMostIds) written_ns_.erase(written_ns_.begin());  // Ids count up: the oldest.
    return true;
  }

  /// The object's part of the picture as it is stored, on whole samples of chroma; nothing if it is too small or outside.
  std::optional<Area<std::uint32_t>> part_of(const FrameInfo& info, const metadata::Box& box) const {
    const double wide = static_cast<double>(box.x2) - static_cast<double>(box.x1),
                 high = static_cast<double>(box.y2) - static_cast<double>(box.y1);
    if (!(wide >= std::max(min_size_, 1.0)) || !(high >= std::max(min_size_, 1.0))) return std::nullopt;
    const auto within = [](double value, std::uint32_t most) {
      return value > 0 ? static_cast<std::uint32_t>(std::min(value, static_cast<double>(most))) : 0;  // NaN: 0.
    };
    const std::uint32_t width = info.upright_width_px(), height = info.upright_height_px();
    const std::uint32_t x1 = within(std::floor(static_cast<double>(box.x1) - wide * grow_), width);
    const std::uint32_t x2 = within(std::ceil(static_cast<double>(box.x2) + wide * grow_), width);
    const std::uint32_t y1 = within(std::floor(static_cast<double>(box.y1) - high * grow_), height);
    const std::uint32_t y2 = within(std::ceil(static_cast<double>(box.y2) + high * grow_), height);
    if (x1 >= x2 || y1 >= y2) return std::nullopt;
    Area<std::uint32_t> area =
        stored_area<std::uint32_t>({x1, y1, x2 - x1, y2 - y1}, info.rotation, info.width_px, info.height_px);
    // A cut between two samples of chroma is not possible, so the part grows to the next one.
    const PixelFormatInfo& format = format_info(info.format);
    std::uint32_t grain_x = info.format == kYuy2 || info.format == kUyvy ? 2 : 1, grain_y = 1;
    for (std::size_t p = 0; p < format.plane_count; ++p) {
      grain_x = std::max(grain_x, 1u << format.planes[p].width_shift);
      grain_y = std::max(grain_y, 1u << format.planes[p].height_shift);
    }
    const std::uint32_t left = area.x / grain_x * grain_x, top = area.y / grain_y * grain_y;
    const auto up = [](std::uint32_t value, std::uint32_t grain, std::uint32_t most) {
      return std::min((value + grain - 1) / grain * grain, most);
    };
    return Area<std::uint32_t>{left, top, up(area.x + area.width, grain_x, info.width_px) - left,
                               up(area.y + area.height, grain_y, info.height_px) - top};
  }

  void write_part(const Frame& part, const metadata::Detection& object, std::int64_t now_ns) {
    const std::string path = paths_.next(stream_, [&](std::string& text) {
      put_in(text, "{label}", as_name(object.label));
      put_in(text, "{id}", std::to_string(object.track_id));
      put_in(text, "{time_ms}", std::to_string(now_ns / 1'000'000));
    });
    av::Writer picture(path, part.info(), options_);
    picture.write(part);
    picture.finish();
  }

  const std::string owner_;
  const std::vector<std::string> labels_;
  const double min_size_, grow_;
  const std::int64_t every_ns_;
  const std::uint64_t limit_;
  NumberedPath paths_;
  HostFrames on_host_;
  av::WriterOptions options_;
  std::uint32_t stream_ = 0;
  StreamTime time_;
  std::int64_t step_ns_ = 0;
  std::map<std::int64_t, std::int64_t> written_ns_;  ///< By id.
};

}  // namespace

KnownElement crop_sink() {
  KnownElement made{
      {"crops",
       "Writes each object into a picture of its own",
       Role::kSink,
       {{"path",
         "Output files: faces/{number}-{label}.jpg, or .png. {number} counts, {stream} is the stream's number, "
         "{label} and "
         "{id} are those of the object, {time_ms} is the frame's time",
         std::string("{number}.jpg"), true},
        {"labels", "Writes only objects with these labels, separated by commas; empty: all", std::string()},
        {"min_size", "Least width and height of an object's box in pixels", 16.0, false, 0, 1e6},
        {"grow", "Part of its size by which the object's box grows on each side", 0.0, false, 0, 10},
        {"every_s", "Writes a tracked object again after so many seconds; 0: in each frame", 0.0, false, 0, 1e6},
        {"limit", "Pictures after which the element fails, so that a disk does not fill", std::int64_t{100'000}, false,
         1, 1e9},
        {"codec", "Encoder of FFmpeg; empty: the usual one for such files", std::string()},
        {"encoder_options", "More options of FFmpeg's encoder: name=value:name=value", std::string()}},
       false,
       true},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<CropSink>(given, environment);
      }};
  made.description.files = &NumberedPath::files_before;
  return made;
}

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
