// SPDX-License-Identifier: Apache-2.0
// Detections as metadata of the frame in which they were found.
#pragma once

#include <span>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/vision/detection.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Adds `found` to the metadata of `frame`. Boxes are in pixels of that frame, as decoders made for it give them.
/// @thread as metadata::of(). @cost an allocation per detection.
inline void add(Frame& frame, std::span<const Detection> found) {
  metadata::Collection& known = metadata::of(frame);
  for (const Detection& object : found) {
    const Box& box = object.box;
    known.add(metadata::Detection{{box.x1, box.y1, box.x2, box.y2}, object.label, object.label_id, object.score, -1});
  }
}

/// The detections in the metadata of `frame`, in their order; empty where there are none.
inline std::vector<Detection> detections(const Frame& frame) {
  std::vector<Detection> found;
  if (const auto known = metadata::find(frame)) {
    for (const auto& object : known->all<metadata::Detection>()) {
      const metadata::Box& box = object->box;
      found.push_back({{box.x1, box.y1, box.x2, box.y2}, object->label_id, object->score, object->label});
    }
  }
  return found;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
