// SPDX-License-Identifier: Apache-2.0
// Tensors: checks at construction, regions, reshaping and strided copies.
#include <tenon/core/tensor.hpp>

#include <algorithm>
#include <cstring>

#include <tenon/core/host.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

TENON_INLINE std::size_t require_size(ElementType type, const Shape& shape) {
  const auto bytes = checked_size_bytes(type, shape);
  if (!bytes) {
    throw Error(Code::kInvalidArgument, "tensor " + std::string(name(type)) + " " + to_string(shape) +
                                            ": its size does not fit 63 bits; check the shape");
  }
  return *bytes;
}

/// Fills in packed strides and returns the size. One pass, because every wrapped tensor comes through here.
TENON_INLINE std::size_t pack(TensorInfo& info) {
  std::size_t step = size_bytes(info.type);
  if (step == 0) return require_size(info.type, info.shape);
  info.strides.resize(info.shape.size());
  const std::size_t* const extents = info.shape.data();
  std::ptrdiff_t* const strides = info.strides.data();
  bool overflow = false, empty = false;
  for (std::size_t axis = info.shape.size(); axis-- > 0;) {
    strides[axis] = static_cast<std::ptrdiff_t>(step);
    empty |= extents[axis] == 0;
    overflow |= __builtin_mul_overflow(step, extents[axis], &step);
  }
  if (empty) return 0;
  return overflow || step >> 60 != 0 ? require_size(info.type, info.shape) : step;
}

TENON_INLINE void complete_strides(TensorInfo& info) {
  if (info.strides.empty()) {
    info.strides = packed_strides(info.type, info.shape);
    return;
  }
  if (size_bytes(info.type) == 0) {
    throw Error(Code::kInvalidArgument,
                "tensor of " + std::string(name(info.type)) + ": types below 8 bits are packed and take no strides");
  }
  if (info.strides.size() != info.shape.size()) {
    throw Error(Code::kInvalidArgument, "tensor " + to_string(info.shape) + ": got " +
                                            std::to_string(info.strides.size()) +
                                            " byte strides, expected one per axis");
  }
}

TENON_INLINE Ref<HostMemory> allocate(ElementType type, std::size_t size_bytes) {
  if (type == ElementType::kString) return HostMemory::allocate_strings(size_bytes / sizeof(std::string));
  return HostMemory::allocate(size_bytes);
}

TENON_INLINE void copy_axis(bool is_text, std::size_t axis, std::size_t inner_bytes, std::size_t inner_axis,
                            const Shape& shape, const char* src, const ByteStrides& src_strides, char* dst,
                            const ByteStrides& dst_strides) {
  if (axis == inner_axis) {
    if (is_text)
      std::copy_n(reinterpret_cast<const std::string*>(src), inner_bytes / sizeof(std::string),
                  reinterpret_cast<std::string*>(dst));
    else
      std::memcpy(dst, src, inner_bytes);
    return;
  }
  for (std::size_t i = 0; i < shape[axis]; ++i) {
    copy_axis(is_text, axis + 1, inner_bytes, inner_axis, shape,
              src + static_cast<std::ptrdiff_t>(i) * src_strides[axis], src_strides,
              dst + static_cast<std::ptrdiff_t>(i) * dst_strides[axis], dst_strides);
  }
}

}  // namespace detail

TENON_INLINE std::optional<std::size_t> checked_extent_bytes(const TensorInfo& info) {
  const auto packed = checked_size_bytes(info.type, info.shape);
  if (!packed || info.strides.empty() || *packed == 0) return packed;
  std::size_t extent = size_bytes(info.type);
  for (std::size_t axis = 0; axis < info.shape.size(); ++axis) {
    std::size_t reach = 0;
    if (info.strides[axis] < 0 ||
        __builtin_mul_overflow(info.shape[axis] - 1, static_cast<std::size_t>(info.strides[axis]), &reach) ||
        __builtin_add_overflow(extent, reach, &extent)) {
      return std::nullopt;
    }
  }
  return extent;
}

TENON_INLINE Tensor::Tensor(ElementType type, const Shape& shape)
    : info_{type, shape, {}}, memory_(detail::allocate(type, detail::pack(info_))) {}

TENON_INLINE Tensor::Tensor(ElementType type, const Shape& shape, void* data, const ByteStrides& strides)
    : info_{type, shape, strides} {
  std::optional<std::size_t> extent;
  if (strides.empty()) {
    extent = detail::pack(info_);
  } else {
    detail::require_size(type, shape);
    detail::complete_strides(info_);
    extent = checked_extent_bytes(info_);
  }
  if (!extent)
    throw Error(Code::kInvalidArgument,
                "tensor " + to_string(shape) + ": negative or overflowing byte strides " + to_string(strides));
  if (!data && *extent != 0)
    throw Error(Code::kInvalidArgument, "tensor " + to_string(shape) + ": null data for a shape that is not empty");
  memory_ = HostMemory::borrow(data, *extent);
}

TENON_INLINE Tensor::Tensor(TensorInfo info, Ref<Memory> memory, std::size_t offset, Lease lease, const View* view)
    : info_(std::move(info)), memory_(std::move(memory)), lease_(std::move(lease)), view_(view), offset_(offset) {
  if (!memory_) throw Error(Code::kInvalidArgument, "tensor " + to_string(info_.shape) + ": no memory given");
  if (info_.type == ElementType::kString) {
    const auto* host = dynamic_cast<const HostMemory*>(memory_.get());
    if (!host || (host->owned() && !host->has_strings())) {
      throw Error(Code::kInvalidArgument, "tensor string " + to_string(info_.shape) +
                                              ": strings are objects of this process, not bytes: create the tensor by "
                                              "type and shape, or over std::string objects of your own");
    }
  }
  std::optional<std::size_t> extent;
  if (info_.strides.empty()) {
    extent = detail::pack(info_);
  } else {
    detail::complete_strides(info_);
    extent = checked_extent_bytes(info_);
  }
  if (!extent || offset_ > memory_->size_bytes() || *extent > memory_->size_bytes() - offset_) {
    throw Error(Code::kOutOfRange, "tensor " + std::string(name(info_.type)) + " " + to_string(info_.shape) +
                                       " with byte strides " + to_string(info_.strides) + " at offset " +
                                       std::to_string(offset_) + " reaches past the end of its memory of " +
                                       std::to_string(memory_->size_bytes()) + " bytes");
  }
}

TENON_INLINE Tensor::Tensor(const Tensor& whole, const Shape& begin, const Shape& end) : Tensor(whole) {
  if (tenon::v1::size_bytes(info_.type) == 0 || !memory_) {
    throw Error(Code::kInvalidArgument,
                "region of " + to_string(whole) + ": needs a tensor of a type of at least 8 bits");
  }
  if (begin.size() != info_.shape.size() || end.size() != info_.shape.size()) {
    throw Error(Code::kInvalidArgument, "region of " + to_string(whole) + ": begin " + to_string(begin) + " and end " +
                                            to_string(end) + " must have one entry per axis");
  }
  for (std::size_t axis = 0; axis < begin.size(); ++axis) {
    if (begin[axis] > end[axis] || end[axis] > info_.shape[axis]) {
      throw Error(Code::kOutOfRange, "region of " + to_string(whole) + ": [" + to_string(begin) + ", " +
                                         to_string(end) + ") leaves the tensor at axis " + std::to_string(axis));
    }
    offset_ += begin[axis] * static_cast<std::size_t>(info_.strides[axis]);
    info_.shape[axis] = end[axis] - begin[axis];
  }
}

TENON_INLINE bool Tensor::is_contiguous() const {
  std::size_t step = tenon::v1::size_bytes(info_.type);  // Unsigned: may wrap, where an extent is 0.
  for (std::size_t axis = info_.strides.size(); axis-- > 0;) {
    if (info_.shape[axis] != 1 && info_.strides[axis] != static_cast<std::ptrdiff_t>(step)) return element_count() == 0;
    step *= info_.shape[axis];
  }
  return true;
}

TENON_INLINE void* Tensor::data() const {
  if (!memory_) throw Error(Code::kFailedPrecondition, "data() of an empty tensor");
  void* base = host_base();
  if (!base && memory_->size_bytes() != 0) {
    throw Error(Code::kFailedPrecondition,
                to_string(*this) +
                    " is memory that the CPU does not reach: copy it to a tensor in host memory (copy_to() of its "
                    "RemoteTensor, if it is one), or map it to host_context() with a Router");
  }
  return static_cast<char*>(base) + offset_;
}

TENON_INLINE void Tensor::check_type(ElementType type, std::size_t bits) const {
  const ElementTypeInfo &held = tenon::v1::info(info_.type), &wanted = tenon::v1::info(type);
  const bool same_width = held.bits == bits || held.bits < 8;
  // OpenVINO's rule: width and real-ness must agree, so that f16 storage can be read as
  // uint16_t.
  if (!same_width ||
      (type != ElementType::kUndefined && held.is_real != wanted.is_real && !(held.bits == 16 && !wanted.is_real))) {
    throw Error(Code::kInvalidArgument, "data<T>() of " + to_string(*this) + ": T is " + std::string(wanted.name) +
                                            " of " + std::to_string(bits) + " bits");
  }
}

TENON_INLINE Tensor Tensor::reshaped(const Shape& shape) const {
  const auto count = checked_element_count(shape);
  if (!count || *count != element_count() || !is_contiguous()) {
    throw Error(Code::kInvalidArgument, "reshape of " + to_string(*this) + " to " + to_string(shape) +
                                            ": needs a contiguous tensor of the same number of elements");
  }
  Tensor result = *this;
  result.info_.shape = shape;
  result.info_.strides = packed_strides(info_.type, shape);
  return result;
}

TENON_INLINE Tensor Tensor::through(const View* view) const {
  Tensor result = *this;
  result.view_ = view;
  return result;
}

TENON_INLINE Tensor Tensor::with_lease(Lease lease) const {
  Tensor result = *this;
  result.lease_ = std::move(lease);
  return result;
}

TENON_INLINE void Tensor::copy_to(Tensor& destination) const {
  if (!destination) destination = Tensor(info_.type, info_.shape);
  if (destination.element_type() != info_.type) {
    throw Error(Code::kInvalidArgument, "Tensor element types are not equal. (src: " + std::string(name(info_.type)) +
                                            " != dst: " + std::string(name(destination.element_type())) + ")");
  }
  if (!(destination.shape() == info_.shape)) destination.set_shape(info_.shape);
  if (size_bytes() == 0) return;
  memory_->wait_for(Access::kRead, default_deadline());
  destination.memory_->wait_for(Access::kWrite, default_deadline());
  if (info_.type != ElementType::kString && is_contiguous() && destination.is_contiguous()) {
    std::memmove(destination.data(), data(), size_bytes());
    return;
  }
  copy_strided(info_.type, info_.shape, data(), info_.strides, destination.data(), destination.info_.strides);
}

TENON_INLINE void Tensor::set_shape(const Shape& shape) {
  const std::size_t bytes = detail::require_size(info_.type, shape);
  if (!memory_) throw Error(Code::kFailedPrecondition, "Could set new shape: the tensor is empty");
  if (shape == info_.shape) return;
  if (lease_ && Lease(lease_)->reshape(*this, shape)) return;
  if (bytes > memory_->size_bytes() - offset_ || !is_contiguous()) {
    auto* host = dynamic_cast<HostMemory*>(memory_.get());
    if (!host || !host->owned() || offset_ != 0 || view_ || lease_) {
      throw Error(Code::kOutOfRange, "Could set new shape: " + to_string(shape) + " needs " + std::to_string(bytes) +
                                         " bytes, and " + to_string(*this) + " is in memory that it cannot grow");
    }
    memory_ = detail::allocate(info_.type, bytes);
  }
  info_.shape = shape;
  info_.strides = packed_strides(info_.type, shape);
}

TENON_INLINE WrittenBytes written_bytes(const Tensor& tensor) {
  const std::size_t begin = tensor.offset();
  const std::size_t end = begin + checked_extent_bytes(tensor.info()).value_or(0);
  return {begin, end == tensor.memory()->size_bytes() ? SIZE_MAX : end, tensor.is_contiguous()};
}

TENON_INLINE std::string to_string(const Tensor& tensor) {
  if (!tensor) return "empty tensor";
  return std::string(name(tensor.element_type())) + " " + to_string(tensor.shape()) + " in " +
         std::string(tensor.context()->name());
}

TENON_INLINE void copy_strided(ElementType type, const Shape& shape, const void* src, const ByteStrides& src_strides,
                               void* dst, const ByteStrides& dst_strides) {
  for (std::size_t extent : shape) {
    if (extent == 0) return;
  }
  std::size_t inner_axis = shape.size();
  std::size_t inner_bytes = size_bytes(type);
  while (inner_axis > 0) {
    const std::size_t axis = inner_axis - 1;
    const auto packed = static_cast<std::ptrdiff_t>(inner_bytes);
    if (shape[axis] != 1 && (src_strides[axis] != packed || dst_strides[axis] != packed)) break;
    inner_bytes *= shape[axis];
    inner_axis = axis;
  }
  detail::copy_axis(type == ElementType::kString, 0, inner_bytes, inner_axis, shape, static_cast<const char*>(src),
                    src_strides, static_cast<char*>(dst), dst_strides);
}

}  // namespace v1
}  // namespace tenon
