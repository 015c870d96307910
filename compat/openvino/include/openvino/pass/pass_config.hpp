// SPDX-License-Identifier: Apache-2.0
// Which passes run, and on which nodes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/model.hpp"
#include "openvino/core/node.hpp"

namespace ov {
namespace pass {

using param_callback = std::function<bool(const std::shared_ptr<const ::ov::Node>)>;
using param_callback_map = std::map<DiscreteTypeInfo, param_callback>;

/// A Manager and its passes have one in common.
class PassConfig {
 public:
  void disable(const DiscreteTypeInfo& type_info) {
    enabled_.erase(type_info);
    disabled_.insert(type_info);
  }
  template <class T>
  void disable() {
    disable(T::get_type_info_static());
  }
  void enable(const DiscreteTypeInfo& type_info) {
    disabled_.erase(type_info);
    enabled_.insert(type_info);
  }
  template <class T>
  void enable() {
    enable(T::get_type_info_static());
  }
  /// What PassBase::transformation_callback answers: true keeps a pass away from the node.
  void set_callback(const param_callback& callback) { callback_ = callback; }
  template <typename... Args>
  std::enable_if_t<sizeof...(Args) == 0> set_callback(const param_callback&) {}
  template <typename T, class... Args>
  void set_callback(const param_callback& callback) {
    callbacks_[T::get_type_info_static()] = callback;
    set_callback<Args...>(callback);
  }
  param_callback get_callback(const DiscreteTypeInfo& type_info) const {
    const auto found = callbacks_.find(type_info);
    return found == callbacks_.end() ? callback_ : found->second;
  }
  template <class T>
  param_callback get_callback() const {
    return get_callback(T::get_type_info_static());
  }
  bool is_disabled(const DiscreteTypeInfo& type_info) const { return disabled_.count(type_info) != 0; }
  template <class T>
  bool is_disabled() const {
    return is_disabled(T::get_type_info_static());
  }
  bool is_enabled(const DiscreteTypeInfo& type_info) const { return enabled_.count(type_info) != 0; }
  template <class T>
  bool is_enabled() const {
    return is_enabled(T::get_type_info_static());
  }
  void add_disabled_passes(const PassConfig& rhs) {
    for (const DiscreteTypeInfo& each : rhs.disabled_)
      if (!is_enabled(each)) disable(each);
  }

 private:
  param_callback callback_ = [](const std::shared_ptr<const Node>&) { return false; };
  param_callback_map callbacks_;
  std::set<DiscreteTypeInfo> disabled_, enabled_;
};

}  // namespace pass
}  // namespace ov
