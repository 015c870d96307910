// SPDX-License-Identifier: Apache-2.0
// Core: devices by name, properties, reading and compiling.
#include <tenon/runtime/core.hpp>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <istream>
#include <mutex>

#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/router.hpp>
#include <tenon/graph/readers/onnx/onnx_reader.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/runtime/device_host.hpp>
#include "bytes_stream_internal.hpp"
#include "cache_internal.hpp"
#include "core_internal.hpp"
#include "model_state_internal.hpp"
#include "registry_internal.hpp"

namespace tenon {
inline namespace v1 {
namespace {

constexpr const char* kInputFrames = "TENON_INPUT_FRAMES";
constexpr const char* kVersion = "0.1.0";

/// "GPU.1" is device GPU with id 1; "AUTO:GPU,CPU" is device AUTO over those.
struct DeviceName {
  std::string base;
  std::string id;
  std::string members;
  explicit DeviceName(std::string text) {
    if (const auto colon = text.find(':'); colon != std::string::npos) {
      members = text.substr(colon + 1);
      text.resize(colon);
    }
    const auto dot = text.find('.');
    base = text.substr(0, dot);
    std::transform(base.begin(), base.end(), base.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (dot != std::string::npos) id = text.substr(dot + 1);
  }
};

}  // namespace

std::pair<std::string, Any> input_frames(const FrameInfo& info, const std::string& input) {
  return {kInputFrames, Any(FrameOption{info, input})};
}

class Core::Impl final : public DeviceHost, public std::enable_shared_from_this<Core::Impl> {
 public:
  Impl() : shared(std::make_shared<SharedState>()) { shared->router.add(host_context()); }

  struct Entry {
    std::shared_ptr<Device> device;
    const DeviceModule* module = nullptr;
  };

  std::map<std::string, KnownModule> known() {
    auto modules = known_modules();
    std::lock_guard lock(mutex);
    for (const auto& [name, module] : registered) modules[name] = module;
    return modules;
  }

  Entry entry(const std::string& name) {
    {
      std::lock_guard lock(mutex);
      if (const auto found = entries.find(name); found != entries.end()) return found->second;
    }
    const auto modules = known();
    const auto found = modules.find(name);
    if (found == modules.end()) {
      std::string names;
      for (const auto& [other, module] : modules) names += (names.empty() ? "" : ", ") + other;
      throw AssertFailure(
          "Device with \"" + name + "\" name is not registered in the Tenon Runtime; known: " +
              (names.empty() ? "none (TENON_DEVICE_PATH names folders with libtenon_device_<name>.so)" : names),
          Code::kNotFound);
    }
    const DeviceModule& module = load_module(name, found->second);
    Entry made;
    made.module = &module;
    try {
      made.device = module.create();
    } catch (const std::exception& error) {
      throw Error(Code::kUnavailable, "Device \"" + name + "\" is unavailable: " + error.what());
    }
    if (!made.device) throw Error(Code::kUnavailable, "Device \"" + name + "\" is unavailable: its module made none");
    made.device->set_host(weak_from_this());
    std::lock_guard lock(mutex);
    // Another thread may have been first; its object has the properties.
    const auto [entry, is_new] = entries.emplace(name, made);
    if (const auto config = configs.find(name); is_new && config != configs.end())
      made.device->set_property(config->second);
    return entry->second;
  }

  /// The device, with the id in `properties` when the name has one.
  std::shared_ptr<Device> device(const DeviceName& name, AnyMap* properties) {
    auto device = entry(name.base).device;
    if (!name.members.empty()) {
      if (!device->is_composite())
        throw AssertFailure("device \"" + name.base + "\" is not made of others, so \"" + name.base + ":" +
                            name.members + "\" means nothing");
      if (properties) (*properties)[tenon::device::priorities.name()] = Any(name.members);
    }
    if (name.id.empty()) return device;
    const auto ids = device->available_ids();
    // One device without an id may be called 0.
    if (ids == std::vector<std::string>{""} && name.id == "0") return device;
    if (std::find(ids.begin(), ids.end(), name.id) == ids.end()) {
      std::string known;
      for (const std::string& id : ids) known += (known.empty() ? "" : ", ") + name.base + (id.empty() ? "" : "." + id);
      throw Error(Code::kUnavailable, "Device \"" + name.base + "." + name.id +
                                          "\" is not present; present: " + (known.empty() ? "none" : known));
    }
    if (properties) (*properties)[tenon::device::id.name()] = Any(name.id);
    return device;
  }

  CompileOptions split(const std::string& device_name, const AnyMap& properties) {
    CompileOptions options;
    {
      std::lock_guard lock(mutex);
      options.policy = policy;
      options.cache = cache_for_all;
      if (const auto own = caches.find(device_name); own != caches.end())
        for (const auto& [key, value] : own->second) cache::apply(options.cache, key, value);
    }
    const std::string prefix = std::string(tenon::device::properties.name()) + "_";
    AnyMap for_device;
    for (const auto& [key, value] : properties) {
      if (key == zero_copy)
        options.policy = value.as<ZeroCopy>();
      else if (key == kInputFrames)
        options.frames = value.as<FrameOption>();
      else if (cache::is_cache_property(key))
        cache::apply(options.cache, key, value);
      else if (key == tenon::device::properties.name())
        add_nested(value, device_name, for_device);
      else if (key.compare(0, prefix.size(), prefix) == 0) {
        if (DeviceName(key.substr(prefix.size())).base == device_name) add_all(value.as<AnyMap>(), for_device);
      } else {
        options.device[key] = value;
      }
    }
    // What is meant for this very device wins over what is meant for any.
    for (const auto& [key, value] : for_device) {
      if (cache::is_cache_property(key))
        cache::apply(options.cache, key, value);
      else
        options.device[key] = value;
    }
    return options;
  }

  /// As split(). A device that is made of others hands the cache's and the devices' properties on to those.
  CompileOptions options_for(const DeviceName& name, const std::shared_ptr<Device>& device, const AnyMap& properties) {
    CompileOptions options = split(name.base, properties);
    if (!device->is_composite()) return options;
    const std::string prefix = tenon::device::properties.name();
    for (const auto& [key, value] : properties)
      if (key == zero_copy || cache::is_cache_property(key) || key.compare(0, prefix.size(), prefix) == 0)
        options.device[key] = value;
    options.cache.folder.clear();
    return options;
  }

  /// The name to use where the caller left the choice open.
  DeviceName choose(const std::string& device_name, const std::shared_ptr<const Model>& model) {
    DeviceName name(device_name.empty() ? "AUTO" : device_name);
    if (name.base != "AUTO" || known().count("AUTO")) return name;
    if (!name.members.empty())
      throw AssertFailure("\"" + device_name + "\" needs the device module AUTO, which is not installed",
                          Code::kNotFound);
    return DeviceName(select(model));
  }

  CompiledModel compile(ModelSource source, const std::string& device_name, const AnyMap& properties) {
    // A model that only an entry's id stands for may be missing.
    if (!source.model && !source.read && !properties.count(cache_blob_id.name()))
      throw AssertFailure("compile_model: the model is null");
    const DeviceName name = choose(device_name, source.model);
    auto device = this->device(name, nullptr);
    CompileOptions options = options_for(name, device, properties);
    this->device(name, &options.device);
    return CompiledModel(compile_state(shared, std::move(device), std::move(source), std::move(options)));
  }

  CompiledModel compile(const std::shared_ptr<const Model>& model, const std::string& device_name,
                        const AnyMap& properties) {
    ModelSource source;
    source.model = model;
    return compile(std::move(source), device_name, properties);
  }

  CompiledModel compile_file(const std::filesystem::path& path, const std::string& device_name,
                             const AnyMap& properties) {
    ModelSource source;
    source.origin.model = path;
    // Beside an IR, its weights; read_model looks for them in the same place.
    source.origin.weights = path;
    source.origin.weights.replace_extension(".bin");
    source.read = [path] { return std::shared_ptr<const Model>(tenon::read_model(path)); };
    // Without the device module AUTO the choice needs the model.
    if ((device_name.empty() || DeviceName(device_name).base == "AUTO") && !known().count("AUTO")) {
      source.model = source.read();
      source.origin = {};
    }
    return compile(std::move(source), device_name, properties);
  }

  CompiledModel import(std::istream& stream, const std::string& device_name, const AnyMap& properties) {
    const DeviceName name(device_name);
    auto device = this->device(name, nullptr);
    CompileOptions options = options_for(name, device, properties);
    this->device(name, &options.device);
    if (options.cache.callbacks && options.cache.callbacks->decrypt)
      return CompiledModel(import_state(shared, std::move(device), read_all(stream), options));
    auto compiled = device->import_model(stream, options.device);
    return CompiledModel(std::make_shared<ModelState>(shared, std::move(device), std::move(compiled), options.policy));
  }

  SupportedOpsMap query(const std::shared_ptr<const Model>& model, const std::string& device_name,
                        const AnyMap& properties) {
    const DeviceName name(device_name);
    auto device = this->device(name, nullptr);
    CompileOptions options = options_for(name, device, properties);
    this->device(name, &options.device);
    return device->query_model(model, options.device);
  }

  // For devices that are made of others.
  std::vector<std::string> available_devices() const override {
    auto* self = const_cast<Impl*>(this);
    std::vector<std::string> names;
    for (const auto& [name, module] : self->known()) {
      try {
        const auto device = self->entry(name).device;
        if (device->is_composite()) continue;
        for (const std::string& id : device->available_ids()) names.push_back(id.empty() ? name : name + "." + id);
      } catch (const std::exception&) {  // get_unavailable_devices() says why.
      }
    }
    return names;
  }
  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const std::string& device,
                              const AnyMap& properties) override {
    return compile(model, device, properties);
  }
  CompiledModel import_model(std::istream& stream, const std::string& device, const AnyMap& properties) override {
    return import(stream, device, properties);
  }
  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const std::string& device,
                              const AnyMap& properties) const override {
    return const_cast<Impl*>(this)->query(model, device, properties);
  }
  Any get_property(const std::string& device, const std::string& name) const override {
    AnyMap arguments;
    return const_cast<Impl*>(this)->device(DeviceName(device), &arguments)->get_property(name, arguments);
  }
  std::shared_ptr<CompiledModelImpl> device_model(const CompiledModel& model) const override {
    return model.state_->main_variant()->impl;
  }

  /// The first available device that runs the whole model.
  std::string select(const std::shared_ptr<const Model>& model) {
    std::string reasons;
    for (const auto& [name, module] : known()) {
      try {
        const auto device = entry(name).device;
        if (device->is_composite()) continue;
        if (device->available_ids().empty()) {
          reasons += "; " + name + ": no device present";
          continue;
        }
        const auto supported = device->query_model(model, {});
        const auto ops = model->get_ordered_ops();
        const auto lacking = std::find_if(
            ops.begin(), ops.end(), [&](const auto& node) { return supported.count(node->get_friendly_name()) == 0; });
        if (lacking == ops.end()) return name;
        reasons += "; " + name + ": lacks " + (*lacking)->describe();
      } catch (const Error& error) {
        reasons += "; " + name + ": " + error.what();
      }
    }
    throw Error(Code::kUnavailable,
                "AUTO: no device runs this model" + (reasons.empty() ? "; none is registered" : reasons));
  }

  static void add_all(const AnyMap& from, AnyMap& to) {
    for (const auto& [key, value] : from) to[key] = value;
  }
  static void add_nested(const Any& value, const std::string& device_name, AnyMap& to) {
    for (const auto& [device, config] : value.as<AnyMap>()) {
      if (DeviceName(device).base == device_name) add_all(config.as<AnyMap>(), to);
    }
  }

  std::shared_ptr<SharedState> shared;
  std::mutex mutex;
  std::map<std::string, Entry> entries;
  std::map<std::string, KnownModule> registered;
  std::map<std::string, AnyMap> configs;
  ZeroCopy policy = ZeroCopy::kPrefer;
  cache::Settings cache_for_all;
  std::map<std::string, AnyMap> caches;  ///< The cache's properties of devices that have their own.
};

Core::Core() : impl_(std::make_shared<Impl>()) {}

std::map<std::string, Version> Core::get_versions(const std::string& device_name) const {
  std::map<std::string, Version> versions;
  const auto add = [&](const std::string& name) {
    versions[name] = Version{kVersion, impl_->entry(name).module->description};
  };
  if (!device_name.empty()) {
    add(DeviceName(device_name).base);
    return versions;
  }
  for (const auto& [name, module] : impl_->known()) {
    try {
      add(name);
    } catch (const Error&) {  // get_unavailable_devices() says why.
    }
  }
  return versions;
}

std::vector<std::string> Core::get_available_devices() const { return impl_->available_devices(); }

std::map<std::string, std::string> Core::get_unavailable_devices() const {
  std::map<std::string, std::string> reasons;
  for (const auto& [name, module] : impl_->known()) {
    try {
      const auto device = impl_->entry(name).device;
      if (!device->is_composite() && device->available_ids().empty())
        reasons[name] = "the module works, but no device is present";
    } catch (const std::exception& error) {
      reasons[name] = error.what();
    }
  }
  return reasons;
}

std::shared_ptr<Model> Core::read_model(const std::filesystem::path& model_path, const std::filesystem::path& bin_path,
                                        const AnyMap&) const {
  return tenon::read_model(model_path, bin_path);
}

std::shared_ptr<Model> Core::read_model(const std::string& model, const Tensor& weights) const {
  const auto first = model.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != std::string::npos && model[first] == '<') return read_ir(model, weights);
  if (weights) throw AssertFailure("read_model: weights belong to an IR, and the model's text does not start with '<'");
  // The model keeps what it needs of these bytes; the caller's string may go.
  Tensor bytes(element::u8, Shape{model.size()});
  if (!model.empty()) std::memcpy(bytes.data(), model.data(), model.size());
  return read_onnx(bytes);
}

CompiledModel Core::compile_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) {
  return impl_->compile(model, "AUTO", properties);
}
CompiledModel Core::compile_model(const std::shared_ptr<const Model>& model, const std::string& device_name,
                                  const AnyMap& properties) {
  return impl_->compile(model, device_name, properties);
}
CompiledModel Core::compile_model(const std::filesystem::path& model_path, const AnyMap& properties) {
  return impl_->compile_file(model_path, "AUTO", properties);
}
CompiledModel Core::compile_model(const std::filesystem::path& model_path, const std::string& device_name,
                                  const AnyMap& properties) {
  return impl_->compile_file(model_path, device_name, properties);
}
CompiledModel Core::compile_model(const std::string& model, const Tensor& weights, const std::string& device_name,
                                  const AnyMap& properties) {
  return impl_->compile(read_model(model, weights), device_name, properties);
}
CompiledModel Core::compile_model(const std::shared_ptr<const Model>& model, const RemoteContext& context,
                                  const AnyMap& properties) {
  if (!context) throw AssertFailure("Remote context is null");
  if (!model) throw AssertFailure("compile_model: the model is null");
  const DeviceName name(context.get_device_name());
  CompileOptions options = impl_->split(name.base, properties);
  auto device = impl_->device(name, &options.device);
  auto compiled = device->compile_in_context(model, context.impl(), options.device);
  return CompiledModel(
      std::make_shared<ModelState>(impl_->shared, std::move(device), std::move(compiled), options.policy));
}

CompiledModel Core::import_model(std::istream& stream, const std::string& device_name, const AnyMap& properties) {
  return impl_->import(stream, device_name, properties);
}
CompiledModel Core::import_model(const Tensor& compiled_blob, const std::string& device_name,
                                 const AnyMap& properties) {
  const DeviceName name(device_name);
  auto device = impl_->device(name, nullptr);
  CompileOptions options = impl_->options_for(name, device, properties);
  impl_->device(name, &options.device);
  return CompiledModel(import_state(impl_->shared, std::move(device), aligned_blob(compiled_blob), options));
}

SupportedOpsMap Core::query_model(const std::shared_ptr<const Model>& model, const std::string& device_name,
                                  const AnyMap& properties) const {
  if (!model) throw AssertFailure("query_model: the model is null");
  return impl_->query(model, device_name, properties);
}

void Core::set_property(const AnyMap& properties) {
  ZeroCopy policy = ZeroCopy::kPrefer;
  bool has_policy = false;
  cache::Settings settings;
  {
    std::lock_guard lock(impl_->mutex);
    settings = impl_->cache_for_all;
  }
  for (const auto& [key, value] : properties) {
    if (key == zero_copy)
      policy = value.as<ZeroCopy>(), has_policy = true;
    else if (cache::is_cache_property(key))
      cache::apply(settings, key, value);
    else {
      throw Error(Code::kNotFound, "Core has no property " + key + " of its own, only " + zero_copy.name() + " and " +
                                       cache_dir.name() +
                                       "; for a device's property name the device: set_property(\"CPU\", ...)");
    }
  }
  std::lock_guard lock(impl_->mutex);
  if (has_policy) impl_->policy = policy;
  impl_->cache_for_all = settings;
}

void Core::set_property(const std::string& device_name, const AnyMap& properties) {
  if (device_name.empty()) return set_property(properties);
  const DeviceName name(device_name);
  CompileOptions options = impl_->split(name.base, properties);
  // With the id, so that a module of several devices knows which one is meant.
  const auto device = impl_->device(name, &options.device);
  // The device first: what it refuses changes nothing.
  if (!options.device.empty()) device->set_property(options.device);
  {
    std::lock_guard lock(impl_->mutex);
    for (const auto& [key, value] : properties)
      if (cache::is_cache_property(key)) impl_->caches[name.base][key] = value;
  }
}

Any Core::get_property(const std::string& device_name, const std::string& name) const {
  return get_property(device_name, name, {});
}

Any Core::get_property(const std::string& device_name, const std::string& name, const AnyMap& arguments) const {
  if (!device_name.empty()) {
    AnyMap with_id = arguments;
    const DeviceName wanted(device_name);
    const auto device = impl_->device(wanted, &with_id);
    if (cache::is_cache_property(name)) return cache::value_of(impl_->split(wanted.base, {}).cache, name);
    return device->get_property(name, with_id);
  }
  if (cache::is_cache_property(name)) {
    std::lock_guard lock(impl_->mutex);
    return cache::value_of(impl_->cache_for_all, name);
  }
  if (name == zero_copy) {
    std::lock_guard lock(impl_->mutex);
    return Any(impl_->policy);
  }
  if (name == available_devices) return Any(get_available_devices());
  if (name == supported_properties) {
    return Any(std::vector<PropertyName>{supported_properties, available_devices, zero_copy, cache_dir, cache_path,
                                         cache_mode, cache_size_limit});
  }
  throw Error(Code::kNotFound, "Core has no property " + name + " of its own; for a device's property name the device");
}

RemoteContext Core::create_context(const std::string& device_name, const AnyMap& remote_properties) {
  AnyMap params = remote_properties;
  const auto device = impl_->device(DeviceName(device_name), &params);
  return RemoteContext(device->create_context(params));
}

RemoteContext Core::get_default_context(const std::string& device_name) {
  AnyMap params;
  const auto device = impl_->device(DeviceName(device_name), &params);
  return RemoteContext(device->default_context(params));
}

void Core::register_plugin(const std::filesystem::path& plugin_path, const std::string& device_name,
                           const AnyMap& config) {
  const std::string name = DeviceName(device_name).base;
  if (name.empty() || name == "AUTO")
    throw AssertFailure("register_plugin: \"" + device_name + "\" is no name for a device");
  const auto modules = impl_->known();
  if (modules.count(name))
    throw AssertFailure("Device with \"" + name + "\" is already registered in the Tenon Runtime",
                        Code::kAlreadyExists);
  const KnownModule module{nullptr, plugin_path};
  load_module(name, module);
  std::lock_guard lock(impl_->mutex);
  impl_->registered[name] = module;
  if (!config.empty()) impl_->configs[name] = config;
}

void Core::unload_plugin(const std::string& device_name) {
  const std::string name = DeviceName(device_name).base;
  std::shared_ptr<Device> old;  // Destroyed outside the lock.
  {
    std::lock_guard lock(impl_->mutex);
    const auto found = impl_->entries.find(name);
    if (found != impl_->entries.end()) {
      old = std::move(found->second.device);
      impl_->entries.erase(found);
    }
  }
  if (!old)
    throw AssertFailure("Device with \"" + name + "\" name is not loaded, so it can't be unloaded", Code::kNotFound);
}

Ledger& Core::ledger() { return impl_->shared->ledger; }
Router& Core::router() { return impl_->shared->router; }

}  // namespace v1
}  // namespace tenon
