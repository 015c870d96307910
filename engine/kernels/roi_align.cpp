// SPDX-License-Identifier: Apache-2.0
// SIMD over channels by Highway: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/roi_align.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/roi_align.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/bf16.hpp>

#include <tenon/engine/kernels/bf16-inl.hpp>

#ifndef TENON_ROI_ALIGN_ONCE
#define TENON_ROI_ALIGN_ONCE
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/engine/kernels/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

/// Channels that are computed together; their cells stay in the first cache.
inline constexpr std::size_t kRoiChannels = 64;

struct WeightedPixel {
  std::size_t at = 0;  ///< Row or column.
  float weight = 0;
};

/// The pixels that the cells of one axis read: those of a cell from begin[cell] to begin[cell + 1].
struct RoiPixels {
  std::vector<WeightedPixel> pixels;
  std::vector<std::size_t> begin;
};

/// Some channels of one region.
struct RoiTask {
  const char* picture;         ///< Its first channel.
  std::size_t channel, count;  ///< The first, and how many.
};

/// A worker's buffers; grown once, kept for the thread's life.
struct RoiRoom {
  RoiPixels rows, columns;
  std::vector<float> cells;  ///< [rows * columns][kRoiChannels]
};

}  // namespace tenon::inline v1::engine::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// One cell of kVectors vectors of channels.
template <std::size_t kVectors, class T>
void AverageCell(const RoiAlign& what, const T* const* from, std::span<const WeightedPixel> rows,
                 std::span<const WeightedPixel> columns, float* out) {
  V sums[kVectors];
  for (V& sum : sums) sum = hn::Zero(D());
  for (const WeightedPixel& row : rows) {
    for (const WeightedPixel& column : columns) {
      const V weight = hn::Set(D(), row.weight * column.weight);
      const std::size_t at = (row.at * what.width + column.at) * what.block;
      for (std::size_t v = 0; v < kVectors; ++v) sums[v] = hn::MulAdd(LoadAt(from[v] + at), weight, sums[v]);
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], D(), out + v * hn::Lanes(D()));
}

// The pixels come in fours of two rows and two columns: a sample each.
template <class T>
void GreatestCell(const RoiAlign& what, const T* from, std::span<const WeightedPixel> rows,
                  std::span<const WeightedPixel> columns, float* out) {
  const bool by_corners = what.mode == RoiAlign::Mode::kMaxCorners;
  const bool is_empty = rows.empty() || columns.empty();
  V best = by_corners && !is_empty ? hn::Set(D(), std::numeric_limits<float>::lowest()) : hn::Zero(D());
  for (std::size_t r = 0; r < rows.size(); r += 2) {
    for (std::size_t c = 0; c < columns.size(); c += 2) {
      V sum = hn::Zero(D());
      for (std::size_t i = 0; i < 4; ++i) {
        const WeightedPixel &row = rows[r + i / 2], &column = columns[c + i % 2];
        const V part = hn::Mul(LoadAt(from + (row.at * what.width + column.at) * what.block),
                               hn::Set(D(), row.weight * column.weight));
        if (by_corners)
          best = hn::IfThenElse(hn::Lt(best, part), part, best);
        else
          sum = hn::Add(sum, part);
      }
      if (!by_corners) best = hn::IfThenElse(hn::Lt(best, sum), sum, best);
    }
  }
  hn::StoreU(best, D(), out);
}

// Channels that fill no vector.
template <class T>
float SingleCell(const RoiAlign& what, const T* from, std::span<const WeightedPixel> rows,
                 std::span<const WeightedPixel> columns) {
  const bool is_average = what.mode == RoiAlign::Mode::kAverage, by_corners = what.mode == RoiAlign::Mode::kMaxCorners;
  const auto part = [&](const WeightedPixel& row, const WeightedPixel& column) {
    return NumberAt(from + (row.at * what.width + column.at) * what.block) * (row.weight * column.weight);
  };
  float result = by_corners && !rows.empty() && !columns.empty() ? std::numeric_limits<float>::lowest() : 0;
  if (is_average) {
    for (const WeightedPixel& row : rows)
      for (const WeightedPixel& column : columns) result += part(row, column);
    return result;
  }
  for (std::size_t r = 0; r < rows.size(); r += 2) {
    for (std::size_t c = 0; c < columns.size(); c += 2) {
      float sum = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        const float corner = part(rows[r + i / 2], columns[c + i % 2]);
        sum += corner;
        if (by_corners) result = std::max(result, corner);
      }
      if (!by_corners) result = std::max(result, sum);
    }
  }
  return result;
}

template <class T>
void Cells(const RoiAlign& what, const RoiTask& task, RoiRoom& room) {
  const std::size_t lanes = hn::Lanes(D()), plane = what.height * what.width * what.block;
  const T* picture = reinterpret_cast<const T*>(task.picture);
  // A block that is not full has room for whole vectors; without blocks the next pixel follows at once.
  const bool is_blocked = what.block < what.channels;
  const std::size_t vectors = !is_blocked               ? task.count / lanes
                              : what.block % lanes == 0 ? (task.count + lanes - 1) / lanes
                                                        : 0;
  const auto from_channel = [&](std::size_t c) { return picture + c / what.block * plane + c % what.block; };
  const T* from[kRoiChannels];
  for (std::size_t v = 0; v < vectors; ++v) from[v] = from_channel(task.channel + v * lanes);
  for (std::size_t row = 0; row < what.rows; ++row) {
    const std::span rows(room.rows.pixels.data() + room.rows.begin[row],
                         room.rows.begin[row + 1] - room.rows.begin[row]);
    for (std::size_t column = 0; column < what.columns; ++column) {
      const std::span columns(room.columns.pixels.data() + room.columns.begin[column],
                              room.columns.begin[column + 1] - room.columns.begin[column]);
      float* out = room.cells.data() + (row * what.columns + column) * kRoiChannels;
      std::size_t v = 0;
      if (what.mode == RoiAlign::Mode::kAverage) {
        for (; v + 4 <= vectors; v += 4) AverageCell<4>(what, from + v, rows, columns, out + v * lanes);
        for (; v < vectors; ++v) AverageCell<1>(what, from + v, rows, columns, out + v * lanes);
      } else {
        for (; v < vectors; ++v) GreatestCell(what, from[v], rows, columns, out + v * lanes);
      }
      for (std::size_t c = vectors * lanes; c < task.count; ++c)
        out[c] = SingleCell(what, from_channel(task.channel + c), rows, columns);
    }
  }
}

void RoiCells(const RoiAlign& what, const RoiTask& task, RoiRoom& room) {
  what.is_bf16 ? Cells<std::uint16_t>(what, task, room) : Cells<float>(what, task, room);
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(RoiCells);

namespace {

RoiRoom& roi_room() {
  thread_local RoiRoom made;
  return made;
}

/// For averages the pixels that several samples of a cell read are joined, and the weights are those of the mean.
void find_pixels(const RoiAxis& axis, std::size_t cells, std::size_t extent, bool is_average, RoiPixels& made) {
  made.pixels.clear();
  made.begin.assign(1, 0);
  const double share = is_average && axis.samples > 0 ? 1 / static_cast<double>(axis.samples) : 1;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    for (std::int64_t sample = 0; sample < axis.samples; ++sample) {
      const RoiTap tap = roi_tap(axis.at(cell, sample), static_cast<std::int64_t>(extent));
      if (is_average && !tap.is_inside) continue;
      const auto add = [&](std::int64_t at, double weight) {
        const auto place = static_cast<std::size_t>(at);
        for (std::size_t back = 1; is_average && back <= 2 && made.pixels.size() >= made.begin.back() + back; ++back) {
          WeightedPixel& known = made.pixels[made.pixels.size() - back];
          if (known.at != place) continue;
          known.weight += static_cast<float>(weight);
          return;
        }
        made.pixels.push_back({place, static_cast<float>(weight)});
      };
      const double whole = tap.is_inside ? share : 0;
      add(tap.low, (1 - tap.rest) * whole);
      add(tap.high, tap.rest * whole);
    }
    made.begin.push_back(made.pixels.size());
  }
}

template <typename Index>
void check_regions(const RoiAlign& what, const float* boxes, const Index* indices) {
  for (std::size_t r = 0; r < what.regions; ++r) {
    const auto index = static_cast<std::int64_t>(indices[r]);
    if (index < 0 || index >= static_cast<std::int64_t>(what.pictures))
      throw Error(Code::kInvalidArgument, "ROIAlign: batch index " + std::to_string(index) + " of region " +
                                              std::to_string(r) + " is out of range; the batch has " +
                                              std::to_string(what.pictures) + " pictures");
    const float* box = boxes + 4 * r;
    if (!what.rule.axis(static_cast<double>(box[0]), static_cast<double>(box[2]), what.columns).is_finite() ||
        !what.rule.axis(static_cast<double>(box[1]), static_cast<double>(box[3]), what.rows).is_finite())
      throw Error(Code::kInvalidArgument, "ROIAlign: region " + std::to_string(r) + " is not finite");
  }
}

}  // namespace

template <typename Index>
void roi_align(const RoiAlign& what, const void* pictures, const float* boxes, const Index* indices, float* out) {
  check_regions(what, boxes, indices);
  const std::size_t cells = what.rows * what.columns;
  const std::size_t blocks = (what.channels + what.block - 1) / what.block;
  const std::size_t picture_bytes = blocks * what.block * what.height * what.width * (what.is_bf16 ? 2 : 4);
  const std::size_t parts = (what.channels + kRoiChannels - 1) / kRoiChannels;
  // Few regions are shared by channels, so that every worker finds the pixels of a region again.
  constexpr std::size_t kManyRegions = 16;
  const std::size_t splits = what.regions >= kManyRegions ? 1 : parts, count = what.regions * splits;
  const bool is_average = what.mode == RoiAlign::Mode::kAverage;
  parallel(count, 16 * what.regions * what.channels * cells, [&](std::size_t begin, std::size_t end) {
    RoiRoom& room = roi_room();
    if (room.cells.size() < cells * kRoiChannels) room.cells.resize(cells * kRoiChannels);
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t region = i / splits, part = i % splits;
      const float* box = boxes + 4 * region;
      find_pixels(what.rule.axis(static_cast<double>(box[0]), static_cast<double>(box[2]), what.columns), what.columns,
                  what.width, is_average, room.columns);
      find_pixels(what.rule.axis(static_cast<double>(box[1]), static_cast<double>(box[3]), what.rows), what.rows,
                  what.height, is_average, room.rows);
      const char* picture =
          static_cast<const char*>(pictures) + static_cast<std::size_t>(indices[region]) * picture_bytes;
      for (std::size_t p = part; p < (splits == 1 ? parts : part + 1); ++p) {
        const std::size_t channel = p * kRoiChannels;
        const RoiTask task{picture, channel, std::min(kRoiChannels, what.channels - channel)};
        HWY_DYNAMIC_DISPATCH(RoiCells)(what, task, room);
        float* to = out + (region * what.channels + channel) * cells;
        for (std::size_t c = 0; c < task.count; ++c)
          for (std::size_t cell = 0; cell < cells; ++cell) to[c * cells + cell] = room.cells[cell * kRoiChannels + c];
      }
    }
  });
}
template void roi_align(const RoiAlign&, const void*, const float*, const std::int32_t*, float*);
template void roi_align(const RoiAlign&, const void*, const float*, const std::int64_t*, float*);

}  // namespace tenon::inline v1::engine::kernels
#endif
