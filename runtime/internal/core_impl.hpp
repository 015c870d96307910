// SPDX-License-Identifier: Apache-2.0
// What stands behind a Core: devices by name, what was set, and the ways into compiled models.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/device_host.hpp>
#include "bytes_stream_internal.hpp"
#include "cache_internal.hpp"
#include "core_internal.hpp"
#include "model_state_internal.hpp"
#include "registry_internal.hpp"
#include "shortage_internal.hpp"

namespace tenon {
inline namespace v1 {

inline constexpr const char* kInputFrames = "TENON_INPUT_FRAMES";

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

class Core::Impl final : public DeviceHost, public std::enable_shared_from_this<Core::Impl> {
 public:
  Impl() : shared(std::make_shared<SharedState>()) { shared->router.add(host_context()); }

  struct Entry {
    std::shared_ptr<Device> device;
    const DeviceModule* module = nullptr;
  };

  std::map<std::string, KnownModule> known(std::string* unread = nullptr) {
    auto modules = known_modules(unread);
    std::lock_guard lock(mutex);
    for (const auto& [name, module] : registered) modules[name] = module;
    return modules;
  }

  Entry entry(const std::string& name) {
    {
      std::lock_guard lock(mutex);
      if (const auto found = entries.find(name); found != entries.end()) return found->second;
    }
    std::string unread;
    const auto modules = known(&unread);
    const auto found = modules.find(name);
    if (found == modules.end()) {
      std::string names;
      for (const auto& [other, module] : modules) names += (names.empty() ? "" : ", ") + other;
      throw AssertFailure(
          "Device with \"" + name + "\" name is not registered in the Tenon Runtime; known: " +
              (names.empty() ? "none (TENON_DEVICE_PATH names folders with libtenon_device_<name>.so)" : names) +
              unread,
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
    if (is_new) set_supported(*made.device, for_all);
    if (const auto config = configs.find(name); is_new && config != configs.end())
      made.device->set_property(config->second);
    return entry->second;
  }

  /// Sets on a device what of `properties` it lists as writable.
  static void set_supported(Device& device, const AnyMap& properties) {
    if (properties.empty()) return;
    AnyMap taken;
    for (const auto& name : device.get_property(supported_properties.name(), {}).as<std::vector<PropertyName>>()) {
      const auto found = properties.find(name);
      if (name.is_mutable() && found != properties.end()) taken.insert(*found);
    }
    device.set_property(taken);
  }

  void set_for_all(const AnyMap& properties) {
    std::lock_guard lock(mutex);
    for (const auto& [name, entry] : entries) set_supported(*entry.device, properties);
    for (const auto& [key, value] : properties) for_all[key] = value;
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
    auto ids = device->available_ids();
    // One device without an id may be called 0.
    const bool is_lone = ids == std::vector<std::string>{""};
    if (is_lone && name.id == "0") return device;
    // One that goes without an id may have one all the same: "NPU.4000" is the NPU where there is just that one.
    if (is_lone) ids = ids_property(*device);
    if (std::find(ids.begin(), ids.end(), name.id) == ids.end()) {
      std::string known;
      for (const std::string& id : ids) known += (known.empty() ? "" : ", ") + name.base + (id.empty() ? "" : "." + id);
      throw Error(Code::kUnavailable, "Device \"" + name.base + "." + name.id +
                                          "\" is not present; present: " + (known.empty() ? "none" : known));
    }
    if (properties) (*properties)[tenon::device::id.name()] = Any(name.id);
    return device;
  }

  static std::vector<std::string> ids_property(Device& device) {
    try {
      return device.get_property(tenon::available_devices.name(), {}).as<std::vector<std::string>>();
    } catch (const Error&) {
      return {""};
    }
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
      else if (key == enable_mmap.name())
        static_cast<void>(value.as<bool>());  // How files are read, which is over where a device comes in.
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
    return telling_shortage(
        [&] {
          const auto what = source.model ? "model '" + source.model->get_friendly_name() + "'"
                                         : "\"" + source.origin.model.string() + '"';
          return "compiling " + what + " for " + device->name();
        },
        // A copy: the message needs what the compilation has consumed.
        [&] { return CompiledModel(compile_state(shared, device, source, std::move(options))); });
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
    source.read = [path, map = maps_files(properties)] {
      return telling_shortage([&] { return "reading \"" + path.string() + '"'; },
                              [&] { return std::shared_ptr<const Model>(tenon::read_model(path, {}, map)); });
    };
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

  std::map<std::string, std::string> unavailable_devices() const override {
    auto* self = const_cast<Impl*>(this);
    std::map<std::string, std::string> reasons;
    for (const auto& [name, module] : self->known()) {
      try {
        const auto device = self->entry(name).device;
        if (!device->is_composite() && device->available_ids().empty())
          reasons[name] = "the module works, but no device is present";
      } catch (const std::exception& error) {
        reasons[name] = error.what();
      }
    }
    return reasons;
  }

  /// Whether model files are mapped: what the call says, else what was set.
  bool maps_files(const AnyMap& properties) {
    if (const auto given = properties.find(enable_mmap.name()); given != properties.end())
      return given->second.as<bool>();
    std::lock_guard lock(mutex);
    return map_files;
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
  AnyMap for_all;  ///< Set without naming a device.
  bool map_files = true;
  bool tbb_terminate = false;  ///< Kept for who asks: no code of Tenon's outlives its devices' worker threads.
  ZeroCopy policy = ZeroCopy::kPrefer;
  cache::Settings cache_for_all;
  std::map<std::string, AnyMap> caches;  ///< The cache's properties of devices that have their own.
};

}  // namespace v1
}  // namespace tenon
