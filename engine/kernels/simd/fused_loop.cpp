// SPDX-License-Identifier: Apache-2.0
// Tiles of a fused loop: what is read into them, and where they lie.
#include <tenon/engine/kernels/simd/fused_loop.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/engine/kernels/simd/bf16.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {
namespace {

constexpr std::size_t kMostTile = 256, kDirectTile = 4096;
constexpr std::size_t kMostSlots = FusedLoop::kMostOperands + FusedLoop::kMostOperations;
constexpr std::uint8_t kNoSlot = 0xff;
/// Physical axes of a tensor of the highest rank, blocks included.
constexpr std::size_t kMostAxes = 24;

template <typename T>
float to_float(T value) {
  return static_cast<float>(value);
}
template <>
float to_float(Bf16 value) {
  return value.to_float();
}

/// A bool may be any byte that is not 0.
struct Truth {
  std::uint8_t byte;
};
template <>
float to_float(Truth value) {
  return value.byte ? 1.f : 0.f;
}

template <typename T>
void convert(const T* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}
template <>
void convert(const float* from, float* to, std::size_t count) {
  std::memcpy(to, from, count * sizeof(float));
}
template <>
void convert(const Bf16* from, float* to, std::size_t count) {
  from_bf16(reinterpret_cast<const std::uint16_t*>(from), to, count);
}

/// `times` copies of the `count` numbers before `to`, written there.
void repeat(float* to, std::size_t count, std::size_t times) {
  const float* from = to - count;
  std::size_t known = count, wanted = count * times;
  while (wanted) {
    const std::size_t now = std::min(known, wanted);
    std::memcpy(to, from, now * sizeof(float));
    to += now;
    known += now;
    wanted -= now;
  }
}

/// Elements [begin, begin + count) of the result's order, as f32.
template <typename T>
void read(const void* data, const LoopTensor& tensor, std::size_t begin, std::size_t count, float* to) {
  const T* base = static_cast<const T*>(data);
  if (tensor.is_whole()) return convert(base + begin, to, count);
  const auto& extents = tensor.extents;
  const auto& strides = tensor.strides;
  const std::size_t inner = extents.size() - 1;
  std::array<std::size_t, kMostAxes> index;
  std::ptrdiff_t at = 0;
  for (std::size_t k = extents.size(), rest = begin; k-- > 0; rest /= extents[k]) {
    index[k] = rest % extents[k];
    at += static_cast<std::ptrdiff_t>(index[k]) * strides[k];
  }
  // From axis k on: an index that has reached its end begins anew, and the one before it advances.
  const auto carry = [&](std::size_t k) {
    for (; k > 0 && index[k] == extents[k]; --k) {
      at += strides[k - 1] - static_cast<std::ptrdiff_t>(extents[k]) * strides[k];
      index[k] = 0;
      ++index[k - 1];
    }
  };
  while (count) {
    const std::size_t run = std::min(extents[inner] - index[inner], count);
    const std::ptrdiff_t stride = strides[inner];
    if (stride == 0)
      std::fill_n(to, run, to_float(base[at]));
    else if (stride == 1)
      convert(base + at, to, run);
    else
      for (std::size_t i = 0; i < run; ++i) to[i] = to_float(base[at + static_cast<std::ptrdiff_t>(i) * stride]);
    const bool is_period = index[inner] == 0 && run == extents[inner];
    to += run;
    count -= run;
    at += static_cast<std::ptrdiff_t>(run) * stride;
    index[inner] += run;
    carry(inner);
    // The same once more for each step along an axis that it is broadcast over: channels in blocks, say.
    if (inner == 0 || !is_period || strides[inner - 1] != 0 || index[inner - 1] == 0) continue;
    const std::size_t times = std::min(extents[inner - 1] - index[inner - 1], count / run);
    repeat(to, run, times);
    to += run * times;
    count -= run * times;
    index[inner - 1] += times;
    carry(inner - 1);
  }
}

void read(const void* data, const LoopTensor& tensor, std::size_t begin, std::size_t count, float* to) {
  switch (tensor.type) {
    case ElementType::kBf16:
      return read<Bf16>(data, tensor, begin, count, to);
    case ElementType::kBool:
      return read<Truth>(data, tensor, begin, count, to);
    case ElementType::kU8:
      return read<std::uint8_t>(data, tensor, begin, count, to);
    case ElementType::kI8:
      return read<std::int8_t>(data, tensor, begin, count, to);
    case ElementType::kI32:
      return read<std::int32_t>(data, tensor, begin, count, to);
    case ElementType::kI64:
      return read<std::int64_t>(data, tensor, begin, count, to);
    default:
      return read<float>(data, tensor, begin, count, to);
  }
}

}  // namespace

void LoopTensor::add_axis(std::size_t extent, std::ptrdiff_t stride) {
  if (extent == 1) return;
  if (!extents.empty() && strides.back() == stride * static_cast<std::ptrdiff_t>(extent)) {
    extents.back() *= extent;
    strides.back() = stride;
    return;
  }
  extents.push_back(extent);
  strides.push_back(stride);
}

std::size_t LoopTensor::period() const {
  return extents.size() == 2 && strides[0] == 0 && strides[1] == 1 ? extents[1] : 0;
}

FusedLoop::FusedLoop(std::size_t count, std::vector<LoopTensor> operands, std::vector<LoopOperation> operations,
                     ElementType result)
    : count_(count), operands_(std::move(operands)), operations_(std::move(operations)), result_(result) {
  // A single element has no axes.
  for (auto& operand : operands_)
    if (operand.extents.empty()) operand = {operand.type, {count}, {0}};
  choose_tile();
  for (const auto& operand : operands_) ways_.push_back(way_of(operand));
  assign_slots();
  for (const auto& operand : operands_)
    if (operand.is_whole()) bytes_ += count * size_bytes(operand.type);
  bytes_ += count * (size_bytes(result_) + 2 * operations_.size());
}

void FusedLoop::choose_tile() {
  // A single function of operands that it reads where they lie needs no tile: only calls, of which there may be fewer.
  const bool is_direct = operations_.size() == 1 && result_ == ElementType::kF32 &&
                         std::all_of(operands_.begin(), operands_.end(), [](const LoopTensor& operand) {
                           return operand.type == ElementType::kF32 && operand.is_whole();
                         });
  tile_ = is_direct ? kDirectTile : kMostTile;
  for (const auto& operand : operands_) {
    const std::size_t period = operand.period();
    if (period == 0) continue;
    // Whole rows, or an equal share of one, so that tiles begin where rows or shares do.
    if (period <= kMostTile) {
      tile_ = kMostTile / period * period;
    } else {
      std::size_t shares = (period + kMostTile - 1) / kMostTile;
      while (period % shares) ++shares;
      // Tiles of a few elements would cost more than reading rows anew.
      if (period / shares >= kMostTile / 4) tile_ = period / shares;
    }
    return;
  }
}

FusedLoop::Way FusedLoop::way_of(const LoopTensor& operand) const {
  const std::size_t period = operand.period();
  if (operand.is_scalar() || (period > 0 && tile_ % period == 0)) return Way::kOnce;
  if (operand.type != ElementType::kF32) return Way::kPerTile;
  if (operand.is_whole()) return Way::kInPlace;
  return period > 0 && period % tile_ == 0 ? Way::kRow : Way::kPerTile;
}

void FusedLoop::assign_slots() {
  const std::size_t inputs = operands_.size();
  std::vector<std::size_t> last_read(inputs + operations_.size(), 0);
  for (std::size_t i = 0; i < operations_.size(); ++i)
    for (const std::uint8_t value : operations_[i].reads) last_read[value] = i;
  std::uint8_t next = 0;
  // Operands keep theirs for the whole tile, or for all tiles.
  for (const Way way : ways_) slots_.push_back(way == Way::kInPlace || way == Way::kRow ? kNoSlot : next++);
  std::vector<std::uint8_t> free;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    // A function may write over what it reads.
    for (std::size_t value = inputs; value < inputs + i; ++value)
      if (last_read[value] == i) free.push_back(slots_[value]);
    if (i + 1 == operations_.size() && result_ == ElementType::kF32) {
      slots_.push_back(kNoSlot);
    } else if (free.empty()) {
      slots_.push_back(next++);
    } else {
      slots_.push_back(free.back());
      free.pop_back();
    }
  }
}

void FusedLoop::operator()(std::span<void* const> pointers) const {
  const std::size_t tiles = (count_ + tile_ - 1) / tile_;
  parallel(tiles, bytes_,
           [&](std::size_t begin, std::size_t end) { run(pointers, begin * tile_, std::min(end * tile_, count_)); });
}

void FusedLoop::run(std::span<void* const> pointers, std::size_t begin, std::size_t end) const {
  alignas(64) float slots[kMostSlots][kMostTile];
  std::array<const float*, kMostSlots> values;
  const std::size_t inputs = operands_.size();
  for (std::size_t i = 0; i < inputs; ++i) {
    if (ways_[i] != Way::kOnce) continue;
    values[i] = slots[slots_[i]];
    read(pointers[i], operands_[i], begin, std::min(tile_, end - begin), slots[slots_[i]]);
  }
  for (std::size_t at = begin; at < end; at += tile_) {
    const std::size_t count = std::min(tile_, end - at);
    for (std::size_t i = 0; i < inputs; ++i) {
      switch (ways_[i]) {
        case Way::kInPlace:
          values[i] = static_cast<const float*>(pointers[i]) + at;
          break;
        case Way::kRow:
          values[i] = static_cast<const float*>(pointers[i]) + at % operands_[i].period();
          break;
        case Way::kPerTile:
          values[i] = slots[slots_[i]];
          read(pointers[i], operands_[i], at, count, slots[slots_[i]]);
          break;
        case Way::kOnce:
          break;
      }
    }
    float* made = nullptr;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const LoopOperation& operation = operations_[i];
      const std::uint8_t slot = slots_[inputs + i];
      made = slot == kNoSlot ? static_cast<float*>(pointers.back()) + at : slots[slot];
      const auto& reads = operation.reads;
      operation.function(values[reads[0]], values[reads[1]], values[reads[2]], made, count, operation.alpha,
                         operation.beta);
      values[inputs + i] = made;
    }
    if (result_ == ElementType::kBf16)
      to_bf16(made, static_cast<std::uint16_t*>(pointers.back()) + at, count);
    else if (result_ == ElementType::kBool)
      std::transform(made, made + count, static_cast<std::uint8_t*>(pointers.back()) + at,
                     [](float value) { return value != 0 ? std::uint8_t{1} : std::uint8_t{0}; });
  }
}

}  // namespace tenon::inline v1::engine::kernels
