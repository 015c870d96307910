// SPDX-License-Identifier: Apache-2.0
// The files that the elements of a launch line read and write.
#pragma once

#include <string>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace gstreamer {

/// The files that the properties of the line's elements name, by paths, URIs and patterns: those of sinks are written, the others
/// are read. Elements are made for it, and stay unopened. A line that cannot be parsed has none: it fails when it opens.
ElementFiles files_in(const std::string& line);

}  // namespace gstreamer
}  // namespace elements
}  // namespace v1
}  // namespace tenon
