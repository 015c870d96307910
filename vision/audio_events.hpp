// SPDX-License-Identifier: Apache-2.0
// Turns the scores of windows of sound into events with a begin and an end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct AudioEventOptions {
  std::vector<std::string> labels;
  float threshold = 0.5f;              ///< The minimum score of an event.
  std::vector<float> thresholds = {};  ///< Thresholds by label, which replace the one above for these labels.
  std::int64_t merge_gap_ns = 0;       ///< The largest gap between windows of one label that still form one event.
};

/// Joins windows, which may overlap, to events. @thread one at a time.
class TENON_API AudioEvents {
 public:
  /// @errors kInvalidArgument: a threshold that is no number, a negative gap.
  explicit AudioEvents(AudioEventOptions options);
  /// The next window. @param scores  One for each label. @pre windows come in the order of their beginnings.
  /// @return events that ended before it, in the order of their beginnings; valid until the next call. Their score is that of their best
  /// window. @errors kInvalidArgument: another number of scores than labels, a window that begins before the last or ends before it begins.
  const std::vector<metadata::AudioEvent>& add(std::span<const float> scores, std::int64_t begin_ns,
                                               std::int64_t end_ns);
  /// The stream has ended: returns the events that have not ended yet.
  const std::vector<metadata::AudioEvent>& finish();

 private:
  struct Open {
    bool is_open = false;
    float score = 0;
    std::int64_t begin_ns = 0, end_ns = 0;
  };
  void close_before(std::int64_t time_ns);

  AudioEventOptions options_;
  std::vector<Open> open_;  ///< By label.
  std::int64_t last_begin_ns_ = INT64_MIN;
  std::vector<metadata::AudioEvent> ended_;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
