// SPDX-License-Identifier: Apache-2.0
// The assignment of rows to columns that gains most.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Pairs every row of a matrix with a column of its own, or, where there are fewer columns, every column with a row, such that the sum of
/// the gains is the largest. Grows the columns one by one along shortest paths (Jonker and Volgenant).
/// @param gains  rows * columns, finite.
/// @return For each row its column, or SIZE_MAX.
/// @cost the smaller side squared times the larger.
std::vector<std::size_t> best_assignment(std::span<const double> gains, std::size_t rows, std::size_t columns);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
