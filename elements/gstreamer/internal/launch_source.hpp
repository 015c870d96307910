// SPDX-License-Identifier: Apache-2.0
// The source "gst_source", with which a pipeline begins in GStreamer's elements.
#pragma once

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace gstreamer {

KnownElement launch_source();

}  // namespace gstreamer
}  // namespace elements
}  // namespace v1
}  // namespace tenon
