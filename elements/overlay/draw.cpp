// SPDX-License-Identifier: Apache-2.0
// The transform "draw": draws a frame's metadata on it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/overlay/known.hpp>
#include <tenon/elements/overlay/writable.hpp>
#include <tenon/vision/draw.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {
namespace {

using metadata::Collection;
using vision::Canvas;
using vision::Colour;

struct Shown {
  bool boxes, labels, scores, ids, masks, keypoints, texts, zones;
  int thickness, text_scale;
  double mask_opacity;
  std::vector<std::string> only;                        ///< The labels that are drawn; empty: all.
  std::vector<std::pair<std::string, Colour>> colours;  ///< By label.
  bool are_colours_by_id;
  std::string text;
  bool has_bars;         ///< Texts lie on bars.
  int texts_x, texts_y;  ///< Where the classes of the frame begin.
};

/// The limbs of a person, as pairs of COCO's 17 points.
constexpr std::uint8_t kSkeleton[][2] = {{0, 1},  {0, 2},  {1, 3},  {2, 4},   {5, 6},   {5, 7},   {7, 9},   {6, 8},
                                         {8, 10}, {5, 11}, {6, 12}, {11, 12}, {11, 13}, {13, 15}, {12, 14}, {14, 16}};
constexpr std::size_t kPersonPoints = 17;
constexpr float kSeen = 0.3f;  ///< Points with a lower score are guesses.

int pixel(double value) { return static_cast<int>(std::lround(std::clamp(value, -1e6, 1e6))); }

/// The text for an object, for example "person #3: sitting".
std::string label_of(const Collection& known, const metadata::Entry<metadata::Detection>& object, const Shown& shown) {
  std::string label = object->label;
  if (shown.ids && object->track_id >= 0) label += " #" + std::to_string(object->track_id);
  if (!shown.texts) return label;
  for (const auto& text : known.of<metadata::Classification>(object.id)) label += ": " + text->label;
  return label;
}

void draw_mask(Canvas& canvas, const metadata::Segmentation& found, double opacity) {
  const Tensor& mask = found.mask;
  if (!mask.is_host_addressable() || mask.element_type() != ElementType::kU8 || mask.shape().size() != 2) return;
  const auto rows = static_cast<double>(mask.shape()[0]), columns = static_cast<double>(mask.shape()[1]);
  const double width = found.box.x2 - found.box.x1, height = found.box.y2 - found.box.y1;
  if (!(width > 0) || !(height > 0) || rows == 0 || columns == 0) return;
  const int left = std::max(0, pixel(found.box.x1)), right = std::min(canvas.width(), pixel(found.box.x2));
  const int top = std::max(0, pixel(found.box.y1)), bottom = std::min(canvas.height(), pixel(found.box.y2));
  const auto cell = [](double at, double extent, double cells) {
    const double place = at / extent * cells;  // No number, if the box is infinite.
    return place > 0 ? static_cast<std::ptrdiff_t>(std::min(place, cells - 1)) : 0;
  };
  for (int y = top; y < bottom; ++y) {
    const auto* row = static_cast<const std::uint8_t*>(mask.data()) +
                      mask.byte_strides()[0] * cell(y + 0.5 - found.box.y1, height, rows);
    const auto value = [&](int x) {
      return row[mask.byte_strides()[1] * cell(x + 0.5 - found.box.x1, width, columns)];
    };
    for (int x = left; x < right;) {
      const std::uint8_t first = value(x);
      const int begin = x;
      while (x < right && value(x) == first) ++x;
      if (first != 0) canvas.blend(begin, y, x, y + 1, vision::label_colour(first), opacity);
    }
  }
}

void draw_points(Canvas& canvas, const Tensor& points, int thickness) {
  const std::size_t count = points.shape()[0], width = points.shape()[1];
  const auto* values = points.data<float>();
  const auto is_seen = [&](std::size_t i) {
    const float* const point = values + i * width;
    return std::isfinite(point[0]) && std::isfinite(point[1]) && (width < 3 || point[2] >= kSeen);
  };
  const auto x = [&](std::size_t i) { return pixel(static_cast<double>(values[i * width])); };
  const auto y = [&](std::size_t i) { return pixel(static_cast<double>(values[i * width + 1])); };
  if (count == kPersonPoints) {
    for (const auto& [a, b] : kSkeleton)
      if (is_seen(a) && is_seen(b)) canvas.line(x(a), y(a), x(b), y(b), thickness, {250, 190, 30});
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (is_seen(i))
      canvas.fill(x(i) - thickness, y(i) - thickness, x(i) + thickness, y(i) + thickness,
                  vision::label_colour(static_cast<int>(i)));
  }
}

/// The outline of an object whose box is turned, or of a text.
void draw_polygon(Canvas& canvas, const Tensor& corners, int thickness) {
  const std::size_t count = corners.shape()[0], width = corners.shape()[1];
  const auto* values = corners.data<float>();
  for (std::size_t i = 0; i < count; ++i) {
    const float *from = values + i * width, *to = values + (i + 1) % count * width;
    if (!std::isfinite(from[0] + from[1] + to[0] + to[1])) continue;
    canvas.line(pixel(static_cast<double>(from[0])), pixel(static_cast<double>(from[1])),
                pixel(static_cast<double>(to[0])), pixel(static_cast<double>(to[1])), thickness, {90, 220, 90});
  }
}

/// Writes the classes of the whole frame, line by line.
void draw_texts(Canvas& canvas, const Collection& known, int scale, const Shown& shown) {
  const int x = shown.texts_x;
  int y = shown.texts_y + 2 * scale;
  for (const auto& text : known.of<metadata::Classification>(metadata::kFrame)) {
    const std::string line = text->label + " " + std::to_string(pixel(100.0 * static_cast<double>(text->score))) + "%";
    if (shown.has_bars)
      canvas.fill(x, y - 2 * scale, x + Canvas::text_width(line, scale) + 4 * scale,
                  y + Canvas::text_height(scale) + 2 * scale, {0, 0, 0});
    canvas.text(x + 2 * scale, y, line, scale, {255, 255, 255});
    y += Canvas::text_height(scale) + 4 * scale;
  }
}

void draw_zone(Canvas& canvas, const metadata::Zone& zone, int thickness, int scale) {
  if (zone.points.empty()) return;
  const Colour colour = zone.is_crowded ? Colour{230, 60, 50} : Colour{250, 220, 30};
  const std::size_t sides = zone.shape == metadata::Zone::Shape::kLine ? 1 : zone.points.size();
  const auto at = [](float value) { return pixel(static_cast<double>(value)); };
  for (std::size_t i = 0; i < sides; ++i) {
    const metadata::Point &from = zone.points[i], &to = zone.points[(i + 1) % zone.points.size()];
    canvas.line(at(from.x), at(from.y), at(to.x), at(to.y), thickness, colour);
  }
  const metadata::Zone::Count total = zone.total();
  const std::string text =
      zone.shape == metadata::Zone::Shape::kLine
          ? zone.name + " in " + std::to_string(total.entered) + " out " + std::to_string(total.left)
          : zone.name + " " + std::to_string(total.inside);
  const int width = Canvas::text_width(text, scale) + 4 * scale, height = Canvas::text_height(scale) + 4 * scale;
  const int x = std::clamp(at(zone.points[0].x), 0, std::max(0, canvas.width() - width));
  const int y = std::clamp(at(zone.points[0].y), 0, std::max(0, canvas.height() - height));
  canvas.fill(x, y, x + width, y + height, colour);
  canvas.text(x + 2 * scale, y + 2 * scale, text, scale, vision::readable_on(colour));
}

/// "person=red,car=#00ff00". @errors kInvalidArgument
std::vector<std::pair<std::string, Colour>> colours_of(const Parameters& given) {
  std::vector<std::pair<std::string, Colour>> colours;
  for (const std::string& one : split(given.text("colours"), ',')) {
    const std::size_t middle = one.rfind('=');
    const auto colour = middle == std::string::npos ? std::nullopt : vision::colour_of(one.substr(middle + 1));
    if (!colour)
      throw Error(Code::kInvalidArgument, given.owner() + ": parameter 'colours': \"" + one +
                                              "\" is not LABEL=COLOUR; colours are #rrggbb, red, green, blue, yellow, "
                                              "orange, purple, cyan, pink, white, grey and black");
    colours.emplace_back(one.substr(0, middle), *colour);
  }
  return colours;
}

/// Frames per second, by the clock of the machine, over the last second or more.
class Rate {
 public:
  double next(Clock::time_point now) {
    if (frames_ == 0) begin_ = now;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    if (seconds >= 1) {
      rate_ = static_cast<double>(frames_) / seconds;
      begin_ = now;
      frames_ = 0;
    }
    ++frames_;
    return rate_;
  }

 private:
  Clock::time_point begin_{};
  std::uint64_t frames_ = 0;
  double rate_ = 0;
};

EdgeId drawn_edge() {
  static const EdgeId edge = register_edge("frame->drawn");
  return edge;
}

class Draw final : public TransformInplace {
 public:
  Draw(const Parameters& given, const Environment& environment)
      : shown_{given.flag("boxes"),
               given.flag("labels"),
               given.flag("scores"),
               given.flag("ids"),
               given.flag("masks"),
               given.flag("keypoints"),
               given.flag("texts"),
               given.flag("zones"),
               static_cast<int>(given.integer("thickness")),
               static_cast<int>(given.integer("text_scale")),
               given.number("mask_opacity"),
               split(given.text("only"), ','),
               colours_of(given),
               given.text("colour_by") == "id",
               given.text("text"),
               given.flag("bars"),
               static_cast<int>(given.integer("texts_x")),
               static_cast<int>(given.integer("texts_y"))},
        writable_(environment.ledger, drawn_edge()) {}

  void process(std::uint32_t, Frame& frame) override {
    const double rate = rate_.next(Clock::now());
    const auto known = metadata::find(frame);
    if (shown_.text.empty() && (!known || !has_something(*known))) return;
    frame = writable_.of(frame);
    if (known) draw_all(frame, *known);
    if (!shown_.text.empty()) draw_text(frame, rate);
    ++frames_;
  }
  void interrupt() noexcept override { writable_.interrupt(); }

 private:
  bool has_something(const Collection& known) const {
    return (shown_.boxes && known.first<metadata::Detection>()) ||
           (shown_.masks && known.first<metadata::Segmentation>()) ||
           (shown_.texts && known.first<metadata::Classification>()) ||
           (shown_.keypoints && known.first<metadata::TensorOutput>()) ||
           (shown_.zones && known.first<metadata::Zone>());
  }

  bool is_shown(const std::string& label) const {
    return shown_.only.empty() || std::find(shown_.only.begin(), shown_.only.end(), label) != shown_.only.end();
  }

  Colour colour_of(const metadata::Detection& object) const {
    for (const auto& [label, colour] : shown_.colours)
      if (label == object.label || label == "*") return colour;
    return vision::label_colour(
        shown_.are_colours_by_id && object.track_id >= 0 ? static_cast<int>(object.track_id % 1000) : object.label_id);
  }

  void draw_boxes(const Frame& frame, const Collection& known, int thickness, int scale) {
    objects_.clear();
    colours_.clear();
    for (const auto& object : known.all<metadata::Detection>()) {
      if (!is_shown(object->label)) continue;
      const metadata::Box& box = object->box;
      objects_.push_back(
          {{box.x1, box.y1, box.x2, box.y2}, object->label_id, object->score, label_of(known, object, shown_)});
      colours_.push_back(colour_of(*object.value));
    }
    vision::draw(frame, objects_, {shown_.labels, shown_.scores, thickness, scale, colours_, shown_.has_bars});
  }

  void draw_all(const Frame& frame, const Collection& known) {
    Canvas canvas(frame);
    const int thickness = thickness_for(canvas), scale = scale_for(canvas);
    // What belongs to an object that is not shown is not shown either.
    std::set<metadata::Id> hidden;
    if (!shown_.only.empty())
      for (const auto& object : known.all<metadata::Detection>())
        if (!is_shown(object->label)) hidden.insert(object.id);
    if (shown_.masks)
      for (const auto& mask : known.all<metadata::Segmentation>())
        if (!hidden.count(mask.parent)) draw_mask(canvas, *mask.value, shown_.mask_opacity);
    if (shown_.zones)
      for (const auto& zone : known.all<metadata::Zone>()) draw_zone(canvas, *zone.value, thickness, scale);
    if (shown_.boxes) draw_boxes(frame, known, thickness, scale);
    if (shown_.keypoints) {
      for (const auto& points : known.all<metadata::TensorOutput>()) {
        if (!points->has_points() || hidden.count(points.parent)) continue;
        points->format == "polygon" ? draw_polygon(canvas, points->tensor, thickness)
                                    : draw_points(canvas, points->tensor, thickness);
      }
    }
    if (shown_.texts) draw_texts(canvas, known, scale, shown_);
  }

  /// Writes the user's text in the lower left corner.
  void draw_text(const Frame& frame, double rate) {
    Canvas canvas(frame);
    const int scale = scale_for(canvas);
    text_ = shown_.text;
    char number[32];
    std::snprintf(number, sizeof number, "%.1f", rate);
    put_in(text_, "{fps}", number);
    std::snprintf(number, sizeof number, "%llu", static_cast<unsigned long long>(frames_));
    put_in(text_, "{frame}", number);
    const std::int64_t time_ns = frame.timestamp_ns() == kNoTimestamp ? 0 : frame.timestamp_ns();
    std::snprintf(number, sizeof number, "%.3f", static_cast<double>(time_ns) * 1e-9);
    put_in(text_, "{time}", number);
    const int height = Canvas::text_height(scale) + 4 * scale, top = canvas.height() - height;
    if (shown_.has_bars) canvas.fill(0, top, Canvas::text_width(text_, scale) + 4 * scale, canvas.height(), {0, 0, 0});
    canvas.text(2 * scale, top + 2 * scale, text_, scale, {255, 255, 255});
  }

  int thickness_for(const Canvas& canvas) const {
    return shown_.thickness > 0 ? shown_.thickness : std::max(2, (canvas.height() + 120) / 240);
  }
  int scale_for(const Canvas& canvas) const {
    return shown_.text_scale > 0 ? shown_.text_scale : std::max(1, (canvas.height() + 180) / 360);
  }

  const Shown shown_;
  WritableFrames writable_;
  Rate rate_;
  std::uint64_t frames_ = 0;
  std::string text_;
  std::vector<vision::Detection> objects_;
  std::vector<Colour> colours_;
};

}  // namespace

KnownElement draw() {
  Description made;
  made.name = "draw";
  made.about =
      "Draws a frame's metadata on it, or on a copy if others use the frame: boxes, labels, masks, keypoints, zones; "
      "frames with nothing to draw are passed on";
  made.role = Role::kTransformInplace;
  made.formats = readable_formats();
  made.parameters = {
      {"boxes", "Draws the boxes of objects", true},
      {"labels", "Writes the labels of objects on their boxes", true},
      {"scores", "Writes the scores of objects on their boxes, 0 to 1", true},
      {"ids", "Writes the ids of tracked objects on their boxes", true},
      {"masks", "Draws the masks of segmentations", true},
      {"keypoints", "Draws tensors of the formats keypoints and polygon: f32 [points, x y and score], in pixels", true},
      {"zones", "Draws zones and lines with what was counted there", true},
      {"only", "Draws only objects with these labels, separated by commas; empty: all", std::string()},
      {"colours",
       "Colours of labels: person=red,car=#00a0ff,*=white (all others); other labels have colours of their own",
       std::string()},
      choice("colour_by", "Gives objects without a colour in 'colours' that of their label, or one of their id",
             "label", {"label", "id"}),
      {"text",
       "Text in the lower left corner. {fps} becomes the frames per second, {frame} the number of the frame, {time} "
       "its time "
       "in seconds",
       std::string()},
      {"texts", "Writes classes: that of an object behind its label, those of the frame from its upper left corner on",
       true},
      {"texts_x", "Where the classes of the frame begin, in pixels from its left edge", std::int64_t{0}, false, 0, 1e6},
      {"texts_y", "The same from its upper edge", std::int64_t{0}, false, 0, 1e6},
      {"bars", "Texts lie on bars; without, labels have the colour of their box", true},
      {"thickness", "Thickness of lines in pixels; 0: 1/240 of the picture's height", std::int64_t{0}, false, 0, 100},
      {"text_scale", "Pixels for each dot of a letter; 0: 1/360 of the picture's height", std::int64_t{0}, false, 0,
       32},
      {"mask_opacity", "Opacity of masks; 0: invisible, 1: covers the picture", 0.4, false, 0, 1}};
  return {made, [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<Draw>(given, environment);
          }};
}

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
