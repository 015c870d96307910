// SPDX-License-Identifier: Apache-2.0
// Axes as attributes give them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/shape.hpp>

namespace tenon::inline v1::gpu_device {

/// Negative ones count from the end.
inline std::size_t normalized(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

/// Elements of the axes [begin, end).
inline std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t i = begin; i < end; ++i) count *= static_cast<std::int64_t>(shape[i]);
  return count;
}

}  // namespace tenon::inline v1::gpu_device
