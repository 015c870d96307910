// SPDX-License-Identifier: Apache-2.0
// What decides how kernels are written.
#pragma once

#include <cstddef>

namespace tenon::inline v1::gpu_device {

/// What kernels are written for.
struct Target {
  bool is_cpu = false;  ///< A CPU under OpenCL: work-groups share a core, local memory is plain memory.
  bool has_f64 = false;
  std::size_t max_group = 64;   ///< Work-items of a group.
  std::size_t local_bytes = 0;  ///< Local memory of a group.
  std::size_t compute_units = 1;
  std::size_t alignment = 64;  ///< Of buffers, bytes.
};

}  // namespace tenon::inline v1::gpu_device
