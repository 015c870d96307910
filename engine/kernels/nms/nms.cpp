// SPDX-License-Identifier: Apache-2.0
// SIMD over chosen boxes by Highway: compiled once per instruction set and chosen at run time. Without fused
// multiplication and addition, since overlaps are compared with a threshold and must be those of the rule.
#include <tenon/engine/kernels/nms/nms.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/nms/nms.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef TENON_BOX_SUPPRESSION_ONCE
#define TENON_BOX_SUPPRESSION_ONCE
#include <array>

#include <tenon/engine/kernels/reductions/ranking.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

/// No instruction set has longer vectors of f32.
inline constexpr std::size_t kBoxLanes = 64;

/// Corners and areas by columns, with room behind for a whole vector. What fills the last vector overlaps nothing.
struct BoxColumns {
  std::array<std::vector<float>, 5> columns;  ///< y1, x1, y2, x2, area.
  std::size_t count = 0;

  void clear() {
    count = 0;
    for (auto& column : columns) column.assign(kBoxLanes, 0.0f);
  }
  void add(const BoxCorners& box) {
    const float values[] = {box.y1, box.x1, box.y2, box.x2, (box.y2 - box.y1) * (box.x2 - box.x1)};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i][count] = values[i];
      columns[i].push_back(0.0f);
    }
    ++count;
  }
};

}  // namespace tenon::inline v1::engine::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// std::min and std::max, which return the first of two that do not compare.
HWY_INLINE V LesserOf(V a, V b) { return hn::IfThenElse(hn::Lt(b, a), b, a); }
HWY_INLINE V GreaterOf(V a, V b) { return hn::IfThenElse(hn::Lt(a, b), b, a); }

// Whether one of the boxes covers more than `limit` of what it and `box` cover.
bool IsHidden(const BoxColumns& boxes, const BoxCorners& box, float limit) {
  const D d;
  const V zero = hn::Zero(d), most = hn::Set(d, limit);
  const V y1 = hn::Set(d, box.y1), x1 = hn::Set(d, box.x1), y2 = hn::Set(d, box.y2), x2 = hn::Set(d, box.x2);
  const float own = (box.y2 - box.y1) * (box.x2 - box.x1);
  const V area = hn::Set(d, own);
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < boxes.count; i += lanes) {
    const auto column = [&](std::size_t which) { return hn::LoadU(d, boxes.columns[which].data() + i); };
    const V height = GreaterOf(zero, hn::Sub(LesserOf(y2, column(2)), GreaterOf(y1, column(0)))),
            width = GreaterOf(zero, hn::Sub(LesserOf(x2, column(3)), GreaterOf(x1, column(1))));
    const V other = column(4), common = hn::Mul(height, width);
    const V overlap = hn::Div(common, hn::Sub(hn::Add(area, other), common));
    const auto is_nothing = hn::Or(hn::Le(area, zero), hn::Le(other, zero));
    auto hides = hn::Gt(hn::IfThenElse(is_nothing, zero, overlap), most);
    if (i + lanes > boxes.count) hides = hn::And(hides, hn::FirstN(d, boxes.count - i));
    if (!hn::AllFalse(d, hides)) return true;
  }
  return false;
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(IsHidden);

namespace {

/// A worker's buffers; grown once, kept for the thread's life.
struct SuppressionRoom {
  std::vector<std::uint64_t> keys;
  BoxColumns chosen;
};
SuppressionRoom& suppression_room() {
  thread_local SuppressionRoom made;
  return made;
}

void find_candidates(const float* scores, std::size_t count, float least, std::vector<std::uint64_t>& keys) {
  keys.resize(count);
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    keys[found] = ranked(order_of(scores[i]), i);
    found += scores[i] > least;
  }
  keys.resize(found);
}

/// suppress_boxes() where scores do not decay: a box is kept if none of those kept before hides it.
std::vector<ChosenBox> suppress_class(const Nms& rule, const float* boxes, const float* scores, std::size_t count) {
  SuppressionRoom& room = suppression_room();
  find_candidates(scores, count, rule.score, room.keys);
  room.chosen.clear();
  const std::size_t candidates = room.keys.size();
  // Most often few candidates are looked at, so only these are brought into order.
  std::size_t ready = std::min(candidates, std::max<std::size_t>(2 * std::min(rule.most, candidates), 64));
  rank_greatest(room.keys, ready);
  std::vector<ChosenBox> chosen;
  for (std::size_t i = 0; i < candidates && chosen.size() < rule.most; ++i) {
    if (i == ready) {
      find_candidates(scores, count, rule.score, room.keys);
      rank_greatest(room.keys, candidates);
      ready = candidates;
    }
    const std::size_t box = index_of(room.keys[i]);
    const BoxCorners corners = box_corners(boxes + box * 4, rule.is_centre);
    if (HWY_DYNAMIC_DISPATCH(IsHidden)(room.chosen, corners, rule.overlap)) continue;
    room.chosen.add(corners);
    chosen.push_back({scores[box], static_cast<std::int64_t>(box)});
  }
  return chosen;
}

}  // namespace

std::vector<std::vector<ChosenBox>> suppress_boxes_of_classes(const Nms& rule, const float* boxes, const float* scores,
                                                              std::size_t batch, std::size_t classes,
                                                              std::size_t count) {
  std::vector<std::vector<ChosenBox>> all(batch * classes);
  parallel(all.size(), all.size() * count * 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float *own = boxes + i / classes * count * 4, *of = scores + i * count;
      all[i] = rule.sigma > 0 ? suppress_boxes(rule, own, of, count) : suppress_class(rule, own, of, count);
    }
  });
  return all;
}

}  // namespace tenon::inline v1::engine::kernels
#endif
