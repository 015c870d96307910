// SPDX-License-Identifier: Apache-2.0
// This framework without a library: see core/header_only.hpp.
#pragma once

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/dmabuf/header_only.hpp>

#include <tenon/frameworks/v4l2/camera.cpp>
#include <tenon/frameworks/v4l2/context.cpp>
#include <tenon/frameworks/v4l2/converter.cpp>
#include <tenon/frameworks/v4l2/device.cpp>
#include <tenon/frameworks/v4l2/pixel_format.cpp>
#include <tenon/frameworks/v4l2/pool.cpp>
#include <tenon/frameworks/v4l2/ring.cpp>
