// SPDX-License-Identifier: Apache-2.0
// Vulkan and OpenCL on one device: memory that Vulkan exports (vulkan::allocate_exported, or a user's with its descriptor) is used by
// OpenCL in place.
//
//   router.add(vulkan_context); router.add(opencl_context); router.add(vulkan_opencl::edges());
//   Tensor seen = router.map(vulkan_tensor, opencl_context);   // 0 bytes copied
//
// Points order the two: OpenCL's wait lists wait for timeline semaphores (opencl::wait_list), and Vulkan's submissions for events
// (vulkan::waits). A device is one when both APIs give it the same UUID. Dma-bufs are the other way: they need no bridge.
#pragma once

#include <tenon/bridges/vulkan_opencl/edges.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/frameworks/vulkan/vulkan.hpp>
