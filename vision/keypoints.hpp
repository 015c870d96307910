// SPDX-License-Identifier: Apache-2.0
// Keypoints: the joints of people, the corners of faces.
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

/// Points of one object: f32 [points, 3] with x, y in pixels of the frame and a score each.
using Keypoints = Tensor;

/// From heat maps [1,points,h,w]: the place of each map's highest value, moved by a quarter cell towards its higher neighbour along
/// each axis. @errors kInvalidArgument: no output fits. @source B. Xiao et al., Simple Baselines for Human Pose Estimation (2018).
/// Or from two outputs [1,points,w k] and [1,points,h k] with a score for each place along each axis (SimCC): the best of each, and the
/// lower of the two scores. @source Y. Li et al., SimCC: a Simple Coordinate Classification Perspective for Human Pose Estimation (2022).
TENON_API Keypoints keypoints_of_maps(std::span<const Tensor> outputs, const DecodeOptions& options);

struct PosedObject {
  metadata::Detection object;
  Keypoints points;
};

/// Objects with points as YOLOv8-pose has them: [1,4+labels+3*points,n], each point x, y in pixels of the input and a score; or, with
/// suppression inside, [1,n,6+3*points]: two corners, score, class, points. options.keypoint_values may be 2: points have no score,
/// and get 1. Without labels in the options there is one. @param is_cut  If not null: set to whether options.top_k left out objects.
/// @errors kInvalidArgument: no output fits.
TENON_API std::vector<PosedObject> posed_objects(std::span<const Tensor> outputs, const DecodeOptions& options,
                                                 bool* is_cut);
TENON_API std::vector<PosedObject> posed_objects(std::span<const Tensor> outputs, const DecodeOptions& options);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
