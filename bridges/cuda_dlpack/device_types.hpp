// SPDX-License-Identifier: Apache-2.0
// CUDA's memory by DLPack's numbers.
#pragma once

#include <cstdint>

#include <tenon/frameworks/cuda/memory.hpp>
#include <tenon/frameworks/dlpack/abi.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda_dlpack {
namespace detail {

inline bool is_on_device(std::int32_t type) {
  return type == dlpack::abi::kDLCUDA || type == dlpack::abi::kDLCUDAManaged;
}

inline std::int32_t device_type(cuda::MemoryType type) {
  switch (type) {
    case cuda::MemoryType::kHost:
      return dlpack::abi::kDLCUDAHost;
    case cuda::MemoryType::kManaged:
      return dlpack::abi::kDLCUDAManaged;
    default:
      return dlpack::abi::kDLCUDA;
  }
}

}  // namespace detail
}  // namespace cuda_dlpack
}  // namespace v1
}  // namespace tenon
