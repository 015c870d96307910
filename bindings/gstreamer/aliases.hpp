// SPDX-License-Identifier: Apache-2.0
// Elements under the names and properties that users of gvadetect and similar elements know.
#pragma once

#include <vector>

#include <tenon/bindings/gstreamer/properties.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

/// The aliases whose element is in the registry: "detect", "classify", "inference" over infer, "watermark" over draw. Each has all
/// parameters of its element, some under another name or with another default.
std::vector<Kind> aliases();

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
