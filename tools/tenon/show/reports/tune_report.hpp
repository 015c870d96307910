// SPDX-License-Identifier: Apache-2.0
// What was tried for a pipeline, and what came of it: as text, JSON and a page with a plot.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/tools/tenon/tune/compare.hpp>
#include <tenon/tools/tenon/tune/streams.hpp>

namespace tenon::tool {

/// One change that was tried.
struct TuneStep {
  std::string change;  ///< "detect.requests=4"
  std::string before;  ///< The value that it replaces.
  PairedComparison comparison;
};

struct TuneReport {
  std::string file, written, goal, machine;
  double seconds = 0, budget_s = 0, latency_bound_ms = 0;
  std::size_t streams = 0;  ///< With which was measured.
  double noise =
      0;  ///< How far the same pipeline differs between two measurements: the standard deviation, as a share.
  std::vector<TuneStep> steps;
  std::size_t untried = 0;               ///< Changes for which there was no time.
  std::vector<std::string> changes;      ///< Those that were taken.
  std::optional<PairedComparison> last;  ///< The file as it was beside the one with all changes.
  std::optional<std::size_t> streams_before, streams_after;
  std::vector<std::string> notes;
  bool interrupted = false;

  std::string to_text() const;
  std::string to_json() const;
  std::string to_html() const;
};

/// The trials of tenon bench --streams.
struct StreamsReport {
  std::string file, machine;
  StreamsOptions options;
  double seconds = 0, late_ms = 0;
  StreamsResult result;
  std::vector<std::string> notes;

  std::string to_text() const;
  std::string to_json() const;
  std::string to_html() const;
};

/// "8 processors, AMD EPYC 7763": what measurements are true of.
std::string machine_text();

}  // namespace tenon::tool
