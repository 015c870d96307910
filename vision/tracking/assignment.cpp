// SPDX-License-Identifier: Apache-2.0
// The Hungarian algorithm by potentials: each row is added by the shortest augmenting path.
#include <tenon/vision/assignment.hpp>

#include <cstdint>
#include <limits>

namespace tenon {
inline namespace v1 {
namespace vision {

std::span<const std::size_t> Assignment::solve(std::span<const double> costs, std::size_t rows, std::size_t columns) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  row_potential_.assign(rows + 1, 0);
  column_potential_.assign(columns + 1, 0);
  row_of_.assign(columns + 1, 0);  // Rows and columns count from 1; 0 is the row that is added.
  way_.assign(columns + 1, 0);
  for (std::size_t row = 1; row <= rows; ++row) {
    row_of_[0] = row;
    std::size_t column = 0;
    least_.assign(columns + 1, kInfinite);
    is_used_.assign(columns + 1, 0);
    do {
      is_used_[column] = 1;
      const std::size_t from = row_of_[column];
      double step = kInfinite;
      std::size_t next = 0;
      for (std::size_t j = 1; j <= columns; ++j) {
        if (is_used_[j]) continue;
        const double reduced = costs[(from - 1) * columns + j - 1] - row_potential_[from] - column_potential_[j];
        if (reduced < least_[j]) least_[j] = reduced, way_[j] = column;
        if (least_[j] < step) step = least_[j], next = j;
      }
      for (std::size_t j = 0; j <= columns; ++j) {
        if (is_used_[j])
          row_potential_[row_of_[j]] += step, column_potential_[j] -= step;
        else
          least_[j] -= step;
      }
      column = next;
    } while (row_of_[column] != 0);
    for (; column != 0; column = way_[column]) row_of_[column] = row_of_[way_[column]];
  }
  matches_.assign(columns, SIZE_MAX);
  for (std::size_t j = 1; j <= columns; ++j) {
    if (row_of_[j] != 0) matches_[j - 1] = row_of_[j] - 1;
  }
  return matches_;
}

std::vector<std::size_t> best_assignment(std::span<const double> gains, std::size_t rows, std::size_t columns) {
  const bool turned = rows > columns;
  const std::size_t few = turned ? columns : rows, many = turned ? rows : columns;
  std::vector<double> costs(gains.size());
  for (std::size_t i = 0; i < few; ++i)
    for (std::size_t k = 0; k < many; ++k) costs[i * many + k] = -gains[turned ? k * columns + i : i * columns + k];
  Assignment assignment;
  const std::span<const std::size_t> matches = assignment.solve(costs, few, many);
  std::vector<std::size_t> column_of(rows, SIZE_MAX);
  for (std::size_t k = 0; k < many; ++k) {
    if (matches[k] == SIZE_MAX) continue;
    (turned ? column_of[k] : column_of[matches[k]]) = turned ? matches[k] : k;
  }
  return column_of;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
