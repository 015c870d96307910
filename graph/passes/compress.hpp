// SPDX-License-Identifier: Apache-2.0
// Weights at half their size.
#pragma once

#include <cstddef>

#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {

struct CompressOptions {
  std::size_t min_elements = 32;  ///< Smaller constants stay: nothing is won, and many of them are exact numbers.
};

/// What compress_to_f16 did.
struct Compressed {
  std::size_t constants = 0;  ///< That were compressed.
  std::size_t kept = 0;       ///< That f16 cannot hold (above 65504): these stay f32.
  std::size_t bytes_before = 0, bytes_after = 0;
  double largest_error = 0;  ///< |f16 - f32| / |f32|, over values that f16 holds as normal numbers.
};

/// Every f32 constant of min_elements and more becomes an f16 constant and a Convert back to f32, as OpenVINO's
/// compress_to_fp16 writes it: computing stays as it was, on weights that are rounded to 11 bits.
TENON_API Compressed compress_to_f16(Model& model, const CompressOptions& options = {});

}  // namespace pass
}  // namespace v1
}  // namespace tenon
