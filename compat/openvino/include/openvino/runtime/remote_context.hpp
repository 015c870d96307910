// SPDX-License-Identifier: Apache-2.0
// Devices' contexts, from which remote tensors are made.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "openvino/core/any.hpp"
#include "openvino/runtime/remote_tensor.hpp"

namespace ov {

class IRemoteContext;

/// @errors of all members of an empty one: Exception, "RemoteContext was not initialized."
class OPENVINO_RUNTIME_API RemoteContext {
 public:
  RemoteContext() = default;
  explicit RemoteContext(std::shared_ptr<IRemoteContext> impl) : _impl(std::move(impl)) {}
  operator bool() const noexcept { return _impl != nullptr; }
  /// As RemoteTensor::type_check.
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
  Tensor create_host_tensor(const element::Type type, const Shape& shape);
  const std::shared_ptr<IRemoteContext>& impl() const { return _impl; }

 protected:
  IRemoteContext& checked() const;
  std::shared_ptr<IRemoteContext> _impl;
};

}  // namespace ov
