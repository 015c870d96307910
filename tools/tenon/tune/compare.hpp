// SPDX-License-Identifier: Apache-2.0
// Whether a change makes something faster, beyond the noise of a busy machine.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tenon::tool {

/// One measurement.
struct Score {
  double value = 0;  ///< More is better.
  double latency_ms = 0;
  bool is_in_bound = true;  ///< Whether the bound of latency is kept.
  std::string failure;      ///< Why it did not run; empty: it ran.
};

struct CompareOptions {
  std::size_t rounds = 6;     ///< Pairs of measurements before a change is taken: 2 to 12.
  double least_gain = 0.02;   ///< A change that gains less is not taken.
  bool rejects_early = true;  ///< Ends when a change looks no better, which can only keep what is.
};

/// The outcome of measurements of both ways by turns.
struct PairedComparison {
  std::vector<double> old_values, new_values;
  double ratio = 0;  ///< New to old: the geometric mean over the pairs.
  double low = 0,
         high = 0;  ///< In which the true ratio lies with 95% confidence, if the noise is normal; 0 and 0: one pair.
  double latency_ms = 0;  ///< The median of the new way.
  bool is_better = false;
  std::string why;  ///< In a few words.
};

/// Measures both ways in pairs, whose order alternates, so that other load on the machine meets both alike. The new way is better if all rounds were
/// run, the lower end of the interval is above 1, and the gain is at least options.least_gain; or if it keeps a bound of latency that the old way breaks.
/// @param goes_on  Asked before each pair; false ends the comparison, and the change is not taken.
PairedComparison compare(const std::function<Score()>& old_way, const std::function<Score()>& new_way,
                         const CompareOptions& options, const std::function<bool()>& goes_on);

}  // namespace tenon::tool
