// SPDX-License-Identifier: Apache-2.0
// The transform "mosaic": joins several streams side by side into one picture.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/overlay/cells.hpp>
#include <tenon/elements/overlay/known.hpp>
#include <tenon/elements/overlay/moved.hpp>
#include <tenon/elements/overlay/stage.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/vision/draw.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {
namespace {

constexpr std::size_t kPixel = 3;

/// A stream and its place in the picture.
struct Tile {
  PixelRect place;
  std::optional<Stage> stage;
  std::optional<Cells> cells;
};

class Mosaic final : public Transform {
 public:
  Mosaic(const Parameters& given, const Environment& environment)
      : columns_(static_cast<std::size_t>(given.integer("columns"))),
        fps_(given.number("fps")),
        wait_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double, std::milli>(given.number("wait_ms")))),
        has_titles_(given.flag("titles")),
        host_(environment.ledger),
        frames_(host_context()),
        ledger_(*environment.ledger) {
    info_.format = kRgb24;
    info_.width_px = static_cast<std::uint32_t>(given.integer("width"));
    info_.height_px = static_cast<std::uint32_t>(given.integer("height"));
    for (const std::uint32_t stream : environment.streams)
      tiles_[stream].cells.emplace(fps_, static_cast<std::size_t>(given.integer("ahead")));
    arrange();
  }

  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override {
    tiles_.at(stream).cells->begin(next_tick_, in.frames_per_second, in.is_live);
    StreamInfo out = in;
    out.frame = info_;
    out.frames_per_second = fps_;
    return out;
  }
  void allocate(std::uint32_t, const Requirements& wanted, std::span<const Party> readers) override {
    frames_.allocate({wanted, readers});
  }

  void process(Item item, Output& output) override {
    Tile& tile = tiles_.at(item.stream);
    const Frame frame = host_.map(item.frame);
    tile.stage->prepare(frame.info());
    Cell cell;
    cell.arrived = Clock::now();
    cell.pixels = tile.cells->spare();
    cell.pixels.resize(tile.place.width * tile.place.height * kPixel);
    tile.stage->run(frame, cell.pixels.data(), ledger_);
    cell.known = metadata::find(item.frame);
    cell.geometry = tile.stage->geometry();
    tile.cells->add(std::move(cell), item.frame.timestamp_ns(), next_tick_);
    show_known(item.stream, output);
    proceed(output);  // The pipeline only calls it when no frame waits.
  }

  /// The time at which the mosaic stops waiting for streams that are live or have not begun. They keep their last picture.
  std::optional<Deadline> due() const override {
    const Cell* const next = next_cell();
    if (!next || !has_reached(next->tick, Patience::kOver)) return std::nullopt;
    return next->arrived + wait_;
  }
  void proceed(Output& output) override {
    const std::optional<Deadline> due = this->due();
    if (due && *due <= Clock::now()) show(next_cell()->tick, tiles_.begin()->first, output);
  }
  void end(std::uint32_t stream, Output& output) override {
    tiles_.at(stream).cells->end();
    show_known(stream, output);
  }
  void interrupt() noexcept override {
    is_interrupted_ = true;
    frames_.interrupt();
  }

 private:
  enum class Patience : std::uint8_t { kWaits, kOver };

  /// The earliest picture of all streams that has not been shown yet.
  const Cell* next_cell() const {
    const Cell* first = nullptr;
    for (const auto& [stream, tile] : tiles_)
      if (const Cell* const next = tile.cells->next(); next && (!first || next->tick < first->tick)) first = next;
    return first;
  }
  /// Whether it is certain which picture each stream shows at `tick`.
  bool has_reached(std::int64_t tick, Patience patience) const {
    return std::all_of(tiles_.begin(), tiles_.end(), [&](const auto& one) {
      const Cells& cells = *one.second.cells;
      if (!cells.has_begun()) return has_shown_ || patience == Patience::kOver;
      return cells.has_reached(tick) || (cells.is_live() && patience == Patience::kOver);
    });
  }
  void show_known(std::uint32_t stream, Output& output) {
    for (const Cell* next = next_cell(); next && has_reached(next->tick, Patience::kWaits) && !is_interrupted_;
         next = next_cell())
      show(next->tick, stream, output);
  }

  /// Gives each stream its place.
  void arrange() {
    const std::size_t count = std::max<std::size_t>(1, tiles_.size());
    const auto square = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
    const std::size_t columns = std::min(columns_ == 0 ? square : columns_, count),
                      rows = (count + columns - 1) / columns;
    std::size_t index = 0;
    for (auto& [stream, tile] : tiles_) {
      const std::size_t x = index % columns, y = index / columns;
      const auto at = [](std::size_t extent, std::size_t part, std::size_t parts) { return extent * part / parts; };
      const std::size_t left = at(info_.width_px, x, columns), top = at(info_.height_px, y, rows);
      tile.place = {left, top, at(info_.width_px, x + 1, columns) - left, at(info_.height_px, y + 1, rows) - top};
      InputStageOptions options;
      options.width = tile.place.width;
      options.height = tile.place.height;
      options.type = ElementType::kU8;
      options.layout = ImageLayout::kNhwc;
      options.fit = Fit::kLetterbox;
      tile.stage.emplace(options);
      ++index;
    }
  }

  /// A frame to draw into. @return Nothing: the element was interrupted.
  std::optional<Frame> acquire() {
    try {
      return frames_.acquire(info_);
    } catch (const Error& error) {
      if (error.code() != Code::kCancelled) throw;
      return std::nullopt;
    }
  }

  void show(std::int64_t tick, std::uint32_t stream, Output& output) {
    static const EdgeId edge = register_edge("cells->mosaic");
    std::optional<Frame> whole = acquire();
    if (!whole) return;
    const Tensor& plane = whole->plane(0);
    const std::ptrdiff_t pitch = plane.byte_strides()[0];
    auto* const pixels = static_cast<std::byte*>(plane.data());
    for (std::uint32_t y = 0; y < info_.height_px; ++y) std::memset(pixels + pitch * y, 0, info_.width_px * kPixel);
    metadata::Collection& all = metadata::of(*whole);
    std::uint64_t copied = 0;
    for (auto& [number, tile] : tiles_) {
      const Cell* const cell = tile.cells->show(tick);
      if (!cell) continue;
      copy(*cell, tile.place, pixels, pitch);
      copied += cell->pixels.size();
      if (cell->known) add_moved(*cell->known, placement(*cell, tile.place), all);
    }
    ledger_.book_map(edge, false);
    ledger_.book_copied(edge, copied);
    if (has_titles_) write_titles(*whole);
    whole->set_timestamp_ns(std::llround(static_cast<double>(tick) * 1e9 / fps_));
    next_tick_ = tick + 1;
    has_shown_ = true;
    output.emit({stream, std::move(*whole)});
  }

  static void copy(const Cell& cell, const PixelRect& place, std::byte* pixels, std::ptrdiff_t pitch) {
    for (std::size_t y = 0; y < place.height; ++y)
      std::memcpy(pixels + pitch * static_cast<std::ptrdiff_t>(place.y + y) + place.x * kPixel,
                  cell.pixels.data() + y * place.width * kPixel, place.width * kPixel);
  }

  static Placement placement(const Cell& cell, const PixelRect& place) {
    return {[&](double at) { return cell.geometry.target_x(at) + static_cast<double>(place.x); },
            [&](double at) { return cell.geometry.target_y(at) + static_cast<double>(place.y); }};
  }

  void write_titles(const Frame& whole) const {
    vision::Canvas canvas(whole);
    const int scale = std::max(1, canvas.height() / 360);
    for (const auto& [stream, tile] : tiles_) {
      const std::string title = std::to_string(stream);
      const int x = static_cast<int>(tile.place.x), y = static_cast<int>(tile.place.y + tile.place.height);
      const int top = y - vision::Canvas::text_height(scale) - 4 * scale;
      canvas.fill(x, top, x + vision::Canvas::text_width(title, scale) + 4 * scale, y, {0, 0, 0});
      canvas.text(x + 2 * scale, top + 2 * scale, title, scale, {255, 255, 255});
    }
  }

  const std::size_t columns_;
  const double fps_;
  const Clock::duration wait_;
  const bool has_titles_;
  FrameInfo info_;
  HostFrames host_;
  OutputFrames frames_;
  Ledger& ledger_;
  std::map<std::uint32_t, Tile> tiles_;
  std::int64_t next_tick_ = 0;
  bool has_shown_ = false;
  std::atomic<bool> is_interrupted_{false};
};

}  // namespace

KnownElement mosaic() {
  Description made;
  made.name = "mosaic";
  made.about = "Joins several streams side by side into one picture, which is a stream of its own";
  made.role = Role::kTransform;
  made.parameters = {
      {"width", "Width of the joined picture in pixels", std::int64_t{1280}, false, 16, 16384},
      {"height", "Height of the joined picture in pixels", std::int64_t{720}, false, 16, 16384},
      {"columns", "Number of columns; 0: as many as rows", std::int64_t{0}, false, 0, 64},
      {"fps", "Maximum pictures per second; a picture is sent when a stream has a new one", 30.0, false, 0.1, 1000},
      {"wait_ms",
       "How long a picture waits for live streams that are late, in milliseconds; it waits for other streams until "
       "they come",
       100.0, false, 1, 60000},
      {"ahead",
       "Pictures that a stream may be ahead of others; when there are more, every second one of them is dropped",
       std::int64_t{60}, false, 2, 10000},
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
