// SPDX-License-Identifier: Apache-2.0
// Masks in run lengths, the form in which COCO's files have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// The pixels of an object in a picture, as runs down the columns from the left: the lengths of runs of 0 and of 1 by turns, beginning
/// with 0. Agrees with pycocotools pixel by pixel.
/// @source COCO's data format (cocodataset.org, "Data format"); the outline of polygons is drawn at five times the size, as pycocotools 2.0
///         does.
class TENON_API MaskRuns {
 public:
  /// No picture: what an object without a mask has.
  MaskRuns() = default;
  /// @errors kInvalidArgument: the runs are not height * width pixels.
  MaskRuns(std::size_t height, std::size_t width, std::vector<std::uint32_t> runs);
  /// Reads COCO's "compressed" text: numbers of six-bit characters from '0' on, from the fourth on as differences.
  /// @errors kInvalidArgument: the text ends within a number, or is not height * width pixels.
  static MaskRuns from_text(std::size_t height, std::size_t width, std::string_view text);
  /// The union of polygons. @param polygons  x and y of corners by turns, at least three corners each, in pixels.
  /// @errors kInvalidArgument: a polygon of another number of values, or a value that is not finite or is beyond 65536.
  static MaskRuns from_polygons(std::size_t height, std::size_t width, std::span<const std::vector<double>> polygons);
  /// From a picture row by row; pixels other than 0 belong to the object. @param pixels  height * width.
  static MaskRuns from_pixels(std::size_t height, std::size_t width, std::span<const std::uint8_t> pixels);

  explicit operator bool() const { return height_ > 0; }
  std::size_t height() const { return height_; }
  std::size_t width() const { return width_; }
  const std::vector<std::uint32_t>& runs() const { return runs_; }
  std::uint64_t area() const;
  /// Pixels of both. @pre Both have one size. @cost linear in the runs.
  std::uint64_t shared_area(const MaskRuns& other) const;

 private:
  static MaskRuns of_polygon(std::size_t height, std::size_t width, const std::vector<double>& corners);
  void join(const MaskRuns& other);

  std::size_t height_ = 0, width_ = 0;
  std::vector<std::uint32_t> runs_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
