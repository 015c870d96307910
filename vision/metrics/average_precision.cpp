// SPDX-License-Identifier: Apache-2.0
// Ranks detections and computes areas under the curve.
#include <tenon/vision/average_precision.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// Area under the envelope: for each recall the best precision reached at that recall or a higher one.
double envelope_area(const std::vector<bool>& hits, std::size_t objects) {
  std::size_t right = 0;
  for (const bool hit : hits) right += hit;
  double area = 0, best = 0;
  for (std::size_t i = hits.size(); i-- > 0;) {
    best = std::max(best, static_cast<double>(right) / static_cast<double>(i + 1));
    if (hits[i]) {
      area += best / static_cast<double>(objects);
      --right;
    }
  }
  return area;
}

}  // namespace

void PrecisionMeter::add(std::span<const Detection> detections, std::span<const Truth> truths) {
  const std::size_t first = truths_.size();
  truths_.insert(truths_.end(), truths.begin(), truths.end());
  for (const Detection& detection : detections) {
    if (!std::isfinite(detection.score)) continue;
    Entry entry{detection.label_id, detection.score, 0, -1};
    for (std::size_t t = 0; t < truths.size(); ++t) {
      if (truths[t].label_id != detection.label_id) continue;
      const float overlap = intersection_over_union(detection.box, truths[t].box);
      if (overlap > entry.overlap) entry.overlap = overlap, entry.truth = static_cast<std::int64_t>(first + t);
    }
    entries_.push_back(entry);
  }
  ++pictures_;
}

MeanPrecision PrecisionMeter::result() const {
  std::map<int, LabelPrecision> labels;
  for (const Truth& truth : truths_) {
    LabelPrecision& label = labels[truth.label_id];
    label.label_id = truth.label_id;
    label.objects += !truth.difficult;
  }
  std::map<int, std::vector<const Entry*>> ranked;
  for (const Entry& entry : entries_) ranked[entry.label_id].push_back(&entry);
  MeanPrecision result;
  std::vector<bool> taken, hits;
  for (auto& [id, label] : labels) {
    if (label.objects == 0) continue;
    auto& list = ranked[id];
    std::stable_sort(list.begin(), list.end(), [](const Entry* a, const Entry* b) { return a->score > b->score; });
    label.detections = list.size();
    for (int step = 0; step < 10; ++step) {
      const float threshold = static_cast<float>(50 + 5 * step) / 100;
      taken.assign(truths_.size(), false);
      hits.clear();
      for (const Entry* entry : list) {
        if (entry->truth < 0 || entry->overlap < threshold) {
          hits.push_back(false);
          continue;
        }
        const auto truth = static_cast<std::size_t>(entry->truth);
        if (truths_[truth].difficult) continue;
        hits.push_back(!taken[truth]);
        taken[truth] = true;
      }
      const double area = envelope_area(hits, label.objects);
      if (step == 0) label.ap50 = area;
      label.ap += area / 10;
    }
    result.map50 += label.ap50;
    result.map += label.ap;
    result.labels.push_back(label);
  }
  if (!result.labels.empty()) {
    result.map50 /= static_cast<double>(result.labels.size());
    result.map /= static_cast<double>(result.labels.size());
  }
  return result;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
