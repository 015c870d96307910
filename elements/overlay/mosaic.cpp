// SPDX-License-Identifier: Apache-2.0
// mosaic: several streams side by side in one picture.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/overlay/known.hpp>
#include <tenon/elements/overlay/stage.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/vision/draw.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {
namespace {

constexpr std::size_t kPixel = 3;

/// The latest picture of one stream, scaled to its place.
struct Cell {
  std::optional<Stage> stage;
  std::vector<std::byte> picture;
  std::shared_ptr<const metadata::Collection> known;  ///< In pixels of the stream's own picture.
  std::int64_t timestamp_ns = kNoTimestamp;
  PixelRect place;
  bool is_running = false, is_new = false;
};

class Mosaic final : public Transform {
 public:
  Mosaic(const Parameters& given, const Environment& environment)
      : columns_(static_cast<std::size_t>(given.integer("columns"))),
        wait_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double, std::milli>(given.number("wait_ms")))),
        has_titles_(given.flag("titles")),
        host_(environment.ledger),
        frames_(host_context()),
        ledger_(*environment.ledger) {
    info_.format = kRgb24;
    info_.width_px = static_cast<std::uint32_t>(given.integer("width"));
    info_.height_px = static_cast<std::uint32_t>(given.integer("height"));
    for (const std::uint32_t stream : environment.streams) cells_[stream];
    arrange();
  }

  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override {
    cells_.at(stream).is_running = true;
    StreamInfo out = in;
    out.frame = info_;
    return out;
  }
  void allocate(std::uint32_t, const Requirements& wanted, std::span<const Party> readers) override {
    frames_.allocate({wanted, readers});
  }

  void process(Item item, Output& output) override {
    Cell& cell = cells_[item.stream];
    const Frame frame = host_.map(item.frame);
    cell.stage->prepare(frame.info());
    cell.stage->run(frame, cell.picture.data(), ledger_);
    cell.known = metadata::find(item.frame);
    cell.timestamp_ns = item.frame.timestamp_ns();
    cell.is_new = true;
    if (!due_) due_ = Clock::now() + wait_;
    if (is_complete()) show(item.stream, output);
  }

  /// A stream that is late keeps its last picture.
  std::optional<Deadline> due() const override { return due_; }
  void proceed(Output& output) override {
    for (const auto& [stream, cell] : cells_)
      if (cell.is_new) return show(stream, output);
    due_.reset();
  }
  void end(std::uint32_t stream, Output& output) override {
    Cell& cell = cells_[stream];
    cell.is_running = false;
    if (cell.is_new && is_complete()) show(stream, output);
  }
  void interrupt() noexcept override { frames_.interrupt(); }

 private:
  bool is_complete() const {
    return std::all_of(cells_.begin(), cells_.end(),
                       [](const auto& one) { return one.second.is_new || !one.second.is_running; });
  }

  /// Gives each stream its place.
  void arrange() {
    const std::size_t count = std::max<std::size_t>(1, cells_.size());
    const auto square = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
    const std::size_t columns = std::min(columns_ == 0 ? square : columns_, count),
                      rows = (count + columns - 1) / columns;
    std::size_t index = 0;
    for (auto& [stream, cell] : cells_) {
      const std::size_t x = index % columns, y = index / columns;
      const auto at = [](std::size_t extent, std::size_t part, std::size_t parts) { return extent * part / parts; };
      const std::size_t left = at(info_.width_px, x, columns), top = at(info_.height_px, y, rows);
      cell.place = {left, top, at(info_.width_px, x + 1, columns) - left, at(info_.height_px, y + 1, rows) - top};
      InputStageOptions options;
      options.width = cell.place.width;
      options.height = cell.place.height;
      options.type = ElementType::kU8;
      options.layout = ImageLayout::kNhwc;
      options.fit = Fit::kLetterbox;
      cell.stage.emplace(options);
      cell.picture.assign(options.width * options.height * kPixel, std::byte{0});
      ++index;
    }
  }

  void show(std::uint32_t stream, Output& output) {
    static const EdgeId edge = register_edge("cells->mosaic");
    Frame whole = frames_.acquire(info_);
    const Tensor& plane = whole.plane(0);
    const std::ptrdiff_t pitch = plane.byte_strides()[0];
    auto* const pixels = static_cast<std::byte*>(plane.data());
    for (std::uint32_t y = 0; y < info_.height_px; ++y) std::memset(pixels + pitch * y, 0, info_.width_px * kPixel);
    std::uint64_t copied = 0;
    for (auto& [number, cell] : cells_) {
      for (std::size_t y = 0; y < cell.place.height; ++y)
        std::memcpy(pixels + pitch * static_cast<std::ptrdiff_t>(cell.place.y + y) + cell.place.x * kPixel,
                    cell.picture.data() + y * cell.place.width * kPixel, cell.place.width * kPixel);
      copied += cell.picture.size();
      cell.is_new = false;
    }
    ledger_.book_map(edge, false);
    ledger_.book_copied(edge, copied);
    describe(whole);
    if (has_titles_) write_titles(whole);
    due_.reset();
    output.emit({stream, std::move(whole)});
  }

  /// Time and objects of all, in pixels of the mosaic.
  void describe(Frame& whole) {
    metadata::Collection& all = metadata::of(whole);
    std::int64_t newest = last_ns_ + 1;
    for (const auto& [stream, cell] : cells_) {
      newest = std::max(newest, cell.timestamp_ns);
      if (!cell.known) continue;
      const FrameGeometry& geometry = cell.stage->geometry();
      const auto x = [&](float at) {
        return static_cast<float>(geometry.target_x(at) + static_cast<double>(cell.place.x));
      };
      const auto y = [&](float at) {
        return static_cast<float>(geometry.target_y(at) + static_cast<double>(cell.place.y));
      };
      for (const auto& object : cell.known->all<metadata::Detection>()) {
        metadata::Detection moved = *object.value;
        moved.box = {x(moved.box.x1), y(moved.box.y1), x(moved.box.x2), y(moved.box.y2)};
        const metadata::Id id = all.add(std::move(moved));
        for (const auto& text : cell.known->of<metadata::Classification>(object.id)) all.add(*text.value, id);
      }
    }
    last_ns_ = newest;
    whole.set_timestamp_ns(newest);
  }

  void write_titles(const Frame& whole) const {
    vision::Canvas canvas(whole);
    const int scale = std::max(1, canvas.height() / 360);
    for (const auto& [stream, cell] : cells_) {
      const std::string title = std::to_string(stream);
      const int x = static_cast<int>(cell.place.x), y = static_cast<int>(cell.place.y + cell.place.height);
      const int top = y - vision::Canvas::text_height(scale) - 4 * scale;
      canvas.fill(x, top, x + vision::Canvas::text_width(title, scale) + 4 * scale, y, {0, 0, 0});
      canvas.text(x + 2 * scale, top + 2 * scale, title, scale, {255, 255, 255});
    }
  }

  const std::size_t columns_;
  const Clock::duration wait_;
  const bool has_titles_;
  FrameInfo info_;
  HostFrames host_;
  OutputFrames frames_;
  Ledger& ledger_;
  std::map<std::uint32_t, Cell> cells_;
  std::optional<Deadline> due_;
  std::int64_t last_ns_ = -1;
};

}  // namespace

KnownElement mosaic() {
  Description made;
  made.name = "mosaic";
  made.about = "Several streams side by side in one picture, which is a stream of its own";
  made.role = Role::kTransform;
  made.parameters = {
      {"width", "Of the picture, in pixels", std::int64_t{1280}, false, 16, 16384},
      {"height", "Of the picture, in pixels", std::int64_t{720}, false, 16, 16384},
      {"columns", "Pictures side by side; 0: as many as rows", std::int64_t{0}, false, 0, 64},
      {"wait_ms", "How long a picture waits for streams that are late, in milliseconds", 100.0, false, 1, 60000},
      {"titles", "Writes the number of each stream on its picture", true}};
  made.is_shared = true;
  made.has_thread = true;
  made.joins = true;
  return {made, [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<Mosaic>(given, environment);
          }};
}

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
