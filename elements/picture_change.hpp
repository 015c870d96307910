// SPDX-License-Identifier: Apache-2.0
// The common parameters of elements that convert pictures (crop, size, format), and what they mean for a given picture.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// The formats that "convert" takes and gives, the best first: those that are read pixel by pixel, and words of RGB.
TENON_API std::vector<PixelFormat> convertible_formats();

/// The conversion that the parameters of a converter ask for.
class TENON_API VideoConvertParams {
 public:
  /// A rectangle of the picture as it is stored, in pixels.
  struct Part {
    std::uint32_t x = 0, y = 0, width = 0, height = 0;
  };

  /// The parameters that all converters have.
  static const std::vector<Parameter>& parameters();
  /// Those of the converter on the CPU, which has more.
  static const std::vector<Parameter>& cpu_parameters();
  /// @errors kInvalidArgument: an unknown format; the message proposes the nearest name.
  explicit VideoConvertParams(const Parameters& given);
  /// The same conversion with width and height changed for each other.
  VideoConvertParams sideways() const;

  /// The part of a picture like `in` that is used. @errors kOutOfRange: the crop does not lie in the picture.
  Part part_of(const FrameInfo& in) const;
  /// The result for a picture like `in`. If only one extent is given, the result keeps the proportions of the part. Extents of
  /// formats with halved chroma are even. @errors as part_of()
  FrameInfo result_of(const FrameInfo& in) const;
  /// The stream of results for a stream `in`, whose size need not be known. Pixels that are stretched have another aspect; an
  /// extent that follows from the other one leaves it. @errors as part_of()
  StreamInfo stream_of(const StreamInfo& in) const;
  /// Copies the timestamp and the metadata of `source` to `result`. Boxes and points are moved to where they are in `result`.
  /// @param used  The part of `source` that `result` shows.
  static void carry(const Frame& source, const Part& used, Frame& result);

 private:
  std::uint32_t x_, y_, crop_width_, crop_height_, width_, height_;
  std::optional<PixelFormat> format_;
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
