// SPDX-License-Identifier: Apache-2.0
// All of the V4L2 framework.
#pragma once

#include <tenon/frameworks/v4l2/camera.hpp>
#include <tenon/frameworks/v4l2/context.hpp>
#include <tenon/frameworks/v4l2/device.hpp>
#include <tenon/frameworks/v4l2/pixel_format.hpp>
