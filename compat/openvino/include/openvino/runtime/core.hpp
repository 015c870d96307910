// SPDX-License-Identifier: Apache-2.0
// Core: reads models, finds devices, compiles.
#pragma once

#include <filesystem>
#include <istream>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "openvino/core/except.hpp"
#include "openvino/core/extension.hpp"
#include "openvino/core/log.hpp"
#include "openvino/core/model.hpp"
#include "openvino/core/op_extension.hpp"
#include "openvino/core/version.hpp"
#include "openvino/op/op.hpp"
#include "openvino/runtime/common.hpp"
#include "openvino/runtime/compiled_model.hpp"
#include "openvino/runtime/exception.hpp"
#include "openvino/runtime/properties.hpp"
#include "openvino/runtime/remote_context.hpp"
#include "openvino/runtime/tensor.hpp"

namespace ov {

/// Devices are found as Tenon finds them. Copies are the same Core. @thread any.
/// @errors Exception
class OPENVINO_RUNTIME_API Core {
 public:
  /// @param xml_config_file  Empty: Tenon reads no list of plugins, and refuses one.
  explicit Core(const std::string& xml_config_file = {});

  std::map<std::string, Version> get_versions(const std::string& device_name) const;
  std::vector<std::string> get_available_devices() const;

  /// ONNX, or IR with its weights.
  std::shared_ptr<Model> read_model(const std::string& model_path, const std::string& bin_path = {},
                                    const AnyMap& properties = {}) const;
  std::shared_ptr<Model> read_model(const std::filesystem::path& model_path, const std::filesystem::path& bin_path = {},
                                    const AnyMap& properties = {}) const;
  std::shared_ptr<Model> read_model(const char* model_path, const char* bin_path = "",
                                    const AnyMap& properties = {}) const {
    return read_model(std::string(model_path), std::string(bin_path ? bin_path : ""), properties);
  }
  template <typename Path, typename... Properties>
  util::EnableIfAllStringAny<std::shared_ptr<Model>, Properties...> read_model(const Path& model_path,
                                                                               const Path& bin_path,
                                                                               Properties&&... properties) const {
    return read_model(model_path, bin_path, AnyMap{std::forward<Properties>(properties)...});
  }
  /// A model in memory.
  std::shared_ptr<Model> read_model(const std::string& model, const Tensor& weights) const;

  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const AnyMap& properties = {});
  template <typename... Properties>
  util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(const std::shared_ptr<const Model>& model,
                                                                         Properties&&... properties) {
    return compile_model(model, AnyMap{std::forward<Properties>(properties)...});
  }
  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const std::string& device_name,
                              const AnyMap& properties = {});
  template <typename... Properties>
  util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(const std::shared_ptr<const Model>& model,
                                                                         const std::string& device_name,
                                                                         Properties&&... properties) {
    return compile_model(model, device_name, AnyMap{std::forward<Properties>(properties)...});
  }
  CompiledModel compile_model(const std::string& model_path, const AnyMap& properties = {});
  CompiledModel compile_model(const std::string& model_path, const std::string& device_name,
                              const AnyMap& properties = {});
  template <typename... Properties>
  util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(const std::string& model_path,
                                                                         Properties&&... properties) {
    return compile_model(model_path, AnyMap{std::forward<Properties>(properties)...});
  }
  template <typename... Properties>
  util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(const std::string& model_path,
                                                                         const std::string& device_name,
                                                                         Properties&&... properties) {
    return compile_model(model_path, device_name, AnyMap{std::forward<Properties>(properties)...});
  }
  CompiledModel compile_model(const std::filesystem::path& model_path, const AnyMap& properties = {});
  CompiledModel compile_model(const std::filesystem::path& model_path, const std::string& device_name,
                              const AnyMap& properties = {});
  // For paths alone: a text would be either.
  template <typename Path, typename... Properties,
            std::enable_if_t<std::is_same_v<Path, std::filesystem::path>, int> = 0>
  util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(const Path& model_path,
                                                                         Properties&&... properties) {
    return compile_model(model_path, AnyMap{std::forward<Properties>(properties)...});
  }
  template <typename Path, typename... Properties,
            std::enable_if_t<std::is_same_v<Path, std::filesystem::path>, int> = 0>
  util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(const Path& model_path,
                                                                         const std::string& device_name,
                                                                         Properties&&... properties) {
    return compile_model(model_path, device_name, AnyMap{std::forward<Properties>(properties)...});
  }
  CompiledModel compile_model(const char* model_path, const AnyMap& properties = {}) {
    return compile_model(std::string(model_path), properties);
  }
  CompiledModel compile_model(const char* model_path, const std::string& device_name, const AnyMap& properties = {}) {
    return compile_model(std::string(model_path), device_name, properties);
  }
  CompiledModel compile_model(const std::string& model, const Tensor& weights, const std::string& device_name,
                              const AnyMap& properties = {});
  template <typename... Properties>
  util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(const std::string& model,
                                                                         const Tensor& weights,
                                                                         const std::string& device_name,
                                                                         Properties&&... properties) {
    return compile_model(model, weights, device_name, AnyMap{std::forward<Properties>(properties)...});
  }
  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const RemoteContext& context,
                              const AnyMap& properties = {});
  template <typename... Properties>
  util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(const std::shared_ptr<const Model>& model,
                                                                         const RemoteContext& context,
                                                                         Properties&&... properties) {
    return compile_model(model, context, AnyMap{std::forward<Properties>(properties)...});
  }

  CompiledModel import_model(std::istream& model_stream, const std::string& device_name, const AnyMap& properties = {});
  template <typename... Properties>
  util::EnableIfAllStringAny<CompiledModel, Properties...> import_model(std::istream& model_stream,
                                                                        const std::string& device_name,
                                                                        Properties&&... properties) {
    return import_model(model_stream, device_name, AnyMap{std::forward<Properties>(properties)...});
  }
  CompiledModel import_model(std::istream& model_stream, const RemoteContext& context, const AnyMap& properties = {});
  template <typename... Properties>
  util::EnableIfAllStringAny<CompiledModel, Properties...> import_model(std::istream& model_stream,
                                                                        const RemoteContext& context,
                                                                        Properties&&... properties) {
    return import_model(model_stream, context, AnyMap{std::forward<Properties>(properties)...});
  }
  CompiledModel import_model(const Tensor& compiled_blob, const std::string& device_name,
                             const AnyMap& properties = {});
  template <typename... Properties>
  util::EnableIfAllStringAny<CompiledModel, Properties...> import_model(const Tensor& compiled_blob,
                                                                        const std::string& device_name,
                                                                        Properties&&... properties) {
    return import_model(compiled_blob, device_name, AnyMap{std::forward<Properties>(properties)...});
  }
  CompiledModel import_model(const Tensor& compiled_blob, const RemoteContext& context, const AnyMap& properties = {});
  template <typename... Properties>
  util::EnableIfAllStringAny<CompiledModel, Properties...> import_model(const Tensor& compiled_blob,
                                                                        const RemoteContext& context,
                                                                        Properties&&... properties) {
    return import_model(compiled_blob, context, AnyMap{std::forward<Properties>(properties)...});
  }

  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const std::string& device_name,
                              const AnyMap& properties = {}) const;
  template <typename... Properties>
  util::EnableIfAllStringAny<SupportedOpsMap, Properties...> query_model(const std::shared_ptr<const Model>& model,
                                                                         const std::string& device_name,
                                                                         Properties&&... properties) const {
    return query_model(model, device_name, AnyMap{std::forward<Properties>(properties)...});
  }

  void set_property(const AnyMap& properties);
  void set_property(const std::string& device_name, const AnyMap& properties);
  template <typename... Properties>
  util::EnableIfAllStringAny<void, Properties...> set_property(Properties&&... properties) {
    set_property(AnyMap{std::forward<Properties>(properties)...});
  }
  template <typename... Properties>
  util::EnableIfAllStringAny<void, Properties...> set_property(const std::string& device_name,
                                                               Properties&&... properties) {
    set_property(device_name, AnyMap{std::forward<Properties>(properties)...});
  }
  Any get_property(const std::string& device_name, const std::string& name) const;
  Any get_property(const std::string& device_name, const std::string& name, const AnyMap& arguments) const;
  Any get_property(const std::string& name) const { return get_property(std::string(), name); }
  template <typename T, PropertyMutability M>
  T get_property(const std::string& device_name, const Property<T, M>& property, const AnyMap& arguments = {}) const {
    return get_property(device_name, std::string(property.name()), arguments).template as<T>();
  }
  template <typename T, PropertyMutability M, typename... Args>
  util::EnableIfAllStringAny<T, Args...> get_property(const std::string& device_name, const Property<T, M>& property,
                                                      Args&&... arguments) const {
    return get_property(device_name, property, AnyMap{std::forward<Args>(arguments)...});
  }

  RemoteContext create_context(const std::string& device_name, const AnyMap& remote_properties);
  template <typename... Properties>
  util::EnableIfAllStringAny<RemoteContext, Properties...> create_context(const std::string& device_name,
                                                                          Properties&&... properties) {
    return create_context(device_name, AnyMap{std::forward<Properties>(properties)...});
  }
  RemoteContext get_default_context(const std::string& device_name);
  /// Loads a module of a Tenon device. @errors Exception: a plugin of OpenVINO, which has another interface.
  void register_plugin(const std::string& plugin, const std::string& device_name, const AnyMap& config = {});
  void unload_plugin(const std::string& device_name);
  /// @errors NotImplemented, always: devices compute the operations of Tenon's table; an extension is a class of the original's, or of the
  /// program's, that none of them knows.
  void add_extension(const std::filesystem::path& library_path);
  void add_extension(const std::shared_ptr<Extension>& extension);
  void add_extension(const std::vector<std::shared_ptr<Extension>>& extensions);
  template <typename T, std::enable_if_t<std::is_base_of_v<Extension, T>, bool> = true>
  void add_extension(const T& extension) {
    add_extension(std::shared_ptr<Extension>(std::make_shared<T>(extension)));
  }
  template <typename T, typename... More, std::enable_if_t<std::is_base_of_v<Extension, T>, bool> = true>
  void add_extension(const T& extension, More&&... more) {
    add_extension(extension);
    add_extension(std::forward<More>(more)...);
  }
  template <typename T, std::enable_if_t<std::is_base_of_v<op::Op, T>, bool> = true>
  void add_extension() {
    add_extension(std::shared_ptr<Extension>(std::make_shared<OpExtension<T>>()));
  }
  template <typename T, typename... More,
            std::enable_if_t<std::is_base_of_v<op::Op, T> && sizeof...(More), bool> = true>
  void add_extension() {
    add_extension<T>();
    add_extension<More...>();
  }

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// Nothing to do: devices go with the last object that uses them.
inline void shutdown() {}

}  // namespace ov
