// SPDX-License-Identifier: Apache-2.0
// Moves the metadata of a picture to another picture that shows it in another size or direction.
#pragma once

#include <functional>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/placement.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// Moves the boxes of objects and masks, the points of tensors and the corners of zones in `all`. Entries keep their ids.
/// @param move  Maps a point of the upright picture. The moved corners of a box must be those of a box.
TENON_API void move_places(metadata::Collection& all, const std::function<void(float& x, float& y)>& move);

/// Turns the masks of segmentations and the directions of lines, whose places move_places() moves. @param change  What was done to the
/// upright picture.
TENON_API void turn_contents(metadata::Collection& all, Rotation change);

/// Where the picture of `all`, whose upright extents are given, lies in the one that it was cut or turned from; in itself if it is whole.
TENON_API metadata::Placement placement_of(const metadata::Collection& all, double width_px, double height_px);
/// Adds that to `all`, before the picture is cut or turned. Crops and move_places() keep it true.
TENON_API void keep_placement(metadata::Collection& all, const FrameInfo& info);
/// How directions of axes differ after the map. @pre It stretches and turns by quarters only.
TENON_API Rotation turn_of(const metadata::Affine& map);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
