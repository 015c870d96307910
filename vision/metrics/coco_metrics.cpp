// SPDX-License-Identifier: Apache-2.0
// Matches detections to objects, and integrates precision over recall.
#include <tenon/vision/coco_metrics.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// Areas in square pixels: all, small, medium, large. Both ends belong to the range.
constexpr double kAreaFrom[] = {0, 0, 32 * 32, 96 * 96}, kAreaTo[] = {1e10, 32 * 32, 96 * 96, 1e10};
enum Area : std::size_t { kAll, kSmall, kMedium, kLarge };

/// The value number `i` of `count` evenly spaced ones, computed as numpy.linspace does, so that comparisons come out alike.
double spaced(double from, double to, std::size_t count, std::size_t i) {
  return i + 1 == count ? to : static_cast<double>(i) * ((to - from) / static_cast<double>(count - 1)) + from;
}

/// The order in which `found` ranks: scores descending, equal ones as they are.
template <typename T, typename Score>
void by_score(std::vector<T>& found, Score score) {
  std::stable_sort(found.begin(), found.end(), [&](const T& a, const T& b) { return score(a) > score(b); });
}

/// The mean of the values that exist.
class Mean {
 public:
  void add(double value) { sum_ += value, ++count_; }
  std::optional<double> value() const {
    return count_ ? std::optional(sum_ / static_cast<double>(count_)) : std::nullopt;
  }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

/// Precision and recall of one label, area and overlap.
struct Curve {
  double recall = 0;
  std::vector<double> precision;  ///< At kRecalls recalls; empty without objects.
  double best_score = 0, best_f1 = 0;
};

}  // namespace

double CocoMeter::overlap(const CocoTruth& truth, const CocoFound& found) const {
  const CocoBox &a = found.box, &b = truth.box;
  if (of_ == Of::kMasks) {
    const auto shared = static_cast<double>(found.mask.shared_area(truth.mask));
    if (shared == 0) return 0;
    const auto own = static_cast<double>(found.mask.area());
    return shared / (truth.is_crowd ? own : own + static_cast<double>(truth.mask.area()) - shared);
  }
  const double w = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double h = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (!(w > 0) || !(h > 0)) return 0;
  const double own = a.width * a.height;
  const double part = w * h / (truth.is_crowd ? own : own + b.width * b.height - w * h);
  return std::isfinite(part) ? part : 0;  // Areas may be too large, or too small, for a number.
}

void CocoMeter::add(std::span<const CocoTruth> truths, std::span<const CocoFound> found) {
  ++pictures_;
  std::map<int, std::pair<std::vector<const CocoTruth*>, std::vector<const CocoFound*>>> by_label;
  for (const CocoTruth& one : truths) by_label[one.label_id].first.push_back(&one);
  for (const CocoFound& one : found)
    if (std::isfinite(one.score)) by_label[one.label_id].second.push_back(&one);
  if (of_ == Of::kMasks) {
    auto check = [&, first = static_cast<const MaskRuns*>(nullptr)](const MaskRuns& mask) mutable {
      if (!mask) throw Error(Code::kInvalidArgument, "masks are compared, and an object or a detection has none");
      if (!first) first = &mask;
      if (mask.height() != first->height() || mask.width() != first->width())
        throw Error(Code::kInvalidArgument, "masks of one picture are of " + std::to_string(first->width()) + "x" +
                                                std::to_string(first->height()) + " and of " +
                                                std::to_string(mask.width()) + "x" + std::to_string(mask.height()) +
                                                " pixels");
    };
    for (const CocoTruth& one : truths) check(one.mask);
    for (const CocoFound& one : found) check(one.mask);
  }
  for (auto& [id, both] : by_label) {
    auto& [own, ranked] = both;
    by_score(ranked, [](const CocoFound* one) { return one->score; });
    if (ranked.size() > kMostOfPicture) ranked.resize(kMostOfPicture);
    add_label(labels_[id], own, ranked);
  }
}

void CocoMeter::add_label(Label& label, std::span<const CocoTruth* const> truths,
                          std::span<const CocoFound* const> found) const {
  std::vector<double> overlaps(truths.size() * found.size());
  for (std::size_t f = 0; f < found.size(); ++f)
    for (std::size_t t = 0; t < truths.size(); ++t) overlaps[f * truths.size() + t] = overlap(*truths[t], *found[f]);
  const std::size_t first = label.found.size();
  for (std::size_t f = 0; f < found.size(); ++f)
    label.found.push_back({found[f]->score, static_cast<std::uint32_t>(f)});
  std::vector<std::size_t> order(truths.size());
  std::vector<bool> ignored(truths.size()), taken;
  for (std::size_t area = 0; area < kAreas; ++area) {
    const auto outside = [&](double value) { return value < kAreaFrom[area] || value > kAreaTo[area]; };
    for (std::size_t t = 0; t < truths.size(); ++t) {
      order[t] = t;
      ignored[t] = truths[t]->is_crowd || truths[t]->is_ignored || outside(truths[t]->area);
      label.objects[area] += !ignored[t];
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return !ignored[a] && ignored[b]; });
    for (std::size_t step = 0; step < kOverlaps; ++step) {
      taken.assign(truths.size(), false);
      for (std::size_t f = 0; f < found.size(); ++f) {
        double best = std::min(spaced(0.5, 0.95, kOverlaps, step), 1 - 1e-10);
        std::size_t match = SIZE_MAX;
        for (const std::size_t t : order) {
          if (taken[t] && !truths[t]->is_crowd) continue;
          // Objects that do not count come last: one that counts is not given up for one of them.
          if (match != SIZE_MAX && !ignored[match] && ignored[t]) break;
          if (overlaps[f * truths.size() + t] < best) continue;
          best = overlaps[f * truths.size() + t];
          match = t;
        }
        Ranked& ranked = label.found[first + f];
        const auto bit = static_cast<std::uint16_t>(1u << step);
        if (match != SIZE_MAX) {
          taken[match] = true;
          ranked.matched[area] = static_cast<std::uint16_t>(ranked.matched[area] | bit);
        }
        if (match != SIZE_MAX ? ignored[match] : outside(found[f]->area))
          ranked.ignored[area] = static_cast<std::uint16_t>(ranked.ignored[area] | bit);
      }
    }
  }
}

CocoResult CocoMeter::result() const {
  CocoResult result;
  result.pictures = pictures_;
  const auto curve_of = [](const std::vector<const Ranked*>& ranked, std::size_t objects, std::size_t area,
                           std::size_t step, std::size_t most) {
    Curve curve;
    std::vector<double> recalls, precisions;
    double right = 0, wrong = 0;
    const auto all = static_cast<double>(objects);
    for (const Ranked* one : ranked) {
      if (one->place >= most) continue;
      const bool counts = !(one->ignored[area] >> step & 1), matched = one->matched[area] >> step & 1;
      right += counts && matched;
      wrong += counts && !matched;
      recalls.push_back(right / all);
      precisions.push_back(right / (wrong + right + std::numeric_limits<double>::epsilon()));
      if (const double f1 = 2 * right / (all + right + wrong); f1 > curve.best_f1)
        curve.best_f1 = f1, curve.best_score = one->score;
    }
    curve.recall = recalls.empty() ? 0 : recalls.back();
    for (std::size_t i = precisions.size(); i-- > 1;) precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
    for (std::size_t i = 0; i < kRecalls; ++i) {
      const auto at = std::lower_bound(recalls.begin(), recalls.end(), spaced(0, 1, kRecalls, i));
      curve.precision.push_back(at == recalls.end() ? 0 : precisions[static_cast<std::size_t>(at - recalls.begin())]);
    }
    return curve;
  };
  std::array<Mean, 12> means;
  static constexpr std::optional<double> CocoFigures::*kFigures[12] = {
      &CocoFigures::ap,        &CocoFigures::ap50,     &CocoFigures::ap75,      &CocoFigures::ap_small,
      &CocoFigures::ap_medium, &CocoFigures::ap_large, &CocoFigures::ar1,       &CocoFigures::ar10,
      &CocoFigures::ar100,     &CocoFigures::ar_small, &CocoFigures::ar_medium, &CocoFigures::ar_large};
  for (const auto& [id, label] : labels_) {
    CocoLabel& told = result.labels.emplace_back();
    told.label_id = id;
    told.objects = label.objects[kAll];
    told.detections = label.found.size();
    result.objects += told.objects;
    result.detections += told.detections;
    std::vector<const Ranked*> ranked;
    for (const Ranked& one : label.found) ranked.push_back(&one);
    by_score(ranked, [](const Ranked* one) { return one->score; });
    std::array<Mean, 12> own;
    const auto add = [&](std::size_t figure, double value) { own[figure].add(value), means[figure].add(value); };
    for (std::size_t area = 0; area < kAreas; ++area) {
      if (label.objects[area] == 0) continue;
      for (std::size_t step = 0; step < kOverlaps; ++step) {
        const Curve curve = curve_of(ranked, label.objects[area], area, step, kMostOfPicture);
        for (const double precision : curve.precision) {
          add(area == kAll ? 0 : 2 + area, precision);
          if (area == kAll && step == 0) add(1, precision);
          if (area == kAll && step == 5) add(2, precision);
        }
        add(area == kAll ? 8 : 8 + area, curve.recall);
        if (area != kAll) continue;
        add(6, curve_of(ranked, label.objects[area], area, step, 1).recall);
        add(7, curve_of(ranked, label.objects[area], area, step, 10).recall);
        if (step > 0) continue;
        told.recall50 = curve.recall;
        told.precision50 = curve.precision;
        told.best_f1 = curve.best_f1;
        told.best_score = curve.best_score;
      }
    }
    for (std::size_t i = 0; i < own.size(); ++i) told.figures.*kFigures[i] = own[i].value();
  }
  for (std::size_t i = 0; i < means.size(); ++i) result.all.*kFigures[i] = means[i].value();
  return result;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
