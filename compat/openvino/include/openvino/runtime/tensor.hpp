// SPDX-License-Identifier: Apache-2.0
// Tensors.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <type_traits>
#include <vector>

#include "openvino/core/coordinate.hpp"
#include "openvino/core/core_visibility.hpp"
#include "openvino/core/node_output.hpp"
#include "openvino/core/partial_shape.hpp"
#include "openvino/core/shape.hpp"
#include "openvino/core/strides.hpp"
#include "openvino/core/type/element_type.hpp"
#include "openvino/runtime/allocator.hpp"
#include "openvino/runtime/file_handle.hpp"

namespace ov {

class ITensor;

/// A view of memory; copies are the same tensor. Memory that is given as a pointer stays the caller's.
/// @errors of all members of an empty tensor: Exception, "Tensor was not initialized."
class OPENVINO_API Tensor {
 public:
  Tensor() = default;
  Tensor(const element::Type& type, const Shape& shape);
  Tensor(const element::Type& type, const Shape& shape, const Allocator& allocator);
  /// @param strides  In bytes; empty means packed.
  Tensor(const element::Type& type, const Shape& shape, void* host_ptr, const Strides& strides = {});
  /// What is written to it is refused.
  Tensor(const element::Type& type, const Shape& shape, const void* host_ptr, const Strides& strides = {});
  Tensor(const Output<const Node>& port, const Allocator& allocator = {});
  Tensor(const Output<const Node>& port, void* host_ptr, const Strides& strides = {});
  /// The region [begin, end).
  Tensor(const Tensor& other, const Coordinate& begin, const Coordinate& end);
  /// Keeps `owner` alive as well.
  Tensor(const Tensor& other, const std::shared_ptr<void>& owner);
  static void type_check(const Tensor& tensor);

  void set_shape(const Shape& shape);
  const element::Type& get_element_type() const;
  const Shape& get_shape() const;
  std::size_t get_size() const;
  std::size_t get_byte_size() const;
  Strides get_strides() const;
  bool is_continuous() const;
  void copy_to(Tensor dst) const;

  void* data();
  const void* data() const;
  void* data(const element::Type& type);
  const void* data(const element::Type& type) const;
  template <typename T, typename Decayed = std::decay_t<T>>
  T* data() {
    return static_cast<T*>(checked_data(element::from<Decayed>(), std::is_const_v<T>));
  }
  template <typename T, typename Decayed = std::decay_t<T>>
  const T* data() const {
    return static_cast<const T*>(checked_data(element::from<Decayed>(), true));
  }

  bool operator!() const noexcept { return !_impl; }
  explicit operator bool() const noexcept { return _impl != nullptr; }
  template <typename T>
  std::enable_if_t<std::is_base_of_v<Tensor, T>, bool> is() const noexcept {
    try {
      T::type_check(*this);
    } catch (...) {
      return false;
    }
    return true;
  }
  template <typename T>
  const std::enable_if_t<std::is_base_of_v<Tensor, T>, T> as() const {
    T::type_check(*this);
    T made;
    static_cast<Tensor&>(made) = *this;
    return made;
  }

  explicit Tensor(std::shared_ptr<ITensor> impl) : _impl(std::move(impl)) {}
  const std::shared_ptr<ITensor>& impl() const { return _impl; }

 protected:
  ITensor& checked() const;
  std::shared_ptr<ITensor> _impl;

 private:
  void* checked_data(const element::Type& type, bool read_only) const;
};
using TensorVector = std::vector<Tensor>;

/// A copy of a file's bytes; `mmap` changes nothing. @errors Exception: no such file; the shape does not fit what it has.
OPENVINO_API Tensor read_tensor_data(const std::filesystem::path& file_name,
                                     const element::Type& element_type = element::u8,
                                     const PartialShape& shape = PartialShape::dynamic(1),
                                     std::size_t offset_in_bytes = 0, bool mmap = true);
#ifndef _WIN32
/// The same of a file that the program opened; it is closed in any case.
OPENVINO_API Tensor read_tensor_data(FileHandle file_handle, const element::Type& element_type = element::u8,
                                     const PartialShape& shape = PartialShape::dynamic(1),
                                     std::size_t offset_in_bytes = 0);
#endif

}  // namespace ov
