// SPDX-License-Identifier: Apache-2.0
// One open event for each label.
#include <tenon/vision/audio_events.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

AudioEvents::AudioEvents(AudioEventOptions options) : options_(std::move(options)), open_(options_.labels.size()) {
  const bool is_number =
      std::isfinite(options_.threshold) && std::all_of(options_.thresholds.begin(), options_.thresholds.end(),
                                                       [](float value) { return std::isfinite(value); });
  if (!is_number || options_.merge_gap_ns < 0)
    throw Error(Code::kInvalidArgument, "audio events: thresholds must be numbers, and merge_gap_ns 0 or more");
}

const std::vector<metadata::AudioEvent>& AudioEvents::add(std::span<const float> scores, std::int64_t begin_ns,
                                                          std::int64_t end_ns) {
  if (scores.size() != open_.size())
    throw Error(Code::kInvalidArgument, "audio events: a window of " + std::to_string(scores.size()) + " scores for " +
                                            std::to_string(open_.size()) + " labels");
  if (begin_ns < last_begin_ns_ || end_ns < begin_ns)
    throw Error(Code::kInvalidArgument, "audio events: a window from " + std::to_string(begin_ns) + " to " +
                                            std::to_string(end_ns) + " ns after one from " +
                                            std::to_string(last_begin_ns_) + " ns; windows come in their order");
  last_begin_ns_ = begin_ns;
  close_before(begin_ns);
  for (std::size_t label = 0; label < open_.size(); ++label) {
    const float least = label < options_.thresholds.size() ? options_.thresholds[label] : options_.threshold;
    if (!(scores[label] >= least)) continue;
    Open& event = open_[label];
    if (!event.is_open) event = {true, scores[label], begin_ns, end_ns};
    event.score = std::max(event.score, scores[label]);
    event.end_ns = std::max(event.end_ns, end_ns);
  }
  return ended_;
}

const std::vector<metadata::AudioEvent>& AudioEvents::finish() {
  close_before(INT64_MAX);
  last_begin_ns_ = INT64_MIN;
  return ended_;
}

void AudioEvents::close_before(std::int64_t time_ns) {
  ended_.clear();
  for (std::size_t label = 0; label < open_.size(); ++label) {
    Open& event = open_[label];
    if (!event.is_open || (time_ns != INT64_MAX && event.end_ns + options_.merge_gap_ns >= time_ns)) continue;
    ended_.push_back({options_.labels[label], static_cast<int>(label), event.score, event.begin_ns, event.end_ns});
    event.is_open = false;
  }
  std::sort(ended_.begin(), ended_.end(), [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
