// SPDX-License-Identifier: Apache-2.0
// SIMD over channels by Highway: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/image/roi_align.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/image/roi_align.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/bf16.hpp>

#include <tenon/engine/kernels/simd/bf16-inl.hpp>

#ifndef TENON_ROI_ALIGN_ONCE
#define TENON_ROI_ALIGN_ONCE
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>

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
void AverageCell(const RoiCells& what, const T* const* from, std::span<const WeightedPixel> rows,
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
void GreatestCell(const RoiCells& what, const T* from, std::span<const WeightedPixel> rows,
                  std::span<const WeightedPixel> columns, float* out) {
  const bool by_corners = what.mode == RoiCells::Mode::kMaxCorners;
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

// The greatest of all pixels: the first of those that do not compare.
template <std::size_t kVectors, class T>
void GreatestPixel(const RoiCells& what, const T* const* from, std::span<const WeightedPixel> rows,
                   std::span<const WeightedPixel> columns, float* out) {
  V best[kVectors];
  const bool is_empty = rows.empty() || columns.empty();
  const std::size_t first = is_empty ? 0 : (rows[0].at * what.width + columns[0].at) * what.block;
  for (std::size_t v = 0; v < kVectors; ++v) best[v] = is_empty ? hn::Zero(D()) : LoadAt(from[v] + first);
  for (const WeightedPixel& row : rows) {
    for (const WeightedPixel& column : columns) {
      const std::size_t at = (row.at * what.width + column.at) * what.block;
      for (std::size_t v = 0; v < kVectors; ++v) {
        const V pixel = LoadAt(from[v] + at);
        best[v] = hn::IfThenElse(hn::Lt(best[v], pixel), pixel, best[v]);
      }
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(best[v], D(), out + v * hn::Lanes(D()));
}

// Channels that fill no vector.
template <class T>
float SingleCell(const RoiCells& what, const T* from, std::span<const WeightedPixel> rows,
                 std::span<const WeightedPixel> columns) {
  const bool is_average = what.mode == RoiCells::Mode::kAverage, by_corners = what.mode == RoiCells::Mode::kMaxCorners;
  const auto part = [&](const WeightedPixel& row, const WeightedPixel& column) {
    return NumberAt(from + (row.at * what.width + column.at) * what.block) * (row.weight * column.weight);
  };
  float result = by_corners && !rows.empty() && !columns.empty() ? std::numeric_limits<float>::lowest() : 0;
  if (is_average) {
    for (const WeightedPixel& row : rows)
      for (const WeightedPixel& column : columns) result += part(row, column);
    return result;
  }
  if (what.mode == RoiCells::Mode::kMaxPixel) {
    if (!rows.empty() && !columns.empty()) result = part(rows[0], columns[0]);
    for (const WeightedPixel& row : rows)
      for (const WeightedPixel& column : columns) result = std::max(result, part(row, column));
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
void Cells(const RoiCells& what, const RoiTask& task, RoiRoom& room) {
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
      if (what.mode == RoiCells::Mode::kAverage) {
        for (; v + 4 <= vectors; v += 4) AverageCell<4>(what, from + v, rows, columns, out + v * lanes);
        for (; v < vectors; ++v) AverageCell<1>(what, from + v, rows, columns, out + v * lanes);
      } else if (what.mode == RoiCells::Mode::kMaxPixel) {
        for (; v + 4 <= vectors; v += 4) GreatestPixel<4>(what, from + v, rows, columns, out + v * lanes);
        for (; v < vectors; ++v) GreatestPixel<1>(what, from + v, rows, columns, out + v * lanes);
      } else {
        for (; v < vectors; ++v) GreatestCell(what, from[v], rows, columns, out + v * lanes);
      }
      for (std::size_t c = vectors * lanes; c < task.count; ++c)
        out[c] = SingleCell(what, from_channel(task.channel + c), rows, columns);
    }
  }
}

void ComputeCells(const RoiCells& what, const RoiTask& task, RoiRoom& room) {
  what.is_bf16 ? Cells<std::uint16_t>(what, task, room) : Cells<float>(what, task, room);
}

// From [cells][kRoiChannels] to [channels][cells]: four cells of a vector of channels at a time.
void PutCells(const float* from, std::size_t channels, std::size_t cells, float* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float fours[HWY_MAX_BYTES];
  std::size_t cell = 0;
  for (; cell + 4 <= cells; cell += 4) {
    const float* own = from + cell * kRoiChannels;
    for (std::size_t c = 0; c < channels; c += lanes) {
      const auto of = [&](std::size_t i) { return hn::LoadU(d, own + i * kRoiChannels + c); };
      hn::StoreInterleaved4(of(0), of(1), of(2), of(3), d, fours);
      const std::size_t some = HWY_MIN(lanes, channels - c);
      for (std::size_t i = 0; i < some; ++i) std::memcpy(to + (c + i) * cells + cell, fours + 4 * i, 4 * sizeof(float));
    }
  }
  for (; cell < cells; ++cell)
    for (std::size_t c = 0; c < channels; ++c) to[c * cells + cell] = from[cell * kRoiChannels + c];
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(ComputeCells);
HWY_EXPORT(PutCells);

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

/// Calls find(region, room) for each of the first `regions`, which finds its pixels and returns its picture.
template <typename Find>
void compute_regions(const RoiCells& what, std::size_t regions, const void* pictures, float* out, const Find& find) {
  const std::size_t cells = what.rows * what.columns;
  const std::size_t blocks = (what.channels + what.block - 1) / what.block;
  const std::size_t picture_bytes = blocks * what.block * what.height * what.width * (what.is_bf16 ? 2 : 4);
  const std::size_t parts = (what.channels + kRoiChannels - 1) / kRoiChannels;
  // Few regions are shared by channels, so that every worker finds the pixels of a region again.
  constexpr std::size_t kManyRegions = 16;
  const std::size_t splits = regions >= kManyRegions ? 1 : parts, count = regions * splits;
  parallel(count, 16 * regions * what.channels * cells, [&](std::size_t begin, std::size_t end) {
    RoiRoom& room = roi_room();
    if (room.cells.size() < cells * kRoiChannels) room.cells.resize(cells * kRoiChannels);
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t region = i / splits, part = i % splits;
      const char* picture = static_cast<const char*>(pictures) + find(region, room) * picture_bytes;
      for (std::size_t p = part; p < (splits == 1 ? parts : part + 1); ++p) {
        const std::size_t channel = p * kRoiChannels;
        const RoiTask task{picture, channel, std::min(kRoiChannels, what.channels - channel)};
        HWY_DYNAMIC_DISPATCH(ComputeCells)(what, task, room);
        HWY_DYNAMIC_DISPATCH(PutCells)
        (room.cells.data(), task.count, cells, out + (region * what.channels + channel) * cells);
      }
    }
  });
}

/// What is wrong with a region's picture, or with the region.
template <typename Index>
void check_index(const RoiCells& what, const char* operation, std::size_t region, Index given) {
  const auto index = static_cast<std::int64_t>(given);
  if (index >= 0 && index < static_cast<std::int64_t>(what.pictures)) return;
  throw Error(Code::kInvalidArgument, std::string(operation) + ": batch index " + std::to_string(index) +
                                          " of region " + std::to_string(region) + " is out of range; the batch has " +
                                          std::to_string(what.pictures) + " pictures");
}
void check_finite(bool is_finite, const char* operation, std::size_t region) {
  if (!is_finite)
    throw Error(Code::kInvalidArgument,
                std::string(operation) + ": region " + std::to_string(region) + " is not finite");
}

RoiAxis align_axis(const RoiCells& what, const RoiAlignRule& rule, const float* box, std::size_t axis) {
  return rule.axis(box[axis], box[axis + 2], axis == 0 ? what.columns : what.rows);
}

/// Finds for each cell the pixels of all its samples, with their weights. They lie anywhere in the picture.
void find_rotated(const RoiCells& what, const RotatedRoi& region, RoiPixels& made) {
  made.pixels.clear();
  made.begin.assign(1, 0);
  const auto height = static_cast<std::int64_t>(what.height), width = static_cast<std::int64_t>(what.width);
  const double share = 1 / static_cast<double>(region.samples());
  for (std::size_t cell = 0; cell < region.cells_down * region.cells_across; ++cell) {
    for (std::int64_t sample = 0; sample < region.samples(); ++sample) {
      const auto [y, x] = region.at(cell, sample);
      const RoiTap down = roi_tap(y, height), across = roi_tap(x, width);
      if (!down.is_inside || !across.is_inside) continue;
      const auto add = [&](std::int64_t row, std::int64_t column, double weight) {
        made.pixels.push_back({static_cast<std::size_t>(row * width + column), static_cast<float>(weight * share)});
      };
      add(down.low, across.low, (1 - down.rest) * (1 - across.rest));
      add(down.low, across.high, (1 - down.rest) * across.rest);
      add(down.high, across.low, down.rest * (1 - across.rest));
      add(down.high, across.high, down.rest * across.rest);
    }
    made.begin.push_back(made.pixels.size());
  }
}

void find_pooled(const RoiPoolAxis& axis, bool is_max, RoiPixels& made) {
  made.pixels.clear();
  made.begin.assign(1, 0);
  for (std::size_t cell = 0; cell < axis.cells; ++cell) {
    double at = 0;
    if (is_max) {
      const auto [first, end] = axis.pixels(cell);
      for (std::size_t pixel = first; pixel < end; ++pixel) made.pixels.push_back({pixel, 1});
    } else if (axis.point(cell, at)) {
      const auto low = static_cast<std::size_t>(at);
      const double rest = at - static_cast<double>(low);
      made.pixels.push_back({low, static_cast<float>(1 - rest)});
      made.pixels.push_back({std::min(low + 1, axis.extent - 1), static_cast<float>(rest)});
    }
    made.begin.push_back(made.pixels.size());
  }
}

/// How many regions come before the end of the list.
std::size_t listed_regions(std::size_t regions, std::size_t pictures, const float* boxes) {
  for (std::size_t r = 0; r < regions; ++r)
    if (roi_picture(boxes[5 * r], r, pictures) < 0) return r;
  return regions;
}

}  // namespace

template <typename Index>
void roi_align(const RoiCells& what, const RoiAlignRule& rule, const void* pictures, const float* boxes,
               const Index* indices, float* out) {
  for (std::size_t r = 0; r < what.regions; ++r) {
    check_index(what, "ROIAlign", r, indices[r]);
    check_finite(
        align_axis(what, rule, boxes + 4 * r, 0).is_finite() && align_axis(what, rule, boxes + 4 * r, 1).is_finite(),
        "ROIAlign", r);
  }
  const bool is_average = what.mode == RoiCells::Mode::kAverage;
  compute_regions(what, what.regions, pictures, out, [&](std::size_t region, RoiRoom& room) {
    const float* box = boxes + 4 * region;
    find_pixels(align_axis(what, rule, box, 0), what.columns, what.width, is_average, room.columns);
    find_pixels(align_axis(what, rule, box, 1), what.rows, what.height, is_average, room.rows);
    return static_cast<std::size_t>(indices[region]);
  });
}
template void roi_align(const RoiCells&, const RoiAlignRule&, const void*, const float*, const std::int32_t*, float*);
template void roi_align(const RoiCells&, const RoiAlignRule&, const void*, const float*, const std::int64_t*, float*);

template <typename Index>
void roi_align_rotated(const RoiCells& what, const RotatedRoiRule& rule, const void* pictures, const float* boxes,
                       const Index* indices, float* out) {
  const auto region_of = [&](std::size_t r) { return rule.region(boxes + 5 * r, what.rows, what.columns); };
  for (std::size_t r = 0; r < what.regions; ++r) {
    check_index(what, "ROIAlignRotated", r, indices[r]);
    check_finite(region_of(r).is_finite(), "ROIAlignRotated", r);
  }
  // The cells in one row, of which each has pixels of its own.
  RoiCells cells = what;
  cells.rows = 1;
  cells.columns = what.rows * what.columns;
  compute_regions(cells, what.regions, pictures, out, [&](std::size_t region, RoiRoom& room) {
    find_rotated(what, region_of(region), room.columns);
    room.rows.pixels.assign(1, {0, 1});
    room.rows.begin = {0, 1};
    return static_cast<std::size_t>(indices[region]);
  });
}
template void roi_align_rotated(const RoiCells&, const RotatedRoiRule&, const void*, const float*, const std::int32_t*,
                                float*);
template void roi_align_rotated(const RoiCells&, const RotatedRoiRule&, const void*, const float*, const std::int64_t*,
                                float*);

void roi_pool(const RoiCells& what, double scale, const void* pictures, const float* boxes, float* out) {
  const std::size_t listed = listed_regions(what.regions, what.pictures, boxes);
  const auto axis = [&](std::size_t region, std::size_t which) {
    const float* box = boxes + 5 * region + 1 + which;
    return RoiPoolAxis(box[0], box[2], scale, which == 0 ? what.columns : what.rows,
                       which == 0 ? what.width : what.height);
  };
  for (std::size_t r = 0; r < listed; ++r)
    check_finite(axis(r, 0).is_finite() && axis(r, 1).is_finite(), "ROIPooling", r);
  const bool is_max = what.mode == RoiCells::Mode::kMaxPixel;
  compute_regions(what, listed, pictures, out, [&](std::size_t region, RoiRoom& room) {
    find_pooled(axis(region, 0), is_max, room.columns);
    find_pooled(axis(region, 1), is_max, room.rows);
    return static_cast<std::size_t>(boxes[5 * region]);
  });
  const std::size_t each = what.channels * what.rows * what.columns;
  std::fill(out + listed * each, out + what.regions * each, 0.0f);
}

void ps_roi_pool_all(const PsRoiCells& what, const float* pictures, const float* boxes, float* out) {
  const PsRoiPooling& rule = what.rule;
  const std::size_t listed = listed_regions(what.regions, what.pictures, boxes),
                    each = rule.channels * rule.group * rule.group,
                    picture = what.own_channels * rule.height * rule.width;
  parallel(listed, 64 * listed * each, [&](std::size_t begin, std::size_t end) {
    thread_local std::vector<double> sums;  // Grown once, kept for the thread's life.
    if (sums.size() < rule.channels) sums.resize(rule.channels);
    for (std::size_t r = begin; r < end; ++r) {
      const float* box = boxes + 5 * r;
      ps_roi_pool(rule, pictures + static_cast<std::size_t>(box[0]) * picture, box, r, sums.data(), out + r * each);
    }
  });
  std::fill(out + listed * each, out + what.regions * each, 0.0f);
}

}  // namespace tenon::inline v1::engine::kernels
#endif
