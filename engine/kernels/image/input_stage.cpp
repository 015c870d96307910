// SPDX-License-Identifier: Apache-2.0
// The input stage on the CPU. SIMD by Highway: this file is compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/image/input_stage.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/image/input_stage.cpp"
// For this kernel the instruction sets between those below only cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef TENON_INPUT_STAGE_ONCE
#define TENON_INPUT_STAGE_ONCE
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <tenon/engine/kernels/simd/parallel.hpp>

#include <tenon/engine/kernels/image/input_stage_colour.hpp>

namespace tenon {
inline namespace v1 {
namespace engine {
namespace input_stage {

/// No instruction set has longer vectors of f32; HWY_MAX_BYTES differs per set and this code is common to all.
inline constexpr std::size_t kMaxLanes = 64;

/// One plane read at one subsampling: its interleaved samples become `step` row buffers.
struct Group {
  std::uint8_t plane, step, shift_x, shift_y;
  std::size_t first_buffer;
  std::size_t begin, count;  ///< Columns of the plane that some tap reads.
};

/// Taps of one subsampling: byte offset of the left sample in a row buffer, and the weight of its right neighbour.
struct ColumnTaps {
  std::vector<std::int32_t> offset;
  std::vector<float> weight;
};

struct Numbers {
  float matrix[3][3], offset[3], gain[3], bias[3];
};

struct Blend {
  const std::uint8_t* above;
  const std::uint8_t* below;
  std::int16_t weight;  ///< The weight of the row below, in 1/32768.
  std::size_t count;
  std::int16_t* out[4];
  int down, up;  ///< For samples of 16 bits: shifts that leave the value in the high bits of 15.
  bool swapped;  ///< They are big endian.
};

/// The value of a sample with 15 bits, as the vectors compute it.
inline int value_of(const Blend& blend, std::uint16_t v) {
  const unsigned sample = blend.swapped ? static_cast<unsigned>((v << 8 | v >> 8) & 0xffff) : v;
  return static_cast<int>(sample >> blend.down << blend.up & 0x7fff);
}
inline int value_of(const Blend&, std::uint8_t v) { return v; }

struct RowArguments {
  const Numbers* numbers;
  const std::int16_t* buffer[3];
  const std::int32_t* offset[3];
  const float* weight[3];
  std::size_t count;
  float* out[3];  ///< Each with room for count rounded up to kMaxLanes, unless exact.
  bool exact;     ///< Writing past count is not allowed.
  bool straight;  ///< Position x of the row is sample x of the buffers from their first offset: no resize in this axis.
};

struct PackArguments {
  const float* row[3];
  std::size_t count, channels;
  bool planar;
  ElementType type;
  void* out[3];
};

}  // namespace input_stage
}  // namespace engine
}  // namespace v1
}  // namespace tenon
#endif  // TENON_INPUT_STAGE_ONCE

HWY_BEFORE_NAMESPACE();
namespace tenon {
inline namespace v1 {
namespace engine {
namespace input_stage {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<std::int16_t>;
using Bytes = hn::Rebind<std::uint8_t, Wide>;
using Words = hn::RebindToUnsigned<Wide>;

// Bits that samples lack of 15: wider ones are loaded with 15 bits.
template <typename T>
constexpr int kFraction = sizeof(T) == 1 ? 7 : 0;

HWY_INLINE hn::Vec<Wide> Widen(hn::Vec<Bytes> v) { return hn::PromoteTo(Wide(), v); }
HWY_INLINE hn::Vec<Wide> WidenWord(const Blend& blend, hn::Vec<Words> v) {
  if (blend.swapped) v = hn::Or(hn::ShiftLeft<8>(v), hn::ShiftRight<8>(v));
  v = hn::ShiftLeftSame(hn::ShiftRightSame(v, blend.down), blend.up);
  return hn::BitCast(Wide(), hn::And(v, hn::Set(Words(), 0x7fff)));
}

// a + (b - a) * weight with kFraction more bits; the product is rounded, so the error is half a unit of the last bit.
template <int kBits>
HWY_INLINE hn::Vec<Wide> Mix(hn::Vec<Wide> a, hn::Vec<Wide> b, hn::Vec<Wide> weight) {
  const auto difference = hn::ShiftLeft<kBits>(hn::Sub(b, a));
  return hn::Add(hn::ShiftLeft<kBits>(a), hn::MulFixedPoint15(difference, weight));
}

template <typename T, int kStep>
HWY_INLINE void LoadSamples(const Blend& blend, const T* from, hn::Vec<Wide>* v) {
  if constexpr (sizeof(T) == 1) {
    const Bytes d;
    hn::Vec<Bytes> a, b, c, e;
    if constexpr (kStep == 1) {
      v[0] = Widen(hn::LoadU(d, from));
    } else if constexpr (kStep == 2) {
      hn::LoadInterleaved2(d, from, a, b);
      v[0] = Widen(a), v[1] = Widen(b);
    } else if constexpr (kStep == 3) {
      hn::LoadInterleaved3(d, from, a, b, c);
      v[0] = Widen(a), v[1] = Widen(b), v[2] = Widen(c);
    } else {
      hn::LoadInterleaved4(d, from, a, b, c, e);
      v[0] = Widen(a), v[1] = Widen(b), v[2] = Widen(c), v[3] = Widen(e);
    }
  } else {
    const Words d;
    hn::Vec<Words> a, b, c, e;
    if constexpr (kStep == 1) {
      v[0] = WidenWord(blend, hn::LoadU(d, from));
    } else if constexpr (kStep == 2) {
      hn::LoadInterleaved2(d, from, a, b);
      v[0] = WidenWord(blend, a), v[1] = WidenWord(blend, b);
    } else if constexpr (kStep == 3) {
      hn::LoadInterleaved3(d, from, a, b, c);
      v[0] = WidenWord(blend, a), v[1] = WidenWord(blend, b), v[2] = WidenWord(blend, c);
    } else {
      hn::LoadInterleaved4(d, from, a, b, c, e);
      v[0] = WidenWord(blend, a), v[1] = WidenWord(blend, b), v[2] = WidenWord(blend, c), v[3] = WidenWord(blend, e);
    }
  }
}

template <typename T, int kStep>
void BlendSamples(const Blend& blend) {
  constexpr int kBits = kFraction<T>;
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* above = reinterpret_cast<const T*>(blend.above);
  const auto* below = reinterpret_cast<const T*>(blend.below);
  const auto weight = hn::Set(d, blend.weight);
  const auto block = [&](std::size_t i) HWY_ATTR {
    hn::Vec<Wide> a[4], b[4];
    LoadSamples<T, kStep>(blend, above + i * kStep, a);
    LoadSamples<T, kStep>(blend, below + i * kStep, b);
    for (int s = 0; s < kStep; ++s) hn::StoreU(Mix<kBits>(a[s], b[s], weight), d, blend.out[s] + i);
  };
  std::size_t i = 0;
  for (; i + lanes <= blend.count; i += lanes) block(i);
  if (i == blend.count) return;
  // The rest: the last full vector again, so that nothing past the row is read.
  if (blend.count >= lanes) return block(blend.count - lanes);
  for (; i < blend.count; ++i) {
    for (int s = 0; s < kStep; ++s) {
      const int a = value_of(blend, above[i * kStep + s]), b = value_of(blend, below[i * kStep + s]);
      const int product = ((b - a) * (1 << kBits) * blend.weight + (1 << 14)) >> 15;
      blend.out[s][i] = static_cast<std::int16_t>(a * (1 << kBits) + product);
    }
  }
}

template <typename T>
void BlendSteps(const Blend& blend, int step) {
  switch (step) {
    case 1:
      return BlendSamples<T, 1>(blend);
    case 2:
      return BlendSamples<T, 2>(blend);
    case 3:
      return BlendSamples<T, 3>(blend);
    default:
      return BlendSamples<T, 4>(blend);
  }
}

void BlendRows(const Blend& blend, int step, bool words) {
  words ? BlendSteps<std::uint16_t>(blend, step) : BlendSteps<std::uint8_t>(blend, step);
}

// Horizontal blend, matrix, clamp and normalisation of one row; every value stays in registers.
template <int kComponents, int kChannels, bool kStraight>
void ConvertComponents(const RowArguments& row) {
  const hn::ScalableTag<float> df;
  const hn::Rebind<std::int16_t, decltype(df)> d16;
  const hn::RebindToSigned<decltype(df)> di;
  const std::size_t lanes = hn::Lanes(df);
  const Numbers& n = *row.numbers;
  const auto block = [&](std::size_t x, float* const* out) HWY_ATTR {
    hn::Vec<decltype(df)> sample[3];
    for (int k = 0; k < kComponents; ++k) {
      if constexpr (kStraight) {
        const std::int16_t* from = row.buffer[k] + row.offset[k][0] / 2 + x;
        sample[k] = hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(d16, from)));
        continue;
      }
      // One gather brings both taps: two neighbouring 16-bit samples are one 32-bit element.
      const auto pair =
          hn::GatherOffset(di, reinterpret_cast<const std::int32_t*>(row.buffer[k]), hn::LoadU(di, row.offset[k] + x));
      const auto left = hn::ConvertTo(df, hn::ShiftRight<16>(hn::ShiftLeft<16>(pair)));
      const auto right = hn::ConvertTo(df, hn::ShiftRight<16>(pair));
      sample[k] = hn::MulAdd(hn::Sub(right, left), hn::LoadU(df, row.weight[k] + x), left);
    }
    for (int c = 0; c < kChannels; ++c) {
      auto value = hn::Set(df, n.offset[c]);
      for (int k = 0; k < kComponents; ++k) value = hn::MulAdd(sample[k], hn::Set(df, n.matrix[c][k]), value);
      value = hn::Min(hn::Max(value, hn::Zero(df)), hn::Set(df, 255.0f));
      hn::StoreU(hn::MulAdd(value, hn::Set(df, n.gain[c]), hn::Set(df, n.bias[c])), df, out[c]);
    }
  };
  std::size_t x = 0;
  const std::size_t stop = row.exact ? row.count / lanes * lanes : row.count;
  for (; x < stop; x += lanes) {
    float* out[3] = {row.out[0] + x, kChannels > 1 ? row.out[1] + x : nullptr,
                     kChannels > 1 ? row.out[2] + x : nullptr};
    block(x, out);
  }
  if (x >= row.count) return;
  HWY_ALIGN float rest[3][kMaxLanes];
  float* out[3] = {rest[0], rest[1], rest[2]};
  block(x, out);
  for (int c = 0; c < kChannels; ++c) std::memcpy(row.out[c] + x, rest[c], (row.count - x) * sizeof(float));
}

void ConvertRow(const RowArguments& row, std::size_t components, std::size_t channels) {
  if (components == 3 && channels == 3 && row.straight) return ConvertComponents<3, 3, true>(row);
  if (components == 1) return channels == 1 ? ConvertComponents<1, 1, false>(row) : ConvertComponents<1, 3, false>(row);
  return channels == 1 ? ConvertComponents<3, 1, false>(row) : ConvertComponents<3, 3, false>(row);
}

// Stores `lanes` values per channel; `Narrow` converts floats to a vector of the stored type.
template <typename DF, typename DT, typename T, typename Narrow>
HWY_INLINE void PackAs(DF df, DT dt, T*, const PackArguments& pack, Narrow narrow) {
  const std::size_t lanes = hn::Lanes(df);
  HWY_ALIGN T rest[3 * kMaxLanes];
  for (std::size_t x = 0; x < pack.count; x += lanes) {
    const std::size_t valid = std::min(lanes, pack.count - x);
    if (pack.planar || pack.channels == 1) {
      for (std::size_t c = 0; c < pack.channels; ++c) {
        T* out = static_cast<T*>(pack.out[c]) + x;
        const auto value = narrow(hn::LoadU(df, pack.row[c] + x));
        if (valid == lanes) {
          hn::StoreU(value, dt, out);
        } else {
          hn::StoreU(value, dt, rest);
          std::memcpy(out, rest, valid * sizeof(T));
        }
      }
    } else {
      T* out = static_cast<T*>(pack.out[0]) + 3 * x;
      const auto a = narrow(hn::LoadU(df, pack.row[0] + x));
      const auto b = narrow(hn::LoadU(df, pack.row[1] + x));
      const auto c = narrow(hn::LoadU(df, pack.row[2] + x));
      hn::StoreInterleaved3(a, b, c, dt, valid == lanes ? out : rest);
      if (valid != lanes) std::memcpy(out, rest, 3 * valid * sizeof(T));
    }
  }
}

void PackRow(const PackArguments& pack) {
  const hn::ScalableTag<float> df;
  if (pack.type == ElementType::kF32) {
    PackAs(df, df, static_cast<float*>(nullptr), pack, [](auto v) HWY_ATTR { return v; });
  } else if (pack.type == ElementType::kU8) {
    const hn::Rebind<std::uint8_t, decltype(df)> d8;
    PackAs(df, d8, static_cast<std::uint8_t*>(nullptr), pack, [&](auto v) HWY_ATTR {
      const auto clamped = hn::Min(hn::Max(v, hn::Zero(df)), hn::Set(df, 255.0f));
      return hn::DemoteTo(d8, hn::NearestInt(clamped));
    });
  } else {
    const hn::Rebind<hwy::float16_t, decltype(df)> d16;
    const hn::Rebind<std::uint16_t, decltype(df)> du16;
    PackAs(df, du16, static_cast<std::uint16_t*>(nullptr), pack,
           [&](auto v) HWY_ATTR { return hn::BitCast(du16, hn::DemoteTo(d16, v)); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace input_stage
}  // namespace engine
}  // namespace v1
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {
inline namespace v1 {
namespace engine {
namespace input_stage {
HWY_EXPORT(BlendRows);
HWY_EXPORT(ConvertRow);
HWY_EXPORT(PackRow);

namespace {

/// Row buffers of a worker; grown once, kept for the thread's life.
struct Scratch {
  std::vector<std::int16_t> samples;
  std::vector<float> values;
};

Scratch& scratch() {
  thread_local Scratch scratch;
  return scratch;
}

std::uint32_t as_half(float value) {
  const auto half = static_cast<_Float16>(value);
  std::uint16_t bits = 0;
  std::memcpy(&bits, &half, sizeof(bits));
  return bits;
}

}  // namespace
}  // namespace input_stage

using namespace input_stage;

struct InputStagePlan::State {
  InputStageSpec spec;
  std::vector<Group> groups;
  ColumnTaps taps[3];  ///< By shift_x.
  std::size_t buffer_of[3] = {};
  std::size_t buffers = 0, buffer_length = 0, row_length = 0;
  Numbers numbers{};
  float pad[3] = {};

  bool straight = false;
  ColourRow colour{};  ///< For stages that convert first: all fields but the pointers.

  explicit State(const InputStageSpec& from) : spec(from) {
    check();
    if (spec.convert_first) {
      prepare_colour();
    } else {
      for (std::size_t k = 0; k < spec.layout.component_count; ++k) add_component(k);
    }
    prepare_taps();
    prepare_numbers();
    straight = is_straight();
    buffer_length += 2 * kMaxLanes + 2;
    row_length = (spec.geometry.placed.width + kMaxLanes) / kMaxLanes * kMaxLanes;
  }

  void check() const;
  void add_component(std::size_t k);
  void prepare_colour();
  void prepare_taps();
  void prepare_numbers();
  bool is_straight() const;
  void convert_row(std::span<const PlaneView> planes, std::ptrdiff_t y, std::int16_t* first) const;
  void blend_converted(std::span<const PlaneView> planes, std::size_t line, std::int16_t* samples,
                       std::ptrdiff_t (&kept)[2], RowArguments& row) const;
  void blend(std::span<const PlaneView> planes, std::size_t line, std::int16_t* samples) const;
  void fill(void* target, std::size_t y, std::size_t begin, std::size_t end) const;
  std::size_t index(std::size_t c, std::size_t y, std::size_t x) const {
    return spec.planar ? (c * spec.height + y) * spec.width + x : (y * spec.width + x) * spec.channels + c;
  }
};

void InputStagePlan::State::check() const {
  if (spec.type != ElementType::kF32 && spec.type != ElementType::kF16 && spec.type != ElementType::kU8)
    throw Error(Code::kUnimplemented,
                "input stage: cannot write " + std::string(name(spec.type)) + "; it writes f32, f16 and u8");
  if (spec.layout.bits < 8 || spec.layout.bits + spec.layout.shift > 16)
    throw Error(Code::kUnimplemented, "input stage: cannot read samples of " + std::to_string(spec.layout.bits) +
                                          " bits at bit " + std::to_string(spec.layout.shift) +
                                          "; it reads 8 bits, and 9 to 16 in samples of 16");
}

void InputStagePlan::State::add_component(std::size_t k) {
  const FrameComponent& c = spec.layout.components[k];
  for (const Group& group : groups) {
    if (group.plane == c.plane && group.step == c.step && group.shift_x == c.shift_x && group.shift_y == c.shift_y) {
      buffer_of[k] = group.first_buffer + c.offset;
      return;
    }
  }
  Group group{c.plane, c.step, c.shift_x, c.shift_y, buffers, 0, 0};
  const auto& columns = spec.columns;
  group.begin = static_cast<std::size_t>(*std::min_element(columns.low.begin(), columns.low.end())) >> c.shift_x;
  const auto last = static_cast<std::size_t>(*std::max_element(columns.high.begin(), columns.high.end())) >> c.shift_x;
  group.count = last - group.begin + 1;
  buffer_of[k] = buffers + c.offset;
  buffers += c.step;
  buffer_length = std::max(buffer_length, group.count);
  groups.push_back(group);
}

// Converted rows replace the planes' samples: three buffers of one blended row, and three each of the last
// two rows of the source.
void InputStagePlan::State::prepare_colour() {
  Group group{0, 1, 0, 0, 0, 0, 0};
  const auto& columns = spec.columns;
  group.begin = static_cast<std::size_t>(*std::min_element(columns.low.begin(), columns.low.end())) / 2 * 2;
  const auto last = static_cast<std::size_t>(*std::max_element(columns.high.begin(), columns.high.end()));
  group.count = last - group.begin + 1;
  groups.push_back(group);
  for (std::size_t k = 0; k < 3; ++k) buffer_of[k] = k;
  buffers = 9;
  buffer_length = group.count;
  colour.begin = group.begin;
  colour.count = group.count;
  colour.round = spec.round_first;
  colour.chroma_step = spec.layout.components[1].step;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t k = 0; k < 3; ++k) colour.matrix[c][k] = static_cast<float>(spec.matrix[c][k]);
  }
}

void InputStagePlan::State::convert_row(std::span<const PlaneView> planes, std::ptrdiff_t y,
                                        std::int16_t* first) const {
  ColourRow row = colour;
  const auto start = [&](std::size_t k) {
    const FrameComponent& c = spec.layout.components[k];
    const PlaneView& plane = planes[c.plane];
    return static_cast<const std::uint8_t*>(plane.data) + (y >> c.shift_y) * plane.pitch_bytes + c.offset;
  };
  row.luma = start(0);
  row.u = start(1);
  row.v = start(2);
  for (std::size_t c = 0; c < 3; ++c) row.out[c] = first + c * buffer_length;
  convert_colour_row(row);
}

// A row of the source is converted once for all consecutive lines that need it.
void InputStagePlan::State::blend_converted(std::span<const PlaneView> planes, std::size_t line, std::int16_t* samples,
                                            std::ptrdiff_t (&kept)[2], RowArguments& row) const {
  const float weight = spec.rows.low[line] == spec.rows.high[line] ? 0.0f : spec.rows.weight[line];
  const std::ptrdiff_t needed[2] = {spec.rows.low[line], weight > 0 ? spec.rows.high[line] : spec.rows.low[line]};
  const auto slot_of = [&](std::ptrdiff_t y, std::ptrdiff_t other) {
    for (std::size_t slot = 0; slot < 2; ++slot)
      if (kept[slot] == y) return slot;
    const std::size_t slot = kept[0] == other ? 1 : 0;
    convert_row(planes, y, samples + (3 + 3 * slot) * buffer_length);
    kept[slot] = y;
    return slot;
  };
  const std::size_t low = slot_of(needed[0], needed[1]), high = slot_of(needed[1], needed[0]);
  const auto whole = static_cast<std::int16_t>(std::min(std::lround(weight * 32768.0f), 32767l));
  for (std::size_t k = 0; k < 3; ++k) {
    const std::int16_t* above = samples + (3 + 3 * low + k) * buffer_length;
    const std::int16_t* below = samples + (3 + 3 * high + k) * buffer_length;
    row.buffer[k] = low == high ? above : samples + k * buffer_length;
    if (low != high) mix_rows(above, below, whole, colour.count, samples + k * buffer_length);
  }
}

void InputStagePlan::State::prepare_taps() {
  const std::size_t width = spec.geometry.placed.width;
  const std::size_t padded = (width + kMaxLanes) / kMaxLanes * kMaxLanes;
  for (const Group& group : groups) {
    ColumnTaps& table = taps[group.shift_x];
    // The columns past the end repeat the first: a vector that reaches there stays inside the buffer.
    table.offset.assign(padded, 0);
    table.weight.assign(padded, 0.0f);
    for (std::size_t x = 0; x < width; ++x) {
      const std::int32_t low = spec.columns.low[x] >> group.shift_x, high = spec.columns.high[x] >> group.shift_x;
      table.offset[x] = (low - static_cast<std::int32_t>(group.begin)) * 2;
      table.weight[x] = low == high ? 0.0f : spec.columns.weight[x];
    }
  }
}

bool InputStagePlan::State::is_straight() const {
  for (const Group& group : groups) {
    if (group.shift_x != 0) return false;
  }
  const auto& low = spec.columns.low;
  for (std::size_t x = 0; x < low.size(); ++x) {
    if (low[x] != low[0] + static_cast<std::int32_t>(x) || spec.columns.weight[x] != 0) return false;
  }
  return true;
}

void InputStagePlan::State::prepare_numbers() {
  const double unit = std::ldexp(1.0, spec.layout.bits - 15);
  for (std::size_t c = 0; c < spec.channels; ++c) {
    for (std::size_t k = 0; k < 3; ++k)
      numbers.matrix[c][k] = static_cast<float>((spec.convert_first ? c == k : spec.matrix[c][k]) * unit);
    numbers.offset[c] = spec.convert_first ? 0.0f : static_cast<float>(spec.offset[c]);
    numbers.gain[c] = static_cast<float>(1.0 / spec.scale[c]);
    numbers.bias[c] = static_cast<float>(-spec.mean[c] / spec.scale[c]);
    pad[c] = static_cast<float>((spec.pad[c] - spec.mean[c]) / spec.scale[c]);
  }
}

void InputStagePlan::State::blend(std::span<const PlaneView> planes, std::size_t line, std::int16_t* samples) const {
  for (const Group& group : groups) {
    const PlaneView& plane = planes[group.plane];
    const std::ptrdiff_t low = spec.rows.low[line] >> group.shift_y, high = spec.rows.high[line] >> group.shift_y;
    const float weight = low == high ? 0.0f : spec.rows.weight[line];
    const std::size_t skip = group.begin * group.step * (spec.layout.bits > 8 ? 2 : 1);
    const auto* base = static_cast<const std::uint8_t*>(plane.data) + skip;
    Blend blend{};
    blend.above = base + low * plane.pitch_bytes;
    blend.below = base + high * plane.pitch_bytes;
    blend.weight = static_cast<std::int16_t>(std::min(std::lround(weight * 32768.0f), 32767l));
    blend.count = group.count;
    blend.down = spec.layout.shift + (spec.layout.bits == 16 ? 1 : 0);
    blend.up = std::max(0, 15 - spec.layout.bits);
    blend.swapped = spec.layout.swapped;
    for (std::size_t s = 0; s < group.step; ++s) blend.out[s] = samples + (group.first_buffer + s) * buffer_length;
    HWY_DYNAMIC_DISPATCH(BlendRows)(blend, group.step, spec.layout.bits > 8);
  }
}

void InputStagePlan::State::fill(void* target, std::size_t y, std::size_t begin, std::size_t end) const {
  for (std::size_t c = 0; c < spec.channels; ++c) {
    const std::size_t step = spec.planar ? 1 : spec.channels, first = index(c, y, begin);
    for (std::size_t i = 0; i < end - begin; ++i) {
      const std::size_t at = first + i * step;
      if (spec.type == ElementType::kF32)
        static_cast<float*>(target)[at] = pad[c];
      else if (spec.type == ElementType::kF16)
        static_cast<std::uint16_t*>(target)[at] = static_cast<std::uint16_t>(as_half(pad[c]));
      else
        static_cast<std::uint8_t*>(target)[at] =
            static_cast<std::uint8_t>(std::nearbyint(std::clamp(pad[c], 0.0f, 255.0f)));
    }
  }
}

InputStagePlan::InputStagePlan(const InputStageSpec& spec) : state_(std::make_unique<State>(spec)) {}
InputStagePlan::~InputStagePlan() = default;
InputStagePlan::InputStagePlan(InputStagePlan&&) noexcept = default;
InputStagePlan& InputStagePlan::operator=(InputStagePlan&&) noexcept = default;

const InputStageSpec& InputStagePlan::spec() const { return state_->spec; }

void InputStagePlan::run_rows(std::span<const PlaneView> planes, void* target, std::size_t begin,
                              std::size_t end) const {
  const State& s = *state_;
  const InputStageSpec& spec = s.spec;
  const PixelRect& placed = spec.geometry.placed;
  Scratch& work = scratch();
  if (work.samples.size() < s.buffers * s.buffer_length) work.samples.resize(s.buffers * s.buffer_length);
  const bool direct = spec.type == ElementType::kF32 && (spec.planar || spec.channels == 1);
  if (!direct && work.values.size() < 3 * s.row_length) work.values.resize(3 * s.row_length);
  RowArguments row{};
  row.numbers = &s.numbers;
  row.count = placed.width;
  row.exact = direct;
  row.straight = s.straight;
  for (std::size_t k = 0; k < spec.layout.component_count; ++k) {
    const ColumnTaps& taps = s.taps[spec.convert_first ? 0 : spec.layout.components[k].shift_x];
    row.buffer[k] = work.samples.data() + s.buffer_of[k] * s.buffer_length;
    row.offset[k] = taps.offset.data();
    row.weight[k] = taps.weight.data();
  }
  const std::size_t item = size_bytes(spec.type);
  std::ptrdiff_t kept[2] = {-1, -1};
  for (std::size_t y = begin; y < end; ++y) {
    if (y < placed.y || y - placed.y >= placed.height) {
      s.fill(target, y, 0, spec.width);
      continue;
    }
    if (placed.x > 0) s.fill(target, y, 0, placed.x);
    if (placed.x + placed.width < spec.width) s.fill(target, y, placed.x + placed.width, spec.width);
    if (spec.convert_first)
      s.blend_converted(planes, y - placed.y, work.samples.data(), kept, row);
    else
      s.blend(planes, y - placed.y, work.samples.data());
    PackArguments pack{};
    for (std::size_t c = 0; c < spec.channels; ++c) {
      pack.out[c] = static_cast<std::uint8_t*>(target) + s.index(c, y, placed.x) * item;
      row.out[c] = direct ? static_cast<float*>(pack.out[c]) : work.values.data() + c * s.row_length;
      pack.row[c] = row.out[c];
    }
    HWY_DYNAMIC_DISPATCH(ConvertRow)(row, spec.layout.component_count, spec.channels);
    if (direct) continue;
    pack.count = placed.width;
    pack.channels = spec.channels;
    pack.planar = spec.planar;
    pack.type = spec.type;
    HWY_DYNAMIC_DISPATCH(PackRow)(pack);
  }
}

void InputStagePlan::run(std::span<const PlaneView> planes, void* target) const {
  const InputStageSpec& spec = state_->spec;
  // Handing over a task of less than some ten thousand pixels costs more than running it.
  const std::size_t grain = std::max<std::size_t>(1, 16384 / spec.width);
  if (spec.height <= grain) return run_rows(planes, target, 0, spec.height);
  const auto rows = [&](std::size_t begin, std::size_t end) { run_rows(planes, target, begin, end); };
  kernels::parallel_ranges(spec.height, grain, rows, kernels::Split::kAsNeeded);
}

}  // namespace engine
}  // namespace v1
}  // namespace tenon
#endif  // HWY_ONCE
