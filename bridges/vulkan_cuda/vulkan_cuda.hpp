// SPDX-License-Identifier: Apache-2.0
// Vulkan and CUDA on one device: each uses in place what the other exports (vulkan::allocate_exported, cuda::allocate_exported, or a
// user's memory with its descriptor).
//
//   router.add(vulkan_context); router.add(cuda_context); router.add(vulkan_cuda::edges());
//   Tensor seen = router.map(vulkan_tensor, cuda_context);   // cuda::pointer(seen) for kernels; 0 bytes copied
//
// Points order the two: CUDA's streams wait for timeline semaphores (cuda::order), and Vulkan's submissions for events
// (vulkan::waits). A device is one when both APIs give it the same UUID.
#pragma once

#include <tenon/bridges/vulkan_cuda/edges.hpp>
#include <tenon/frameworks/cuda/cuda.hpp>
#include <tenon/frameworks/vulkan/vulkan.hpp>
