// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions of bf16: compiled once per instruction set and chosen at run time. oneDNN's kernel reads every
// element once per point of the window; this one keeps four neighbours' sums in registers and reads it once per row.
#include <tenon/engine/kernels/image/depthwise.hpp>

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/image/depthwise.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/bf16-inl.hpp>

#include <tenon/engine/kernels/simd/functions-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums are arrays of registers, which only whole unrolling keeps there.
#if HWY_COMPILER_CLANG
#define TENON_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define TENON_UNROLLED _Pragma("GCC unroll 16")
#endif

inline V FunctionOf(const Depthwise& what, V x) {
  const D d;
  const V one = hn::Set(d, 1.f);
  switch (what.function) {
    case Depthwise::Function::kSwish:
      return hn::Div(x, hn::Add(one, SafeExp(hn::Neg(x))));
    case Depthwise::Function::kHardSwish:
      return hn::Mul(x, Limit(hn::MulAdd(x, hn::Set(d, 1 / 6.f), hn::Set(d, 0.5f)), hn::Zero(d), one));
    default:
      return Limit(x, hn::Set(d, what.low), hn::Set(d, what.high));
  }
}

/// Neighbouring channels: a vector of them, or two, those of even and of odd numbers apart. Two in bf16 are the lower and
/// the upper halves of one vector of 32 bits, which costs half of what widening each costs.
struct One {
  static constexpr std::size_t kVectors = 1;
  V all;
};
struct Two {
  static constexpr std::size_t kVectors = 2;
  V even, odd;
};

HWY_INLINE void Load(const std::uint16_t* from, One& to) { to.all = LoadBf16(D(), from); }
HWY_INLINE void Load(const std::uint16_t* from, Two& to) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const auto both = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(from));
  to.even = hn::BitCast(d, hn::ShiftLeft<16>(both));
  to.odd = hn::BitCast(d, hn::And(both, hn::Set(du, 0xffff0000u)));
}
/// Packed numbers.
HWY_INLINE void Load(const float* from, One& to) { to.all = hn::LoadU(D(), from); }
HWY_INLINE void Load(const float* from, Two& to) {
  to.even = hn::LoadU(D(), from);
  to.odd = hn::LoadU(D(), from + hn::Lanes(D()));
}
HWY_INLINE void AddProducts(const One& a, const One& b, One& sum) { sum.all = hn::MulAdd(a.all, b.all, sum.all); }
HWY_INLINE void AddProducts(const Two& a, const Two& b, Two& sum) {
  sum.even = hn::MulAdd(a.even, b.even, sum.even);
  sum.odd = hn::MulAdd(a.odd, b.odd, sum.odd);
}
HWY_INLINE void Store(const Depthwise& what, const One& from, std::uint16_t* to) {
  StoreAt(FunctionOf(what, from.all), to);
}
HWY_INLINE void Store(const Depthwise& what, const One& from, float* to) { StoreAt(FunctionOf(what, from.all), to); }
HWY_INLINE void Store(const Depthwise& what, const Two& from, std::uint16_t* to) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const auto even = hn::ShiftRight<16>(RoundedToBf16(d, FunctionOf(what, from.even))),
             odd = hn::And(RoundedToBf16(d, FunctionOf(what, from.odd)), hn::Set(du, 0xffff0000u));
  hn::StoreU(hn::Or(even, odd), du, reinterpret_cast<std::uint32_t*>(to));
}
HWY_INLINE void Store(const Depthwise& what, const Two& from, float* to) {
  hn::StoreInterleaved2(FunctionOf(what, from.even), FunctionOf(what, from.odd), D(), to);
}

/// One image and some of its channels: pointers at the first of these. Weights and bias are those of these channels alone.
template <class Y>
struct Part {
  const Depthwise& what;
  const std::uint16_t* image;
  const float* packed;  ///< The bias, then the weights of each point.
  Y* row;               ///< The result's.
  std::ptrdiff_t top;
  std::ptrdiff_t first_row, end_row;  ///< The rows of the window that lie within the image.
};

/// kCount neighbours from column `at` of the result on, whose windows lie within the image.
template <int kWindow, int kStride, int kCount, class Channels, class Y>
void Inside(const Part<Y>& part, std::size_t at) {
  constexpr int kColumns = (kCount - 1) * kStride + kWindow;
  const std::size_t channels = part.what.channels, step = Channels::kVectors * hn::Lanes(D());
  Channels sums[kCount];
  TENON_UNROLLED for (int t = 0; t < kCount; ++t) Load(part.packed, sums[t]);
  const std::ptrdiff_t left = static_cast<std::ptrdiff_t>(at * kStride) - part.what.pad_left;
  for (std::ptrdiff_t r = part.first_row; r < part.end_row; ++r) {
    const std::ptrdiff_t pixel = (part.top + r) * static_cast<std::ptrdiff_t>(part.what.width) + left;
    const std::uint16_t* x = part.image + static_cast<std::size_t>(pixel) * channels;
    const float* w = part.packed + (1 + static_cast<std::size_t>(r) * kWindow) * step;
    Channels factors[kWindow];
    TENON_UNROLLED for (int k = 0; k < kWindow; ++k) Load(w + k * step, factors[k]);
    TENON_UNROLLED for (int column = 0; column < kColumns; ++column) {
      Channels values;
      Load(x + column * channels, values);
      TENON_UNROLLED for (int t = 0; t < kCount; ++t) {
        const int k = column - t * kStride;
        if (k >= 0 && k < kWindow) AddProducts(values, factors[k], sums[t]);
      }
    }
  }
  TENON_UNROLLED for (int t = 0; t < kCount; ++t) Store(part.what, sums[t], part.row + (at + t) * channels);
}

/// One column whose window reaches beyond the image.
template <class Channels, class Y>
void AtEdge(const Part<Y>& part, std::size_t at) {
  const auto& what = part.what;
  const auto window = static_cast<std::ptrdiff_t>(what.window), width = static_cast<std::ptrdiff_t>(what.width);
  const std::ptrdiff_t left = static_cast<std::ptrdiff_t>(at * what.stride) - what.pad_left;
  const std::size_t step = Channels::kVectors * hn::Lanes(D());
  Channels sum, values, factors;
  Load(part.packed, sum);
  for (std::ptrdiff_t r = part.first_row; r < part.end_row; ++r) {
    for (std::ptrdiff_t k = std::max<std::ptrdiff_t>(0, -left); k < std::min(window, width - left); ++k) {
      Load(part.image + static_cast<std::size_t>((part.top + r) * width + left + k) * what.channels, values);
      Load(part.packed + static_cast<std::size_t>(1 + r * window + k) * step, factors);
      AddProducts(values, factors, sum);
    }
  }
  Store(what, sum, part.row + at * what.channels);
}

template <int kWindow, int kStride, class Channels, class Y>
void RowOf(const Part<Y>& part) {
  constexpr std::size_t kTogether = 4;
  const auto& what = part.what;
  // Columns whose windows lie within the image.
  const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(what.width) + what.pad_left - kWindow;
  const std::size_t begin = std::min(what.out_width, static_cast<std::size_t>((what.pad_left + kStride - 1) / kStride)),
                    end = last < 0 ? begin
                                   : std::clamp(static_cast<std::size_t>(last / kStride) + 1, begin, what.out_width);
  std::size_t at = 0;
  for (; at < begin; ++at) AtEdge<Channels>(part, at);
  for (; at + kTogether <= end; at += kTogether) Inside<kWindow, kStride, kTogether, Channels>(part, at);
  for (; at < end; ++at) Inside<kWindow, kStride, 1, Channels>(part, at);
  for (; at < what.out_width; ++at) AtEdge<Channels>(part, at);
}

/// Calls body(first channel, vectors, numbers packed before) for all parts of the channels: pairs of vectors, then single
/// ones. Channels that fill no vector are computed with neighbours, twice.
template <class Body>
void OverChannels(const Depthwise& what, const Body& body) {
  const std::size_t lanes = hn::Lanes(D()), rows = 1 + what.window * what.window;
  std::size_t packed = 0;
  for (std::size_t done = 0; done < what.channels;) {
    const std::size_t vectors = done + 2 * lanes <= what.channels ? 2 : 1;
    const std::size_t first = std::min(done, what.channels - vectors * lanes);
    body(first, vectors, packed);
    packed += rows * vectors * lanes;
    done = first + vectors * lanes;
  }
}

std::size_t PackedSize(const Depthwise& what) {
  std::size_t size = 0;
  OverChannels(what, [&](std::size_t, std::size_t vectors, std::size_t before) {
    size = before + (1 + what.window * what.window) * vectors * hn::Lanes(D());
  });
  return size;
}

void Pack(const Depthwise& what, const float* weights, const float* bias, float* packed) {
  const std::size_t lanes = hn::Lanes(D());
  OverChannels(what, [&](std::size_t first, std::size_t vectors, std::size_t before) {
    float* to = packed + before;
    for (std::size_t row = 0; row < 1 + what.window * what.window; ++row) {
      const float* from = (row == 0 ? bias : weights + (row - 1) * what.channels) + first;
      for (std::size_t v = 0; v < vectors; ++v)
        for (std::size_t lane = 0; lane < lanes; ++lane) *to++ = from[lane * vectors + v];
    }
  });
}

/// Rows of the result, counted over all images.
template <int kWindow, int kStride, class Y>
void Rows(const Depthwise& what, const std::uint16_t* x, const float* packed, Y* y, std::size_t begin,
          std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t image = i / what.out_height, row = i % what.out_height;
    const std::ptrdiff_t top = static_cast<std::ptrdiff_t>(row * kStride) - what.pad_top;
    const auto first_row = std::max<std::ptrdiff_t>(0, -top),
               end_row = std::min<std::ptrdiff_t>(kWindow, static_cast<std::ptrdiff_t>(what.height) - top);
    OverChannels(what, [&](std::size_t first, std::size_t vectors, std::size_t before) {
      const Part<Y> part{what,
                         x + image * what.height * what.width * what.channels + first,
                         packed + before,
                         y + i * what.out_width * what.channels + first,
                         top,
                         first_row,
                         std::max(first_row, end_row)};
      if (vectors == 2)
        RowOf<kWindow, kStride, Two>(part);
      else
        RowOf<kWindow, kStride, One>(part);
    });
  }
}

template <class Y>
void RowsOfAny(const Depthwise& what, const std::uint16_t* x, const float* packed, Y* y, std::size_t begin,
               std::size_t end) {
  const auto of_window = [&](auto window) {
    constexpr int kWindow = decltype(window)::value;
    if (what.stride == 1)
      Rows<kWindow, 1>(what, x, packed, y, begin, end);
    else
      Rows<kWindow, 2>(what, x, packed, y, begin, end);
  };
  if (what.window == 3)
    of_window(std::integral_constant<int, 3>());
  else if (what.window == 5)
    of_window(std::integral_constant<int, 5>());
  else
    of_window(std::integral_constant<int, 7>());
}

void RowsToBf16(const Depthwise& what, const std::uint16_t* x, const float* packed, std::uint16_t* y, std::size_t begin,
                std::size_t end) {
  RowsOfAny(what, x, packed, y, begin, end);
}
void RowsToF32(const Depthwise& what, const std::uint16_t* x, const float* packed, float* y, std::size_t begin,
               std::size_t end) {
  RowsOfAny(what, x, packed, y, begin, end);
}

std::size_t LanesOfF32() { return hn::Lanes(D()); }

#undef TENON_UNROLLED

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tenon/engine/kernels/simd/parallel.hpp>

namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(RowsToBf16);
HWY_EXPORT(RowsToF32);
HWY_EXPORT(LanesOfF32);
HWY_EXPORT(PackedSize);
HWY_EXPORT(Pack);

namespace {
template <typename Body>
void over_rows(const Depthwise& what, std::size_t result_bytes, const Body& body) {
  const std::size_t read = what.height * what.width * sizeof(std::uint16_t),
                    written = what.out_height * what.out_width * result_bytes;
  parallel(what.batch * what.out_height, what.batch * what.channels * (read + written), body);
}
}  // namespace

bool has_depthwise(const Depthwise& what) {
  return (what.window == 3 || what.window == 5 || what.window == 7) && (what.stride == 1 || what.stride == 2) &&
         what.pad_top >= 0 && what.pad_left >= 0 && what.channels >= HWY_DYNAMIC_DISPATCH(LanesOfF32)();
}

std::size_t packed_depthwise_size(const Depthwise& what) { return HWY_DYNAMIC_DISPATCH(PackedSize)(what); }

void pack_depthwise(const Depthwise& what, const float* weights, const float* bias, float* packed) {
  HWY_DYNAMIC_DISPATCH(Pack)(what, weights, bias, packed);
}

void depthwise(const Depthwise& what, const std::uint16_t* x, const float* packed, std::uint16_t* y) {
  over_rows(what, sizeof *y, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(RowsToBf16)(what, x, packed, y, begin, end);
  });
}

void depthwise(const Depthwise& what, const std::uint16_t* x, const float* packed, float* y) {
  over_rows(what, sizeof *y, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(RowsToF32)(what, x, packed, y, begin, end);
  });
}

}  // namespace tenon::inline v1::engine::kernels
#endif
