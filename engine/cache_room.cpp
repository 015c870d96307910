// SPDX-License-Identifier: Apache-2.0
// Rooms of caches: what lies where, and what fills them.
#include <tenon/engine/cache_room.hpp>

#include <cstddef>

#include <tenon/engine/kernels/attention/kv_cache_quant.hpp>

namespace tenon::inline v1::engine {
namespace {

// Whole vectors on every CPU.
constexpr std::size_t kGroupStep = 16;

}  // namespace

CacheRoom::CacheRoom(ElementType type, const Shape& shape, const Growth& growth)
    : shape_(shape), axis_(growth.axis), format_(growth.format) {
  shape_[axis_] = growth.capacity;
  memory_ = format_.is_narrow() ? Tensor(ElementType::kU8, Shape{format_.size_bytes(shape_)}) : Tensor(type, shape_);
}

Tensor CacheRoom::numbers() const {
  return format_.is_narrow() ? Tensor({format_.type, shape_, {}}, memory_.memory()) : memory_;
}

Tensor CacheRoom::scales(const Shape& shape) const {
  Shape of_room = shape_, used = shape;
  of_room.back() = used.back() = shape_.back() / format_.group * 2;
  return Tensor({ElementType::kF32, of_room, {}}, memory_.memory(), format_.scales_offset(shape_))
      .slice(Shape(used.size(), 0), used);
}

template <typename Body>
void CacheRoom::for_runs(const Shape& shape, const Body& body) const {
  std::size_t runs = 1, rows = 1;
  for (std::size_t i = 0; i < axis_; ++i) runs *= shape[i];
  for (std::size_t i = axis_ + 1; i + 1 < shape.size(); ++i) rows *= shape[i];
  for (std::size_t run = 0; run < runs; ++run)
    body(run * shape[axis_] * rows, run * capacity() * rows, shape[axis_] * rows);
}

Tensor CacheRoom::packed(const Shape& shape) const {
  Tensor packed;
  if (!format_.is_narrow()) {
    part(shape).copy_to(packed);
    return packed;
  }
  packed = Tensor(ElementType::kF32, shape);
  if (packed.element_count() == 0) return packed;
  const kernels::KvCacheQuant rows{format_.type, shape.back(), format_.group};
  const auto* const numbers = static_cast<const std::byte*>(memory_.data());
  const float* const scales = format_.group ? this->scales(shape).data<float>() : nullptr;
  for_runs(shape, [&](std::size_t to, std::size_t from, std::size_t count) {
    widen_rows(rows, numbers + from * rows.length * size_bytes(rows.type),
               scales ? scales + from * rows.groups() * 2 : nullptr, count, packed.data<float>() + to * rows.length);
  });
  return packed;
}

void CacheRoom::fill(const Tensor& value) {
  const Shape& shape = value.shape();
  if (value.element_count() == 0) return;
  if (!format_.is_narrow()) {
    Tensor used = part(shape);
    value.copy_to(used);
    return;
  }
  Tensor packed = value;
  if (!value.is_contiguous()) {
    packed = Tensor();
    value.copy_to(packed);
  }
  const kernels::KvCacheQuant rows{format_.type, shape.back(), format_.group};
  auto* const numbers = static_cast<std::byte*>(memory_.data());
  float* const scales = format_.group ? this->scales(shape).data<float>() : nullptr;
  for_runs(shape, [&](std::size_t from, std::size_t to, std::size_t count) {
    narrow_rows(rows, packed.data<float>() + from * rows.length, count,
                numbers + to * rows.length * size_bytes(rows.type), scales ? scales + to * rows.groups() * 2 : nullptr);
  });
}

void CacheRoom::fill(const CacheRoom& other, const Shape& shape) {
  if (other.format_ != format_ || other.axis_ != axis_) return fill(other.packed(shape));
  if (element_count(shape) == 0) return;
  Tensor to = part(shape);
  other.part(shape).copy_to(to);
  if (format_.group == 0) return;
  Tensor to_scales = scales(shape);
  other.scales(shape).copy_to(to_scales);
}

CacheFormat cache_format(const Options& options, const Growth& growth, ElementType type, const Shape& shape) {
  if (growth.role == Growth::Role::kOther || type != ElementType::kF32 || growth.axis + 1 >= shape.size() ||
      shape.back() == 0)
    return {};
  const bool is_keys = growth.role == Growth::Role::kKeys;
  CacheFormat format{is_keys ? options.key_cache : options.value_cache, 0};
  if (format.type != ElementType::kU8) return format;
  const std::size_t wanted = is_keys ? options.key_cache_group : options.value_cache_group, row = shape.back();
  format.group = wanted != 0 && wanted % kGroupStep == 0 && row % wanted == 0 ? wanted : row;
  return format;
}

}  // namespace tenon::inline v1::engine
