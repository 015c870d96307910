// SPDX-License-Identifier: Apache-2.0
// A tensor whose memory belongs to a device's context.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// Interface that a device's Memory class also implements to make its tensors remote tensors.
class TENON_API RemoteMemory {
 public:
  virtual ~RemoteMemory();
  virtual std::string device_name() const = 0;
  /// Low-level handles by key: {"MEM_HANDLE": ...}.
  virtual AnyMap remote_params() const = 0;
  /// Copies all elements of a tensor over this memory from or to another tensor of the same type and shape, which may
  /// be a region and may lie in this device's memory too; returns when done.
  virtual void copy_from(const Tensor& self, const Tensor& source) = 0;
  virtual void copy_to(const Tensor& self, Tensor& destination) const = 0;

  /// Where devices book these copies: the ledger of the Core by which the tensor was made, or else the process's.
  Ledger& ledger() const noexcept { return ledger_ ? *ledger_ : Ledger::process(); }
  const std::shared_ptr<Ledger>& own_ledger() const noexcept { return ledger_; }
  /// @thread before others have the memory.
  void set_ledger(std::shared_ptr<Ledger> ledger) noexcept { ledger_ = std::move(ledger); }

 private:
  std::shared_ptr<Ledger> ledger_;
};

/// A Tensor without data members of its own. Host access is a compile error here, and an exception
/// through Tensor&.
class TENON_API RemoteTensor : public Tensor {
 public:
  RemoteTensor() = default;
  /// @errors kInvalidArgument: "Tensor is not remote."
  explicit RemoteTensor(const Tensor& tensor);
  /// The region [begin, end) of `other`: shares its memory.
  RemoteTensor(const RemoteTensor& other, const Shape& begin, const Shape& end);
  /// Checks that a tensor is remote and has the parameters with one of the values listed; an empty list accepts any
  /// value.
  /// @errors kInvalidArgument
  static void type_check(const Tensor& tensor, const std::map<std::string, std::vector<std::string>>& type_info = {});

  void* data() = delete;
  template <typename T>
  T* data() = delete;

  /// Copies all elements, also of a region, and returns when done. The destination takes this tensor's shape; an empty
  /// one becomes host memory. copy_from() gives this tensor the source's shape, within the memory that it has.
  /// @errors kInvalidArgument: other element types, an empty source; kOutOfRange: too little memory.
  void copy_to(Tensor& destination) const;
  void copy_from(const Tensor& source);
  AnyMap get_params() const;
  std::string get_device_name() const;
};

}  // namespace v1
}  // namespace tenon
