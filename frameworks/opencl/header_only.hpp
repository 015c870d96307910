// SPDX-License-Identifier: Apache-2.0
// OpenCL without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::opencl instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/dmabuf/header_only.hpp>

#include <tenon/frameworks/opencl/access.cpp>
#include <tenon/frameworks/opencl/buffer.cpp>
#include <tenon/frameworks/opencl/buffer_edges.cpp>
#include <tenon/frameworks/opencl/context.cpp>
#include <tenon/frameworks/opencl/contexts.cpp>
#include <tenon/frameworks/opencl/device.cpp>
#include <tenon/frameworks/opencl/dmabuf_edges.cpp>
#include <tenon/frameworks/opencl/edges.cpp>
#include <tenon/frameworks/opencl/external.cpp>
#include <tenon/frameworks/opencl/fence.cpp>
#include <tenon/frameworks/opencl/image.cpp>
#include <tenon/frameworks/opencl/image_edges.cpp>
#include <tenon/frameworks/opencl/make.cpp>
#include <tenon/frameworks/opencl/native.cpp>
#include <tenon/frameworks/opencl/pointer_edges.cpp>
#include <tenon/frameworks/opencl/semaphore.cpp>
#include <tenon/frameworks/opencl/sharing.cpp>
#include <tenon/frameworks/opencl/svm.cpp>
#include <tenon/frameworks/opencl/sync.cpp>
#include <tenon/frameworks/opencl/usm.cpp>
