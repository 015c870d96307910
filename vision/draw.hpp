// SPDX-License-Identifier: Apache-2.0
// Boxes and labels drawn straight into a frame's planes, whatever its format.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/graph/input_stage/spec.hpp>
#include <tenon/vision/detection.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct Colour {
  std::uint8_t red = 255, green = 255, blue = 255;
  friend bool operator==(const Colour&, const Colour&) = default;
};
/// Black or white, whichever is more readable on `background`.
TENON_API Colour readable_on(Colour background);

/// The colour that a text names: "#ff8800", or red, green, blue, yellow, orange, purple, cyan, pink, white, grey, black; nothing for others.
TENON_API std::optional<Colour> colour_of(std::string_view text);

/// The colour of a label, the same in every run; neighbouring ids have clearly different ones.
TENON_API Colour label_colour(int label_id);

/// A canvas over a frame's planes: any format that the input stage reads. Everything is clipped to the
/// picture. The colour is converted to the frame's own space and range; alpha samples are left alone.
class TENON_API Canvas {
 public:
  /// @errors kFailedPrecondition: planes that the host cannot reach or may not write (copy the frame first).
  ///         kUnimplemented: a format that is not known plane by plane.
  explicit Canvas(const Frame& frame);

  /// Size of the upright picture. All coordinates refer to it, however the frame is stored.
  int width() const { return width_; }
  int height() const { return height_; }
  /// Fills pixels [x1, x2) x [y1, y2).
  void fill(int x1, int y1, int x2, int y2, Colour colour);
  /// Mixes `colour` into pixels [x1, x2) x [y1, y2). @param opacity  0..1: 1 is fill().
  void blend(int x1, int y1, int x2, int y2, Colour colour, double opacity);
  /// A line between the centres of two pixels.
  void line(int x1, int y1, int x2, int y2, int thickness, Colour colour);
  /// The outline of a rectangle, `thickness` pixels wide, inside it.
  void outline(int x1, int y1, int x2, int y2, int thickness, Colour colour);
  /// Printable ASCII from the top left corner on, each dot `scale` pixels wide; other characters become '?'.
  void text(int x, int y, std::string_view text, int scale, Colour colour);
  static int text_width(std::string_view text, int scale);
  static int text_height(int scale);

 private:
  struct Paint {
    std::uint16_t value[3];
  };
  Paint paint(Colour colour) const;
  /// @param weight  The paint's share, of 256; the rest is what is there.
  void fill_samples(int x1, int y1, int x2, int y2, const Paint& paint, unsigned weight = 256);

  FrameLayout layout_;
  std::array<PlaneView, 3> planes_;
  int width_ = 0, height_ = 0, stored_width_ = 0, stored_height_ = 0;
  Rotation rotation_ = Rotation::kNone;
  double luma_red_ = 0.299, luma_blue_ = 0.114;
  bool full_range_ = false;
};

struct DrawOptions {
  bool labels = true;
  bool scores = true;
  int thickness_px = 0;  ///< 0: 1/240 of the height, at least 2.
  int text_scale = 0;    ///< 0: 1/360 of the height, at least 1.
  /// One for each detection; empty: those of their labels.
  std::span<const Colour> colours = {};
  bool has_bars = true;  ///< Labels lie on bars of their colour; without, they have that colour themselves.
};

/// Draws every detection: an outline in its label's colour, and the label on a filled bar above it (inside if there
/// is no room above). @errors as Canvas.
TENON_API void draw(const Frame& frame, std::span<const Detection> detections, const DrawOptions& options = {});

}  // namespace vision
}  // namespace v1
}  // namespace tenon
