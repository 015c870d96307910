// SPDX-License-Identifier: Apache-2.0
// The framework without a library, only for programs of one binary (see core/export.hpp). Define TENON_HEADER_ONLY for every file.
#pragma once

#ifndef TENON_HEADER_ONLY
#error "define TENON_HEADER_ONLY on the whole program before including this header, or link tenon::vulkan instead"
#endif

#include <tenon/core/header_only.hpp>
#include <tenon/frameworks/cpu/header_only.hpp>
#include <tenon/frameworks/dmabuf/header_only.hpp>
#include <tenon/frameworks/vulkan/buffer_edges.cpp>
#include <tenon/frameworks/vulkan/context.cpp>
#include <tenon/frameworks/vulkan/contexts.cpp>
#include <tenon/frameworks/vulkan/device.cpp>
#include <tenon/frameworks/vulkan/dmabuf_edges.cpp>
#include <tenon/frameworks/vulkan/image.cpp>
#include <tenon/frameworks/vulkan/image_edges.cpp>
#include <tenon/frameworks/vulkan/make.cpp>
#include <tenon/frameworks/vulkan/make_image.cpp>
#include <tenon/frameworks/vulkan/memory.cpp>
#include <tenon/frameworks/vulkan/native.cpp>
#include <tenon/frameworks/vulkan/queue.cpp>
#include <tenon/frameworks/vulkan/semaphore.cpp>
#include <tenon/frameworks/vulkan/sync.cpp>
#include <tenon/frameworks/vulkan/timeline.cpp>
#include <tenon/frameworks/vulkan/transfer.cpp>
