// SPDX-License-Identifier: Apache-2.0
// A tensor in the memory of any framework.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "dlstreamer/context.h"
#include "dlstreamer/memory_mapper.h"
#include "dlstreamer/tensor_info.h"

namespace dlstreamer {

class Tensor {
 public:
  using handle_t = intptr_t;

  Tensor() = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  virtual ~Tensor() = default;

  virtual const TensorInfo& info() const = 0;
  virtual MemoryType memory_type() const = 0;
  /// Null for tensors that were made without one.
  virtual ContextPtr context() const = 0;
  /// The host's address. @errors std::runtime_error: the host cannot reach the memory.
  virtual void* data() const = 0;
  /// @errors std::runtime_error: no such handle. An empty key: the main one.
  virtual handle_t handle(std::string_view key = {}) const = 0;
  virtual handle_t handle(std::string_view key, handle_t default_value) const noexcept = 0;
  /// The tensor that this one was mapped or cut from; null where it is its own.
  virtual TensorPtr parent() const = 0;

  /// As data(). @errors std::runtime_error: T is not what the tensor stores.
  template <typename T>
  T* data() const {
    if (!check_datatype<T>(info().dtype))
      throw std::runtime_error("Tensor::data: the tensor stores another type than is asked for");
    return static_cast<T*>(data());
  }
  /// The address of an element. @param offset  Indices of the innermost axes, or of the outermost with `left_offset`.
  /// @errors as above; std::runtime_error: more indices than axes, or one past its extent.
  template <typename T>
  T* data(const std::vector<size_t>& offset, bool left_offset = true) const {
    const TensorInfo& tensor = info();
    if (offset.size() > tensor.shape.size())
      throw std::runtime_error("Tensor::data: " + std::to_string(offset.size()) + " indices for " +
                               std::to_string(tensor.shape.size()) + " axes");
    const size_t first = left_offset ? 0 : tensor.shape.size() - offset.size();
    size_t bytes = 0;
    for (size_t i = 0; i < offset.size(); ++i) {
      if (offset[i] >= tensor.shape[first + i])
        throw std::runtime_error("Tensor::data: index " + std::to_string(offset[i]) + " of axis " +
                                 std::to_string(first + i) + ", which has " + std::to_string(tensor.shape[first + i]));
      bytes += offset[i] * tensor.stride[first + i];
    }
    return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(data<T>()) + bytes);
  }
};

/// Shared ownership of a tensor, which can be mapped to other contexts.
class TensorPtr : public std::shared_ptr<Tensor> {
 public:
  using std::shared_ptr<Tensor>::shared_ptr;
  TensorPtr(std::shared_ptr<Tensor> tensor) : std::shared_ptr<Tensor>(std::move(tensor)) {}

  /// The same tensor as seen from `output_context`; null: from the host. Itself where it is there already.
  /// @errors std::runtime_error: null, no way, or what the way reports.
  TensorPtr map(const ContextPtr& output_context = nullptr, AccessMode access_mode = AccessMode::ReadWrite) const {
    if (!*this) throw std::runtime_error("TensorPtr::map: the tensor is null");
    const ContextPtr input_context = get()->context();
    if (input_context == output_context) return *this;
    return detail::mapper_between(input_context, output_context)->map(*this, access_mode);
  }
  TensorPtr map(AccessMode access_mode) const { return map(nullptr, access_mode); }
  /// As above, as a T. @errors as above; std::runtime_error: the result is no T.
  template <typename T>
  std::shared_ptr<T> map(const ContextPtr& output_context, AccessMode access_mode = AccessMode::ReadWrite) const {
    return ptr_cast<T>(map(output_context, access_mode));
  }
};

using TensorVector = std::vector<TensorPtr>;

}  // namespace dlstreamer
