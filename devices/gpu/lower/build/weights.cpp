// SPDX-License-Identifier: Apache-2.0
// Rearranges constants.
#include <tenon/devices/gpu/lower/build/weights.hpp>

#include <utility>
#include <vector>

#include <tenon/devices/gpu/lower/build/chunks.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Zeros, and the source's elements.
struct Packing {
  Packing(const Tensor& source, const Shape& packed_shape)
      : shape(packed_shape), from(op::v0::Constant(source).cast_vector<float>()), to(element_count(shape)) {}
  Tensor tensor(ElementType type) const { return op::v0::Constant::create(type, shape, to)->get_tensor(); }
  const Shape shape;
  const std::vector<float> from;
  std::vector<float> to;
};

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
  if (!entry.packed) entry = {source, pack(source)};
  return entry.packed;
}

Tensor pack_filters(const Tensor& filters, ElementType type, std::size_t channels) {
  const Filters of = filters_of(filters);
  const std::size_t taps = of.rows * of.columns;
  Packing packing(filters, Shape{of.out, of.rows, of.columns, channels});
  std::size_t from = 0;
  for (std::size_t out = 0; out < of.out; ++out)
    for (std::size_t in = 0; in < of.in; ++in)
      for (std::size_t tap = 0; tap < taps; ++tap)
        packing.to[(out * taps + tap) * channels + in] = packing.from[from++];
  return packing.tensor(type);
}

Tensor pack_filter_rows(const Tensor& filters, ElementType type, std::size_t run) {
  const Filters of = filters_of(filters);
  Packing packing(filters, Shape{of.out, of.rows, run});
  std::size_t from = 0;
  for (std::size_t out = 0; out < of.out; ++out)
    for (std::size_t in = 0; in < of.in; ++in)
      for (std::size_t row = 0; row < of.rows; ++row)
        for (std::size_t column = 0; column < of.columns; ++column)
          packing.to[(out * of.rows + row) * run + column * 4 + in] = packing.from[from++];
  return packing.tensor(type);
}

Tensor pack_filter_blocks(const Tensor& filters, std::size_t wide) {
  const Filters of = filters_of(filters);
  const std::size_t taps = of.rows * of.columns;
  Packing packing(filters, Shape{(of.out + wide - 1) / wide, taps, of.in, wide});
  std::size_t from = 0;
  for (std::size_t out = 0; out < of.out; ++out)
    for (std::size_t in = 0; in < of.in; ++in)
      for (std::size_t tap = 0; tap < taps; ++tap)
        packing.to[((out / wide * taps + tap) * of.in + in) * wide + out % wide] = packing.from[from++];
  return packing.tensor(ElementType::kF32);
}

Tensor pack_unfolding_blocks(const Tensor& filters, std::size_t wide) {
  const Filters of = filters_of(filters);  // `in` and `out` trade places.
  const std::size_t taps = of.rows * of.columns, in = of.out, out = of.in, blocks = (out + wide - 1) / wide;
  Packing packing(filters, Shape{taps, blocks, in, wide});
  std::size_t from = 0;
  for (std::size_t i = 0; i < in; ++i)
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t tap = 0; tap < taps; ++tap)
        packing.to[((tap * blocks + o / wide) * in + i) * wide + o % wide] = packing.from[from++];
  return packing.tensor(ElementType::kF32);
}

Tensor pack_side_blocks(const Tensor& side, std::size_t wide, bool is_transposed) {
  const std::size_t n = side.shape()[is_transposed ? 0 : 1], k = side.shape()[is_transposed ? 1 : 0];
  Packing packing(side, Shape{(n + wide - 1) / wide, k, wide});
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t at = 0; at < k; ++at)
      packing.to[(i / wide * k + at) * wide + i % wide] = packing.from[is_transposed ? i * k + at : at * n + i];
  return packing.tensor(ElementType::kF32);
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
  Packing packing(sides, shape);
  const std::size_t count = packing.from.size() / (n * k);
  for (std::size_t batch = 0; batch < count; ++batch)
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t at = 0; at < k; ++at)
        packing.to[(batch * n + row) * wide + at] =
            packing.from[batch * n * k + (is_transposed ? row * k + at : at * n + row)];
  return packing.tensor(type);
}

}  // namespace tenon::inline v1::gpu_device
