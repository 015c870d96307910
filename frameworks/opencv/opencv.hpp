// SPDX-License-Identifier: Apache-2.0
// OpenCV: includes everything in this folder.
#pragma once

#include <tenon/frameworks/opencv/bgr.hpp>      // IWYU pragma: export
#include <tenon/frameworks/opencv/context.hpp>  // IWYU pragma: export
#include <tenon/frameworks/opencv/frame.hpp>    // IWYU pragma: export
#include <tenon/frameworks/opencv/mat.hpp>      // IWYU pragma: export
