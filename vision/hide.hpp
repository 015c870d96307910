// SPDX-License-Identifier: Apache-2.0
// Makes parts of a picture unrecognisable, straight in its planes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/vision/detection.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct HideOptions {
  /// What is left of a part: the means of so many cells along its longer side. Cells have at least four pixels.
  int cells = 8;
  /// The means are interpolated; otherwise each cell has one colour.
  bool is_smooth = true;
  /// Hides the ellipse in the box; otherwise the whole box.
  bool is_ellipse = false;
};

/// @thread one at a time. @cost one pass to read and one to write; allocates nothing once its vectors have grown.
class TENON_API Hider {
 public:
  explicit Hider(const HideOptions& options = {}) : options_(options) {}
  /// Hides the part of the upright picture in `box`, as far as it lies in the picture. All samples of a part are replaced by means of
  /// cells, in every plane but alpha: what was finer cannot be got back. Boxes that are no numbers or have no area hide nothing.
  /// @errors as Canvas
  void hide(const Frame& frame, const Box& box);

 private:
  struct Axis {
    std::vector<std::uint32_t>
        cell;  ///< By sample: its cell, or with is_smooth the first of two between which it lies.
    std::vector<std::uint32_t> weight;  ///< By sample: the second cell's share, of 256.
    std::size_t cells = 0;
  };
  struct Part;
  void divide(Axis& axis, std::size_t samples, std::size_t cells) const;
  template <typename Load>
  void sum(const Part& part, Load load);
  template <typename Store>
  void write(const Part& part, Store store);

  HideOptions options_;
  Axis x_, y_;
  std::vector<std::uint32_t> means_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
