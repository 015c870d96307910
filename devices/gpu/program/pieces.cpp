// SPDX-License-Identifier: Apache-2.0
// Splits axes, and follows their pieces.
#include <tenon/devices/gpu/program/pieces.hpp>

#include <utility>

namespace tenon::inline v1::gpu_device {
namespace {

constexpr std::size_t kNeighbours = 8;

}  // namespace

Pieces::Pieces(const Shape& made) {
  for (const std::size_t extent : made) {
    made_.emplace_back();
    counts_.push_back(extent == 1 ? 0 : 1);
    if (extent == 1) continue;
    made_.back().push_back(extents_.size());
    extents_.push_back(extent);
  }
}

bool Pieces::keeps_neighbours() const {
  const auto& columns = made_.back();
  return !columns.empty() && columns.back() + 1 == extents_.size() && extents_[columns.back()] % kNeighbours == 0;
}

void Pieces::split(std::size_t piece, std::size_t outer) {
  Shape extents;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    if (i == piece) extents.push_back(outer);
    extents.push_back(i == piece ? extents_[i] / outer : extents_[i]);
  }
  extents_ = extents;
  for (auto& axis : made_) {
    std::vector<std::size_t> pieces;
    for (const std::size_t old : axis) {
      pieces.push_back(old > piece ? old + 1 : old);
      if (old == piece) pieces.push_back(piece + 1);
    }
    axis = std::move(pieces);
  }
}

bool Pieces::reshape(const Shape& shape) {
  Pieces next = *this;
  next.counts_.clear();
  std::size_t at = 0;
  for (std::size_t left : shape) {
    next.counts_.push_back(0);
    while (left != 1) {
      if (left == 0 || at == next.extents_.size()) return false;
      if (left % next.extents_[at] != 0) {
        if (next.extents_[at] % left != 0) return false;
        next.split(at, left);
      }
      left /= next.extents_[at++];
      ++next.counts_.back();
    }
  }
  if (at != next.extents_.size() || !next.keeps_neighbours()) return false;
  *this = std::move(next);
  return true;
}

bool Pieces::transpose(const std::vector<std::size_t>& order) {
  std::vector<std::size_t> begins(counts_.size(), 0), places(extents_.size());
  for (std::size_t axis = 1; axis < counts_.size(); ++axis) begins[axis] = begins[axis - 1] + counts_[axis - 1];
  Pieces next = *this;
  next.extents_ = {};
  next.counts_.clear();
  for (const std::size_t axis : order) {
    next.counts_.push_back(counts_[axis]);
    for (std::size_t piece = begins[axis]; piece < begins[axis] + counts_[axis]; ++piece) {
      places[piece] = next.extents_.size();
      next.extents_.push_back(extents_[piece]);
    }
  }
  for (auto& axis : next.made_)
    for (std::size_t& piece : axis) piece = places[piece];
  if (!next.keeps_neighbours()) return false;
  *this = std::move(next);
  return true;
}

AxisGroups rows_and_columns(const AxisGroups& axes) {
  AxisGroups groups(2);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    auto& group = groups[axis + 1 == axes.size()];
    group.insert(group.end(), axes[axis].begin(), axes[axis].end());
  }
  return groups;
}

}  // namespace tenon::inline v1::gpu_device
