// SPDX-License-Identifier: Apache-2.0
// How many streams of a pipeline run in real time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <tenon/tools/tenon/tune/trial.hpp>

namespace tenon::tool {

struct StreamsOptions {
  double bad_share = 0.01;  ///< The share of frames of a stream that may be late or missing.
  double latency_ms = 0;    ///< The 99th percentile of latency may be at most this; 0: any.
  std::size_t most = 256;
};

/// One number of streams that was tried.
struct StreamsTrial {
  std::size_t streams = 0;
  TrialResult result;
  bool keeps_up = false;
};

struct StreamsResult {
  std::size_t streams = 0;  ///< 0: not even one.
  bool is_most = false;     ///< It is options.most: more were not tried.
  std::vector<StreamsTrial> trials;
};

/// Doubles the number until one does not keep up, then halves the range. The answer has kept up twice; the number above, where one was tried, has failed,
/// and has not kept up in two more trials in a row.
/// @param run   Runs so many streams in real time. @param seen  Called after each trial.
StreamsResult find_streams(const StreamsOptions& options, const std::function<TrialResult(std::size_t streams)>& run,
                           const std::function<void(const StreamsTrial&)>& seen);

}  // namespace tenon::tool
