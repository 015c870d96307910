// SPDX-License-Identifier: Apache-2.0
// tenon bench FILE --streams: how many streams of a pipeline run in real time.
#pragma once

#include <string>
#include <vector>

#include <tenon/tools/tenon/tune/streams.hpp>
#include <tenon/tools/tenon/tune/trial.hpp>

namespace tenon::tool {

struct BenchStreamsOptions {
  std::string file, report;
  std::vector<std::string> settings;
  StreamsOptions streams;
  TrialOptions trial;
  bool counts = false;  ///< --streams was given.
  bool json = false;
};

/// Prints the answer. @errors Those of reading the file; kFailedPrecondition: not even one stream runs, for a reason other than speed.
void bench_streams(const BenchStreamsOptions& options);

}  // namespace tenon::tool
