// SPDX-License-Identifier: Apache-2.0
// cv::UMat and OpenCL buffers without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error \
    "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::opencv_opencl instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/opencl/header_only.hpp>
#include <tenon/frameworks/opencv/header_only.hpp>

#include <tenon/bridges/opencv_opencl/context.cpp>
#include <tenon/bridges/opencv_opencl/edges.cpp>
#include <tenon/bridges/opencv_opencl/umat.cpp>
