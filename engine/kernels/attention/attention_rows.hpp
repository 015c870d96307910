// SPDX-License-Identifier: Apache-2.0
// Attention of a few rows of queries that read the same keys and values: the parts of attention.hpp.
#pragma once

#include <array>
#include <cstddef>

#include <tenon/engine/kernels/attention/attention.hpp>

namespace tenon::inline v1::engine::kernels {

inline constexpr std::size_t kTileRows = 48;

/// Rows of queries, of one or several heads, that share keys and values.
struct AttentionRows {
  std::size_t count = 0;
  std::array<const std::byte*, kTileRows> q{}, mask{};
  std::array<std::byte*, kTileRows> out{};
  /// The greatest score, and the sum of the weights that it scales, before any key: those of a sink.
  std::array<float, kTileRows> greatest{}, sum{};
  std::array<std::size_t, kTileRows> sees{};  ///< Keys before this one, if causal.
  const std::byte *k = nullptr, *v = nullptr;
  const float *k_scales = nullptr, *v_scales = nullptr;  ///< Scales of 8 bits, for the first key.
  float scale = 1;
  std::size_t begin = 0, end = 0;  ///< The keys to look at.
  /// Instead of results: for each row `width` sums of weighted values, the greatest score and the sum of weights. Null:
  /// results.
  float* partial = nullptr;
};

inline std::size_t partial_floats(const Attention& what) { return what.width + 2; }

/// Rows that a tile has on this machine at most.
std::size_t tile_rows();
/// Rows of one vector; at least 1.
std::size_t tile_vector();
/// Many rows at a time: vectors of queries. Each key and value is read as numbers that all these share.
std::size_t tile_scratch_floats(const Attention& what);
void attend_tile(const Attention& what, const AttentionRows& rows, float* scratch);

/// Few rows at a time, at the speed at which memory gives keys and values.
std::size_t few_scratch_floats(const Attention& what);
void attend_few(const Attention& what, const AttentionRows& rows, float* scratch);

/// The result of a row from its parts, `step` floats apart, each weighed by what its greatest score is worth. Changes the
/// first part.
void merge_row(const Attention& what, float* parts, std::size_t splits, std::size_t step, std::byte* out);

}  // namespace tenon::inline v1::engine::kernels
