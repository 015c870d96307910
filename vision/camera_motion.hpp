// SPDX-License-Identifier: Apache-2.0
// How the camera has moved from picture to picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/vision/small_luma.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Where points of the picture before are in the next one: (a x - b y + x0, b x + a y + y0). In pixels of the upright picture.
struct CameraChange {
  double a = 1, b = 0;  ///< Scale and turn.
  double x = 0, y = 0;
  friend bool operator==(const CameraChange&, const CameraChange&) = default;
};

/// Finds blocks of a small picture of luma in the next one, and the shift, turn and scale that most of them agree on. Blocks
/// without texture are left out, and so are those on objects that move by themselves, up to about a quarter of all.
/// Shifts up to a fifteenth of the picture's width are found.
/// @thread one at a time. @cost one pass over the luma plane and some millions of differences; allocates nothing while pictures have
/// the same info.
class TENON_API CameraMotion {
 public:
  CameraMotion() = default;
  /// @param frame  In host memory. @return The change since the last frame; none if it is the first one, of another size, or
  /// too few blocks agree. @errors as frame_layout()
  CameraChange update(const Frame& frame);
  void reset() { luma_.reset(); }

 private:
  /// A small picture of 8 bits, and one of half its size.
  struct Levels {
    std::vector<std::uint8_t> fine, coarse;
  };
  struct Point {
    double x = 0, y = 0;
  };
  /// A block's middle in the picture before, and in this one.
  struct Found {
    Point from, to;
  };

  void begin();
  void fill(Levels& levels);
  void find_blocks();
  bool find(std::uint32_t left, std::uint32_t top, Point& shift) const;
  CameraChange fit();
  std::size_t keep_agreeing(const CameraChange& change);

  SmallLuma luma_{320};
  std::uint32_t width_ = 0, height_ = 0;  ///< The size of the fine picture; even.
  Levels now_, before_;
  std::vector<Found> found_, agreeing_;
  std::vector<double> first_, second_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
