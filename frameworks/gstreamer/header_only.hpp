// SPDX-License-Identifier: Apache-2.0
// This framework without a library: see core/header_only.hpp.
#pragma once

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/dmabuf/header_only.hpp>

#include <tenon/frameworks/gstreamer/audio.cpp>
#include <tenon/frameworks/gstreamer/caps.cpp>
#include <tenon/frameworks/gstreamer/context.cpp>
#include <tenon/frameworks/gstreamer/frame.cpp>
#include <tenon/frameworks/gstreamer/launch.cpp>
#include <tenon/frameworks/gstreamer/metadata.cpp>
#include <tenon/frameworks/gstreamer/metadata_reader.cpp>
#include <tenon/frameworks/gstreamer/named_files.cpp>
#include <tenon/frameworks/gstreamer/orientation.cpp>
#include <tenon/frameworks/gstreamer/pool.cpp>
