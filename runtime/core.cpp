// SPDX-License-Identifier: Apache-2.0
// Core: devices by name, properties, reading and compiling.
#include <tenon/runtime/core.hpp>

#include <tenon/core/version.hpp>

#include <istream>

#include <tenon/core/ledger.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/readers/onnx/onnx_reader.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/runtime/device/general_properties.hpp>
#include <tenon/runtime/device/process_end.hpp>
#include <tenon/runtime/internal/core_impl.hpp>

namespace tenon {
inline namespace v1 {

std::pair<std::string, Any> input_frames(const FrameInfo& info, const std::string& input) {
  return {kInputFrames, Any(FrameOption{info, input})};
}

Core::Core() {
  report_out_of_memory([] { return std::string("making a Core"); },
                       [this] {
                         impl_ = std::make_shared<Impl>();
                         impl_->self = impl_;
                         process_end::watch_this_thread();
                       });
}

std::map<std::string, Version> Core::get_versions(const std::string& device_name) const {
  std::map<std::string, Version> versions;
  const auto add = [&](const std::string& name) {
    versions[name] = Version{TENON_VERSION, impl_->entry(name).module->description};
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

std::map<std::string, std::string> Core::get_unavailable_devices() const { return impl_->unavailable_devices(); }

std::shared_ptr<Model> Core::read_model(const std::filesystem::path& model_path, const std::filesystem::path& bin_path,
                                        const AnyMap& properties) const {
  return report_out_of_memory([&] { return "reading \"" + model_path.string() + '"'; },
                              [&] { return tenon::read_model(model_path, bin_path, impl_->maps_files(properties)); });
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
  CompileOptions options = impl_->split(name, properties);
  auto device = impl_->device(name, &options.device);
  ModelSource source;
  source.model = model;
  source.context = context.impl();
  return CompiledModel(compile_state(impl_->shared, std::move(device), std::move(source), std::move(options)));
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
CompiledModel Core::import_model(std::istream& stream, const RemoteContext& context, const AnyMap& properties) {
  return import_model(read_all(stream), context, properties);
}
CompiledModel Core::import_model(const Tensor& compiled_blob, const RemoteContext& context, const AnyMap& properties) {
  if (!context) throw AssertFailure("Remote context is null");
  const DeviceName name(context.get_device_name());
  CompileOptions options = impl_->split(name, properties);
  auto device = impl_->device(name, &options.device);
  return CompiledModel(
      import_state(impl_->shared, std::move(device), aligned_blob(compiled_blob), options, context.impl()));
}

SupportedOpsMap Core::query_model(const std::shared_ptr<const Model>& model, const std::string& device_name,
                                  const AnyMap& properties) const {
  if (!model) throw AssertFailure("query_model: the model is null");
  return impl_->query(model, device_name, properties);
}

namespace {
/// The member of `limits` that a property names, or null.
std::uint64_t* find_limit(ModelLimits& limits, const std::string& name) {
  if (name == limit::nodes.name()) return &limits.nodes;
  if (name == limit::depth.name()) return &limits.depth;
  if (name == limit::bytes.name()) return &limits.bytes;
  if (name == limit::compile_seconds.name()) return &limits.compile_seconds;
  if (name == limit::infer_seconds.name()) return &limits.infer_seconds;
  return nullptr;
}
}  // namespace

void Core::set_property(const AnyMap& properties) {
  ModelLimits limits = model_limits();
  bool has_limits = false;
  ZeroCopy policy = ZeroCopy::kPrefer;
  bool has_policy = false;
  std::optional<bool> map_files, tbb_terminate;
  AnyMap for_all;
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
    else if (std::uint64_t* limit = find_limit(limits, key))
      *limit = value.as<std::uint64_t>(), has_limits = true;
    else if (key == enable_mmap.name())
      map_files = value.as<bool>();
    else if (key == force_tbb_terminate.name())
      tbb_terminate = value.as<bool>();
    else if (const GeneralProperty* general = find_general_property(key)) {
      check_general_value(*general, value);
      for_all[key] = value;
    } else {
      throw Error(Code::kNotFound, "Core has no property " + key +
                                       ", and no device-independent one; for a device's own property, name the "
                                       "device: set_property(\"CPU\", ...)");
    }
  }
  if (has_limits) set_model_limits(limits);
  impl_->set_for_all(for_all);
  std::lock_guard lock(impl_->mutex);
  if (map_files) impl_->map_files = *map_files;
  if (tbb_terminate) impl_->tbb_terminate = *tbb_terminate;
  if (has_policy) impl_->policy = policy;
  impl_->cache_for_all = settings;
}

void Core::set_property(const std::string& device_name, const AnyMap& properties) {
  if (device_name.empty()) return set_property(properties);
  const DeviceName name(device_name);
  CompileOptions options = impl_->split(name, properties);
  const bool is_for_device = !options.device.empty();
  // The id is passed, so that a module with several devices knows which one is meant.
  const auto device = impl_->device(name, &options.device);
  // The device comes first: if it refuses, nothing is changed.
  if (is_for_device) device->set_property(options.device);
  std::lock_guard lock(impl_->mutex);
  for (const auto& [key, value] : properties)
    if (cache::is_cache_property(key)) impl_->caches[name.base][key] = value;
}

Any Core::get_property(const std::string& device_name, const std::string& name) const {
  return get_property(device_name, name, {});
}

Any Core::get_property(const std::string& device_name, const std::string& name, const AnyMap& arguments) const {
  if (!device_name.empty()) {
    AnyMap with_id = arguments;
    const DeviceName wanted(device_name);
    const auto device = impl_->device(wanted, &with_id);
    if (cache::is_cache_property(name)) return cache::value_of(impl_->split(wanted, {}).cache, name);
    if (wanted.runs_on_all && name == device::full_name) return Any(std::string("MULTI"));  // AUTO under that name.
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
  if (name == enable_mmap.name() || name == force_tbb_terminate.name()) {
    std::lock_guard lock(impl_->mutex);
    return Any(name == enable_mmap.name() ? impl_->map_files : impl_->tbb_terminate);
  }
  ModelLimits limits = model_limits();
  if (const std::uint64_t* limit = find_limit(limits, name)) return Any(*limit);
  if (name == available_devices) return Any(get_available_devices());
  if (name == supported_properties) {
    return Any(std::vector<PropertyName>{supported_properties, available_devices, zero_copy, cache_dir, cache_path,
                                         cache_mode, cache_size_limit, enable_mmap, force_tbb_terminate, limit::nodes,
                                         limit::depth, limit::bytes, limit::compile_seconds, limit::infer_seconds});
  }
  throw Error(Code::kNotFound, "Core has no property " + name + " of its own; for a device's property name the device");
}

RemoteContext Core::create_context(const std::string& device_name, const AnyMap& remote_properties) {
  AnyMap params = remote_properties;
  const auto device = impl_->device(DeviceName(device_name), &params);
  return RemoteContext(device->create_context(params), impl_->shared_ledger());
}

RemoteContext Core::get_default_context(const std::string& device_name) {
  AnyMap params;
  const auto device = impl_->device(DeviceName(device_name), &params);
  return RemoteContext(device->default_context(params), impl_->shared_ledger());
}

void Core::register_plugin(const std::filesystem::path& plugin_path, const std::string& device_name,
                           const AnyMap& config) {
  const std::string name = DeviceName(device_name).base;
  if (name.empty() || name == "AUTO")
    throw AssertFailure("register_plugin: \"" + device_name + "\" is not a valid device name");
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
