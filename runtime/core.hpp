// SPDX-License-Identifier: Apache-2.0
// Core: reads models, finds devices, compiles.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/exception.hpp>  // IWYU pragma: export
#include <tenon/runtime/infer_request.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/property.hpp>
#include <tenon/runtime/remote_context.hpp>
#include <tenon/runtime/version.hpp>

namespace tenon {
inline namespace v1 {

class Ledger;
class Router;
using SupportedOpsMap = std::map<std::string, std::string>;

/// Compile option: the input takes frames of `info`, and the plan for them is compiled now instead of at the first
/// frame.
TENON_API std::pair<std::string, Any> input_frames(const FrameInfo& info, const std::string& input = {});

/// OpenVINO's Core. Devices are modules libtenon_device_<name>.so in the folders of TENON_DEVICE_PATH, or beside the
/// runtime; each is loaded when it is first asked for, and one that fails to load does not affect others. Names: "CPU",
/// "GPU.1" with an id, "HETERO:GPU,CPU" for one model over several (devices/hetero). "AUTO", or no name, uses the best
/// available device, and the CPU until that device has compiled ("AUTO:GPU,CPU" names the candidates; devices/auto);
/// if that module is missing, the first device that runs every operation of the model.
///
/// With CACHE_DIR or CACHE_PATH (on Core, on a device, or per call; empty: off) compiled models are kept in that
/// folder, for devices with the capability EXPORT_IMPORT. An entry is named by the hash of the model (by the identity
/// of its files when it is compiled from a path, which spares reading them; else by its content, at the cost of reading
/// every weight once), of the device's CACHING_PROPERTIES, and of Tenon's version. Damaged, foreign and outdated
/// entries are compiled anew and replaced. A failure to cache is reported (see model_cache.hpp) and never fails a
/// compilation.
///
/// @errors kNotFound     an unknown device (lists those that are known)
///         kUnavailable  a device whose module can't be loaded (with the loader's reason) or has no such id
/// @thread all members from any thread; add contexts to router() first.
class TENON_API Core {
 public:
  Core();

  /// Versions of a device and of the runtime it uses; of all devices if the name is empty.
  std::map<std::string, Version> get_versions(const std::string& device_name) const;
  std::vector<std::string> get_available_devices() const;
  /// The known devices that are not available, by name, each with the loader's error message.
  std::map<std::string, std::string> get_unavailable_devices() const;

  /// ONNX, or IR with its weights. @errors as tenon::read_model
  std::shared_ptr<Model> read_model(const std::filesystem::path& model_path, const std::filesystem::path& bin_path = {},
                                    const AnyMap& properties = {}) const;
  /// A model in memory: the bytes of an ONNX file (weights empty), or the XML of an IR with its weights, which are
  /// kept.
  std::shared_ptr<Model> read_model(const std::string& model, const Tensor& weights) const;

  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const AnyMap& properties = {});
  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const std::string& device_name,
                              const AnyMap& properties = {});
  CompiledModel compile_model(const std::filesystem::path& model_path, const AnyMap& properties = {});
  CompiledModel compile_model(const std::filesystem::path& model_path, const std::string& device_name,
                              const AnyMap& properties = {});
  CompiledModel compile_model(const std::string& model, const Tensor& weights, const std::string& device_name,
                              const AnyMap& properties = {});
  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const RemoteContext& context,
                              const AnyMap& properties = {});
  template <typename... Properties>
  requires(sizeof...(Properties) > 0) util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(
      const std::shared_ptr<const Model>& model, Properties&&... properties) {
    return compile_model(model, map_of(std::forward<Properties>(properties)...));
  }
  template <typename... Properties>
  requires(sizeof...(Properties) > 0) util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(
      const std::shared_ptr<const Model>& model, const std::string& device_name, Properties&&... properties) {
    return compile_model(model, device_name, map_of(std::forward<Properties>(properties)...));
  }
  template <typename... Properties>
  requires(sizeof...(Properties) > 0) util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(
      const std::filesystem::path& model_path, Properties&&... properties) {
    return compile_model(model_path, map_of(std::forward<Properties>(properties)...));
  }
  template <typename... Properties>
  requires(sizeof...(Properties) > 0) util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(
      const std::filesystem::path& model_path, const std::string& device_name, Properties&&... properties) {
    return compile_model(model_path, device_name, map_of(std::forward<Properties>(properties)...));
  }
  template <typename... Properties>
  requires(sizeof...(Properties) > 0) util::EnableIfAllStringAny<CompiledModel, Properties...> compile_model(
      const std::shared_ptr<const Model>& model, const RemoteContext& context, Properties&&... properties) {
    return compile_model(model, context, map_of(std::forward<Properties>(properties)...));
  }

  CompiledModel import_model(std::istream& stream, const std::string& device_name, const AnyMap& properties = {});
  CompiledModel import_model(const Tensor& compiled_blob, const std::string& device_name,
                             const AnyMap& properties = {});
  CompiledModel import_model(std::istream& stream, const RemoteContext& context, const AnyMap& properties = {});
  CompiledModel import_model(const Tensor& compiled_blob, const RemoteContext& context, const AnyMap& properties = {});
  template <typename... Properties>
  requires(sizeof...(Properties) > 0) util::EnableIfAllStringAny<CompiledModel, Properties...> import_model(
      std::istream& stream, const std::string& device_name, Properties&&... properties) {
    return import_model(stream, device_name, map_of(std::forward<Properties>(properties)...));
  }
  template <typename... Properties>
  requires(sizeof...(Properties) > 0) util::EnableIfAllStringAny<CompiledModel, Properties...> import_model(
      std::istream& stream, const RemoteContext& context, Properties&&... properties) {
    return import_model(stream, context, map_of(std::forward<Properties>(properties)...));
  }

  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const std::string& device_name,
                              const AnyMap& properties = {}) const;
  template <typename... Properties>
  requires(sizeof...(Properties) > 0) util::EnableIfAllStringAny<SupportedOpsMap, Properties...> query_model(
      const std::shared_ptr<const Model>& model, const std::string& device_name, Properties&&... properties)
  const { return query_model(model, device_name, map_of(std::forward<Properties>(properties)...)); }

  /// Without a device: TENON_ZERO_COPY and the cache's properties (CACHE_DIR, CACHE_PATH, CACHE_MODE,
  /// TENON_CACHE_SIZE_LIMIT...), for all later compilations; any other general property goes to every device that lists
  /// it as writable, including devices loaded later.
  void set_property(const AnyMap& properties);
  void set_property(const std::string& device_name, const AnyMap& properties);
  template <typename... Properties>
  requires(sizeof...(Properties) >
           0) util::EnableIfAllStringAny<void, Properties...> set_property(Properties&&... properties) {
    set_property(map_of(std::forward<Properties>(properties)...));
  }
  template <typename... Properties>
  requires(sizeof...(Properties) >
           0) util::EnableIfAllStringAny<void, Properties...> set_property(const std::string& device_name,
                                                                           Properties&&... properties) {
    set_property(device_name, map_of(std::forward<Properties>(properties)...));
  }
  Any get_property(const std::string& device_name, const std::string& name) const;
  Any get_property(const std::string& device_name, const std::string& name, const AnyMap& arguments) const;
  Any get_property(const std::string& name) const { return get_property(std::string(), name); }
  template <typename T, PropertyMutability M>
  T get_property(const std::string& device_name, const Property<T, M>& property, const AnyMap& arguments = {}) const {
    return get_property(device_name, std::string(property.name()), arguments).template as<T>();
  }

  RemoteContext create_context(const std::string& device_name, const AnyMap& remote_properties);
  template <typename... Properties>
  requires(sizeof...(Properties) >
           0) util::EnableIfAllStringAny<RemoteContext, Properties...> create_context(const std::string& device_name,
                                                                                      Properties&&... properties) {
    return create_context(device_name, map_of(std::forward<Properties>(properties)...));
  }
  RemoteContext get_default_context(const std::string& device_name);

  /// Loads a module from a path under a name of the caller's choice. @errors kUnavailable, kAlreadyExists
  void register_plugin(const std::filesystem::path& plugin_path, const std::string& device_name,
                       const AnyMap& config = {});
  /// Forgets this Core's device object and its properties; the module stays loaded, because its code may still be in
  /// use.
  void unload_plugin(const std::string& device_name);

  /// Counts what all models of this Core copied, converted, transferred and waited for; its parent is the process's.
  Ledger& ledger();
  /// Routes tensors that a device can't reach directly. Add the contexts of the frameworks in use here.
  Router& router();

 private:
  template <typename... Properties>
  static AnyMap map_of(Properties&&... properties) {
    return AnyMap{std::pair<std::string, Any>(std::forward<Properties>(properties))...};
  }
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace v1
}  // namespace tenon
