// SPDX-License-Identifier: Apache-2.0
// OpenCL without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::opencl instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>

#include <tenon/frameworks/opencl/device/context.cpp>
#include <tenon/frameworks/opencl/device/contexts.cpp>
#include <tenon/frameworks/opencl/device/device.cpp>
#include <tenon/frameworks/opencl/device/make.cpp>
#include <tenon/frameworks/opencl/device/native.cpp>
#include <tenon/frameworks/opencl/edges/buffer_edges.cpp>
#include <tenon/frameworks/opencl/edges/edges.cpp>
#include <tenon/frameworks/opencl/edges/image_edges.cpp>
#include <tenon/frameworks/opencl/edges/pointer_edges.cpp>
#include <tenon/frameworks/opencl/memory/access.cpp>
#include <tenon/frameworks/opencl/memory/buffer.cpp>
#include <tenon/frameworks/opencl/memory/external.cpp>
#include <tenon/frameworks/opencl/memory/image.cpp>
#include <tenon/frameworks/opencl/memory/sharing.cpp>
#include <tenon/frameworks/opencl/memory/svm.cpp>
#include <tenon/frameworks/opencl/memory/usm.cpp>
#include <tenon/frameworks/opencl/sync/fence.cpp>
#include <tenon/frameworks/opencl/sync/semaphore.cpp>
#include <tenon/frameworks/opencl/sync/sync.cpp>

#ifdef _WIN32
#include <tenon/frameworks/opencl/windows/descriptors.cpp>
#include <tenon/frameworks/opencl/windows/edges.cpp>
#include <tenon/frameworks/opencl/windows/newer_calls.cpp>
#include <tenon/frameworks/opencl/windows/sync_files.cpp>
#else
#include <tenon/frameworks/dmabuf/header_only.hpp>
#include <tenon/frameworks/opencl/posix/descriptors.cpp>
#include <tenon/frameworks/opencl/posix/dmabuf_edges.cpp>
#include <tenon/frameworks/opencl/posix/newer_calls.cpp>
#include <tenon/frameworks/opencl/posix/sync_files.cpp>
#endif
