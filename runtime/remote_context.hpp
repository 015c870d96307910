// SPDX-License-Identifier: Apache-2.0
// A device's context from which remote tensors are made.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/property.hpp>  // IWYU pragma: export
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon {
inline namespace v1 {

class RemoteContextImpl;

/// Handle on a device context; empty when default-constructed. @thread as Device.
class TENON_API RemoteContext {
 public:
  RemoteContext() = default;
  /// @param ledger  Books the copies of the context's tensors; null: the process's ledger does.
  explicit RemoteContext(std::shared_ptr<RemoteContextImpl> impl, std::shared_ptr<Ledger> ledger = nullptr)
      : impl_(std::move(impl)), ledger_(std::move(ledger)) {}
  explicit operator bool() const noexcept { return impl_ != nullptr; }

  /// Checks that the context has the parameters with one of the values listed. @errors kInvalidArgument
  static void type_check(const RemoteContext& context,
                         const std::map<std::string, std::vector<std::string>>& type_info = {});
  template <typename T>
  bool is() const noexcept {
    static_assert(std::is_base_of_v<RemoteContext, T>, "T must derive from RemoteContext");
    try {
      T::type_check(*this);
    } catch (...) {
      return false;
    }
    return true;
  }
  template <typename T>
  const T as() const {
    static_assert(std::is_base_of_v<RemoteContext, T>, "T must derive from RemoteContext");
    T::type_check(*this);
    return *static_cast<const T*>(this);
  }

  std::string get_device_name() const;
  AnyMap get_params() const;
  RemoteTensor create_tensor(const element::Type& type, const Shape& shape, const AnyMap& params = {});
  /// Allocates host memory, which the device reads in place if it can.
  Tensor create_host_tensor(const element::Type type, const Shape& shape);

  const std::shared_ptr<RemoteContextImpl>& impl() const noexcept { return impl_; }

 private:
  RemoteContextImpl& checked() const;
  std::shared_ptr<RemoteContextImpl> impl_;
  std::shared_ptr<Ledger> ledger_;
};

}  // namespace v1
}  // namespace tenon
