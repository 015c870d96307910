// SPDX-License-Identifier: Apache-2.0
// Paints into the planes of a frame.
#include <tenon/vision/draw.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/font.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr Colour kPalette[] = {{230, 60, 50},  {60, 180, 75},  {30, 120, 230}, {250, 190, 30},
                               {170, 60, 200}, {40, 200, 210}, {245, 130, 40}, {150, 200, 40},
                               {220, 80, 160}, {90, 90, 230},  {0, 150, 120},  {180, 130, 90}};

/// A coordinate as a pixel, clamped to the range of an int.
int pixel(float value) { return static_cast<int>(std::lround(std::clamp(value, -1e6f, 1e6f))); }

}  // namespace

Colour readable_on(Colour background) {
  const int brightness = 299 * background.red + 587 * background.green + 114 * background.blue;
  return brightness > 140000 ? Colour{0, 0, 0} : Colour{255, 255, 255};
}

std::optional<Colour> colour_of(std::string_view text) {
  struct Named {
    std::string_view name;
    Colour colour;
  };
  constexpr Named kNamed[] = {{"red", {230, 60, 50}},     {"green", {60, 180, 75}},   {"blue", {30, 120, 230}},
                              {"yellow", {250, 220, 30}}, {"orange", {245, 130, 40}}, {"purple", {170, 60, 200}},
                              {"cyan", {40, 200, 210}},   {"pink", {220, 80, 160}},   {"white", {255, 255, 255}},
                              {"grey", {128, 128, 128}},  {"black", {0, 0, 0}}};
  for (const Named& one : kNamed)
    if (one.name == text) return one.colour;
  if (text.size() != 7 || text[0] != '#') return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + 7, value, 16);
  if (error != std::errc() || end != text.data() + 7) return std::nullopt;
  return Colour{static_cast<std::uint8_t>(value >> 16), static_cast<std::uint8_t>(value >> 8),
                static_cast<std::uint8_t>(value)};
}

Colour label_colour(int label_id) { return kPalette[static_cast<unsigned>(label_id) % std::size(kPalette)]; }

Canvas::Canvas(const Frame& frame) : layout_(frame_layout(frame.info())) {
  const FrameInfo& info = frame.info();
  if (frame.plane_count() < layout_.plane_count)
    throw Error(Code::kFailedPrecondition, "drawing: the frame has " + std::to_string(frame.plane_count()) +
                                               " planes, " + to_string(info.format) + " has " +
                                               std::to_string(layout_.plane_count));
  for (std::size_t plane = 0; plane < layout_.plane_count; ++plane) {
    const Tensor& tensor = frame.plane(plane);
    if (!tensor.is_host_addressable() || !tensor.is_writable())
      throw Error(Code::kFailedPrecondition,
                  "drawing: plane " + std::to_string(plane) + " (" + to_string(tensor) + ") " +
                      (tensor.is_host_addressable() ? "may not be written: a decoder or another reader holds it"
                                                    : "cannot be reached from the host") +
                      "; draw on a copy of the frame");
  }
  InputStageSpec shape;
  shape.layout = layout_;
  shape.source_width = info.width_px;
  shape.source_height = info.height_px;
  planes_ = plane_views(shape, frame.planes());
  stored_width_ = static_cast<int>(info.width_px);
  stored_height_ = static_cast<int>(info.height_px);
  width_ = static_cast<int>(info.upright_width_px());
  height_ = static_cast<int>(info.upright_height_px());
  rotation_ = info.rotation;
  const LumaWeights luma = luma_weights(resolved_colour_space(info));
  luma_red_ = luma.red, luma_blue_ = luma.blue;
  full_range_ = resolved_colour_range(info) == ColourRange::kFull;
}

Canvas::Paint Canvas::paint(Colour colour) const {
  const double r = colour.red / 255.0, g = colour.green / 255.0, b = colour.blue / 255.0;
  const double y = luma_red_ * r + (1 - luma_red_ - luma_blue_) * g + luma_blue_ * b;
  const double unit = 1 << (layout_.bits - 8), top = 256 * unit - 1;
  const double luma = full_range_ ? top * y : unit * (16 + 219 * y);
  double value[3] = {top * r, top * g, top * b};
  if (layout_.is_yuv) {
    const double u = (b - y) / (2 * (1 - luma_blue_)), v = (r - y) / (2 * (1 - luma_red_));
    value[1] = 128 * unit + (full_range_ ? top : 224 * unit) * u;
    value[2] = 128 * unit + (full_range_ ? top : 224 * unit) * v;
  }
  if (layout_.is_yuv || layout_.component_count == 1) value[0] = luma;
  Paint paint{};
  for (std::size_t k = 0; k < 3; ++k)
    paint.value[k] = static_cast<std::uint16_t>(std::lround(std::clamp(value[k], 0.0, top)));
  return paint;
}

void Canvas::fill_samples(int x1, int y1, int x2, int y2, const Paint& paint, unsigned weight) {
  x1 = std::max(x1, 0), y1 = std::max(y1, 0), x2 = std::min(x2, width_), y2 = std::min(y2, height_);
  if (x1 >= x2 || y1 >= y2) return;
  if (rotation_ != Rotation::kNone) {
    const auto at = [](int value) { return static_cast<std::size_t>(value); };
    const PixelRect r =
        stored_rect({at(x1), at(y1), at(x2 - x1), at(y2 - y1)}, rotation_, at(stored_width_), at(stored_height_));
    x1 = static_cast<int>(r.x), y1 = static_cast<int>(r.y);
    x2 = static_cast<int>(r.x + r.width), y2 = static_cast<int>(r.y + r.height);
  }
  // A shared chroma sample is painted if its centre is inside; the last of an odd extent has no second half.
  const auto begin = [](int at, int shift) { return at >> shift; };
  const auto end = [](int at, int extent, int shift) { return (at == extent ? at + (1 << shift) - 1 : at) >> shift; };
  for (std::size_t k = 0; k < layout_.component_count; ++k) {
    const FrameComponent& c = layout_.components[k];
    const PlaneView& plane = planes_[c.plane];
    const int left = begin(x1, c.shift_x), right = end(x2, stored_width_, c.shift_x);
    for (int y = begin(y1, c.shift_y); y < end(y2, stored_height_, c.shift_y); ++y) {
      auto* row = static_cast<std::uint8_t*>(const_cast<void*>(plane.data)) + y * plane.pitch_bytes;
      const unsigned value = paint.value[k];
      const auto mixed = [&](unsigned old) { return (old * (256 - weight) + value * weight + 128) / 256; };
      if (layout_.bits > 8) {
        auto* samples = reinterpret_cast<std::uint16_t*>(row) + c.offset;
        for (int x = left; x < right; ++x)
          samples[x * c.step] =
              layout_.sample_of(static_cast<std::uint16_t>(mixed(layout_.value_of(samples[x * c.step]))));
      } else if (weight < 256) {
        for (int x = left; x < right; ++x) {
          auto& sample = row[x * c.step + c.offset];
          sample = static_cast<std::uint8_t>(mixed(sample));
        }
      } else if (c.step == 1) {
        if (left < right) std::fill(row + left, row + right, static_cast<std::uint8_t>(value));
      } else {
        for (int x = left; x < right; ++x) row[x * c.step + c.offset] = static_cast<std::uint8_t>(value);
      }
    }
  }
}

void Canvas::fill(int x1, int y1, int x2, int y2, Colour colour) { fill_samples(x1, y1, x2, y2, paint(colour)); }

void Canvas::blend(int x1, int y1, int x2, int y2, Colour colour, double opacity) {
  fill_samples(x1, y1, x2, y2, paint(colour), static_cast<unsigned>(std::lround(std::clamp(opacity, 0.0, 1.0) * 256)));
}

void Canvas::line(int x1, int y1, int x2, int y2, int thickness, Colour colour) {
  if (thickness < 1) return;
  // Coordinates far outside are clamped, so that they cost no more than a few widths of the picture.
  const auto near_x = [this](int x) { return std::clamp(x, -width_, 2 * width_); };
  const auto near_y = [this](int y) { return std::clamp(y, -height_, 2 * height_); };
  x1 = near_x(x1), x2 = near_x(x2), y1 = near_y(y1), y2 = near_y(y2);
  const Paint p = paint(colour);
  const int steps = std::max({std::abs(x2 - x1), std::abs(y2 - y1), 1}), back = (thickness - 1) / 2;
  for (int i = 0; i <= steps; ++i) {
    const int x = x1 + (x2 - x1) * i / steps - back, y = y1 + (y2 - y1) * i / steps - back;
    fill_samples(x, y, x + thickness, y + thickness, p);
  }
}

void Canvas::outline(int x1, int y1, int x2, int y2, int thickness, Colour colour) {
  if (x1 >= x2 || y1 >= y2 || thickness < 1) return;
  const Paint p = paint(colour);
  const int t = std::min({thickness, x2 - x1, y2 - y1});
  fill_samples(x1, y1, x2, y1 + t, p);
  fill_samples(x1, y2 - t, x2, y2, p);
  fill_samples(x1, y1, x1 + t, y2, p);
  fill_samples(x2 - t, y1, x2, y2, p);
}

int Canvas::text_width(std::string_view text, int scale) {
  return text.empty() ? 0
                      : (static_cast<int>(std::min<std::size_t>(text.size(), 4096)) * (kGlyphWidth + 1) - 1) * scale;
}

int Canvas::text_height(int scale) { return kGlyphHeight * scale; }

void Canvas::text(int x, int y, std::string_view text, int scale, Colour colour) {
  if (scale < 1) return;
  const Paint p = paint(colour);
  for (const char character : text) {
    if (x >= width_) return;
    const int code = static_cast<unsigned char>(character);
    const std::uint8_t* glyph = kFont[(code >= 32 && code < 127 ? code : '?') - 32];
    for (int row = 0; row < kGlyphHeight; ++row) {
      // Neighbouring dots form one rectangle: fewer calls, and chroma of a thin stroke is not split.
      for (int column = 0; column < kGlyphWidth; ++column) {
        int run = 0;
        while (column + run < kGlyphWidth && (glyph[row] >> (kGlyphWidth - 1 - column - run) & 1)) ++run;
        if (run)
          fill_samples(x + column * scale, y + row * scale, x + (column + run) * scale, y + (row + 1) * scale, p);
        column += run;
      }
    }
    x += (kGlyphWidth + 1) * scale;
  }
}

void draw(const Frame& frame, std::span<const Detection> detections, const DrawOptions& options) {
  Canvas canvas(frame);
  const int thickness = options.thickness_px > 0 ? options.thickness_px : std::max(2, (canvas.height() + 120) / 240);
  const int scale = options.text_scale > 0 ? options.text_scale : std::max(1, (canvas.height() + 180) / 360);
  // The best detection is drawn last, so that it lies on top.
  for (std::size_t i = detections.size(); i-- > 0;) {
    const Detection& d = detections[i];
    if (!std::isfinite(d.box.x1) || !std::isfinite(d.box.y1) || !std::isfinite(d.box.x2) || !std::isfinite(d.box.y2))
      continue;
    const int x1 = pixel(d.box.x1), y1 = pixel(d.box.y1), x2 = pixel(d.box.x2), y2 = pixel(d.box.y2);
    const Colour colour = i < options.colours.size() ? options.colours[i] : label_colour(d.label_id);
    canvas.outline(x1, y1, x2, y2, thickness, colour);
    if (!options.labels) continue;
    char score[16] = "";
    if (options.scores)
      std::snprintf(score, sizeof(score), " %.2f", static_cast<double>(std::clamp(d.score, 0.0f, 99.0f)));
    const int name_width = Canvas::text_width(d.label, scale), gap = options.scores && !d.label.empty() ? scale : 0;
    const int width = name_width + gap + Canvas::text_width(score, scale) + 4 * scale;
    const int height = Canvas::text_height(scale) + 4 * scale;
    const int top = y1 - height >= 0 ? y1 - height : std::max(y1, 0);
    const int left = std::max(0, std::min(x1, canvas.width() - width));
    const Colour letters = options.has_bars ? readable_on(colour) : colour;
    if (options.has_bars) canvas.fill(left, top, left + width, top + height, colour);
    canvas.text(left + 2 * scale, top + 2 * scale, d.label, scale, letters);
    canvas.text(left + 2 * scale + name_width + gap, top + 2 * scale, score, scale, letters);
  }
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
