// SPDX-License-Identifier: Apache-2.0
// Conversion and movement of elements for the reference kernels.
#include <tenon/graph/ops/internal/kernel.hpp>

#include <bit>
#include <cmath>
#include <limits>

#include <tenon/core/error.hpp>
#include <tenon/graph/reals.hpp>
#include <tenon/graph/small_floats.hpp>

namespace tenon {
inline namespace v1 {

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return sign ? -value : value;
}

// Without branches, so that loops take several at a time.
std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Below the smallest normal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
  const float sum = std::bit_cast<float>(magnitude) + 0.5f;
  const std::uint32_t small = std::bit_cast<std::uint32_t>(sum) - 0x3f000000u;
  const std::uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  std::uint32_t half = magnitude < 0x38800000u ? small : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;  // 65520 and more round to infinity.
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | half);
}

std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

namespace {
struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};

template <typename T, typename S>
T widen(S value) {
  if constexpr (std::is_same_v<S, Half>)
    return static_cast<T>(half_to_float(value.bits));
  else if constexpr (std::is_same_v<S, Bfloat>)
    return static_cast<T>(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16));
  else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<T>) {
    // Out-of-range conversions are undefined in C++: saturate, NaN becomes 0.
    if (!(value == value)) return 0;
    if (value >= static_cast<S>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    if (value <= static_cast<S>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <typename D, typename T>
D narrow(T value) {
  if constexpr (std::is_same_v<D, Half>)
    return {float_to_half(static_cast<float>(value))};
  else if constexpr (std::is_same_v<D, Bfloat>)
    return {float_to_bfloat16(static_cast<float>(value))};
  else
    return widen<D>(value);
}

template <typename T, typename S>
void load_as(const void* src, std::ptrdiff_t step, std::size_t count, T* dst) {
  const char* from = static_cast<const char*>(src);
  if (step == static_cast<std::ptrdiff_t>(sizeof(S))) {
    for (std::size_t i = 0; i < count; ++i) {
      S value;
      std::memcpy(&value, from + i * sizeof(S), sizeof(S));
      dst[i] = widen<T>(value);
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i, from += step) {
    S value;
    std::memcpy(&value, from, sizeof(S));
    dst[i] = widen<T>(value);
  }
}

template <typename T>
void load_small_floats(ElementType type, const void* src, std::ptrdiff_t step, std::size_t count, T* dst) {
  const auto* from = static_cast<const std::uint8_t*>(src);
  for (std::size_t i = 0; i < count; ++i, from += step) dst[i] = widen<T>(small_float_value(type, *from));
}
template <typename T>
void store_small_floats(ElementType type, const T* src, std::size_t count, void* dst) {
  auto* to = static_cast<std::uint8_t*>(dst);
  for (std::size_t i = 0; i < count; ++i) to[i] = small_float_code(type, static_cast<float>(src[i]));
}

template <typename D, typename T>
void store_as(const T* src, std::size_t count, void* dst) {
  char* to = static_cast<char*>(dst);
  for (std::size_t i = 0; i < count; ++i) {
    const D value = narrow<D>(src[i]);
    std::memcpy(to + i * sizeof(D), &value, sizeof(D));
  }
}

[[noreturn]] void no_such_type(ElementType type) {
  throw Error(Code::kUnimplemented, "reference kernels do not take element type " + std::string(name(type)));
}

/// Sub-byte elements, packed low bits first (u1: high bits first, as in OpenVINO).
template <typename T>
void load_packed(ElementType type, const void* src, std::size_t count, T* dst) {
  const auto* bytes = static_cast<const std::uint8_t*>(src);
  for (std::size_t i = 0; i < count; ++i) {
    if (type == ElementType::kU1) {
      dst[i] = static_cast<T>(bytes[i / 8] >> (7 - i % 8) & 1);
      continue;
    }
    const int nibble = bytes[i / 2] >> (i % 2 * 4) & 15;
    if (is_small_float(type))
      dst[i] = widen<T>(small_float_value(type, static_cast<std::uint8_t>(nibble)));
    else
      dst[i] = static_cast<T>(type == ElementType::kI4 && nibble > 7 ? nibble - 16 : nibble);
  }
}
template <typename T>
void store_packed(ElementType type, const T* src, std::size_t count, void* dst) {
  auto* bytes = static_cast<std::uint8_t*>(dst);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = is_small_float(type) ? unsigned{small_float_code(type, static_cast<float>(src[i]))}
                                            : static_cast<unsigned>(widen<std::int64_t>(src[i]));
    const unsigned shift = type == ElementType::kU1 ? 7 - i % 8 : i % 2 * 4;
    const unsigned mask = type == ElementType::kU1 ? 1u : 15u;
    std::uint8_t& byte = bytes[type == ElementType::kU1 ? i / 8 : i / 2];
    byte = static_cast<std::uint8_t>((byte & ~(mask << shift)) | (value & mask) << shift);
  }
}
bool is_packed(ElementType type) { return info(type).bits > 0 && info(type).bits < 8; }
}  // namespace

template <typename T>
void load_elements(ElementType type, const void* src, std::ptrdiff_t step, std::size_t count, T* dst) {
  switch (type) {
    case ElementType::kBool: {
      load_as<T, std::uint8_t>(src, step, count, dst);
      for (std::size_t i = 0; i < count; ++i) dst[i] = dst[i] != T{0};
      return;
    }
    case ElementType::kF64:
      return load_as<T, double>(src, step, count, dst);
    case ElementType::kF32:
      return load_as<T, float>(src, step, count, dst);
    case ElementType::kF16:
      return load_as<T, Half>(src, step, count, dst);
    case ElementType::kBf16:
      return load_as<T, Bfloat>(src, step, count, dst);
    case ElementType::kI64:
      return load_as<T, std::int64_t>(src, step, count, dst);
    case ElementType::kI32:
      return load_as<T, std::int32_t>(src, step, count, dst);
    case ElementType::kI16:
      return load_as<T, std::int16_t>(src, step, count, dst);
    case ElementType::kI8:
      return load_as<T, std::int8_t>(src, step, count, dst);
    case ElementType::kU64:
      return load_as<T, std::uint64_t>(src, step, count, dst);
    case ElementType::kU32:
      return load_as<T, std::uint32_t>(src, step, count, dst);
    case ElementType::kU16:
      return load_as<T, std::uint16_t>(src, step, count, dst);
    case ElementType::kU8:
      return load_as<T, std::uint8_t>(src, step, count, dst);
    case ElementType::kF8E4M3:
    case ElementType::kF8E5M2:
    case ElementType::kF8E4M3Fnuz:
    case ElementType::kF8E5M2Fnuz:
    case ElementType::kF8E8M0:
      return load_small_floats(type, src, step, count, dst);
    case ElementType::kI4:
    case ElementType::kU4:
    case ElementType::kU1:
    case ElementType::kF4E2M1:
    case ElementType::kNf4:
      return load_packed(type, src, count, dst);
    case ElementType::kString:
    case ElementType::kUndefined:
      break;
  }
  no_such_type(type);
}

template <typename T>
void store_elements(ElementType type, const T* src, std::size_t count, void* dst) {
  switch (type) {
    case ElementType::kBool: {
      auto* flags = static_cast<std::uint8_t*>(dst);
      for (std::size_t i = 0; i < count; ++i) flags[i] = src[i] != T{0};
      return;
    }
    case ElementType::kF64:
      return store_as<double>(src, count, dst);
    case ElementType::kF32:
      return store_as<float>(src, count, dst);
    case ElementType::kF16:
      return store_as<Half>(src, count, dst);
    case ElementType::kBf16:
      return store_as<Bfloat>(src, count, dst);
    case ElementType::kI64:
      return store_as<std::int64_t>(src, count, dst);
    case ElementType::kI32:
      return store_as<std::int32_t>(src, count, dst);
    case ElementType::kI16:
      return store_as<std::int16_t>(src, count, dst);
    case ElementType::kI8:
      return store_as<std::int8_t>(src, count, dst);
    case ElementType::kU64:
      return store_as<std::uint64_t>(src, count, dst);
    case ElementType::kU32:
      return store_as<std::uint32_t>(src, count, dst);
    case ElementType::kU16:
      return store_as<std::uint16_t>(src, count, dst);
    case ElementType::kU8:
      return store_as<std::uint8_t>(src, count, dst);
    case ElementType::kF8E4M3:
    case ElementType::kF8E5M2:
    case ElementType::kF8E4M3Fnuz:
    case ElementType::kF8E5M2Fnuz:
    case ElementType::kF8E8M0:
      return store_small_floats(type, src, count, dst);
    case ElementType::kI4:
    case ElementType::kU4:
    case ElementType::kU1:
    case ElementType::kF4E2M1:
    case ElementType::kNf4:
      return store_packed(type, src, count, dst);
    case ElementType::kString:
    case ElementType::kUndefined:
      break;
  }
  no_such_type(type);
}

#define TENON_FOR_COMPUTE_TYPES(X) X(float) X(double) X(std::int64_t) X(std::uint64_t)
// NOLINTBEGIN(bugprone-macro-parentheses): T is a type.
#define TENON_INSTANTIATE(T)                                                                 \
  template void load_elements<T>(ElementType, const void*, std::ptrdiff_t, std::size_t, T*); \
  template void store_elements<T>(ElementType, const T*, std::size_t, void*);
TENON_FOR_COMPUTE_TYPES(TENON_INSTANTIATE)
// NOLINTEND(bugprone-macro-parentheses)
#undef TENON_INSTANTIATE

void to_reals(ElementType type, const void* from, std::size_t count, float* to) {
  load_elements(type, from, static_cast<std::ptrdiff_t>(size_bytes(type)), count, to);
}
void from_reals(ElementType type, const float* from, std::size_t count, void* to) {
  store_elements(type, from, count, to);
}

template <typename T>
std::vector<T> to_vector(const Tensor& tensor) {
  std::vector<T> values(tensor.element_count());
  if (values.empty()) return values;
  const auto* base = static_cast<const char*>(tensor.data());
  const ByteStrides& strides = tensor.byte_strides();
  if (is_packed(tensor.element_type()) || tensor.is_contiguous()) {
    load_elements(tensor.element_type(), base, static_cast<std::ptrdiff_t>(size_bytes(tensor.element_type())),
                  values.size(), values.data());
    return values;
  }
  const Shape& shape = tensor.shape();
  const std::size_t row = shape.back();
  Shape outer(shape.begin(), shape.end() - 1);
  std::vector<std::size_t> index(outer.size(), 0);
  T* to = values.data();
  do {
    std::ptrdiff_t offset = 0;
    for (std::size_t axis = 0; axis < outer.size(); ++axis)
      offset += static_cast<std::ptrdiff_t>(index[axis]) * strides[axis];
    load_elements(tensor.element_type(), base + offset, strides.back(), row, to);
    to += row;
  } while (advance(index, outer));
  return values;
}
#define TENON_INSTANTIATE(T) template std::vector<T> to_vector<T>(const Tensor&);
TENON_FOR_COMPUTE_TYPES(TENON_INSTANTIATE)
#undef TENON_INSTANTIATE

template <typename T>
Read<T>::Read(const Tensor& tensor) : size_(tensor.element_count()) {
  if (size_ == 0) return;
  const bool aligned = reinterpret_cast<std::uintptr_t>(tensor.data()) % alignof(T) == 0;
  if (tensor.element_type() == element_type_of<T>() && tensor.is_contiguous() && aligned) {
    data_ = static_cast<const T*>(tensor.data());
  } else {
    copy_ = to_vector<T>(tensor);
    data_ = copy_.data();
  }
}

template <typename T>
Write<T>::Write(Tensor& tensor) : tensor_(tensor), size_(tensor.element_count()) {
  if (size_ == 0) return;
  if (tensor.element_type() == element_type_of<T>() && tensor.is_contiguous()) {
    data_ = static_cast<T*>(tensor.data());
  } else {
    room_.resize(size_);
    data_ = room_.data();
  }
}
template <typename T>
void Write<T>::commit() {
  if (room_.empty()) return;
  store_elements(tensor_.element_type(), room_.data(), size_, tensor_.data());
}

#define TENON_INSTANTIATE(T) \
  template class Read<T>;    \
  template class Write<T>;
TENON_FOR_COMPUTE_TYPES(TENON_INSTANTIATE)
#undef TENON_INSTANTIATE

std::size_t movable_size(const Tensor& tensor) {
  const std::size_t size = size_bytes(tensor.element_type());
  if (size == 0 || tensor.element_type() == ElementType::kString) no_such_type(tensor.element_type());
  return size;
}

namespace {
template <typename T>
void move_rows(const Shape& shape, const char* src, const ByteStrides& src_strides, char* dst,
               const ByteStrides& dst_strides) {
  const std::size_t rank = shape.size();
  if (rank == 0) {
    std::memcpy(dst, src, sizeof(T));
    return;
  }
  const std::size_t row = shape.back();
  const std::ptrdiff_t from_step = src_strides.back(), to_step = dst_strides.back();
  const bool packed = from_step == sizeof(T) && to_step == sizeof(T);
  Shape outer(shape.begin(), shape.end() - 1);
  std::vector<std::size_t> index(outer.size(), 0);
  do {
    const char* from = src;
    char* to = dst;
    for (std::size_t axis = 0; axis < outer.size(); ++axis) {
      from += static_cast<std::ptrdiff_t>(index[axis]) * src_strides[axis];
      to += static_cast<std::ptrdiff_t>(index[axis]) * dst_strides[axis];
    }
    if (packed) {
      std::memcpy(to, from, row * sizeof(T));
      continue;
    }
    for (std::size_t i = 0; i < row; ++i, from += from_step, to += to_step) std::memcpy(to, from, sizeof(T));
  } while (advance(index, outer));
}
}  // namespace

void move_elements(std::size_t size, const Shape& shape, const void* src, const ByteStrides& src_strides, void* dst,
                   const ByteStrides& dst_strides) {
  // Merges axes that are contiguous on both sides, so that one memcpy moves a whole block.
  Shape merged;
  ByteStrides from, to;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return;
    if (shape[axis] == 1) continue;
    const auto extent = static_cast<std::ptrdiff_t>(shape[axis]);
    if (!merged.empty() && from.back() == src_strides[axis] * extent && to.back() == dst_strides[axis] * extent) {
      merged.back() *= shape[axis];
      from.back() = src_strides[axis];
      to.back() = dst_strides[axis];
    } else {
      merged.push_back(shape[axis]);
      from.push_back(src_strides[axis]);
      to.push_back(dst_strides[axis]);
    }
  }
  const auto* source = static_cast<const char*>(src);
  auto* target = static_cast<char*>(dst);
  switch (size) {
    case 1:
      return move_rows<std::uint8_t>(merged, source, from, target, to);
    case 2:
      return move_rows<std::uint16_t>(merged, source, from, target, to);
    case 4:
      return move_rows<std::uint32_t>(merged, source, from, target, to);
    default:
      return move_rows<std::uint64_t>(merged, source, from, target, to);
  }
}

void move_tensor(const Tensor& src, const Tensor& dst) {
  if (src.element_count() == 0) return;
  if (size_bytes(src.element_type()) == 0) {
    std::memcpy(dst.data(), src.data(), src.size_bytes());
    return;
  }
  if (src.element_type() == ElementType::kString)
    return copy_strided(src.element_type(), src.shape(), src.data(), src.byte_strides(), dst.data(),
                        dst.byte_strides());
  move_elements(movable_size(src), src.shape(), src.data(), src.byte_strides(), dst.data(), dst.byte_strides());
}

std::vector<std::size_t> element_strides(const Shape& shape) {
  std::vector<std::size_t> strides(shape.size());
  std::size_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

}  // namespace v1
}  // namespace tenon
