// SPDX-License-Identifier: Apache-2.0
// The files that the properties of an element name.
#pragma once

#include <string>
#include <vector>

#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

/// A text that a property has, as a path: a file: URI without its scheme, any other text as it is. It may be a pattern, or name no file.
struct NamedFile {
  std::string path;
  bool is_written = false;  ///< The property tells where the element writes: a sink's location, notes of encoders.
};

/// What the readable texts and lists of texts of the element name, without URLs of other kinds. Which properties are written is told by
/// their names. @thread any; the getters of the element's properties run.
std::vector<NamedFile> named_files(GstElement* element);

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
