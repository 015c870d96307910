// SPDX-License-Identifier: Apache-2.0
// Rearranges constants.
#include <tenon/devices/gpu/lower/build/weights.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include <tenon/devices/gpu/lower/build/chunks.hpp>
#include <tenon/devices/gpu/program/parallel.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/reals.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Among how many threads this one divides what it packs: as PackedWeights said that asked last.
thread_local std::int32_t packing_threads = 0;

/// Calls `work` with 0 to count - 1, on several threads if all of it moves so many elements that these pay.
void divide(std::size_t count, std::size_t elements, const std::function<void(std::size_t)>& work) {
  run_parallel(count, elements < (std::size_t{1} << 18) ? 1 : packing_threads, work);
}

/// The same elements, packed, in another type.
Tensor in_type(const Tensor& source, ElementType type) {
  if (source.element_type() == type && source.is_contiguous()) return source;
  if (!source.is_contiguous())
    return op::v0::Constant::create(type, source.shape(), op::v0::Constant(source).cast_vector<float>())->get_tensor();
  constexpr std::size_t kRun = std::size_t{1} << 14;
  Tensor made(type, source.shape());
  const ElementType given = source.element_type();
  const std::size_t all = source.element_count();
  divide((all + kRun - 1) / kRun, all, [&](std::size_t run) {
    const std::size_t begin = run * kRun, count = std::min(kRun, all - begin);
    const auto at = [begin](ElementType of) { return begin * bit_width(of) / 8; };
    const std::byte* const from = static_cast<const std::byte*>(source.data()) + at(given);
    std::vector<float> reals(count);
    to_reals(given, from, count, reals.data());
    from_reals(type, reals.data(), count, static_cast<std::byte*>(made.data()) + at(type));
  });
  return made;
}

/// A tensor of f32, f16 or 8-bit numbers of the source's elements, and zeros where there are more.
/// @param fill  Gets both as pointers to whole numbers of their size, and moves the source's.
template <typename Fill>
Tensor rearranged(const Tensor& source, ElementType type, const Shape& shape, Fill fill) {
  const Tensor from = in_type(source, type);
  Tensor to(type, shape);
  if (to.element_count() > from.element_count()) std::memset(to.data(), 0, to.size_bytes());
  const auto filled = [&](auto element) {
    using Bits = decltype(element);
    fill(static_cast<const Bits*>(from.data()), static_cast<Bits*>(to.data()));
  };
  switch (size_bytes(type)) {
    case 1:
      filled(std::uint8_t{});
      break;
    case 2:
      filled(std::uint16_t{});
      break;
    default:
      filled(std::uint32_t{});
  }
  return to;
}

struct Filters {
  std::size_t out, in, rows, columns;
};
Filters filters_of(const Tensor& filters) {
  const Shape& shape = filters.shape();
  return {shape[0], shape[1], shape.size() > 3 ? shape[2] : 1, shape.back()};
}

}  // namespace

Tensor PackedWeights::get(const Tensor& source, const std::string& how,
                          const std::function<Tensor(const Tensor&)>& pack) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[{source.data(), how}];
  if (entry.packed) return entry.packed;
  packing_threads = threads_;
  entry = {source, pack(source)};
  return entry.packed;
}

Tensor pack_filters(const Tensor& filters, ElementType type, std::size_t channels) {
  const Filters of = filters_of(filters);
  const std::size_t taps = of.rows * of.columns;
  return rearranged(filters, type, Shape{of.out, of.rows, of.columns, channels}, [&](const auto* from, auto* to) {
    divide(of.out, filters.element_count(), [&, taps](std::size_t out) {
      for (std::size_t in = 0; in < of.in; ++in)
        for (std::size_t tap = 0; tap < taps; ++tap)
          to[(out * taps + tap) * channels + in] = from[(out * of.in + in) * taps + tap];
    });
  });
}

Tensor pack_filter_rows(const Tensor& filters, ElementType type, std::size_t run) {
  const Filters of = filters_of(filters);
  return rearranged(filters, type, Shape{of.out, of.rows, run}, [&](const auto* from, auto* to) {
    for (std::size_t out = 0; out < of.out; ++out)
      for (std::size_t in = 0; in < of.in; ++in)
        for (std::size_t row = 0; row < of.rows; ++row)
          for (std::size_t column = 0; column < of.columns; ++column)
            to[(out * of.rows + row) * run + column * 4 + in] = *from++;
  });
}

Tensor pack_filter_blocks(const Tensor& filters, std::size_t wide) {
  const Filters of = filters_of(filters);
  const std::size_t taps = of.rows * of.columns;
  const Shape packed{(of.out + wide - 1) / wide, taps, of.in, wide};
  return rearranged(filters, ElementType::kF32, packed, [&](const auto* from, auto* to) {
    divide(packed[0], filters.element_count(), [&, taps, wide](std::size_t block) {
      for (std::size_t out = block * wide; out < std::min(of.out, (block + 1) * wide); ++out)
        for (std::size_t in = 0; in < of.in; ++in)
          for (std::size_t tap = 0; tap < taps; ++tap)
            to[((block * taps + tap) * of.in + in) * wide + out % wide] = from[(out * of.in + in) * taps + tap];
    });
  });
}

Tensor pack_unfolding_blocks(const Tensor& filters, std::size_t wide) {
  const Filters of = filters_of(filters);  // `in` and `out` trade places.
  const std::size_t taps = of.rows * of.columns, in = of.out, out = of.in, blocks = (out + wide - 1) / wide;
  return rearranged(filters, ElementType::kF32, Shape{taps, blocks, in, wide}, [&](const auto* from, auto* to) {
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t o = 0; o < out; ++o)
        for (std::size_t tap = 0; tap < taps; ++tap)
          to[((tap * blocks + o / wide) * in + i) * wide + o % wide] = *from++;
  });
}

Tensor pack_side_blocks(const Tensor& side, std::size_t wide, bool is_transposed) {
  const std::size_t n = side.shape()[is_transposed ? 0 : 1], k = side.shape()[is_transposed ? 1 : 0];
  const Shape packed{(n + wide - 1) / wide, k, wide};
  return rearranged(side, ElementType::kF32, packed, [&](const auto* from, auto* to) {
    divide(packed[0], side.element_count(), [&, n, k, wide](std::size_t block) {
      for (std::size_t at = 0; at < k; ++at)
        for (std::size_t i = block * wide; i < std::min(n, (block + 1) * wide); ++i)
          to[(block * k + at) * wide + i % wide] = from[is_transposed ? i * k + at : at * n + i];
    });
  });
}

Tensor pack_channel_filters(const Tensor& filters, ElementType type) {
  const Shape& given = filters.shape();
  // As one filter of many input channels.
  Shape flat{1, given[0]};
  for (std::size_t axis = 3; axis < given.size(); ++axis) flat.push_back(given[axis]);
  return pack_filters(filters.reshaped(flat), type, given[0]);
}

Tensor pack_right_sides(const Tensor& sides, ElementType type, bool is_transposed, std::size_t chunk) {
  Shape shape = sides.shape();
  const std::size_t rank = shape.size();
  if (!is_transposed) std::swap(shape[rank - 1], shape[rank - 2]);
  const std::size_t n = shape[rank - 2], k = shape[rank - 1], wide = (k + chunk - 1) / chunk * chunk;
  shape[rank - 1] = wide;
  if (is_transposed && wide == k) return in_type(sides, type);
  constexpr std::size_t kBlock =
      64;  // So many rows of so many numbers of either side stay in a processor's first cache.
  const std::size_t blocks = (n + kBlock - 1) / kBlock;
  return rearranged(sides, type, shape, [&](const auto* from, auto* to) {
    divide(element_count(shape) / std::max<std::size_t>(n * wide, 1) * blocks, sides.element_count(),
           [&, n, k, wide, blocks](std::size_t block) {
             const auto* const side = from + block / blocks * n * k;
             auto* const packed = to + block / blocks * n * wide;
             const std::size_t first = block % blocks * kBlock, last = std::min(n, first + kBlock);
             for (std::size_t begin = 0; begin < k; begin += kBlock)
               for (std::size_t row = first; row < last; ++row)
                 for (std::size_t at = begin; at < std::min(k, begin + kBlock); ++at)
                   packed[row * wide + at] = side[is_transposed ? row * k + at : at * n + row];
           });
  });
}

}  // namespace tenon::inline v1::gpu_device
