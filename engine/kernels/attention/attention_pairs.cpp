// SPDX-License-Identifier: Apache-2.0
// Products of pairs of bf16 by AVX512_BF16, which the vector library does not know: intrinsics, chosen at run time.
#include <tenon/engine/kernels/attention/attention_pairs.hpp>

#if defined(__x86_64__) && defined(__linux__)
#include <cstring>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <immintrin.h>

namespace tenon::inline v1::engine::kernels {
namespace {

#define TENON_PAIRS __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

TENON_PAIRS inline __m512 add_products(__m512 sum, __m512i left, __m512i right) {
#if defined(__clang__) && __clang_major__ < 17
  // clang 16 crashes over the intrinsic.
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(left), "v"(right));
  return sum;
#else
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(left), reinterpret_cast<__m512bh>(right));
#endif
}

template <std::size_t kRows, std::size_t kVecs>
TENON_PAIRS inline void pair_block(const std::uint16_t* a, std::size_t a_row, std::size_t a_step,
                                   const std::uint32_t* b, std::size_t pairs, const float* factor, float* c) {
  __m512 sums[kRows][kVecs];
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kVecs; ++j)
      sums[i][j] = factor ? _mm512_mul_ps(_mm512_load_ps(c + (i * kVecs + j) * 16), _mm512_load_ps(factor + j * 16))
                          : _mm512_setzero_ps();
  for (std::size_t k = 0; k < pairs; ++k, a += a_step, b += kVecs * 16) {
    __m512i right[kVecs];
    for (std::size_t j = 0; j < kVecs; ++j) right[j] = _mm512_load_si512(b + j * 16);
    for (std::size_t i = 0; i < kRows; ++i) {
      std::int32_t pair = 0;
      std::memcpy(&pair, a + i * a_row, sizeof(pair));
      const __m512i left = _mm512_set1_epi32(pair);
      for (std::size_t j = 0; j < kVecs; ++j) sums[i][j] = add_products(sums[i][j], left, right[j]);
    }
  }
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kVecs; ++j) _mm512_store_ps(c + (i * kVecs + j) * 16, sums[i][j]);
}

template <std::size_t kVecs>
TENON_PAIRS void pair_rows(const std::uint16_t* a, std::size_t rows, std::size_t a_row, std::size_t a_step,
                           const std::uint32_t* b, std::size_t pairs, const float* factor, float* c) {
  std::size_t i = 0;
  for (; i + 8 <= rows; i += 8, a += 8 * a_row, c += 8 * kVecs * 16)
    pair_block<8, kVecs>(a, a_row, a_step, b, pairs, factor, c);
  for (; i < rows; ++i, a += a_row, c += kVecs * 16) pair_block<1, kVecs>(a, a_row, a_step, b, pairs, factor, c);
}

}  // namespace

bool has_pair_products() {
  static const bool has = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
  return has;
}

void pair_product(const std::uint16_t* a, std::size_t rows, std::size_t a_row, std::size_t a_step,
                  const std::uint32_t* b, std::size_t pairs, std::size_t vectors, const float* factor, float* c) {
  if (vectors == 1) return pair_rows<1>(a, rows, a_row, a_step, b, pairs, factor, c);
  if (vectors == 2) return pair_rows<2>(a, rows, a_row, a_step, b, pairs, factor, c);
  pair_rows<3>(a, rows, a_row, a_step, b, pairs, factor, c);
}

#define TENON_TILES __attribute__((target("amx-tile,amx-bf16")))

bool has_tile_products() {
  // The kernel saves the large registers for processes that ask for them alone (arch_prctl(2)).
  constexpr long kAskForState = 0x1023, kTileData = 18;
  // By CPUID: not every compiler knows the names of these features.
  const auto has_amx = [] {
    constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kBf16) != 0 && (d & kTile) != 0;
  };
  static const bool has = has_amx() && syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
  return has;
}

namespace {
TENON_TILES void set_up_tiles() {
  // Static, since the intrinsic tells the compiler of its first bytes alone.
  static constexpr struct alignas(64) {
    std::uint8_t palette = 1, first_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } layout;
  static_assert(sizeof(layout) == 64);
  _tile_loadconfig(&layout);
}
TENON_TILES void release_tiles() { _tile_release(); }
}  // namespace

TileRegisters::TileRegisters() { set_up_tiles(); }
TileRegisters::~TileRegisters() { release_tiles(); }

namespace {

/// Registers 0 to 5 are sums, of two rows of tiles by up to three; 6 and 7 are the factors.
template <std::size_t kRows, std::size_t kVecs>
TENON_TILES void tile_block(const std::uint16_t* a, std::size_t a_row, const std::uint32_t* b, std::size_t pairs,
                            bool adds, float* c) {
  constexpr std::size_t kRow = kVecs * 16, kRowBytes = kRow * sizeof(float);
  const std::size_t a_bytes = a_row * sizeof(*a);
  float* const below = c + 16 * kRow;
  // Nor do the loads of tiles say that they read memory.
  __asm__ volatile("" ::: "memory");
  if (adds) {
    _tile_loadd(0, c, kRowBytes);
    if constexpr (kVecs > 1) _tile_loadd(1, c + 16, kRowBytes);
    if constexpr (kVecs > 2) _tile_loadd(2, c + 32, kRowBytes);
    if constexpr (kRows > 1) {
      _tile_loadd(3, below, kRowBytes);
      if constexpr (kVecs > 1) _tile_loadd(4, below + 16, kRowBytes);
      if constexpr (kVecs > 2) _tile_loadd(5, below + 32, kRowBytes);
    }
  } else {
    _tile_zero(0);
    if constexpr (kVecs > 1) _tile_zero(1);
    if constexpr (kVecs > 2) _tile_zero(2);
    if constexpr (kRows > 1) {
      _tile_zero(3);
      if constexpr (kVecs > 1) _tile_zero(4);
      if constexpr (kVecs > 2) _tile_zero(5);
    }
  }
  for (std::size_t k = 0; k < pairs; k += 16, a += 32, b += 16 * kRow) {
    _tile_loadd(6, a, a_bytes);
    _tile_loadd(7, b, kRowBytes);
    _tile_dpbf16ps(0, 6, 7);
    if constexpr (kVecs > 1) {
      _tile_loadd(7, b + 16, kRowBytes);
      _tile_dpbf16ps(1, 6, 7);
    }
    if constexpr (kVecs > 2) {
      _tile_loadd(7, b + 32, kRowBytes);
      _tile_dpbf16ps(2, 6, 7);
    }
    if constexpr (kRows > 1) {
      // In reverse, since the last of b is there.
      _tile_loadd(6, a + 16 * a_row, a_bytes);
      if constexpr (kVecs > 2) {
        _tile_dpbf16ps(5, 6, 7);
        _tile_loadd(7, b + 16, kRowBytes);
      }
      if constexpr (kVecs > 1) {
        _tile_dpbf16ps(4, 6, 7);
        _tile_loadd(7, b, kRowBytes);
      }
      _tile_dpbf16ps(3, 6, 7);
    }
  }
  _tile_stored(0, c, kRowBytes);
  if constexpr (kVecs > 1) _tile_stored(1, c + 16, kRowBytes);
  if constexpr (kVecs > 2) _tile_stored(2, c + 32, kRowBytes);
  if constexpr (kRows > 1) {
    _tile_stored(3, below, kRowBytes);
    if constexpr (kVecs > 1) _tile_stored(4, below + 16, kRowBytes);
    if constexpr (kVecs > 2) _tile_stored(5, below + 32, kRowBytes);
  }
}

template <std::size_t kVecs>
void tile_rows_of(const std::uint16_t* a, std::size_t rows, std::size_t a_row, const std::uint32_t* b,
                  std::size_t pairs, bool adds, float* c) {
  std::size_t i = 0;
  for (; i + 32 <= rows; i += 32) tile_block<2, kVecs>(a + i * a_row, a_row, b, pairs, adds, c + i * kVecs * 16);
  for (; i + 16 <= rows; i += 16) tile_block<1, kVecs>(a + i * a_row, a_row, b, pairs, adds, c + i * kVecs * 16);
}

}  // namespace

void tile_product(const std::uint16_t* a, std::size_t rows, std::size_t a_row, const std::uint32_t* b,
                  std::size_t pairs, std::size_t vectors, bool adds, float* c) {
  if (vectors == 1) return tile_rows_of<1>(a, rows, a_row, b, pairs, adds, c);
  if (vectors == 2) return tile_rows_of<2>(a, rows, a_row, b, pairs, adds, c);
  tile_rows_of<3>(a, rows, a_row, b, pairs, adds, c);
}

}  // namespace tenon::inline v1::engine::kernels
#else
namespace tenon::inline v1::engine::kernels {

bool has_pair_products() { return false; }
void pair_product(const std::uint16_t*, std::size_t, std::size_t, std::size_t, const std::uint32_t*, std::size_t,
                  std::size_t, const float*, float*) {}

bool has_tile_products() { return false; }
TileRegisters::TileRegisters() = default;
TileRegisters::~TileRegisters() = default;
void tile_product(const std::uint16_t*, std::size_t, std::size_t, const std::uint32_t*, std::size_t, std::size_t, bool,
                  float*) {}

}  // namespace tenon::inline v1::engine::kernels
#endif
