// SPDX-License-Identifier: Apache-2.0
// A small picture of luma, for code that looks at whole pictures again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// The means of squares of luma, 0..255 at any depth of the samples; of formats without luma, those of green.
/// @thread one at a time. @cost one pass over the luma plane, in place; allocates nothing while pictures have the same info.
class TENON_API SmallLuma {
 public:
  /// @param width_px  The maximum width, at least 1.
  explicit SmallLuma(std::uint32_t width_px) : most_(width_px) {}
  /// @param frame  In host memory; read as it is stored, whatever its rotation. @return Whether its info is another than that of
  /// the frame before, or it is the first one, or the one before could not be read.
  /// @errors as frame_layout(); kFailedPrecondition: it is not in host memory
  bool read(const Frame& frame);
  /// Forgets the info, so that the next frame counts as the first one.
  void reset() { info_ = {}; }

  const FrameInfo& info() const { return info_; }            ///< That of the frame that was read last.
  std::uint32_t scale() const { return scale_; }             ///< The side of a square.
  std::uint32_t width() const { return width_; }             ///< Squares in a row; the last may be narrower.
  std::uint32_t height() const { return height_; }           ///< Rows.
  std::span<const float> pixels() const { return pixels_; }  ///< [height, width]

 private:
  void read_pixels(const Frame& frame);
  void add_rows(const Frame& frame, std::uint32_t top, std::uint32_t bottom);

  std::uint32_t most_;
  FrameInfo info_;
  std::uint32_t scale_ = 1, width_ = 0, height_ = 0;
  std::vector<std::uint32_t> sums_;  ///< By column of the frame.
  std::vector<float> pixels_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
