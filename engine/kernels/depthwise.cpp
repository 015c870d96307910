// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/depthwise.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/depthwise.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/bf16-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = Depthwise::kBlock;
constexpr std::size_t kTile = 32;  // output columns whose input rows fit into the first-level cache as f32
constexpr std::size_t kLargest = Depthwise::kLargestKernel;
constexpr std::size_t kRowFloats = ((kTile - 1) * 2 + kLargest) * kBlock;

using D = hn::CappedTag<float, kBlock>;

// One block of channels: `lanes` of its 16 are real, the others exist only in the weights.
struct Block {
  const std::uint16_t* src;
  const float *weights, *bias;
  std::uint16_t* dst;
  std::size_t lanes;
};

// Columns [first, first + count) of row `row` as f32; positions outside are 0.
void Widen(const Block& block, const Depthwise& p, std::ptrdiff_t row, std::ptrdiff_t first, std::size_t count,
           float* to) {
  const D d;
  const bool inside = row >= 0 && row < static_cast<std::ptrdiff_t>(p.in_height);
  const auto pixel = static_cast<std::ptrdiff_t>(p.pixel());
  const std::uint16_t* from = block.src + (inside ? row : 0) * static_cast<std::ptrdiff_t>(p.in_width) * pixel;
  for (std::size_t i = 0; i < count; ++i) {
    const std::ptrdiff_t column = first + static_cast<std::ptrdiff_t>(i);
    const bool known = inside && column >= 0 && column < static_cast<std::ptrdiff_t>(p.in_width);
    const std::uint16_t* at = from + (known ? column : 0) * pixel;
    std::uint16_t part[kBlock] = {};
    if (known && block.lanes < kBlock) {
      for (std::size_t lane = 0; lane < block.lanes; ++lane) part[lane] = at[lane];
      at = part;
    }
    for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d))
      hn::Store(known ? LoadBf16(d, at + lane) : hn::Zero(d), d, to + i * kBlock + lane);
  }
}

// `kCount` neighbouring outputs of one row. rows[k] is the k-th input row, from the first output's leftmost column on.
template <std::size_t kCount, std::size_t kWidth, std::size_t kHeight>
HWY_INLINE void Outputs(const Depthwise& p, const Block& block, const float* const* rows, std::uint16_t* out) {
  const D d;
  const std::size_t width = kWidth ? kWidth : p.kernel_width, height = kHeight ? kHeight : p.kernel_height;
  const std::size_t step = p.stride_width * kBlock;
  for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
    hn::Vec<D> sums[kCount];
    for (std::size_t i = 0; i < kCount; ++i) sums[i] = hn::LoadU(d, block.bias + lane);
    for (std::size_t y = 0; y < height; ++y) {
      const float* row = rows[y] + lane;
      for (std::size_t x = 0; x < width; ++x) {
        const auto weight = hn::LoadU(d, block.weights + (y * width + x) * kBlock + lane);
        for (std::size_t i = 0; i < kCount; ++i)
          sums[i] = hn::MulAdd(hn::Load(d, row + i * step + x * kBlock), weight, sums[i]);
      }
    }
    const auto low = hn::Set(d, p.low), high = hn::Set(d, p.high);
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto result = hn::Min(hn::Max(sums[i], low), high);
      std::uint16_t* to = out + i * p.pixel() + lane;
      if (block.lanes == kBlock) {
        StoreBf16(result, d, to);
        continue;
      }
      std::uint16_t part[kBlock];
      StoreBf16(result, d, part);
      for (std::size_t k = 0; k < hn::Lanes(d) && lane + k < block.lanes; ++k) to[k] = part[k];
    }
  }
}

template <std::size_t kWidth, std::size_t kHeight>
void OneRow(const Depthwise& p, const Block& block, const float* const* rows, std::size_t count, std::uint16_t* out) {
  constexpr std::size_t kGroup = 7;  // divides widths of 7, 14, 28, 56, 112
  const float* at[kLargest];
  std::size_t i = 0;
  for (; i + kGroup <= count; i += kGroup) {
    for (std::size_t y = 0; y < p.kernel_height; ++y) at[y] = rows[y] + i * p.stride_width * kBlock;
    Outputs<kGroup, kWidth, kHeight>(p, block, at, out + i * p.pixel());
  }
  for (; i < count; ++i) {
    for (std::size_t y = 0; y < p.kernel_height; ++y) at[y] = rows[y] + i * p.stride_width * kBlock;
    Outputs<1, kWidth, kHeight>(p, block, at, out + i * p.pixel());
  }
}

// Rows [begin, end) of one block's output. Input rows are widened once each and kept in a ring.
void Rows(const Depthwise& p, const Block& block, std::size_t begin, std::size_t end) {
  HWY_ALIGN float ring[kLargest][kRowFloats];
  const bool three = p.kernel_height == 3 && p.kernel_width == 3;
  for (std::size_t first = 0; first < p.out_width; first += kTile) {
    const std::size_t count = HWY_MIN(kTile, p.out_width - first);
    const std::ptrdiff_t left = static_cast<std::ptrdiff_t>(first * p.stride_width) - p.pad_left;
    const std::size_t wide = (count - 1) * p.stride_width + p.kernel_width;
    std::ptrdiff_t next = static_cast<std::ptrdiff_t>(begin * p.stride_height) - p.pad_top;
    for (std::size_t y = begin; y < end; ++y) {
      const std::ptrdiff_t top = static_cast<std::ptrdiff_t>(y * p.stride_height) - p.pad_top;
      const float* rows[kLargest];
      next = HWY_MAX(next, top);
      for (; next < top + static_cast<std::ptrdiff_t>(p.kernel_height); ++next) {
        const auto slot = static_cast<std::size_t>(next + p.pad_top) % p.kernel_height;
        Widen(block, p, next, left, wide, ring[slot]);
      }
      for (std::size_t k = 0; k < p.kernel_height; ++k)
        rows[k] = ring[static_cast<std::size_t>(top + p.pad_top + static_cast<std::ptrdiff_t>(k)) % p.kernel_height];
      std::uint16_t* to = block.dst + (y * p.out_width + first) * p.pixel();
      if (three)
        OneRow<3, 3>(p, block, rows, count, to);
      else
        OneRow<0, 0>(p, block, rows, count, to);
    }
  }
}

// Rows [begin, end) of block `index` of picture `n`.
void BlockRows(const Depthwise& p, const std::uint16_t* src, const float* weights, const float* bias,
               std::uint16_t* dst, std::size_t n, std::size_t index, std::size_t begin, std::size_t end) {
  const std::size_t in = p.in_height * p.in_width, out = p.out_height * p.out_width,
                    taps = p.kernel_height * p.kernel_width * kBlock;
  // In elements, for a picture of one pixel.
  const std::size_t picture = p.channels_last ? p.channels : p.blocks() * kBlock;
  const Block block{src + n * in * picture + index * (p.channels_last ? kBlock : in * kBlock), weights + index * taps,
                    bias + index * kBlock, dst + n * out * picture + index * (p.channels_last ? kBlock : out * kBlock),
                    p.channels_last ? HWY_MIN(kBlock, p.channels - index * kBlock) : kBlock};
  Rows(p, block, begin, end);
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tenon/engine/kernels/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(BlockRows);

void depthwise_bf16(const Depthwise& problem, const std::uint16_t* src, const float* weights, const float* bias,
                    std::uint16_t* dst) {
  const std::size_t blocks = problem.blocks(), planes = problem.batch * blocks;
  // In blocks: whole planes if there are enough of them for all workers, else bands of rows, which share a few input
  // rows. With the channels innermost two blocks share a cache line: bands of few rows, so that all blocks of a band
  // are read from the second-level cache.
  constexpr std::size_t kBandRows = 7;
  const std::size_t wanted = problem.channels_last ? (problem.out_height + kBandRows - 1) / kBandRows
                             : planes >= 16        ? 1
                                                   : HWY_MIN(problem.out_height, std::size_t{8});
  const std::size_t band = (problem.out_height + wanted - 1) / wanted, bands = (problem.out_height + band - 1) / band;
  const std::size_t pixels = problem.in_height * problem.in_width + problem.out_height * problem.out_width;
  parallel(planes * bands, planes * pixels * Depthwise::kBlock * 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      // The innermost loop is over the blocks if these lie side by side.
      const std::size_t index = problem.channels_last ? i % blocks : i / bands % blocks,
                        part = problem.channels_last ? i / blocks % bands : i % bands;
      const std::size_t first = part * band, last = HWY_MIN(first + band, problem.out_height);
      HWY_DYNAMIC_DISPATCH(BlockRows)
      (problem, src, weights, bias, dst, i / blocks / bands, index, first, last);
    }
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
