// SPDX-License-Identifier: Apache-2.0
// Core: devices by name, properties, reading and compiling.
#include <tenon/runtime/core.hpp>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <istream>
#include <mutex>
#include <streambuf>

#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/router.hpp>
#include <tenon/graph/readers/onnx/onnx_reader.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/runtime/device.hpp>
#include <tenon/runtime/general_properties.hpp>
#include "model_state_internal.hpp"
#include "registry_internal.hpp"

namespace tenon {
inline namespace v1 {
namespace {

constexpr const char* kInputFrames = "TENON_INPUT_FRAMES";
constexpr const char* kVersion = "0.1.0";

struct FrameOption {
  FrameInfo info;
  std::string input;
};

/// "GPU.1" is device GPU with id 1.
struct DeviceName {
  std::string base;
  std::string id;
  explicit DeviceName(const std::string& text) {
    const auto dot = text.find('.');
    base = text.substr(0, dot);
    std::transform(base.begin(), base.end(), base.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (dot != std::string::npos) id = text.substr(dot + 1);
  }
};

/// A stream over bytes that stay where they are.
class BytesBuffer final : public std::streambuf {
 public:
  BytesBuffer(const void* data, std::size_t size) {
    char* begin = const_cast<char*>(static_cast<const char*>(data));
    setg(begin, begin, begin + size);
  }

 protected:
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    const off_type base = from == std::ios_base::beg   ? 0
                          : from == std::ios_base::cur ? gptr() - eback()
                                                       : egptr() - eback();
    const off_type at = base + offset;
    if (at < 0 || at > egptr() - eback()) return pos_type(off_type(-1));
    setg(eback(), eback() + at, egptr());
    return pos_type(at);
  }
  pos_type seekpos(pos_type position, std::ios_base::openmode which) override {
    return seekoff(off_type(position), std::ios_base::beg, which);
  }
};

BytesBuffer buffer_over(const Tensor& blob) {
  if (!blob || !blob.is_contiguous() || !blob.is_host_addressable())
    throw AssertFailure("import_model: the blob must be a packed tensor in host memory");
  return BytesBuffer(blob.data(), blob.size_bytes());
}

/// What of a compile call is the runtime's own.
struct CompileOptions {
  AnyMap device;
  ZeroCopy policy = ZeroCopy::kPrefer;
  std::optional<FrameOption> frames;
};

}  // namespace

std::pair<std::string, Any> input_frames(const FrameInfo& info, const std::string& input) {
  return {kInputFrames, Any(FrameOption{info, input})};
}

class Core::Impl {
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
    }
    const std::string prefix = std::string(tenon::device::properties.name()) + "_";
    AnyMap for_device;
    for (const auto& [key, value] : properties) {
      if (key == zero_copy)
        options.policy = value.as<ZeroCopy>();
      else if (key == kInputFrames)
        options.frames = value.as<FrameOption>();
      else if (key == cache_dir.name() || key == cache_path.name())
        refuse_cache(value);
      else if (key == tenon::device::properties.name())
        add_nested(value, device_name, for_device);
      else if (key.compare(0, prefix.size(), prefix) == 0) {
        if (DeviceName(key.substr(prefix.size())).base == device_name) add_all(value.as<AnyMap>(), for_device);
      } else {
        options.device[key] = value;
      }
    }
    // What is meant for this very device wins over what is meant for any.
    for (const auto& [key, value] : for_device) options.device[key] = value;
    return options;
  }

  CompiledModel compile(const std::shared_ptr<const Model>& model, const std::string& device_name,
                        const AnyMap& properties) {
    if (!model) throw AssertFailure("compile_model: the model is null");
    DeviceName name(device_name);
    if (name.base.empty() || name.base == "AUTO") name = DeviceName(select(model));
    CompileOptions options = split(name.base, properties);
    auto device = this->device(name, &options.device);
    // The caller may change its model afterwards, and plans for new frame formats are made from this one.
    auto state = std::make_shared<ModelState>(shared, std::move(device), std::shared_ptr<const Model>(model->clone()),
                                              options.device, options.policy);
    Variant::Key key;
    if (options.frames) {
      key.resize(state->inputs().size());
      const PortRef port = options.frames->input.empty() ? PortRef{true, state->check_index(true, 0)}
                                                         : state->find(options.frames->input);
      if (!port.is_input)
        throw AssertFailure("input_frames: '" + options.frames->input + "' is an output", Code::kNotFound);
      key[port.index] = options.frames->info;
    }
    state->variant(key);
    return CompiledModel(std::move(state));
  }

  /// The first available device that runs the whole model.
  std::string select(const std::shared_ptr<const Model>& model) {
    std::string reasons;
    for (const auto& [name, module] : known()) {
      try {
        const auto device = entry(name).device;
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

  static void refuse_cache(const Any& folder) {
    if (folder.as<std::string>().empty()) return;
    throw NotImplemented("the compiled-model cache (CACHE_DIR) does not exist yet: leave the property out");
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

std::vector<std::string> Core::get_available_devices() const {
  std::vector<std::string> names;
  for (const auto& [name, module] : impl_->known()) {
    try {
      for (const std::string& id : impl_->entry(name).device->available_ids())
        names.push_back(id.empty() ? name : name + "." + id);
    } catch (const std::exception&) {  // get_unavailable_devices() says why.
    }
  }
  return names;
}

std::map<std::string, std::string> Core::get_unavailable_devices() const {
  std::map<std::string, std::string> reasons;
  for (const auto& [name, module] : impl_->known()) {
    try {
      if (impl_->entry(name).device->available_ids().empty())
        reasons[name] = "the module works, but no device is present";
    } catch (const std::exception& error) {
      reasons[name] = error.what();
    }
  }
  return reasons;
}

std::shared_ptr<Model> Core::read_model(const std::filesystem::path& model_path, const std::filesystem::path& bin_path,
                                        const AnyMap& properties) const {
  const auto option = properties.find(enable_mmap.name());
  bool map = option != properties.end() && option->second.as<bool>();
  if (option == properties.end()) {
    std::lock_guard lock(impl_->mutex);
    map = impl_->map_files;
  }
  return tenon::read_model(model_path, bin_path, map);
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
  return impl_->compile(read_model(model_path), "AUTO", properties);
}
CompiledModel Core::compile_model(const std::filesystem::path& model_path, const std::string& device_name,
                                  const AnyMap& properties) {
  // An unknown device is told before a large model is read.
  if (const DeviceName name(device_name); !name.base.empty() && name.base != "AUTO") impl_->device(name, nullptr);
  return impl_->compile(read_model(model_path), device_name, properties);
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
  const DeviceName name(device_name);
  CompileOptions options = impl_->split(name.base, properties);
  auto device = impl_->device(name, &options.device);
  auto compiled = device->import_model(stream, options.device);
  return CompiledModel(
      std::make_shared<ModelState>(impl_->shared, std::move(device), std::move(compiled), options.policy));
}
CompiledModel Core::import_model(const Tensor& compiled_blob, const std::string& device_name,
                                 const AnyMap& properties) {
  BytesBuffer buffer = buffer_over(compiled_blob);
  std::istream stream(&buffer);
  return import_model(stream, device_name, properties);
}
CompiledModel Core::import_model(std::istream& stream, const RemoteContext& context, const AnyMap& properties) {
  if (!context) throw AssertFailure("Remote context is null");
  const DeviceName name(context.get_device_name());
  CompileOptions options = impl_->split(name.base, properties);
  auto device = impl_->device(name, &options.device);
  auto compiled = device->import_in_context(stream, context.impl(), options.device);
  return CompiledModel(
      std::make_shared<ModelState>(impl_->shared, std::move(device), std::move(compiled), options.policy));
}
CompiledModel Core::import_model(const Tensor& compiled_blob, const RemoteContext& context, const AnyMap& properties) {
  BytesBuffer buffer = buffer_over(compiled_blob);
  std::istream stream(&buffer);
  return import_model(stream, context, properties);
}

SupportedOpsMap Core::query_model(const std::shared_ptr<const Model>& model, const std::string& device_name,
                                  const AnyMap& properties) const {
  if (!model) throw AssertFailure("query_model: the model is null");
  const DeviceName name(device_name);
  CompileOptions options = impl_->split(name.base, properties);
  return impl_->device(name, &options.device)->query_model(model, options.device);
}

void Core::set_property(const AnyMap& properties) {
  ZeroCopy policy = ZeroCopy::kPrefer;
  bool has_policy = false;
  std::optional<bool> map_files, tbb_terminate;
  AnyMap for_all;
  for (const auto& [key, value] : properties) {
    if (key == zero_copy)
      policy = value.as<ZeroCopy>(), has_policy = true;
    else if (key == cache_dir.name() || key == cache_path.name())
      Impl::refuse_cache(value);
    else if (key == enable_mmap.name())
      map_files = value.as<bool>();
    else if (key == force_tbb_terminate.name())
      tbb_terminate = value.as<bool>();
    else if (const GeneralProperty* general = find_general_property(key)) {
      check_general_value(*general, value);
      for_all[key] = value;
    } else {
      throw Error(Code::kNotFound, "Core has no property " + key +
                                       ", and it is no general one; for a property of one device's own name the "
                                       "device: set_property(\"CPU\", ...)");
    }
  }
  impl_->set_for_all(for_all);
  std::lock_guard lock(impl_->mutex);
  if (map_files) impl_->map_files = *map_files;
  if (tbb_terminate) impl_->tbb_terminate = *tbb_terminate;
  if (has_policy) impl_->policy = policy;
}

void Core::set_property(const std::string& device_name, const AnyMap& properties) {
  if (device_name.empty()) return set_property(properties);
  const DeviceName name(device_name);
  CompileOptions options = impl_->split(name.base, properties);
  // With the id, so that a module of several devices knows which one is meant.
  const auto device = impl_->device(name, &options.device);
  device->set_property(options.device);
}

Any Core::get_property(const std::string& device_name, const std::string& name) const {
  return get_property(device_name, name, {});
}

Any Core::get_property(const std::string& device_name, const std::string& name, const AnyMap& arguments) const {
  const bool is_cache = name == cache_dir.name() || name == cache_path.name();
  if (!device_name.empty() && !is_cache) {
    AnyMap with_id = arguments;
    const auto device = impl_->device(DeviceName(device_name), &with_id);
    return device->get_property(name, with_id);
  }
  if (name == zero_copy) {
    std::lock_guard lock(impl_->mutex);
    return Any(impl_->policy);
  }
  if (name == enable_mmap.name() || name == force_tbb_terminate.name()) {
    std::lock_guard lock(impl_->mutex);
    return Any(name == enable_mmap.name() ? impl_->map_files : impl_->tbb_terminate);
  }
  if (name == cache_dir.name()) return Any(std::string());
  if (name == cache_path.name()) return Any(std::filesystem::path());
  if (name == available_devices) return Any(get_available_devices());
  if (name == supported_properties) {
    return Any(std::vector<PropertyName>{supported_properties, available_devices, zero_copy, cache_dir, cache_path,
                                         enable_mmap, force_tbb_terminate});
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
