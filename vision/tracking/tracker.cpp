// SPDX-License-Identifier: Apache-2.0
// The tracker: predicts positions, assigns detections to objects, and corrects the positions.
#include <tenon/vision/tracker.hpp>

#include <algorithm>
#include <cmath>
#include <string>

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

/// The work of an exact assignment, about a tenth of a second. Crowds come to a hundredth of it; hundreds of boxes that all overlap are
/// assigned best first.
constexpr std::size_t kMostExactSteps = std::size_t{1} << 27;

bool is_usable(const Detection& detection) {
  const Box& box = detection.box;
  return std::isfinite(box.x1) && std::isfinite(box.y1) && std::isfinite(box.x2) && std::isfinite(box.y2) &&
         std::isfinite(detection.score) && box.width() > 0 && box.height() > 0;
}

/// Gives a vector the length 1. @return False: it has none, or has something that is no number.
bool make_unit(std::span<float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  if (!(sum > 0) || !std::isfinite(sum)) return false;
  const auto scale = static_cast<float>(1 / std::sqrt(sum));
  for (float& value : values) value *= scale;
  return true;
}

float dot(const float* a, const float* b, std::size_t length) {
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= length; i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) sums[k] += a[i + k] * b[i + k];
  float sum = 0;
  for (const float one : sums) sum += one;
  for (; i < length; ++i) sum += a[i] * b[i];
  return sum;
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
  if (!is_share(options.appearance_threshold) || !is_share(options.appearance_overlap) ||
      !is_share(options.appearance_momentum) || !(options.appearance_reach >= 0))
    throw Error(
        Code::kInvalidArgument,
        "tracker: the threshold, overlap and momentum of features must be 0..1 and the reach 0 or more, they are " +
            std::to_string(options.appearance_threshold) + ", " + std::to_string(options.appearance_overlap) + ", " +
            std::to_string(options.appearance_momentum) + " and " + std::to_string(options.appearance_reach));
}

void Tracker::reset() {
  for (Track& track : tracks_) forget_features(track);
  tracks_.clear();
}

void Tracker::camera_moved(const CameraChange& change) {
  const double scale = std::hypot(change.a, change.b);
  for (Track& track : tracks_) {
    const auto turn = [&](double& x, double& y) {
      const double before = x;
      x = change.a * before - change.b * y;
      y = change.b * before + change.a * y;
    };
    auto& [x, y, width, height] = track.axes;
    turn(x.position, y.position);
    x.position += change.x, y.position += change.y;
    turn(x.velocity, y.velocity);
    for (Axis* axis : {&width, &height}) axis->position *= scale, axis->velocity *= scale;
    for (Axis& axis : track.axes)
      for (double& variance : axis.covariance) variance *= scale * scale;
    double seen_x = (static_cast<double>(track.seen.x1) + track.seen.x2) / 2,
           seen_y = (static_cast<double>(track.seen.y1) + track.seen.y2) / 2;
    turn(seen_x, seen_y);
    seen_x += change.x, seen_y += change.y;
    const double w = scale * static_cast<double>(track.seen.width()) / 2,
                 h = scale * static_cast<double>(track.seen.height()) / 2;
    track.seen = {static_cast<float>(seen_x - w), static_cast<float>(seen_y - h), static_cast<float>(seen_x + w),
                  static_cast<float>(seen_y + h)};
  }
}

/// Copies features, so that each has the length 1.
void Tracker::read(const Appearance& appearance, std::size_t detections) {
  has_look_.assign(detections, 0);
  if (appearance.length == 0 && appearance.rows.empty()) return;
  if (appearance.length == 0 || appearance.rows.size() != detections * appearance.length)
    throw Error(Code::kInvalidArgument, "tracker: " + std::to_string(detections) + " detections need a row of " +
                                            std::to_string(appearance.length) + " features each; there are " +
                                            std::to_string(appearance.rows.size()) + " numbers");
  if (appearance.length != length_) {
    for (Track& track : tracks_) forget_features(track);
    free_features_.clear();
    features_.clear();
    length_ = appearance.length;
  }
  looks_.assign(appearance.rows.begin(), appearance.rows.end());
  for (std::size_t d = 0; d < detections; ++d) has_look_[d] = make_unit({&looks_[d * length_], length_});
}

/// Half of one minus the cosine. @pre both have features.
float Tracker::distance(const Track& track, std::size_t detection) const {
  return (1 - dot(&features_[track.features * length_], &looks_[detection * length_], length_)) / 2;
}

void Tracker::forget_features(Track& track) {
  if (track.features == kNone) return;
  free_features_.push_back(track.features);
  track.features = kNone;
}

/// Lets a confident detection change what the object looks like.
void Tracker::learn(Track& track, std::size_t detection) {
  if (!has_look_[detection]) return;
  const float* const look = &looks_[detection * length_];
  float stays = options_.appearance_momentum;
  if (track.features == kNone) {
    stays = 0;
    if (free_features_.empty()) {
      free_features_.push_back(features_.size() / length_);
      features_.resize(features_.size() + length_);
    }
    track.features = free_features_.back();
    free_features_.pop_back();
    std::fill_n(&features_[track.features * length_], length_, 0.0f);
  }
  float* const known = &features_[track.features * length_];
  for (std::size_t i = 0; i < length_; ++i) known[i] = stays * known[i] + (1 - stays) * look[i];
  if (!make_unit({known, length_})) std::copy_n(look, length_, known);  // They were opposite.
}

void Tracker::take(Track& track, const Detection& detection, std::size_t index, bool by_appearance) {
  // Where it was found tells nothing about its velocity if it was not expected there.
  if (by_appearance && !(intersection_over_union(track.expected(), detection.box) > 0))
    track.start(detection.box);
  else
    track.correct(detection.box);
  track.seen = detection.box;
  track.score = detection.score;
  track.label_id = detection.label_id;
  track.missing = 0;
  track.is_taken = true;
  if (++track.found >= options_.confirm_pictures && track.id < 0) track.id = ++last_id_;
  if (detection.score >= options_.confidence_threshold) learn(track, index);
  ids_[index] = track.id;
  is_assigned_[index] = 1;
}

void Tracker::pair_by_overlap(std::span<const Detection> detections, bool by_expected) {
  pairs_.clear();
  by_left_.clear();
  float widest = 0;
  for (std::uint32_t column = 0; column < columns_.size(); ++column) {
    by_left_.push_back(column);
    widest = std::max(widest, detections[columns_[column]].box.width());
  }
  const auto left_of = [&](std::uint32_t column) { return detections[columns_[column]].box.x1; };
  std::sort(by_left_.begin(), by_left_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return left_of(a) != left_of(b) ? left_of(a) < left_of(b) : a < b;
  });
  for (std::uint32_t row = 0; row < rows_.size(); ++row) {
    const Track& track = tracks_[rows_[row]];
    const Box box = by_expected ? track.expected() : track.seen;
    auto at = std::lower_bound(by_left_.begin(), by_left_.end(), box.x1 - widest,
                               [&](std::uint32_t column, float x) { return left_of(column) < x; });
    for (; at != by_left_.end() && left_of(*at) < box.x2; ++at) {
      const Detection& detection = detections[columns_[*at]];
      if (!options_.across_labels && detection.label_id != track.label_id) continue;
      const float overlap = intersection_over_union(box, detection.box);
      if (!(overlap > 0)) continue;
      const bool is_weak = detection.score < options_.confidence_threshold;
      float score =
          overlap < (is_weak ? std::max(kWeakOverlap, options_.iou_threshold) : options_.iou_threshold) ? 0 : overlap;
      if (!is_weak && overlap >= options_.appearance_overlap && track.features != kNone && has_look_[columns_[*at]]) {
        const float apart = distance(track, columns_[*at]);
        if (apart <= options_.appearance_threshold) score = std::max(score, 1 - apart);
      }
      if (score > 0) pairs_.push_back({row, *at, score});
    }
  }
}

void Tracker::pair_by_appearance(std::span<const Detection> detections) {
  pairs_.clear();
  for (std::uint32_t row = 0; row < rows_.size(); ++row) {
    const Track& track = tracks_[rows_[row]];
    const Box expected = track.expected();
    const auto is_near = [&](const Box& a, const Box& b) {
      const float x = (a.x1 + a.x2 - b.x1 - b.x2) / 2, y = (a.y1 + a.y2 - b.y1 - b.y2) / 2;
      return std::hypot(x, y) <= options_.appearance_reach * std::max(track.seen.height(), 1.0f);
    };
    for (std::uint32_t column = 0; column < columns_.size(); ++column) {
      const Detection& detection = detections[columns_[column]];
      if (!options_.across_labels && detection.label_id != track.label_id) continue;
      if (options_.appearance_reach > 0 && !is_near(detection.box, expected) && !is_near(detection.box, track.seen))
        continue;
      const float apart = distance(track, columns_[column]);
      if (apart <= options_.appearance_threshold) pairs_.push_back({row, column, 1 - apart});
    }
  }
}

/// Sorts pairs by groups, which have no track and no detection in common.
void Tracker::group_pairs() {
  groups_.resize(rows_.size() + columns_.size());
  for (std::uint32_t i = 0; i < groups_.size(); ++i) groups_[i] = i;
  const auto root = [&](std::uint32_t i) {
    while (groups_[i] != i) i = groups_[i] = groups_[groups_[i]];
    return i;
  };
  const auto node_of = [&](const Pair& pair) { return static_cast<std::uint32_t>(rows_.size()) + pair.column; };
  for (const Pair& pair : pairs_) groups_[root(pair.row)] = root(node_of(pair));
  for (Pair& pair : pairs_) pair.group = root(pair.row);
  std::sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) {
    return a.group != b.group ? a.group < b.group : a.row != b.row ? a.row < b.row : a.column < b.column;
  });
}

/// The assignment with the largest sum of scores. Each group is solved by itself, because nothing in it competes with others.
void Tracker::assign(std::span<const Detection> detections, bool by_appearance) {
  if (pairs_.empty()) return;
  group_pairs();
  found_.clear();
  places_.resize(rows_.size() + columns_.size());
  for (std::size_t begin = 0; begin < pairs_.size();) {
    std::size_t end = begin + 1;
    while (end < pairs_.size() && pairs_[end].group == pairs_[begin].group) ++end;
    const std::span<Pair> group(&pairs_[begin], end - begin);
    if (group.size() == 1)
      found_.push_back({rows_[group[0].row], columns_[group[0].column]});
    else
      assign_group(group);
    begin = end;
  }
  // New ids are given in the order of detections.
  std::sort(found_.begin(), found_.end(), [](const Match& a, const Match& b) { return a.detection < b.detection; });
  for (const Match& match : found_)
    take(tracks_[match.track], detections[match.detection], match.detection, by_appearance);
}

void Tracker::assign_best_first(std::span<Pair> pairs) {
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return a.score != b.score ? a.score > b.score : a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  constexpr std::uint32_t kTaken = UINT32_MAX;
  for (const Pair& pair : pairs) {
    std::uint32_t& row = places_[pair.row];
    std::uint32_t& column = places_[rows_.size() + pair.column];
    if (row == kTaken || column == kTaken) continue;
    row = column = kTaken;
    found_.push_back({rows_[pair.row], columns_[pair.column]});
  }
}

void Tracker::assign_group(std::span<Pair> pairs) {
  group_rows_.clear();
  group_columns_.clear();
  for (const Pair& pair : pairs) {
    if (group_rows_.empty() || group_rows_.back() != pair.row) {
      places_[pair.row] = static_cast<std::uint32_t>(group_rows_.size());
      group_rows_.push_back(pair.row);
    }
    group_columns_.push_back(pair.column);
  }
  std::sort(group_columns_.begin(), group_columns_.end());
  group_columns_.erase(std::unique(group_columns_.begin(), group_columns_.end()), group_columns_.end());
  for (std::uint32_t i = 0; i < group_columns_.size(); ++i) places_[rows_.size() + group_columns_[i]] = i;
  // The algorithm wants no more rows than columns.
  const bool is_turned = group_rows_.size() > group_columns_.size();
  const std::size_t rows = is_turned ? group_columns_.size() : group_rows_.size();
  const std::size_t columns = is_turned ? group_rows_.size() : group_columns_.size();
  if (rows * rows > kMostExactSteps / columns) return assign_best_first(pairs);
  costs_.assign(rows * columns, 0);
  for (const Pair& pair : pairs) {
    const std::size_t row = places_[pair.row], column = places_[rows_.size() + pair.column];
    costs_[is_turned ? column * columns + row : row * columns + column] = -static_cast<double>(pair.score);
  }
  const std::span<const std::size_t> matches = solver_.solve(costs_, rows, columns);
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t row = matches[column];
    if (row == kNone || costs_[row * columns + column] == 0) continue;
    found_.push_back(
        {rows_[group_rows_[is_turned ? column : row]], columns_[group_columns_[is_turned ? row : column]]});
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

std::span<const std::int64_t> Tracker::update(std::span<const Detection> detections, const Appearance& appearance) {
  read(appearance, detections.size());
  ids_.assign(detections.size(), -1);
  is_assigned_.assign(detections.size(), 0);
  predict();
  const auto choose = [&](auto wants_track, auto wants_detection) {
    rows_.clear();
    columns_.clear();
    for (std::size_t t = 0; t < tracks_.size(); ++t) {
      if (!tracks_[t].is_taken && wants_track(tracks_[t])) rows_.push_back(t);
    }
    for (std::size_t d = 0; d < detections.size(); ++d) {
      if (is_assigned_[d] == 0 && is_usable(detections[d]) && wants_detection(d)) columns_.push_back(d);
    }
  };
  const auto is_present = [](const Track& track) { return track.missing == 0; };
  const auto is_confident = [&](std::size_t d) { return detections[d].score >= options_.confidence_threshold; };
  choose([&](const Track& track) { return track.missing <= options_.keep_pictures; }, is_confident);
  pair_by_overlap(detections, true);
  assign(detections, false);
  choose(is_present, is_confident);
  pair_by_overlap(detections, false);
  assign(detections, false);
  choose([](const Track& track) { return track.missing > 0 && track.features != kNone; },
         [&](std::size_t d) { return is_confident(d) && has_look_[d]; });
  pair_by_appearance(detections);
  assign(detections, true);
  choose(is_present, [&](std::size_t d) { return !is_confident(d); });
  pair_by_overlap(detections, true);
  assign(detections, false);
  for (Track& track : tracks_) {
    if (track.is_taken) continue;
    ++track.missing;
    track.found = 0;
    // An object that was never confirmed does not count.
    const std::uint32_t more = track.features == kNone ? 0 : options_.appearance_keep_pictures;
    track.is_over =
        track.id < 0 || (track.missing > options_.keep_pictures && track.missing - options_.keep_pictures > more);
    if (track.is_over) forget_features(track);
  }
  std::erase_if(tracks_, [](const Track& track) { return track.is_over; });
  for (std::size_t d = 0; d < detections.size(); ++d) {
    if (options_.max_objects != 0 && tracks_.size() >= options_.max_objects) break;
    if (!is_assigned_[d] && is_usable(detections[d]) && is_confident(d)) begin(detections[d], d);
  }
  return ids_;
}

void Tracker::Track::start(const Box& box) {
  const std::array<double, 4> values{(static_cast<double>(box.x1) + box.x2) / 2,
                                     (static_cast<double>(box.y1) + box.y2) / 2, box.width(), box.height()};
  for (std::size_t i = 0; i < values.size(); ++i)
    axes[i].start(values[i], kPositionNoise * static_cast<double>(box.height()),
                  kVelocityNoise * static_cast<double>(box.height()));
}

void Tracker::begin(const Detection& detection, std::size_t index) {
  Track& track = tracks_.emplace_back();
  track.start(detection.box);
  track.label_id = detection.label_id;
  track.seen = detection.box;
  track.score = detection.score;
  track.found = 1;
  if (options_.confirm_pictures <= 1) track.id = ++last_id_;
  learn(track, index);
  ids_[index] = track.id;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
