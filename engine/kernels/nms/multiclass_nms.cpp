// SPDX-License-Identifier: Apache-2.0
// SIMD over earlier boxes by Highway: compiled once per instruction set and chosen at run time. Doubles, without fused
// multiplication and addition, since overlaps are compared with thresholds and must be those of the reference kernel.
#include <tenon/engine/kernels/nms/multiclass_nms.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/nms/multiclass_nms.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef TENON_CLASS_SUPPRESSION_ONCE
#define TENON_CLASS_SUPPRESSION_ONCE
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <tenon/engine/kernels/reductions/ranking.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

/// No instruction set has longer vectors of f64.
inline constexpr std::size_t kClassLanes = 32;

/// A box, its area, and what boxes that overlapped it leave of later ones' scores.
struct ClassBox {
  std::array<double, 5> numbers;  ///< x1, y1, x2, y2, area.
};

/// The boxes so far by columns, with room behind for a whole vector.
struct ClassColumns {
  std::array<std::vector<double>, 5> columns;
  std::vector<double> most;  ///< The greatest overlap of each with those before it.
  std::size_t count = 0;

  void clear() {
    count = 0;
    for (auto& column : columns) column.assign(kClassLanes, 0.0);
    most.assign(kClassLanes, 0.0);
  }
  void add(const ClassBox& box, double overlap) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i][count] = box.numbers[i];
      columns[i].push_back(0.0);
    }
    most[count] = overlap;
    most.push_back(0.0);
    ++count;
  }
};

/// What earlier boxes do to one: the greatest overlap, and the least decay or its exponent.
struct ClassDecay {
  double overlap = 0, least = std::numeric_limits<double>::infinity();
};

}  // namespace tenon::inline v1::engine::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DD = hn::ScalableTag<double>;
using VD = hn::Vec<DD>;

// Overlaps of one box with those of columns.
class Overlaps {
 public:
  Overlaps(const MulticlassNms& rule, const ClassColumns& boxes, const ClassBox& box)
      : boxes_(boxes),
        more_(hn::Set(DD(), rule.is_normalized ? 0.0 : 1.0)),
        least_(hn::Set(DD(), rule.is_matrix && !rule.is_normalized ? 1.0 : 0.0)) {
    for (std::size_t i = 0; i < 5; ++i) own_[i] = hn::Set(DD(), box.numbers[i]);
  }
  // From `i` on; @return false if none of them overlaps it, so that all are 0.
  HWY_INLINE bool Of(std::size_t i, VD& overlap) const {
    const VD zero = hn::Zero(DD()), width = Common(i, 0), height = Common(i, 1);
    auto is_nothing = hn::Or(hn::Or(hn::Le(width, zero), hn::Le(height, zero)),
                             hn::Or(hn::Lt(width, least_), hn::Lt(height, least_)));
    if (i + hn::Lanes(DD()) > boxes_.count)
      is_nothing = hn::Or(is_nothing, hn::Not(hn::FirstN(DD(), boxes_.count - i)));
    overlap = zero;
    if (hn::AllTrue(DD(), is_nothing)) return false;
    const VD both = hn::Mul(width, height);
    const VD either = hn::Sub(hn::Add(own_[4], Column(i, 4)), both);
    overlap = hn::IfThenZeroElse(is_nothing, hn::Div(both, either));
    return true;
  }

 private:
  VD Column(std::size_t i, std::size_t which) const { return hn::LoadU(DD(), boxes_.columns[which].data() + i); }
  // std::min and std::max, which return the first of two that do not compare.
  HWY_INLINE VD Common(std::size_t i, std::size_t axis) const {
    const VD last = Column(i, axis + 2), first = Column(i, axis);
    const VD end = hn::IfThenElse(hn::Lt(last, own_[axis + 2]), last, own_[axis + 2]),
             begin = hn::IfThenElse(hn::Lt(own_[axis], first), first, own_[axis]);
    return hn::Add(hn::Sub(end, begin), more_);
  }

  const ClassColumns& boxes_;
  VD own_[5], more_, least_;
};

bool HidesClassBox(const MulticlassNms& rule, const ClassColumns& boxes, const ClassBox& box, double limit) {
  const Overlaps overlaps(rule, boxes, box);
  VD overlap;
  for (std::size_t i = 0; i < boxes.count; i += hn::Lanes(DD())) {
    // Without an overlap all are 0, which may be above the limit too.
    if (!overlaps.Of(i, overlap) && limit >= 0) continue;
    auto hides = hn::Gt(overlap, hn::Set(DD(), limit));
    if (i + hn::Lanes(DD()) > boxes.count) hides = hn::And(hides, hn::FirstN(DD(), boxes.count - i));
    if (!hn::AllFalse(DD(), hides)) return true;
  }
  return false;
}

// @param is_plain  What does not overlap lowers nothing.
void DecayClassBox(const MulticlassNms& rule, const ClassColumns& boxes, const ClassBox& box, bool is_plain,
                   ClassDecay& decay) {
  const DD d;
  const Overlaps overlaps(rule, boxes, box);
  const VD one = hn::Set(d, 1.0), endless = hn::Set(d, decay.least);
  VD most = hn::Zero(d), least = endless, overlap;
  for (std::size_t i = 0; i < boxes.count; i += hn::Lanes(d)) {
    if (!overlaps.Of(i, overlap) && is_plain) continue;
    most = hn::IfThenElse(hn::Lt(most, overlap), overlap, most);
    const VD before = hn::LoadU(d, boxes.most.data() + i);
    VD by = rule.is_gaussian
                ? hn::Mul(hn::Sub(hn::Mul(before, before), hn::Mul(overlap, overlap)), hn::Set(d, rule.sigma))
                : hn::Div(hn::Sub(one, overlap), hn::Sub(one, before));
    if (i + hn::Lanes(d) > boxes.count) by = hn::IfThenElse(hn::FirstN(d, boxes.count - i), by, endless);
    least = hn::IfThenElse(hn::Lt(by, least), by, least);
  }
  decay.overlap = hn::GetLane(hn::MaxOfLanes(d, most));
  decay.least = hn::GetLane(hn::MinOfLanes(d, least));
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(HidesClassBox);
HWY_EXPORT(DecayClassBox);

namespace {

/// A worker's buffers; grown once, kept for the thread's life.
struct ClassRoom {
  std::vector<std::uint64_t> keys;
  ClassColumns before;
};
ClassRoom& class_room() {
  thread_local ClassRoom made;
  return made;
}

ClassBox class_box(const float* box, bool is_normalized) {
  const double more = is_normalized ? 0 : 1;
  ClassBox made{{static_cast<double>(box[0]), static_cast<double>(box[1]), static_cast<double>(box[2]),
                 static_cast<double>(box[3]), 0}};
  const auto& n = made.numbers;
  if (!(n[2] < n[0] || n[3] < n[1])) made.numbers[4] = (n[2] - n[0] + more) * (n[3] - n[1] + more);
  return made;
}

/// The candidates, the best first, as keys.
void rank_candidates(const MulticlassNms& rule, const PictureClass& of, std::vector<std::uint64_t>& keys) {
  keys.resize(of.count);
  std::size_t found = 0;
  for (std::size_t i = 0; i < of.count; ++i) {
    keys[found] = ranked(order_of(of.scores[i]), i);
    found += rule.is_candidate(of.scores[i]);
  }
  keys.resize(found);
  const std::size_t wanted = rule.most < 0 ? found : std::min(found, static_cast<std::size_t>(rule.most));
  rank_greatest(keys, wanted);
  keys.resize(wanted);
}

void decay_class(const MulticlassNms& rule, PictureClass& of, ClassRoom& room) {
  // Overlaps are at most 1, since boxes that are inside out overlap nothing: without one the decay is 1 or more.
  const bool is_plain = !rule.is_gaussian || rule.sigma >= 0;
  for (const std::uint64_t key : room.keys) {
    const std::size_t index = index_of(key);
    const ClassBox box = class_box(of.box(index), rule.is_normalized);
    ClassDecay decay;
    HWY_DYNAMIC_DISPATCH(DecayClassBox)(rule, room.before, box, is_plain, decay);
    room.before.add(box, decay.overlap);
    // The least exponent gives the least decay.
    const double by = std::min(1.0, rule.is_gaussian ? std::exp(decay.least) : decay.least);
    const double score = static_cast<double>(of.scores[index]) * by;
    if (score > rule.post) of.keep(index, score);
  }
}

void leave_out(const MulticlassNms& rule, PictureClass& of, ClassRoom& room) {
  double threshold = rule.overlap;
  for (const std::uint64_t key : room.keys) {
    const std::size_t index = index_of(key);
    const ClassBox box = class_box(of.box(index), rule.is_normalized);
    if (HWY_DYNAMIC_DISPATCH(HidesClassBox)(rule, room.before, box, threshold)) continue;
    room.before.add(box, 0);
    of.keep(index, static_cast<double>(of.scores[index]));
    threshold = rule.next_overlap(threshold);
  }
}

}  // namespace

void suppress_within_classes(const MulticlassNms& rule, std::span<PictureClass> classes) {
  std::size_t boxes = 0;
  for (const PictureClass& each : classes) boxes += each.count;
  parallel(classes.size(), boxes * 64, [&](std::size_t begin, std::size_t end) {
    ClassRoom& room = class_room();
    for (std::size_t i = begin; i < end; ++i) {
      rank_candidates(rule, classes[i], room.keys);
      room.before.clear();
      rule.is_matrix ? decay_class(rule, classes[i], room) : leave_out(rule, classes[i], room);
    }
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
