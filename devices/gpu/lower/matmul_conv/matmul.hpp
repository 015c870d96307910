// SPDX-License-Identifier: Apache-2.0
// Products, however their sides are read: matrices, and the windows of a convolution.
#pragma once

#include <cstddef>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/devices/gpu/program/kernel.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// The macro RIGHT16(batch, k, n) by way of RIGHT, for sides whose neighbours are not those of memory.
std::string neighbours_text();

/// [m, k] by [k, n], `batch` times.
struct Product {
  ElementType type = ElementType::kF32;
  std::size_t m = 0, n = 0, k = 0, batch = 1;
  bool left_rows = true;       ///< Neighbours along k of the left side are neighbours in memory.
  bool right_columns = false;  ///< The same of the right side; else those along n are.
  /// What decides how fast kernels are.
  std::string text() const;
};

/// Adds the launch of the kernel that suits the product and the device.
/// @param kernel  With the macros LEFT(batch, m, k), RIGHT(batch, k, n), RIGHT16(batch, k, n) and STORE_AT(value,
/// batch, m, n) (kernels/gemm.cl).
/// @param how  How sides are read otherwise, as far as that decides about speed.
void launch_product(Builder& builder, const Node& node, Kernel kernel, const Product& product,
                    const std::string& how = "rows");

}  // namespace tenon::inline v1::gpu_device
