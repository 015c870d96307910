// SPDX-License-Identifier: Apache-2.0
// Building blocks of reference kernels: typed, packed views of strided tensors, and movement of elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {

// Kernels compute in four types: float for f32, f16 and bf16; double for f64; int64 for all integers and booleans;
// uint64 for u64. Load and store convert, so that no kernel is instantiated per element type.

/// Converts `count` elements at `src` of `type`, `step` bytes apart, to T.
template <typename T>
void load_elements(ElementType type, const void* src, std::ptrdiff_t step_bytes, std::size_t count, T* dst);
/// Converts `count` T to packed elements of `type`. Reals round to nearest even; to integers they truncate and
/// saturate; integers wrap.
template <typename T>
void store_elements(ElementType type, const T* src, std::size_t count, void* dst);

/// Packed elements of a tensor as T: in place if it stores that already, else a converted copy.
template <typename T>
class Read {
 public:
  explicit Read(const Tensor& tensor);
  Read(const Read&) = delete;  // data_ may point into copy_.
  Read& operator=(const Read&) = delete;
  const T* data() const { return data_; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }

 private:
  std::vector<T> copy_;
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Packed storage for a tensor's elements as T; commit() converts it into the tensor if the types differ.
template <typename T>
class Write {
 public:
  explicit Write(Tensor& tensor);
  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  std::size_t size() const { return size_; }
  void commit();

 private:
  Tensor& tensor_;
  std::vector<T> room_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

extern template class Read<float>;
extern template class Read<double>;
extern template class Read<std::int64_t>;
extern template class Read<std::uint64_t>;
extern template class Write<float>;
extern template class Write<double>;
extern template class Write<std::int64_t>;
extern template class Write<std::uint64_t>;

/// All values, converted; the tensor may be strided or sub-byte.
template <typename T>
std::vector<T> to_vector(const Tensor& tensor);

/// Calls f with a value of the type in which an element type is computed.
template <typename F>
void dispatch_compute(ElementType type, F f) {
  if (type == ElementType::kF64)
    f(double{});
  else if (info(type).is_real)
    f(float{});
  else if (type == ElementType::kU64)
    f(std::uint64_t{});
  else
    f(std::int64_t{});
}
template <typename F>
void dispatch_real(ElementType type, F f) {
  if (type == ElementType::kF64)
    f(double{});
  else
    f(float{});
}

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
std::uint16_t float_to_bfloat16(float value);

/// Bytes of one element. @errors kUnimplemented for sub-byte types, which movement kernels do not support.
std::size_t movable_size(const Tensor& tensor);
/// Copies elements of `size` bytes between two strided regions; strides may be 0 or negative.
void move_elements(std::size_t size, const Shape& shape, const void* src, const ByteStrides& src_strides, void* dst,
                   const ByteStrides& dst_strides);
/// Copies a strided tensor to packed or strided memory of the same shape.
void move_tensor(const Tensor& src, const Tensor& dst);

/// Product of extents [first, last).
inline std::size_t extent_product(const Shape& shape, std::size_t first, std::size_t last) {
  std::size_t product = 1;
  for (std::size_t axis = first; axis < last; ++axis) product *= shape[axis];
  return product;
}
/// Strides, in elements, of a packed tensor.
std::vector<std::size_t> element_strides(const Shape& shape);

/// Increments an index within the extents of `shape`. @return false after the last.
inline bool advance(std::vector<std::size_t>& index, const Shape& shape) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

}  // namespace v1
}  // namespace tenon
