// SPDX-License-Identifier: Apache-2.0
// The assignment of rows to columns of which the sum is the best.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Grows the columns one by one along shortest paths (Jonker and Volgenant). Keeps its memory from call to call. @thread one at a time
class TENON_API Assignment {
 public:
  /// Pairs every row of a matrix with a column of its own such that the sum of the costs is the least.
  /// @param costs  rows * columns, finite. @pre rows <= columns
  /// @return For each column its row, or SIZE_MAX; valid until the next call.
  /// @cost rows squared times columns. Allocates only where a matrix has a larger side than those before.
  std::span<const std::size_t> solve(std::span<const double> costs, std::size_t rows, std::size_t columns);

 private:
  std::vector<double> row_potential_, column_potential_, least_;
  std::vector<std::size_t> row_of_, way_, matches_;
  std::vector<char> is_used_;
};

/// Pairs every row of a matrix with a column of its own, or, where there are fewer columns, every column with a row, such that the sum of
/// the gains is the largest.
/// @param gains  rows * columns, finite.
/// @return For each row its column, or SIZE_MAX.
/// @cost the smaller side squared times the larger; a copy of the matrix.
TENON_API std::vector<std::size_t> best_assignment(std::span<const double> gains, std::size_t rows,
                                                   std::size_t columns);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
