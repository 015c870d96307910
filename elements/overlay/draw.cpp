// SPDX-License-Identifier: Apache-2.0
// The transform "draw": draws a frame's metadata on a copy of the frame.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/frame_layout.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/overlay/known.hpp>
#include <tenon/elements/overlay/moved.hpp>
#include <tenon/elements/places.hpp>
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
  bool boxes, labels, scores, ids, masks, keypoints, texts;
  int thickness, text_scale;
  double mask_opacity;
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

std::vector<vision::Detection> objects_of(const Collection& known, const Shown& shown) {
  std::vector<vision::Detection> objects;
  for (const auto& object : known.all<metadata::Detection>()) {
    const metadata::Box& box = object->box;
    objects.push_back(
        {{box.x1, box.y1, box.x2, box.y2}, object->label_id, object->score, label_of(known, object, shown)});
  }
  return objects;
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
    return static_cast<std::ptrdiff_t>(std::clamp(at / extent * cells, 0.0, cells - 1));
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

/// Writes the classes of the whole frame, line by line from the top left corner.
void draw_texts(Canvas& canvas, const Collection& known, int scale) {
  int y = 2 * scale;
  for (const auto& text : known.of<metadata::Classification>(metadata::kFrame)) {
    const std::string line = text->label + " " + std::to_string(pixel(100.0 * static_cast<double>(text->score))) + "%";
    canvas.fill(0, y - 2 * scale, Canvas::text_width(line, scale) + 4 * scale,
                y + Canvas::text_height(scale) + 2 * scale, {0, 0, 0});
    canvas.text(2 * scale, y, line, scale, {255, 255, 255});
    y += Canvas::text_height(scale) + 4 * scale;
  }
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
               static_cast<int>(given.integer("thickness")),
               static_cast<int>(given.integer("text_scale")),
               given.number("mask_opacity")},
        host_(environment.ledger),
        copies_(host_context()),
        ledger_(*environment.ledger) {}

  void process(std::uint32_t, Frame& frame) override {
    const auto known = metadata::find(frame);
    if (!known || !has_something(*known)) return;
    // The decoder may still read its pictures, and other nodes may have this one, so it must not be changed in place.
    frame = copy_of(frame);
    draw_all(frame, *known);
  }
  void interrupt() noexcept override { copies_.interrupt(); }

 private:
  bool has_something(const Collection& known) const {
    return (shown_.boxes && known.first<metadata::Detection>()) ||
           (shown_.masks && known.first<metadata::Segmentation>()) ||
           (shown_.texts && known.first<metadata::Classification>()) ||
           (shown_.keypoints && known.first<metadata::TensorOutput>());
  }

  Frame copy_of(const Frame& frame) {
    static const EdgeId edge = register_edge("frame->drawn");
    const Frame from = host_.map(frame);
    Frame to = copies_.acquire(from.info());
    for (std::size_t p = 0; p < from.plane_count(); ++p) {
      Tensor plane = to.plane(p);
      from.plane(p).copy_to(plane);
    }
    to.set_timestamp_ns(frame.timestamp_ns());
    to.metadata() = frame.metadata();
    ledger_.book_map(edge, false);
    ledger_.book_copied(edge, to.size_bytes());
    return to;
  }

  void draw_all(const Frame& frame, const Collection& known) const {
    Canvas canvas(frame);
    const int thickness = shown_.thickness > 0 ? shown_.thickness : std::max(2, (canvas.height() + 120) / 240);
    const int scale = shown_.text_scale > 0 ? shown_.text_scale : std::max(1, (canvas.height() + 180) / 360);
    if (shown_.masks)
      for (const auto& mask : known.all<metadata::Segmentation>()) draw_mask(canvas, *mask.value, shown_.mask_opacity);
    if (shown_.boxes) vision::draw(frame, objects_of(known, shown_), {shown_.labels, shown_.scores, thickness, scale});
    if (shown_.keypoints) {
      for (const auto& points : known.all<metadata::TensorOutput>()) {
        if (!points->has_points()) continue;
        points->format == "polygon" ? draw_polygon(canvas, points->tensor, thickness)
                                    : draw_points(canvas, points->tensor, thickness);
      }
    }
    if (shown_.texts) draw_texts(canvas, known, scale);
  }

  const Shown shown_;
  HostFrames host_;
  OutputFrames copies_;
  Ledger& ledger_;
};

}  // namespace

KnownElement draw() {
  Description made;
  made.name = "draw";
  made.about =
      "Draws a frame's metadata on a copy of it: boxes, labels, masks, keypoints; frames without metadata are passed "
      "on";
  made.role = Role::kTransformInplace;
  made.formats = readable_formats();
  made.parameters = {
      {"boxes", "Draws the boxes of objects", true},
      {"labels", "Writes the labels of objects on their boxes", true},
      {"scores", "Writes the scores of objects on their boxes, 0 to 1", true},
      {"ids", "Writes the ids of tracked objects on their boxes", true},
      {"masks", "Draws the masks of segmentations", true},
      {"keypoints", "Draws tensors of the formats keypoints and polygon: f32 [points, x y and score], in pixels", true},
      {"texts", "Writes classes: that of an object behind its label, those of the frame in its corner", true},
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
