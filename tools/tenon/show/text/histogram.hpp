// SPDX-License-Identifier: Apache-2.0
// Latencies by bands of time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tenon::tool {

struct Band {
  double from = 0, to = 0;  ///< The last band is open: `to` is the largest value.
  std::size_t count = 0;
};

/// Ten bands of equal width from the least value to the 99th percentile, and one for values above.
/// @param sorted  Ascending.
std::vector<Band> histogram(const std::vector<double>& sorted);

/// The value below which the share `q` of all values lies; 0 if there are none.
double quantile(const std::vector<double>& sorted, double q);

/// A line per band, with a bar of eighths of a cell; the band of the median is marked.
std::string histogram_text(const std::vector<double>& sorted, const char* unit);

}  // namespace tenon::tool
