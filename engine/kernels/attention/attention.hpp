// SPDX-License-Identifier: Apache-2.0
// Attention in one pass over keys and values: the scores of a tile of queries and keys at a time, an online softmax,
// and no matrix of all scores in memory.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::engine::kernels {

/// out = softmax(scale * q k^T, masked) v, for each head of each batch. Strides and offsets count elements; the elements
/// of a row lie side by side. Storage is f32 or bf16, of
/// keys and values also f16 or 8 bits; sums are f32.
struct Attention {
  std::size_t queries = 0, keys = 0;
  std::size_t depth = 0;  ///< The length of a query and of a key.
  std::size_t width = 0;  ///< The length of a value and of a result.
  ElementType q_type = ElementType::kF32, k_type = ElementType::kF32, v_type = ElementType::kF32,
              out_type = ElementType::kF32;
  std::size_t q_row = 0, k_row = 0, v_row = 0, out_row = 0;
  /// Where the scales of keys and values in 8 bits lie (kU8, see kv_cache_quant.hpp). Their rows of `depth` or `width` numbers lie
  /// one behind the other.
  struct Scales {
    std::size_t offset = 0;  ///< Bytes behind the first number.
    std::size_t group = 0;   ///< A multiple of 16, or the whole row.
    std::size_t row = 0;     ///< Floats from those of one key to those of the next.
  };
  Scales k_scales, v_scales;
  /// Where the matrices of each head begin. Heads that share keys and values should be neighbours: these are then read
  /// once for all of them.
  struct Head {
    std::size_t q = 0, k = 0, v = 0, out = 0, mask = 0, sink = 0;
  };
  std::vector<Head> heads;
  /// Products of bf16, where the CPU has them, as their factors usually lie; else of f32.
  bool is_narrow = false;
  float scale = 1;
  float softcap = 0;       ///< If not 0, a scaled score s becomes softcap * tanh(s) before it is masked.
  bool is_causal = false;  ///< Query i sees the keys up to i.
  enum class Mask {
    kNone,
    kAdded,    ///< f32, added to the scaled score.
    kVisible,  ///< One byte: 0 replaces the score by `masked`.
    kHidden,   ///< The reverse.
  };
  Mask mask = Mask::kNone;
  std::size_t mask_row = 0, mask_column = 0;  ///< 0: the same for all queries, for all keys.
  float masked = -std::numeric_limits<float>::infinity();
  /// A sink is one more score of each query, f32, whose weight is not used.
  bool has_sinks = false;
  std::size_t sink_row = 0;  ///< From a query's to the next one's; 0: the same for all queries.
  /// The share of every value in the result of a query that sees no key: 0, or NaN as a softmax of minus infinities
  /// has it.
  float blind = 0;
};

}  // namespace tenon::inline v1::engine::kernels
