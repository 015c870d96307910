// SPDX-License-Identifier: Apache-2.0
// CUDA and OpenCL on one device: memory that CUDA exports (cuda::allocate_exported, or a user's of cuMemCreate) is used by
// OpenCL in place, what cannot be exported is copied once, on the device.
//
//   router.add(cuda_context); router.add(opencl_context); router.add(cuda_opencl::edges());
//   Tensor seen = router.map(cuda_tensor, opencl_context);   // 0 bytes copied where the memory has a descriptor
//
// Points order the two: OpenCL's wait lists and CUDA's streams wait for each other's work (opencl::wait_list,
// cuda::order), and no host waits.
#pragma once

#include <tenon/bridges/cuda_opencl/edges.hpp>
#include <tenon/frameworks/cuda/cuda.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
