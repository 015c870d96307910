// SPDX-License-Identifier: Apache-2.0
// Elements over GStreamer.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace gstreamer {

std::vector<KnownElement> elements();

}  // namespace gstreamer
}  // namespace elements
}  // namespace v1
}  // namespace tenon
