// SPDX-License-Identifier: Apache-2.0
// Products of matrices of f16, f32 or 8-bit numbers (kernels/matrix.cl): of rows, or of the windows of a convolution over channels last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/devices/gpu/lower/build/chunks.hpp>
#include <tenon/devices/gpu/program/kernel.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// [m, k] by [n, k], `batch` times.
struct MatrixProduct {
  ElementType type;  ///< The left side's type. The right side has the same; i8 if the left side has 8-bit numbers.
  std::size_t m = 0, n = 0, k = 0, batch = 1;
  bool has_weights = false;  ///< The right side is a constant.
  /// So many products of this size, this one among them, have one left side and weights of their own, so that they probably become one
  /// launch (lower/build/joins.hpp).
  std::size_t beside = 1;
  std::size_t sides = 1;  ///< Right sides, each of a product of its own.
  bool has_norm = false;  ///< Rows of the left side are divided by the roots of their mean squares.
  /// Words of 32 bits of 8 neighbours of a right side, as these lie, where it may be read before the left side is there; 0: it may not.
  std::size_t words_ahead = 0;
  /// Bytes of a right side's row that a work-item reads at once where matrix hardware multiplies few rows (kernels/fragment_rows.cl), of
  /// numbers of so many bits; 0: it does not.
  std::size_t chunk_bytes = 0, bits = 0;
  std::string text() const {
    return std::string(name(type)) + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
           " by " + std::to_string(batch) + (sides > 1 ? ", two" : "") + (has_norm ? ", of norms" : "");
  }
};

/// How a group of warps shares a tile of the result.
struct MatrixTiles {
  std::size_t m, n, warps_m, warps_n, stages;
  std::size_t row_bytes = 128;  ///< The bytes of a tile's row in local memory: 64 or 128.
  /// Four warps multiply as one: `warps_m` is a multiple of 4, `warps_n` is 1, `m` a multiple of 64 for each four.
  bool has_warpgroups = false;
  bool in_parts = false;  ///< Numbers of f32 are multiplied as two of TF32 each; `row_bytes` is 64.
  bool is_graphs =
      false;  ///< Slots lie in more local memory than OpenCL lends, so that only the device's twin runs it.
  std::size_t lanes() const { return 32 * warps_m * warps_n; }
  /// Rows of the result that go through local memory at once.
  std::size_t out_rows() const {
    if (m * (n + 4) * sizeof(float) <= std::size_t{48} << 10) return m;
    return is_graphs ? 64 : m / 2;
  }
  /// The local memory that a group needs: the slots, or the results that take their place.
  std::size_t local_bytes() const {
    return std::max(stages * (m + n) * row_bytes, out_rows() * (n + 4) * sizeof(float));
  }
  std::size_t groups(const MatrixProduct& product) const {
    return (product.m + m - 1) / m * ((product.n + n - 1) / n) * product.batch;
  }
  /// Those that run at the same time.
  std::size_t all_groups(const MatrixProduct& product) const { return groups(product) * product.beside; }
};

inline bool is_of_numbers(ElementType type) { return !info(type).is_real; }

/// The macros of kernels over tiles: TILE_M, WARP_ROW..., PLACE(row, chunk) in local memory, and what multiplies them.
/// @param type  See MatrixProduct.
void define_tiles(Kernel& kernel, const MatrixTiles& tiles, const Target& target, ElementType type);

/// RELEASE_WRITES(), for kernels whose groups leave something for the one that comes last.
const char* release_text(const Target& target);

/// DOT(left, right, sum) of words of four 8-bit numbers: the left ones of `type`, the right ones signed.
void define_dot(Kernel& kernel, const Target& target, ElementType type);

/// Lets a product begin to read its right side while the kernel before it runs (kernels/early_nvidia.cl), if that is a constant.
/// @param row  Where row n of it begins. @param bytes  How long that is. @param side  Before the names of a second right side.
void define_early(Kernel& kernel, const Target& target, const std::string& row, const std::string& bytes,
                  const std::string& side = {});

/// Adds the launch.
/// @param how  How the left side is read, as far as that decides about speed.
/// @param kernel  Reads A and B, has A_BATCH, B_BATCH, A_PLACE(m) (IS_PLAIN) or the window's numbers and A_IMAGE, A_LINE, A_PIXEL
/// and CHANNELS, B_ROW, STORE_AT(value, batch, m, n), and, where n is a multiple of 8, STORE8_AT(v, batch, m, n).
void launch_matrix(Builder& builder, const Node& node, const Kernel& kernel, const MatrixProduct& product,
                   const std::string& how);

/// Whether the left side has so few rows that reading the right one is what takes time.
bool has_few_rows(const MatrixProduct& product);
/// The same of such a product of reals.
/// @param kernel  Reads A, has A_BATCH, A_PLACE(m), STORE_AT(value, batch, m, n), what define_reals() or define_few_bits() add for each
/// side, and with a norm SPREAD(mean) and GAIN8(k, to).
/// @param how  How the right side lies.
void launch_rows(Builder& builder, const Node& node, const Kernel& kernel, const MatrixProduct& product,
                 const std::string& how);

}  // namespace tenon::inline v1::gpu_device
