// SPDX-License-Identifier: Apache-2.0
// Objects in boxes that are turned, as in pictures from above.
#pragma once

#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/vision/decode_options.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct OrientedObject {
  metadata::Detection object;  ///< Its box is upright and encloses the turned one.
  /// The corners of the turned box: f32 [4, 3] with x, y in pixels of the frame and the object's score, clockwise in the picture
  /// from the one that is at the upper left where the angle is 0. They may lie outside of the frame.
  Tensor corners;
};

/// Objects as YOLOv8-obb has them: [1,4+labels+1,n], centre, size, scores, and the angle in radians, clockwise; or, with suppression
/// inside, [1,n,7]: centre, size, score, class, angle. Overlaps are measured between the boxes as normal distributions.
/// @param is_cut  If not null: set to whether options.top_k left out objects. @errors kInvalidArgument: no output fits.
/// @source J. Llerena et al., Gaussian Bounding Boxes and Probabilistic Intersection-over-Union for Object Detection (2021).
TENON_API std::vector<OrientedObject> oriented_objects(std::span<const Tensor> outputs, const DecodeOptions& options,
                                                       bool* is_cut = nullptr);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
