// SPDX-License-Identifier: Apache-2.0
// Moves the metadata of a picture to another picture that shows it in another size or direction.
#pragma once

#include <functional>

#include <tenon/core/export.hpp>
#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// Moves the boxes of objects and masks, the points of tensors and the corners of zones in `all`. Entries keep their ids.
/// @param move  Maps a point of the upright picture. The moved corners of a box must be those of a box.
TENON_API void move_places(metadata::Collection& all, const std::function<void(float& x, float& y)>& move);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
