// SPDX-License-Identifier: Apache-2.0
// Includes all of tenon::gstreamer: caps, buffers both ways, the pool for upstream elements, metadata, audio.
#pragma once

#include <tenon/frameworks/gstreamer/audio.hpp>     // IWYU pragma: export
#include <tenon/frameworks/gstreamer/caps.hpp>      // IWYU pragma: export
#include <tenon/frameworks/gstreamer/context.hpp>   // IWYU pragma: export
#include <tenon/frameworks/gstreamer/device.hpp>    // IWYU pragma: export
#include <tenon/frameworks/gstreamer/frame.hpp>     // IWYU pragma: export
#include <tenon/frameworks/gstreamer/lease.hpp>     // IWYU pragma: export
#include <tenon/frameworks/gstreamer/metadata.hpp>  // IWYU pragma: export
#include <tenon/frameworks/gstreamer/pool.hpp>      // IWYU pragma: export
