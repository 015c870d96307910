// SPDX-License-Identifier: Apache-2.0
// Models compiled for a device.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "openvino/core/any.hpp"
#include "openvino/core/model.hpp"
#include "openvino/core/node_output.hpp"
#include "openvino/runtime/infer_request.hpp"
#include "openvino/runtime/properties.hpp"
#include "openvino/runtime/remote_context.hpp"

namespace ov {

class ICompiledModel;

/// Copies are the same model. @errors of an empty one: Exception. @thread any.
class OPENVINO_RUNTIME_API CompiledModel {
 public:
  CompiledModel() = default;
  explicit CompiledModel(std::shared_ptr<ICompiledModel> impl) : _impl(std::move(impl)) {}

  std::shared_ptr<const Model> get_runtime_model() const;
  const std::vector<Output<const Node>>& inputs() const;
  const Output<const Node>& input() const;
  const Output<const Node>& input(std::size_t index) const;
  const Output<const Node>& input(const std::string& tensor_name) const;
  const std::vector<Output<const Node>>& outputs() const;
  const Output<const Node>& output() const;
  const Output<const Node>& output(std::size_t index) const;
  const Output<const Node>& output(const std::string& tensor_name) const;
  InferRequest create_infer_request();
  void export_model(std::ostream& stream);
  void set_property(const AnyMap& properties);
  template <typename... Properties>
  util::EnableIfAllStringAny<void, Properties...> set_property(Properties&&... properties) {
    set_property(AnyMap{std::forward<Properties>(properties)...});
  }
  Any get_property(const std::string& name) const;
  template <typename T, PropertyMutability M>
  T get_property(const Property<T, M>& property) const {
    return get_property(std::string(property.name())).template as<T>();
  }
  void release_memory();
  RemoteContext get_context() const;

  bool operator!() const noexcept { return !_impl; }
  explicit operator bool() const noexcept { return _impl != nullptr; }
  const std::shared_ptr<ICompiledModel>& impl() const { return _impl; }

 private:
  ICompiledModel& checked() const;
  std::shared_ptr<ICompiledModel> _impl;
};

}  // namespace ov
