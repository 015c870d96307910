// SPDX-License-Identifier: Apache-2.0
// Pairs objects with tracks, and counts.
#include <tenon/vision/tracking_metrics.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/vision/assignment.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kClearOverlap = 0.5;
constexpr std::size_t kMostIdPairs = 50'000'000;  ///< So that two tables of them stay below a GiB.

double ratio(double part, double whole) { return part / std::max(1.0, whole); }
double ratio(std::uint64_t part, std::uint64_t whole) {
  return ratio(static_cast<double>(part), static_cast<double>(whole));
}

template <typename Value>
double mean_over_overlaps(Value value) {
  double sum = 0;
  for (std::size_t i = 0; i < TrackingCounts::kOverlaps; ++i) sum += value(i);
  return sum / static_cast<double>(TrackingCounts::kOverlaps);
}

/// The numbers of the ids of one picture, new ones behind those that are known.
std::vector<std::size_t> numbers_of(std::span<const TrackedBox> boxes, std::map<std::int64_t, std::size_t>& known) {
  std::vector<std::size_t> numbers;
  std::set<std::int64_t> seen;
  for (const TrackedBox& one : boxes) {
    if (!seen.insert(one.id).second)
      throw Error(Code::kInvalidArgument,
                  "tracking: the id " + std::to_string(one.id) + " occurs twice in one picture");
    numbers.push_back(known.try_emplace(one.id, known.size()).first->second);
  }
  return numbers;
}

}  // namespace

double overlap_of(const CocoBox& a, const CocoBox& b) {
  const double ax = a.x + a.width, ay = a.y + a.height, bx = b.x + b.width, by = b.y + b.height;
  const double w = std::max(std::min(ax, bx) - std::max(a.x, b.x), 0.0),
               h = std::max(std::min(ay, by) - std::max(a.y, b.y), 0.0);
  const double own = (ax - a.x) * (ay - a.y), other = (bx - b.x) * (by - b.y), both = own + other - w * h;
  // Numbers beyond what a product can hold have no overlap, rather than one that is no number and never assigned.
  return own > kEpsilon && other > kEpsilon && both > kEpsilon && std::isfinite(both) ? w * h / both : 0;
}

std::vector<std::size_t> pair_boxes(std::span<const CocoBox> objects, std::span<const CocoBox> found, double least) {
  std::vector<double> gains(objects.size() * found.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    for (std::size_t k = 0; k < found.size(); ++k) {
      const double overlap = overlap_of(objects[i], found[k]);
      gains[i * found.size() + k] = overlap < least - kEpsilon ? 0 : overlap;
    }
  }
  std::vector<std::size_t> pairs = best_assignment(gains, objects.size(), found.size());
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (pairs[i] != SIZE_MAX && !(gains[i * found.size() + pairs[i]] > kEpsilon)) pairs[i] = SIZE_MAX;
  return pairs;
}

TrackingCounts& TrackingCounts::operator+=(const TrackingCounts& other) {
  const auto add = [&](auto TrackingCounts::*member) { this->*member += other.*member; };
  for (const auto member :
       {&TrackingCounts::pictures, &TrackingCounts::objects, &TrackingCounts::object_ids, &TrackingCounts::found,
        &TrackingCounts::found_ids, &TrackingCounts::clear_pairs, &TrackingCounts::switches, &TrackingCounts::fragments,
        &TrackingCounts::mostly_tracked, &TrackingCounts::partly_tracked, &TrackingCounts::mostly_lost,
        &TrackingCounts::identity_pairs})
    add(member);
  add(&TrackingCounts::clear_overlaps);
  for (std::size_t i = 0; i < kOverlaps; ++i) {
    pairs[i] += other.pairs[i];
    association[i] += other.association[i];
    association_recall[i] += other.association_recall[i];
    association_precision[i] += other.association_precision[i];
    overlaps[i] += other.overlaps[i];
  }
  return *this;
}

double TrackingCounts::hota_at(std::size_t overlap) const {
  return std::sqrt(ratio(pairs[overlap], objects + found - pairs[overlap]) *
                   ratio(association[overlap], static_cast<double>(pairs[overlap])));
}
double TrackingCounts::hota() const {
  return mean_over_overlaps([&](std::size_t i) { return hota_at(i); });
}
double TrackingCounts::det_a() const {
  return mean_over_overlaps([&](std::size_t i) { return ratio(pairs[i], objects + found - pairs[i]); });
}
double TrackingCounts::ass_a() const {
  return mean_over_overlaps([&](std::size_t i) { return ratio(association[i], static_cast<double>(pairs[i])); });
}
double TrackingCounts::loc_a() const {
  // 1 where there are no pairs, as TrackEval has it.
  return mean_over_overlaps(
      [&](std::size_t i) { return std::max(1e-10, overlaps[i]) / std::max(1e-10, static_cast<double>(pairs[i])); });
}
double TrackingCounts::det_recall() const {
  return mean_over_overlaps([&](std::size_t i) { return ratio(pairs[i], objects); });
}
double TrackingCounts::det_precision() const {
  return mean_over_overlaps([&](std::size_t i) { return ratio(pairs[i], found); });
}
double TrackingCounts::ass_recall() const {
  return mean_over_overlaps([&](std::size_t i) { return ratio(association_recall[i], static_cast<double>(pairs[i])); });
}
double TrackingCounts::ass_precision() const {
  return mean_over_overlaps(
      [&](std::size_t i) { return ratio(association_precision[i], static_cast<double>(pairs[i])); });
}
double TrackingCounts::mota() const {
  return ratio(static_cast<double>(clear_pairs) - static_cast<double>(wrong()) - static_cast<double>(switches),
               static_cast<double>(objects));
}
double TrackingCounts::motp() const { return ratio(clear_overlaps, static_cast<double>(clear_pairs)); }
double TrackingCounts::idf1() const {
  return ratio(static_cast<double>(identity_pairs), 0.5 * static_cast<double>(objects + found));
}
double TrackingCounts::id_recall() const { return ratio(identity_pairs, objects); }
double TrackingCounts::id_precision() const { return ratio(identity_pairs, found); }

void TrackingMeter::add(std::span<const TrackedBox> objects, std::span<const TrackedBox> found) {
  Picture picture{numbers_of(objects, object_numbers_), numbers_of(found, found_numbers_), {}};
  for (const TrackedBox& object : objects)
    for (const TrackedBox& one : found) picture.overlaps.push_back(overlap_of(object.box, one.box));
  pictures_.push_back(std::move(picture));
}

TrackingCounts TrackingMeter::result() const {
  TrackingCounts counts;
  counts.pictures = pictures_.size();
  counts.object_ids = object_numbers_.size();
  counts.found_ids = found_numbers_.size();
  if (counts.found_ids != 0 && counts.object_ids > kMostIdPairs / counts.found_ids)
    throw Error(Code::kResourceExhausted, "tracking: the " + std::to_string(counts.object_ids) +
                                              " ids of objects and " + std::to_string(counts.found_ids) +
                                              " ids of tracks have more than " + std::to_string(kMostIdPairs) +
                                              " pairs; evaluate a shorter sequence");
  for (const Picture& picture : pictures_) {
    counts.objects += picture.objects.size();
    counts.found += picture.found.size();
  }
  count_hota(counts);
  count_clear(counts);
  count_identity(counts);
  return counts;
}

void TrackingMeter::count_hota(TrackingCounts& counts) const {
  // How well two ids belong together over the whole sequence, which weighs the overlaps of each picture.
  std::vector<double> together(counts.object_ids * counts.found_ids), object_pictures(counts.object_ids),
      found_pictures(counts.found_ids);
  for (const Picture& picture : pictures_) {
    const std::size_t n = picture.objects.size(), m = picture.found.size();
    std::vector<double> by_object(n), by_found(m);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < m; ++k)
        by_object[i] += picture.overlaps[i * m + k], by_found[k] += picture.overlaps[i * m + k];
    for (std::size_t i = 0; i < n; ++i) {
      ++object_pictures[picture.objects[i]];
      for (std::size_t k = 0; k < m; ++k) {
        const double all = by_object[i] + by_found[k] - picture.overlaps[i * m + k];
        if (all > kEpsilon)
          together[picture.objects[i] * counts.found_ids + picture.found[k]] += picture.overlaps[i * m + k] / all;
      }
    }
    for (const std::size_t k : picture.found) ++found_pictures[k];
  }
  // Pairs of ids and, by overlap, the number of pictures in which they are paired.
  std::map<std::pair<std::size_t, std::size_t>, std::array<double, TrackingCounts::kOverlaps>> paired;
  std::vector<double> gains;
  for (const Picture& picture : pictures_) {
    const std::size_t n = picture.objects.size(), m = picture.found.size();
    gains.clear();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < m; ++k) {
        const std::size_t object = picture.objects[i], found = picture.found[k];
        const double shared = together[object * counts.found_ids + found];
        gains.push_back(shared / (object_pictures[object] + found_pictures[found] - shared) *
                        picture.overlaps[i * m + k]);
      }
    }
    const auto columns = best_assignment(gains, n, m);
    for (std::size_t i = 0; i < n; ++i) {
      if (columns[i] == SIZE_MAX) continue;
      const double overlap = picture.overlaps[i * m + columns[i]];
      for (std::size_t step = 0; step < TrackingCounts::kOverlaps; ++step) {
        if (overlap < 0.05 + static_cast<double>(step) * 0.05 - kEpsilon) break;
        ++counts.pairs[step];
        counts.overlaps[step] += overlap;
        ++paired[{picture.objects[i], picture.found[columns[i]]}][step];
      }
    }
  }
  for (const auto& [ids, pictures] : paired) {
    const double object = object_pictures[ids.first], found = found_pictures[ids.second];
    for (std::size_t step = 0; step < TrackingCounts::kOverlaps; ++step) {
      const double both = pictures[step];
      counts.association[step] += both * ratio(both, object + found - both);
      counts.association_recall[step] += both * ratio(both, object);
      counts.association_precision[step] += both * ratio(both, found);
    }
  }
}

void TrackingMeter::count_clear(TrackingCounts& counts) const {
  struct Object {
    std::size_t last = SIZE_MAX,
                before = SIZE_MAX;  ///< What it was paired with last, and in the picture before; SIZE_MAX: nothing.
    std::uint64_t pictures = 0, paired = 0, begun = 0;
  };
  std::vector<Object> objects(counts.object_ids);
  std::vector<double> gains;
  for (const Picture& picture : pictures_) {
    const std::size_t n = picture.objects.size(), m = picture.found.size();
    for (const std::size_t i : picture.objects) ++objects[i].pictures;
    if (n == 0 || m == 0) continue;  // Pairs go on across a picture in which a side has nothing.
    gains.clear();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < m; ++k) {
        const double overlap = picture.overlaps[i * m + k];
        // What was paired before stays so, if it still overlaps enough.
        const double kept = objects[picture.objects[i]].before == picture.found[k] ? 1000 : 0;
        gains.push_back(overlap < kClearOverlap - kEpsilon ? 0 : kept + overlap);
      }
    }
    const auto columns = best_assignment(gains, n, m);
    std::vector<std::size_t> now(objects.size(), SIZE_MAX);
    for (std::size_t i = 0; i < n; ++i) {
      if (columns[i] == SIZE_MAX || !(gains[i * m + columns[i]] > kEpsilon)) continue;
      Object& object = objects[picture.objects[i]];
      const std::size_t found = picture.found[columns[i]];
      counts.switches += object.last != SIZE_MAX && object.last != found;
      object.begun += object.before == SIZE_MAX;
      object.last = found;
      ++object.paired;
      now[picture.objects[i]] = found;
      ++counts.clear_pairs;
      counts.clear_overlaps += picture.overlaps[i * m + columns[i]];
    }
    for (std::size_t i = 0; i < objects.size(); ++i) objects[i].before = now[i];
  }
  for (const Object& object : objects) {
    const double share = ratio(object.paired, object.pictures);
    ++(share > 0.8 ? counts.mostly_tracked : share >= 0.2 ? counts.partly_tracked : counts.mostly_lost);
    if (object.begun > 1) counts.fragments += object.begun - 1;
  }
}

void TrackingMeter::count_identity(TrackingCounts& counts) const {
  std::vector<double> shared(counts.object_ids * counts.found_ids);
  for (const Picture& picture : pictures_) {
    const std::size_t m = picture.found.size();
    for (std::size_t i = 0; i < picture.objects.size(); ++i)
      for (std::size_t k = 0; k < m; ++k)
        if (picture.overlaps[i * m + k] >= kClearOverlap)
          ++shared[picture.objects[i] * counts.found_ids + picture.found[k]];
  }
  const auto columns = best_assignment(shared, counts.object_ids, counts.found_ids);
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i] != SIZE_MAX)
      counts.identity_pairs += static_cast<std::uint64_t>(shared[i * counts.found_ids + columns[i]]);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
