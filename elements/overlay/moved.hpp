// SPDX-License-Identifier: Apache-2.0
// Moves the metadata of a picture to another picture, which shows it smaller and in another place.
#pragma once

#include <functional>

#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {

/// Maps a point of one picture to the other, in pixels.
struct Placement {
  std::function<double(double)> x, y;
};

/// Adds the objects, masks, points and zones of `known` to `into`, at their new places, with all texts and tensors that belong to
/// objects. Texts and tensors of the whole picture are left out, because they do not describe the other picture.
void add_moved(const metadata::Collection& known, const Placement& to, metadata::Collection& into);

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
