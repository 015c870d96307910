// SPDX-License-Identifier: Apache-2.0
// What a frame's metadata are in DL Streamer's JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <tenon/core/frame.hpp>
#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {

/// The objects: an array with x, y, w, h, region_id, parent_id, id, roi_type, detection, classifications, zones and tripwires of each, and
/// one for the whole frame if there are classes or tensors of it. A second class of an object or frame is "classification/MODEL", if
/// "classification" is taken.
/// @param with_tensors  Adds the tensors of each. @thread any. @cost copies every value of tensors that are asked for.
nlohmann::json objects_json(const metadata::Collection& known, const FrameInfo& info, bool with_tensors);
/// The tensors of the whole frame.
nlohmann::json frame_tensors_json(const metadata::Collection& known);

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
