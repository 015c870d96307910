// SPDX-License-Identifier: Apache-2.0
// Counts first, so that every part knows where it writes.
#include <tenon/engine/kernels/data_movement/non_zero.hpp>

#include <algorithm>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {
namespace {

constexpr std::size_t kNonZeroPart = 4096;

template <typename Body>
void with_number(ElementType type, const Body& body) {
  switch (type) {
    case ElementType::kF32:
      return body(float{});
    case ElementType::kF64:
      return body(double{});
    case ElementType::kI64:
    case ElementType::kU64:
      return body(std::int64_t{});
    case ElementType::kI32:
    case ElementType::kU32:
      return body(std::int32_t{});
    case ElementType::kI16:
    case ElementType::kU16:
      return body(std::int16_t{});
    default:
      return body(std::int8_t{});
  }
}

template <typename T, typename Index>
void find_in(const T* data, const Shape& shape, const std::vector<std::size_t>& begins, Index* out) {
  const std::size_t count = element_count(shape), parts = begins.size() - 1, found = begins.back(), rank = shape.size();
  parallel(parts, count * sizeof(T) + found * rank * sizeof(Index), [&](std::size_t begin, std::size_t end) {
    std::vector<std::size_t> index(rank);
    for (std::size_t part = begin; part < end; ++part) {
      if (begins[part] == begins[part + 1]) continue;
      const std::size_t first = part * kNonZeroPart, last = std::min(first + kNonZeroPart, count);
      std::size_t rest = first;
      for (std::size_t axis = rank; axis-- > 0; rest /= shape[axis]) index[axis] = rest % shape[axis];
      std::size_t to = begins[part];
      for (std::size_t i = first; i < last; ++i) {
        if (data[i] != T{0}) {
          for (std::size_t axis = 0; axis < rank; ++axis) out[axis * found + to] = static_cast<Index>(index[axis]);
          ++to;
        }
        for (std::size_t axis = rank; axis-- > 0;) {
          if (++index[axis] < shape[axis]) break;
          index[axis] = 0;
        }
      }
    }
  });
}

}  // namespace

bool has_non_zero(ElementType type) {
  return bit_width(type) >= 8 && (!info(type).is_real || type == ElementType::kF32 || type == ElementType::kF64);
}

std::vector<std::size_t> count_non_zero(ElementType type, const void* data, std::size_t count) {
  const std::size_t parts = (count + kNonZeroPart - 1) / kNonZeroPart;
  std::vector<std::size_t> begins(parts + 1, 0);
  with_number(type, [&]<typename T>(T) {
    const T* numbers = static_cast<const T*>(data);
    parallel(parts, count * sizeof(T), [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) {
        const T* from = numbers + part * kNonZeroPart;
        begins[part + 1] = static_cast<std::size_t>(
            std::count_if(from, numbers + std::min((part + 1) * kNonZeroPart, count), [](T x) { return x != T{0}; }));
      }
    });
  });
  for (std::size_t part = 0; part < parts; ++part) begins[part + 1] += begins[part];
  return begins;
}

void find_non_zero(ElementType type, const void* data, const Shape& shape, const std::vector<std::size_t>& begins,
                   bool is_wide, void* out) {
  with_number(type, [&]<typename T>(T) {
    if (is_wide)
      find_in(static_cast<const T*>(data), shape, begins, static_cast<std::int64_t*>(out));
    else
      find_in(static_cast<const T*>(data), shape, begins, static_cast<std::int32_t*>(out));
  });
}

}  // namespace tenon::inline v1::engine::kernels
