// SPDX-License-Identifier: Apache-2.0
// The opencv framework without a library of its own, only for programs of one binary (see core/export.hpp). Define
// TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::opencv instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>

#include <tenon/frameworks/opencv/bgr.cpp>
#include <tenon/frameworks/opencv/context.cpp>
#include <tenon/frameworks/opencv/frame.cpp>
#include <tenon/frameworks/opencv/layout.cpp>
#include <tenon/frameworks/opencv/mat.cpp>
