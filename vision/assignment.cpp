// SPDX-License-Identifier: Apache-2.0
// Finds the assignment of largest gain.
#include <tenon/vision/internal/assignment.hpp>

#include <cstdint>
#include <limits>

namespace tenon {
inline namespace v1 {
namespace vision {

std::vector<std::size_t> best_assignment(std::span<const double> gains, std::size_t rows, std::size_t columns) {
  std::vector<std::size_t> column_of(rows, SIZE_MAX);
  if (rows == 0 || columns == 0) return column_of;
  // The walk is over the smaller side; it takes each of its members to some member of the larger side.
  const bool turned = rows > columns;
  const std::size_t few = turned ? columns : rows, many = turned ? rows : columns;
  const auto cost = [&](std::size_t i, std::size_t k) {
    return -(turned ? gains[k * columns + i] : gains[i * columns + k]);
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  // Index 0 of the larger side is a member that takes the one to be assigned; others are shifted by one.
  std::vector<double> own(few + 1), other(many + 1), least;
  std::vector<std::size_t> taken_by(many + 1), way(many + 1);
  std::vector<bool> seen;
  for (std::size_t i = 1; i <= few; ++i) {
    taken_by[0] = i;
    least.assign(many + 1, kInfinite);
    seen.assign(many + 1, false);
    std::size_t at = 0;
    do {
      seen[at] = true;
      const std::size_t from = taken_by[at];
      double step = kInfinite;
      std::size_t next = 0;
      for (std::size_t k = 1; k <= many; ++k) {
        if (seen[k]) continue;
        const double reduced = cost(from - 1, k - 1) - own[from] - other[k];
        if (reduced < least[k]) least[k] = reduced, way[k] = at;
        if (least[k] < step) step = least[k], next = k;
      }
      for (std::size_t k = 0; k <= many; ++k) {
        if (seen[k])
          own[taken_by[k]] += step, other[k] -= step;
        else
          least[k] -= step;
      }
      at = next;
    } while (taken_by[at] != 0);
    for (; at != 0; at = way[at]) taken_by[at] = taken_by[way[at]];
  }
  for (std::size_t k = 1; k <= many; ++k) {
    if (taken_by[k] == 0) continue;
    if (turned)
      column_of[k - 1] = taken_by[k] - 1;
    else
      column_of[taken_by[k] - 1] = k - 1;
  }
  return column_of;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
