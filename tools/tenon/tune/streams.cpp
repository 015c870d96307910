// SPDX-License-Identifier: Apache-2.0
// Finds the largest number of streams that keep up.
#include <tenon/tools/tenon/tune/streams.hpp>

#include <algorithm>

namespace tenon::tool {

StreamsResult find_streams(const StreamsOptions& options, const std::function<TrialResult(std::size_t streams)>& run,
                           const std::function<void(const StreamsTrial&)>& seen) {
  StreamsResult found;
  const auto keeps_up = [&](std::size_t streams) {
    StreamsTrial trial{streams, run(streams), false};
    const TrialResult& result = trial.result;
    double frames = 0;
    for (const TrialResult::Stream& one : result.streams)
      frames += std::max(one.expected, static_cast<double>(one.frames));
    trial.keeps_up = result.failure.empty() && result.streams.size() >= streams &&
                     result.worst_share() <= options.bad_share &&
                     static_cast<double>(result.dropped) <= options.bad_share * frames &&
                     (options.latency_ms <= 0 || result.p99_ms <= options.latency_ms);
    seen(trial);
    found.trials.push_back(trial);
    return trial.keeps_up;
  };
  std::size_t good = 0, bad = options.most + 1;
  for (std::size_t next = 1; good < options.most; next = std::min(2 * next, options.most)) {
    if (!keeps_up(next)) {
      bad = next;
      break;
    }
    good = next;
  }
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    (keeps_up(middle) ? good : bad) = middle;
  }
  // One lucky or unlucky window must not decide: the answer has kept up twice.
  const auto times = [&](std::size_t streams) {
    return std::count_if(found.trials.begin(), found.trials.end(),
                         [&](const StreamsTrial& one) { return one.streams == streams && one.keeps_up; });
  };
  while (good > 0 && times(good) < 2)
    if (!keeps_up(good)) --good;
  if (good + 1 == bad && bad <= options.most && keeps_up(bad) && keeps_up(bad)) good = bad;
  found.streams = good;
  found.is_most = good == options.most;
  return found;
}

}  // namespace tenon::tool
