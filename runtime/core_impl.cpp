// SPDX-License-Identifier: Apache-2.0
// The implementation of Core.
#include <tenon/runtime/internal/core_impl.hpp>

#include <algorithm>
#include <istream>

namespace tenon {
inline namespace v1 {

std::map<std::string, KnownModule> Core::Impl::known(std::string* unread) const {
  auto modules = known_modules(unread);
  std::lock_guard lock(mutex);
  for (const auto& [name, module] : registered) modules[name] = module;
  return modules;
}

Core::Impl::Entry Core::Impl::entry(const std::string& name) const {
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
            (names.empty() ? "none (TENON_DEVICE_PATH names folders with libtenon_device_<name>.so)" : names) + unread,
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
  if (!made.device) throw Error(Code::kUnavailable, "Device \"" + name + "\" is unavailable: its module created none");
  made.device->set_host(self);
  std::lock_guard lock(mutex);
  // Another thread may have been first; its object already has the properties.
  const auto [entry, is_new] = entries.emplace(name, made);
  if (is_new) set_supported(*made.device, for_all);
  if (const auto config = configs.find(name); is_new && config != configs.end())
    made.device->set_property(config->second);
  return entry->second;
}

void Core::Impl::set_supported(Device& device, const AnyMap& properties) {
  if (properties.empty()) return;
  AnyMap taken;
  for (const auto& name : device.get_property(supported_properties.name(), {}).as<std::vector<PropertyName>>()) {
    const auto found = properties.find(name);
    if (name.is_mutable() && found != properties.end()) taken.insert(*found);
  }
  device.set_property(taken);
}

void Core::Impl::set_for_all(const AnyMap& properties) {
  std::lock_guard lock(mutex);
  for (const auto& [name, entry] : entries) set_supported(*entry.device, properties);
  for (const auto& [key, value] : properties) for_all[key] = value;
}

std::shared_ptr<Device> Core::Impl::device(const DeviceName& name, AnyMap* properties) const {
  auto device = entry(name.base).device;
  if (!name.members.empty()) {
    if (!device->is_composite())
      throw AssertFailure("device \"" + name.base + "\" is not made of others, so \"" + name.base + ":" + name.members +
                          "\" means nothing");
    if (properties) (*properties)[tenon::device::priorities.name()] = Any(name.members);
  }
  if (name.id.empty()) return device;
  auto ids = device->available_ids();
  // One device without an id may be called 0.
  const bool is_lone = ids == std::vector<std::string>{""};
  if (is_lone && name.id == "0") return device;
  // A device listed without an id may still have one: "NPU.4000" is the NPU where there is just that one.
  if (is_lone) ids = ids_property(*device);
  const auto is_listed = [&](const std::string& id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); };
  // "GPU.0.1" is a part of GPU.0, which judges it.
  if (!is_listed(name.id) &&
      !(name.id.find('.') != std::string::npos && is_listed(name.id.substr(0, name.id.find('.'))))) {
    std::string known;
    for (const std::string& id : ids) known += (known.empty() ? "" : ", ") + name.base + (id.empty() ? "" : "." + id);
    throw Error(Code::kUnavailable, "Device \"" + name.base + "." + name.id +
                                        "\" is not present; present: " + (known.empty() ? "none" : known));
  }
  if (properties) (*properties)[tenon::device::id.name()] = Any(name.id);
  return device;
}

std::vector<std::string> Core::Impl::ids_property(Device& device) {
  try {
    return device.get_property(tenon::available_devices.name(), {}).as<std::vector<std::string>>();
  } catch (const Error&) {
    return {""};
  }
}

CompileOptions Core::Impl::split(const DeviceName& name, const AnyMap& properties) const {
  CompileOptions options;
  {
    std::lock_guard lock(mutex);
    options.policy = policy;
    options.cache = cache_for_all;
    if (const auto own = caches.find(name.base); own != caches.end())
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
      static_cast<void>(value.as<bool>());  // Concerns how files are read, which is done by now.
    else if (key == tenon::device::properties.name())
      add_nested(value, name, for_device);
    else if (key.compare(0, prefix.size(), prefix) == 0) {
      if (DeviceName(key.substr(prefix.size())).means(name)) add_all(value.as<AnyMap>(), for_device);
    } else {
      options.device[key] = value;
    }
  }
  // Properties for this device win over properties for any.
  for (const auto& [key, value] : for_device) {
    if (cache::is_cache_property(key))
      cache::apply(options.cache, key, value);
    else
      options.device[key] = value;
  }
  return options;
}

CompileOptions Core::Impl::options_for(const DeviceName& name, const std::shared_ptr<Device>& device,
                                       const AnyMap& properties) const {
  CompileOptions options = split(name, properties);
  if (!device->is_composite()) return options;
  const std::string prefix = tenon::device::properties.name();
  for (const auto& [key, value] : properties)
    if (key == zero_copy || cache::is_cache_property(key) || key.compare(0, prefix.size(), prefix) == 0)
      options.device[key] = value;
  options.cache.folder.clear();
  return options;
}

AnyMap Core::Impl::for_all_members(const DeviceName& name, AnyMap properties) {
  const Any all_run(hint::PerformanceMode::CUMULATIVE_THROUGHPUT);
  const auto [hint, is_new] = properties.emplace(hint::performance_mode.name(), all_run);
  if (is_new || hint->second.to_text() == all_run.to_text()) return properties;
  const AnyMap given{*hint};
  hint->second = all_run;
  for (const std::string& member : split_devices(name.members)) {
    Any& own = properties[std::string(tenon::device::properties.name()) + "_" + member];
    AnyMap both = own.is<AnyMap>() ? own.as<AnyMap>() : AnyMap();
    both.insert(given.begin(), given.end());
    own = Any(both);
  }
  return properties;
}

DeviceName Core::Impl::choose(const std::string& device_name, const std::shared_ptr<const Model>& model) const {
  DeviceName name(device_name.empty() ? "AUTO" : device_name);
  if (name.base != "AUTO" || known().count("AUTO")) return name;
  if (!name.members.empty())
    throw AssertFailure("\"" + device_name + "\" needs the device module AUTO, which is not installed",
                        Code::kNotFound);
  return DeviceName(select(model));
}

CompiledModel Core::Impl::compile(ModelSource source, const std::string& device_name, const AnyMap& properties) {
  // A model given only by an entry's id may be missing.
  if (!source.model && !source.read && !properties.count(cache_blob_id.name()))
    throw AssertFailure("compile_model: the model is null");
  std::shared_ptr<Device> device;
  // Memory may also run out where the device is loaded and asked.
  return report_out_of_memory(
      [&] {
        const auto what = source.model ? "model '" + source.model->get_friendly_name() + "'"
                                       : "\"" + source.origin.model.string() + '"';
        return "compiling " + what + " for " + (device ? device->name() : device_name);
      },
      [&] {
        const DeviceName name = choose(device_name, source.model);
        device = this->device(name, nullptr);
        CompileOptions options =
            options_for(name, device, name.runs_on_all ? for_all_members(name, properties) : properties);
        this->device(name, &options.device);
        // A copy: the message needs what the compilation consumes.
        return CompiledModel(compile_state(shared, device, source, std::move(options)));
      });
}

CompiledModel Core::Impl::compile(const std::shared_ptr<const Model>& model, const std::string& device_name,
                                  const AnyMap& properties) {
  ModelSource source;
  source.model = model;
  return compile(std::move(source), device_name, properties);
}

CompiledModel Core::Impl::compile_file(const std::filesystem::path& path, const std::string& device_name,
                                       const AnyMap& properties) {
  ModelSource source;
  source.origin.model = path;
  // The weights lie beside the IR; read_model looks for them in the same place.
  source.origin.weights = path;
  source.origin.weights.replace_extension(".bin");
  source.read = [path, map = maps_files(properties)] {
    return report_out_of_memory([&] { return "reading \"" + path.string() + '"'; },
                                [&] { return std::shared_ptr<const Model>(tenon::read_model(path, {}, map)); });
  };
  // If the device module AUTO is missing, the choice of a device needs the model.
  if ((device_name.empty() || DeviceName(device_name).base == "AUTO") && !known().count("AUTO")) {
    source.model = source.read();
    source.origin = {};
  }
  return compile(std::move(source), device_name, properties);
}

CompiledModel Core::Impl::import(std::istream& stream, const std::string& device_name, const AnyMap& properties) {
  const DeviceName name(device_name);
  auto device = this->device(name, nullptr);
  CompileOptions options = options_for(name, device, properties);
  this->device(name, &options.device);
  if (options.cache.callbacks && options.cache.callbacks->decrypt)
    return CompiledModel(import_state(shared, std::move(device), read_all(stream), options));
  auto compiled = device->import_model(stream, options.device);
  return CompiledModel(std::make_shared<ModelState>(shared, std::move(device), std::move(compiled), options.policy));
}

SupportedOpsMap Core::Impl::query(const std::shared_ptr<const Model>& model, const std::string& device_name,
                                  const AnyMap& properties) const {
  const DeviceName name(device_name);
  auto device = this->device(name, nullptr);
  CompileOptions options = options_for(name, device, properties);
  this->device(name, &options.device);
  return device->query_model(model, options.device);
}

std::vector<std::string> Core::Impl::available_devices() const {
  std::vector<std::string> names;
  for (const auto& [name, module] : known()) {
    try {
      const auto device = entry(name).device;
      if (device->is_composite()) continue;
      for (const std::string& id : device->available_ids()) names.push_back(id.empty() ? name : name + "." + id);
    } catch (const std::exception&) {  // get_unavailable_devices() says why.
    }
  }
  return names;
}

CompiledModel Core::Impl::compile_model(const std::shared_ptr<const Model>& model, const std::string& device,
                                        const AnyMap& properties) {
  return compile(model, device, properties);
}

CompiledModel Core::Impl::import_model(std::istream& stream, const std::string& device, const AnyMap& properties) {
  return import(stream, device, properties);
}

SupportedOpsMap Core::Impl::query_model(const std::shared_ptr<const Model>& model, const std::string& device,
                                        const AnyMap& properties) const {
  return query(model, device, properties);
}

Any Core::Impl::get_property(const std::string& device, const std::string& name) const {
  AnyMap arguments;
  return this->device(DeviceName(device), &arguments)->get_property(name, arguments);
}

std::shared_ptr<CompiledModelImpl> Core::Impl::device_model(const CompiledModel& model) const {
  return model.state_->main_variant()->impl;
}

std::map<std::string, std::string> Core::Impl::unavailable_devices() const {
  std::map<std::string, std::string> reasons;
  for (const auto& [name, module] : known()) {
    try {
      const auto device = entry(name).device;
      if (!device->is_composite() && device->available_ids().empty())
        reasons[name] = "the module works, but no device is present";
    } catch (const std::exception& error) {
      reasons[name] = error.what();
    }
  }
  return reasons;
}

bool Core::Impl::maps_files(const AnyMap& properties) const {
  if (const auto given = properties.find(enable_mmap.name()); given != properties.end())
    return given->second.as<bool>();
  std::lock_guard lock(mutex);
  return map_files;
}

std::string Core::Impl::select(const std::shared_ptr<const Model>& model) const {
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

void Core::Impl::add_all(const AnyMap& from, AnyMap& to) {
  for (const auto& [key, value] : from) to[key] = value;
}

void Core::Impl::add_nested(const Any& value, const DeviceName& name, AnyMap& to) {
  for (const auto& [device, config] : value.as<AnyMap>()) {
    if (DeviceName(device).means(name)) add_all(config.as<AnyMap>(), to);
  }
}

}  // namespace v1
}  // namespace tenon
