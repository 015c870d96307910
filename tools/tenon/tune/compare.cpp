// SPDX-License-Identifier: Apache-2.0
// Compares two ways in pairs of measurements.
#include <tenon/tools/tenon/tune/compare.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/core.h>

namespace tenon::tool {
namespace {

/// Student's t for 95% on both sides, by degrees of freedom from 1 on.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201};
/// What is this much slower in the first pair is given up at once.
constexpr double kHopeless = 0.85;

/// The geometric mean of the ratios, and its interval.
void summarise(PairedComparison& comparison) {
  const std::size_t pairs = comparison.new_values.size();
  std::vector<double> logs;
  for (std::size_t i = 0; i < pairs; ++i) logs.push_back(std::log(comparison.new_values[i] / comparison.old_values[i]));
  double mean = 0, squares = 0;
  for (const double one : logs) mean += one / static_cast<double>(pairs);
  for (const double one : logs) squares += (one - mean) * (one - mean);
  comparison.ratio = std::exp(mean);
  if (pairs < 2) return;
  const double error = std::sqrt(squares / static_cast<double>(pairs - 1) / static_cast<double>(pairs));
  const double reach = error * kStudent[std::min(pairs - 2, std::size(kStudent) - 1)];
  comparison.low = std::exp(mean - reach);
  comparison.high = std::exp(mean + reach);
}

}  // namespace

PairedComparison compare(const std::function<Score()>& old_way, const std::function<Score()>& new_way,
                         const CompareOptions& options, const std::function<bool()>& goes_on) {
  PairedComparison comparison;
  std::vector<double> latencies;
  std::size_t old_breaks = 0;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    if (!goes_on()) {
      comparison.why = "not decided: the time was over";
      return comparison;
    }
    Score old_score, new_score;
    if (round % 2 == 0) {
      old_score = old_way();
      new_score = new_way();
    } else {
      new_score = new_way();
      old_score = old_way();
    }
    if (!new_score.failure.empty() || !old_score.failure.empty()) {
      comparison.why = !new_score.failure.empty() ? "does not run: " + new_score.failure
                                                  : "could not be compared: " + old_score.failure;
      return comparison;
    }
    if (!(new_score.value > 0) || !(old_score.value > 0)) {
      comparison.why = "no frames came";
      return comparison;
    }
    comparison.old_values.push_back(old_score.value);
    comparison.new_values.push_back(new_score.value);
    latencies.push_back(new_score.latency_ms);
    std::nth_element(latencies.begin(), latencies.begin() + static_cast<std::ptrdiff_t>(latencies.size() / 2),
                     latencies.end());
    comparison.latency_ms = latencies[latencies.size() / 2];
    old_breaks += !old_score.is_in_bound;
    summarise(comparison);
    if (!new_score.is_in_bound) {
      comparison.why = fmt::format("breaks the bound of latency ({:.1f} ms)", new_score.latency_ms);
      return comparison;
    }
    const bool is_slower = comparison.ratio < (round == 0 ? kHopeless : 1.0);
    if (options.rejects_early && old_breaks == 0 && is_slower) {
      comparison.why = "no faster";
      return comparison;
    }
  }
  if (2 * old_breaks > options.rounds) {
    comparison.is_better = true;
    comparison.why = "keeps the bound of latency, which it did not before";
  } else if (comparison.low > 1 && comparison.ratio >= 1 + options.least_gain) {
    comparison.is_better = true;
    comparison.why = "faster beyond noise";
  } else {
    comparison.why =
        comparison.low > 1 ? fmt::format("gains less than {:.0f}%", 100 * options.least_gain) : "within noise";
  }
  return comparison;
}

}  // namespace tenon::tool
