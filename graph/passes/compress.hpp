// SPDX-License-Identifier: Apache-2.0
// Stores weights at half their size.
#pragma once

#include <cstddef>

#include <tenon/core/export.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

struct CompressOptions {
  std::size_t min_elements = 32;  ///< Smaller constants are kept: little is gained, and many are exact numbers.
};

/// Result of compress_to_f16.
struct Compressed {
  std::size_t constants = 0;  ///< Number of compressed constants.
  std::size_t kept = 0;       ///< Number of constants that exceed f16 (65504) and stay f32.
  std::size_t bytes_before = 0, bytes_after = 0;
  double largest_error = 0;  ///< |f16 - f32| / |f32|, over values that are normal in f16.
};

/// Replaces every f32 constant of at least min_elements by an f16 constant and a Convert back to f32, like OpenVINO's
/// compress_to_fp16. Computation stays the same, on weights rounded to 11 bits.
TENON_API Compressed compress_to_f16(Model& model, const CompressOptions& options = {});

}  // namespace pass
}  // namespace v1
}  // namespace tenon
