// SPDX-License-Identifier: Apache-2.0
// Products of pairs of bf16, which some CPUs sum in f32 at twice the speed of f32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::inline v1::engine::kernels {

/// Whether this CPU has such products, of 16 at a time.
bool has_pair_products();

/// c[i][:] = factor * c[i][:] + sum over k of a[i][k] * b[k][:], where a and b consist of pairs and so does each product.
/// @param a  Pair k of row i begins at a + i * a_row + k * a_step.
/// @param b, c  Rows of `vectors` times 16: pairs, numbers. Aligned to 64 bytes.
/// @param factor  A row; null: c is not read.
void pair_product(const std::uint16_t* a, std::size_t rows, std::size_t a_row, std::size_t a_step,
                  const std::uint32_t* b, std::size_t pairs, std::size_t vectors, const float* factor, float* c);

/// Whether this CPU multiplies tiles of 16 rows of 16 pairs at once (AMX), and this process may.
bool has_tile_products();

/// The calling thread's tile registers, set up for tile_product(). No other code may use them meanwhile.
class TileRegisters {
 public:
  TileRegisters();
  ~TileRegisters();
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};

/// c[i][:] = sum over k of a[i][k] * b[k][:], or adds that to c, for whole tiles: multiples of 16 rows and 16 pairs. The
/// pairs of a row of `a` lie side by side. The rest as for pair_product(). Needs TileRegisters.
void tile_product(const std::uint16_t* a, std::size_t rows, std::size_t a_row, const std::uint32_t* b,
                  std::size_t pairs, std::size_t vectors, bool adds, float* c);

}  // namespace tenon::inline v1::engine::kernels
