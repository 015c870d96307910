// SPDX-License-Identifier: Apache-2.0
// The tracker: predicts positions, assigns detections to objects, and corrects the positions.
#include <tenon/vision/tracker.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr std::size_t kNone = SIZE_MAX;
/// Weak detections are less exact: they must overlap more.
constexpr float kWeakOverlap = 0.5f;
/// Standard deviations as fractions of the object's height: of a measured position, and of the change of position and velocity
/// from picture to picture. @source the weights of DeepSORT's filter, which ByteTrack uses, too.
constexpr double kPositionNoise = 1.0 / 20, kVelocityNoise = 1.0 / 160;

bool is_usable(const Detection& detection) {
  const Box& box = detection.box;
  return std::isfinite(box.x1) && std::isfinite(box.y1) && std::isfinite(box.x2) && std::isfinite(box.y2) &&
         std::isfinite(detection.score) && box.width() > 0 && box.height() > 0;
}

}  // namespace

void Tracker::Axis::start(double value, double position_noise, double velocity_noise) {
  position = value;
  velocity = 0;
  covariance = {4 * position_noise * position_noise, 0, 100 * velocity_noise * velocity_noise};
}

void Tracker::Axis::predict(double position_noise, double velocity_noise) {
  position += velocity;
  covariance[0] += 2 * covariance[1] + covariance[2] + position_noise * position_noise;
  covariance[1] += covariance[2];
  covariance[2] += velocity_noise * velocity_noise;
}

void Tracker::Axis::correct(double value, double noise) {
  const double spread = covariance[0] + noise * noise;
  const double gain = covariance[0] / spread, velocity_gain = covariance[1] / spread;
  const double difference = value - position;
  position += gain * difference;
  velocity += velocity_gain * difference;
  covariance[2] -= velocity_gain * covariance[1];
  covariance[1] -= gain * covariance[1];
  covariance[0] -= gain * covariance[0];
}

Box Tracker::Track::expected() const {
  const double x = axes[0].position, y = axes[1].position;
  const double w = std::max(axes[2].position, 1.0), h = std::max(axes[3].position, 1.0);
  return {static_cast<float>(x - w / 2), static_cast<float>(y - h / 2), static_cast<float>(x + w / 2),
          static_cast<float>(y + h / 2)};
}

void Tracker::Track::predict() {
  const double height = std::max(axes[3].position, 1.0);
  if (missing > 0) axes[2].velocity = axes[3].velocity = 0;  // It is not known how the size of a hidden object changes.
  for (Axis& axis : axes) axis.predict(kPositionNoise * height, kVelocityNoise * height);
}

void Tracker::Track::correct(const Box& box) {
  const double noise = kPositionNoise * static_cast<double>(box.height());
  axes[0].correct((static_cast<double>(box.x1) + box.x2) / 2, noise);
  axes[1].correct((static_cast<double>(box.y1) + box.y2) / 2, noise);
  axes[2].correct(box.width(), noise);
  axes[3].correct(box.height(), noise);
}

Tracker::Tracker(const TrackerOptions& options) : options_(options) {
  const auto is_share = [](float value) { return value >= 0 && value <= 1; };
  if (!is_share(options.iou_threshold) || !is_share(options.confidence_threshold))
    throw Error(Code::kInvalidArgument, "tracker: thresholds of overlap and confidence must be 0..1, they are " +
                                            std::to_string(options.iou_threshold) + " and " +
                                            std::to_string(options.confidence_threshold));
}

void Tracker::take(Track& track, const Detection& detection, std::size_t index) {
  track.correct(detection.box);
  track.seen = detection.box;
  track.score = detection.score;
  track.label_id = detection.label_id;
  track.missing = 0;
  track.is_taken = true;
  if (++track.found >= options_.confirm_pictures && track.id < 0) track.id = ++last_id_;
  ids_[index] = track.id;
  is_assigned_[index] = 1;
}

/// The assignment of rows_ to columns_ with the largest sum of overlaps; pairs below the threshold count nothing.
void Tracker::assign(std::span<const Detection> detections, bool by_expected) {
  if (rows_.empty() || columns_.empty()) return;
  // The algorithm wants no more rows than columns.
  const bool is_turned = rows_.size() > columns_.size();
  const std::size_t rows = is_turned ? columns_.size() : rows_.size();
  const std::size_t columns = is_turned ? rows_.size() : columns_.size();
  costs_.assign(rows * columns, 0);
  bool is_possible = false;
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    const Track& track = tracks_[rows_[t]];
    const Box expected = by_expected ? track.expected() : track.seen;
    for (std::size_t d = 0; d < columns_.size(); ++d) {
      const Detection& detection = detections[columns_[d]];
      if (!options_.across_labels && detection.label_id != track.label_id) continue;
      const bool is_weak = detection.score < options_.confidence_threshold;
      const float overlap = intersection_over_union(expected, detection.box);
      if (overlap < (is_weak ? std::max(kWeakOverlap, options_.iou_threshold) : options_.iou_threshold) ||
          !(overlap > 0))
        continue;
      costs_[is_turned ? d * columns + t : t * columns + d] = -static_cast<double>(overlap);
      is_possible = true;
    }
  }
  if (!is_possible) return;
  solve(rows, columns);
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t row = matches_[column];
    if (row == kNone || costs_[row * columns + column] == 0) continue;
    const std::size_t t = is_turned ? column : row, d = is_turned ? row : column;
    take(tracks_[rows_[t]], detections[columns_[d]], columns_[d]);
  }
}

/// The Hungarian algorithm by potentials: each row is added by the shortest augmenting path. matches_ has the row of each column.
void Tracker::solve(std::size_t rows, std::size_t columns) {
  Scratch& s = scratch_;
  s.row_potential.assign(rows + 1, 0);
  s.column_potential.assign(columns + 1, 0);
  s.row_of.assign(columns + 1, 0);  // Rows and columns count from 1; 0 is the row that is added.
  s.way.assign(columns + 1, 0);
  for (std::size_t row = 1; row <= rows; ++row) {
    s.row_of[0] = row;
    std::size_t column = 0;
    s.least.assign(columns + 1, std::numeric_limits<double>::infinity());
    s.is_used.assign(columns + 1, 0);
    do {
      s.is_used[column] = 1;
      const std::size_t from = s.row_of[column];
      double step = std::numeric_limits<double>::infinity();
      std::size_t next = 0;
      for (std::size_t j = 1; j <= columns; ++j) {
        if (s.is_used[j]) continue;
        const double reduced = costs_[(from - 1) * columns + j - 1] - s.row_potential[from] - s.column_potential[j];
        if (reduced < s.least[j]) s.least[j] = reduced, s.way[j] = column;
        if (s.least[j] < step) step = s.least[j], next = j;
      }
      for (std::size_t j = 0; j <= columns; ++j) {
        if (s.is_used[j])
          s.row_potential[s.row_of[j]] += step, s.column_potential[j] -= step;
        else
          s.least[j] -= step;
      }
      column = next;
    } while (s.row_of[column] != 0);
    for (; column != 0; column = s.way[column]) s.row_of[column] = s.row_of[s.way[column]];
  }
  matches_.assign(columns, kNone);
  for (std::size_t j = 1; j <= columns; ++j) {
    if (s.row_of[j] != 0) matches_[j - 1] = s.row_of[j] - 1;
  }
}

void Tracker::predict() {
  for (Track& track : tracks_) {
    track.predict();
    track.is_taken = false;
  }
}

std::span<const Tracker::Expected> Tracker::skip() {
  predict();
  expected_.clear();
  for (const Track& track : tracks_) {
    if (track.id >= 0 && track.missing == 0)
      expected_.push_back({track.id, track.expected(), track.label_id, track.score});
  }
  std::sort(expected_.begin(), expected_.end(), [](const Expected& a, const Expected& b) { return a.id < b.id; });
  return expected_;
}

std::span<const std::int64_t> Tracker::update(std::span<const Detection> detections) {
  ids_.assign(detections.size(), -1);
  is_assigned_.assign(detections.size(), 0);
  predict();
  const auto choose = [&](auto wants_track, bool is_weak, bool by_expected) {
    rows_.clear();
    columns_.clear();
    for (std::size_t t = 0; t < tracks_.size(); ++t) {
      if (!tracks_[t].is_taken && wants_track(tracks_[t])) rows_.push_back(t);
    }
    for (std::size_t d = 0; d < detections.size(); ++d) {
      if (is_assigned_[d] == 0 && is_usable(detections[d]) &&
          (detections[d].score < options_.confidence_threshold) == is_weak)
        columns_.push_back(d);
    }
    assign(detections, by_expected);
  };
  const auto is_present = [](const Track& track) { return track.missing == 0; };
  choose([](const Track&) { return true; }, false, true);
  choose(is_present, false, false);
  choose(is_present, true, true);
  for (Track& track : tracks_) {
    if (track.is_taken) continue;
    ++track.missing;
    track.found = 0;
  }
  // An object that was never confirmed does not count.
  std::erase_if(tracks_, [&](const Track& track) {
    return track.missing > options_.keep_pictures || (track.missing > 0 && track.id < 0);
  });
  for (std::size_t d = 0; d < detections.size(); ++d) {
    if (!is_assigned_[d] && is_usable(detections[d]) && detections[d].score >= options_.confidence_threshold)
      begin(detections[d], d);
  }
  return ids_;
}

void Tracker::begin(const Detection& detection, std::size_t index) {
  Track& track = tracks_.emplace_back();
  const Box& box = detection.box;
  const std::array<double, 4> values{(static_cast<double>(box.x1) + box.x2) / 2,
                                     (static_cast<double>(box.y1) + box.y2) / 2, box.width(), box.height()};
  for (std::size_t i = 0; i < values.size(); ++i)
    track.axes[i].start(values[i], kPositionNoise * box.height(), kVelocityNoise * box.height());
  track.label_id = detection.label_id;
  track.seen = box;
  track.score = detection.score;
  track.found = 1;
  if (options_.confirm_pictures <= 1) track.id = ++last_id_;
  ids_[index] = track.id;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
