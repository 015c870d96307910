// SPDX-License-Identifier: Apache-2.0
// Products of a few rows with matrices that are read once, as when one token looks at all those before it: as fast as
// memory, whatever the strides and extents, and without a kernel made for them.
#pragma once

#include <cstddef>
#include <vector>

namespace tenon::inline v1::engine::kernels {

/// out[i] = scale * a[i] * b[i] + added[i], for each i of a batch; all f32, strides in elements.
struct FewRows {
  std::size_t rows = 0, columns = 0, depth = 0;
  std::vector<std::size_t> a, b;  ///< Where the matrices begin, for each of the batch.
  std::size_t a_row = 0;          ///< a: [rows, depth], the last axis without gaps.
  std::size_t b_row = 0;          ///< b: [depth, columns] or, transposed, [columns, depth]; the same.
  bool is_transposed = false;
  float scale = 1;
  std::vector<std::size_t> added;  ///< Empty: nothing is added.
  std::size_t added_row = 0, added_column = 0;
};

/// `out` is packed: [batch, rows, columns].
void few_rows(const FewRows& problem, const float* a, const float* b, const float* added, float* out);

}  // namespace tenon::inline v1::engine::kernels
