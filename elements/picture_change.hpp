// SPDX-License-Identifier: Apache-2.0
// What elements that convert pictures are told: which part, which size, which format. Their parameters, and what follows for a picture.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// How a picture is to be changed, as the parameters of a converter say.
class TENON_API VideoConvertParams {
 public:
  /// Pixels of the picture as it is stored.
  struct Part {
    std::uint32_t x = 0, y = 0, width = 0, height = 0;
  };

  /// The parameters that all converters have.
  static const std::vector<Parameter>& parameters();
  /// @errors kInvalidArgument: an unknown format; the nearest is proposed.
  explicit VideoConvertParams(const Parameters& given);

  /// Which part of a picture of `in` is used. @errors kOutOfRange: it does not lie in the picture.
  Part part_of(const FrameInfo& in) const;
  /// What comes out for a picture of `in`. One extent alone keeps the part's proportions; extents of formats with halved chroma
  /// are even. @errors as part_of()
  FrameInfo result_of(const FrameInfo& in) const;
  /// Gives `result` the time and the metadata of `source`, boxes and points as they are in the result.
  /// @param used  The part of `source` that `result` shows.
  static void carry(const Frame& source, const Part& used, Frame& result);

 private:
  std::uint32_t x_, y_, crop_width_, crop_height_, width_, height_;
  std::optional<PixelFormat> format_;
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
