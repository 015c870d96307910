// SPDX-License-Identifier: Apache-2.0
// Tensor: a view of memory that belongs to any framework.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>

#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>  // IWYU pragma: export
#include <tenon/core/export.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>

namespace tenon {
inline namespace v1 {

/// Element type, extents and byte strides of a tensor. Allocates nothing up to rank 6.
struct TensorInfo {
  ElementType type = ElementType::kUndefined;
  Shape shape;
  ByteStrides strides;  ///< Empty means packed; always empty for sub-byte types.

  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

/// Bytes from the first to one past the last that `info` touches; nothing on overflow or negative strides.
TENON_API std::optional<std::size_t> checked_extent_bytes(const TensorInfo& info);

/// A value: info, memory, lease, offset. Copying one costs two reference counts. The memory lives as long as any tensor
/// over it. Host data is reached by data(); device handles by the framework's typed function
/// (`opencl::buffer(tensor)`). The elements of element::string are std::string objects, as in OpenVINO: such tensors lie in host
/// memory, data<std::string>() reaches them, and their bytes mean nothing elsewhere.
/// @thread distinct objects from distinct threads. memory()->hazards() guards the bytes; the tensor does not.
class TENON_API Tensor {
 public:
  Tensor() = default;
  /// Allocates packed host memory, 64-byte aligned, uninitialised; strings are empty. @errors kInvalidArgument: size overflow;
  /// kResourceExhausted: no memory. Both name the shape.
  Tensor(ElementType type, const Shape& shape);
  /// Borrows host memory: the caller keeps it alive. `strides` empty means packed.
  /// @errors kInvalidArgument: null data for a non-empty shape, strides of another rank, strides of a sub-byte type.
  Tensor(ElementType type, const Shape& shape, void* data, const ByteStrides& strides = {});
  /// A tensor over `memory` at `offset`. @errors kOutOfRange when `info` reaches past the end of the memory.
  Tensor(TensorInfo info, Ref<Memory> memory, std::size_t offset = 0, Lease lease = {}, const View* view = nullptr);
  /// The region [begin, end) of `whole`: shares its memory. @errors kOutOfRange; kInvalidArgument for sub-byte types.
  Tensor(const Tensor& whole, const Shape& begin, const Shape& end);

  explicit operator bool() const { return static_cast<bool>(memory_); }
  const TensorInfo& info() const { return info_; }
  ElementType element_type() const { return info_.type; }
  const Shape& shape() const { return info_.shape; }
  /// Byte strides, filled in for packed tensors too. Empty only for sub-byte types.
  const ByteStrides& byte_strides() const { return info_.strides; }
  std::size_t element_count() const { return tenon::v1::element_count(info_.shape); }
  /// Bytes of the elements, padding not counted.
  std::size_t size_bytes() const { return (element_count() * bit_width(info_.type) + 7) / 8; }
  bool is_contiguous() const;

  const Ref<Memory>& memory() const { return memory_; }
  const Lease& lease() const { return lease_; }
  std::size_t offset() const { return offset_; }
  /// The view through which this tensor sees the memory; null when that is the memory's own context.
  const View* view() const { return view_; }
  /// Context and kind of the view, or of the memory itself. Precondition: not empty.
  const Context& context() const { return view_ ? view_->context() : memory_->context(); }
  MemoryKind kind() const { return view_ ? view_->kind() : memory_->kind(); }
  bool is_host_addressable() const { return memory_ && host_base(); }
  /// False for read-only memory, read-only views, and while a decoder still refers to the buffer.
  bool is_writable() const {
    return memory_ && !memory_->read_only() && (!view_ || writes(view_->access())) && (!lease_ || lease_->writable());
  }

  /// Host address of the first element. Does not wait and does not check access: see is_writable() and hazards().
  /// @errors kFailedPrecondition when the memory is not host-addressable or the tensor is empty.
  void* data() const;
  /// As data(). @errors kInvalidArgument when T is not what the tensor stores.
  template <typename T>
  T* data() const {
    check_type(element_type_of<T>(), sizeof(T) * 8);
    return static_cast<T*>(data());
  }

  /// The region [begin, end).
  Tensor slice(const Shape& begin, const Shape& end) const { return Tensor(*this, begin, end); }
  /// The same bytes under another shape; the element count must be equal and the tensor contiguous.
  Tensor reshaped(const Shape& shape) const;
  /// The same tensor through `view` of its memory; null: as seen from the memory's own context.
  Tensor through(const View* view) const;
  /// The same tensor under another lease.
  Tensor with_lease(Lease lease) const;
  /// Copies host elements, after waiting for the work on both memories. An empty destination is allocated; one of
  /// another shape gets this tensor's shape (OpenVINO's rule).
  /// @errors kInvalidArgument: element types differ, or a borrowed destination is too small; as Hazards::wait_for.
  void copy_to(Tensor& destination) const;

  /// @name OpenVINO's spelling
  element::Type get_element_type() const { return info_.type; }
  const Shape& get_shape() const { return info_.shape; }
  const ByteStrides& get_strides() const { return info_.strides; }
  std::size_t get_size() const { return element_count(); }
  std::size_t get_byte_size() const { return size_bytes(); }
  bool is_continuous() const { return is_contiguous(); }
  /// Whether T::type_check() accepts this tensor, where T derives from this class (RemoteTensor and the classes of
  /// devices).
  template <typename T>
  bool is() const noexcept {
    static_assert(std::is_base_of_v<Tensor, T>, "T must derive from Tensor");
    try {
      T::type_check(*this);
    } catch (...) {
      return false;
    }
    return true;
  }
  /// The tensor as a T, which adds members and no state. @errors those of T::type_check()
  template <typename T>
  const T as() const {
    static_assert(std::is_base_of_v<Tensor, T> && sizeof(T) == sizeof(Tensor), "T must derive from Tensor, bare");
    T::type_check(*this);
    T made;
    static_cast<Tensor&>(made) = *this;
    return made;
  }
  /// Changes the extents in place; grows only memory that this tensor allocated itself. Copies keep their shape, except
  /// that a tensor from InferRequest::get_tensor() also reshapes its request, as in OpenVINO.
  /// @errors kOutOfRange when borrowed memory is too small.
  void set_shape(const Shape& shape);

 private:
  friend class Frame;  // Fills its planes in place, because each image of a stream is wrapped in a new frame.
  void* host_base() const { return view_ ? view_->host() : memory_->host(); }
  void check_type(ElementType type, std::size_t bits) const;

  TensorInfo info_;
  Ref<Memory> memory_;
  Lease lease_;
  const View* view_ = nullptr;
  std::size_t offset_ = 0;
};

/// The bytes of its memory that a write of `tensor` replaces.
TENON_API WrittenBytes written_bytes(const Tensor& tensor);

/// "f32 [1,3,224,224] in cpu", for messages.
TENON_API std::string to_string(const Tensor& tensor);

/// Copies elements between two strided host regions of the same type and shape, which do not overlap. Rows that are packed
/// on both sides are copied at once; strings are assigned.
TENON_API void copy_strided(ElementType type, const Shape& shape, const void* src, const ByteStrides& src_strides,
                            void* dst, const ByteStrides& dst_strides);

}  // namespace v1
}  // namespace tenon
