// SPDX-License-Identifier: Apache-2.0
// OpenCV: includes everything in this folder.
#pragma once

#include <tenon/frameworks/opencv/bgr.hpp>
#include <tenon/frameworks/opencv/context.hpp>
#include <tenon/frameworks/opencv/frame.hpp>
#include <tenon/frameworks/opencv/mat.hpp>
