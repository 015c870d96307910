// SPDX-License-Identifier: Apache-2.0
// The GPU device: properties, compiling, contexts, and the module's factory.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <istream>
#include <map>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/compiled_model.hpp>
#include <tenon/devices/gpu/facts.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/remote/remote.hpp>
#include <tenon/devices/gpu/roofline.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/roofline.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

class GpuDevice final : public Device {
 public:
  GpuDevice() {
    PropertyTable& table = properties_.table();
    table.add(available_devices, [this] { return Any(available_ids()); });
    table.add_constant(caching_properties, std::vector<PropertyName>{device::full_name, device::architecture});
    table.add_constant(range_for_async_infer_requests, std::tuple<unsigned, unsigned, unsigned>{1, 2, 1});
    table.add_constant(range_for_streams, std::tuple<unsigned, unsigned>{1, 2});
    table.add(optimal_number_of_infer_requests, [this] { return Any(properties_.config().stream_count() * 2); });
    for (const char* name : {max_batch_size.name(), optimal_batch_size.name()})
      table.add(PropertyName(name, PropertyMutability::RO), [this, name] { return batch_size(name, {}); });
    describe(table, [this] { return properties_.config().device_id; });
  }

  std::string name() const override { return "GPU"; }
  std::vector<std::string> available_ids() const override {
    std::vector<std::string> ids;
    for (const auto& gpu : all_gpus()) ids.push_back(gpu->id());
    return ids;
  }

  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                   const AnyMap& properties) override {
    const Config config = config_of(properties);
    return compile_on(model, context_of(config), config);
  }
  std::shared_ptr<CompiledModelImpl> compile_in_context(const std::shared_ptr<const Model>& model,
                                                        const std::shared_ptr<RemoteContextImpl>& context,
                                                        const AnyMap& properties) override {
    return compile_on(model, own_context(context), config_of(properties));
  }
  std::shared_ptr<CompiledModelImpl> import_model(std::istream& stream, const AnyMap& properties) override {
    return import_blob(read_all(stream), false, properties);
  }
  std::shared_ptr<CompiledModelImpl> import_in_context(std::istream& stream,
                                                       const std::shared_ptr<RemoteContextImpl>& context,
                                                       const AnyMap& properties) override {
    return compile_on(read_model_blob(read_all(stream), false, kBlobFormat), own_context(context),
                      config_of(importing(properties)));
  }
  std::shared_ptr<CompiledModelImpl> import_blob(const Tensor& blob, bool is_verified,
                                                 const AnyMap& properties) override {
    const Config config = config_of(importing(properties));
    return compile_on(read_model_blob(blob, is_verified, kBlobFormat), context_of(config), config);
  }

  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const override {
    const auto gpu = find_gpu(config_of(properties).device_id);
    SupportedOpsMap supported;
    for (const auto& node : model->get_ordered_ops())
      if (refusal(*node, gpu->target()).empty()) supported[node->get_friendly_name()] = "GPU";
    return supported;
  }

  Any get_property(const std::string& name, const AnyMap& arguments) const override {
    const auto id = arguments.find(device::id.name());
    if (name == max_batch_size.name() || name == optimal_batch_size.name()) return batch_size(name, arguments);
    if (name == supported_properties.name()) return properties_.get(name);
    // A property of one of several devices.
    PropertyTable one("GPU");
    if (id != arguments.end()) describe(one, [&] { return id->second.as<std::string>(); });
    Config config = config_of(id == arguments.end() ? AnyMap() : AnyMap{*id});
    config.declare(one);
    return one.has(name) ? one.get(name) : properties_.get(name);
  }
  /// An id with other properties says whose they are ("GPU.1"); alone it is what "GPU" means.
  void set_property(const AnyMap& properties) override {
    const auto id = properties.find(device::id.name());
    if (id == properties.end() || properties.size() == 1) return properties_.set(properties);
    const std::string which = find_gpu(id->second.as<std::string>())->id();
    for (const PropertyName& known : properties_.table().names())
      if (!known.is_mutable() && properties.count(known))
        throw Error(Code::kInvalidArgument, "property " + known + " of GPU is read-only");
    properties_.with(properties);  // Refuses what is unknown, and values that do not parse.
    const std::lock_guard lock(mutex_);
    for (const auto& [key, value] : properties)
      if (key != id->first) own_[which][key] = value;
  }

  std::shared_ptr<RemoteContextImpl> create_context(const AnyMap& params) override {
    // Without a handle it is the device's own, as in OpenVINO.
    if (params.size() == params.count(device::id.name())) return default_context(params);
    return make_context(params);
  }
  std::shared_ptr<RemoteContextImpl> default_context(const AnyMap& params) override {
    return context_of(config_of(params));
  }

 private:
  /// The batch size for the model that the arguments name; 1 if they name none.
  Any batch_size(const std::string& name, const AnyMap& arguments) const {
    const auto model = arguments.find(hint::model.name());
    const auto id = arguments.find(device::id.name());
    const Config config = config_of(id == arguments.end() ? AnyMap() : AnyMap{*id});
    const auto gpu = find_gpu(config.device_id);
    const auto given = model == arguments.end() ? nullptr : model->second.as<std::shared_ptr<const Model>>();
    const Target target = config.target_of(gpu->target());
    return name == max_batch_size.name() ? Any(max_batch(*gpu, given, target))
                                         : Any(unsigned{optimal_batch(*gpu, given, target)});
  }
  /// The settings of all devices, those of the one that is meant, and those of the call.
  Config config_of(const AnyMap& properties) const {
    const Config config = properties_.with(properties);
    const std::lock_guard lock(mutex_);
    if (own_.empty()) return config;
    const auto own = own_.find(find_gpu(config.device_id)->id());
    if (own == own_.end()) return config;
    AnyMap all = own->second;
    for (const auto& [key, value] : properties) all[key] = value;
    return properties_.with(all);
  }
  /// What a device is, by its id.
  static void describe(PropertyTable& table, const std::function<std::string()>& id) {
    const auto add = [&](const char* name, auto what) {
      table.add(PropertyName(name, PropertyMutability::RO), [id, what] { return Any(what(*find_gpu(id()))); });
    };
    const auto version = [](const Gpu& gpu, const char* begin, const char* end) {
      const int number = gpu.native().device.version;
      return begin + std::to_string(number / 10) + "." + std::to_string(number % 10) + end;
    };
    add(device::full_name.name(), &full_name);
    add(device::architecture.name(), [=](const Gpu& gpu) { return version(gpu, "OpenCL ", ""); });
    add(device::type.name(), [](const Gpu& gpu) {
      return gpu.native().device.host_unified ? device::Type::INTEGRATED : device::Type::DISCRETE;
    });
    add(device::capabilities.name(), &capabilities_of);
    add(device::uuid.name(), &uuid_of);
    add(device::luid.name(), &luid_of);
    add(device::pci_info.name(), &pci_of);
    add(execution_devices.name(), [](const Gpu& gpu) { return std::vector<std::string>{gpu.device_name()}; });
    add(intel_gpu::device_total_mem_size.name(), [](const Gpu& gpu) { return gpu.memory_bytes(); });
    add(intel_gpu::device_max_alloc_mem_size.name(),
        [](const Gpu& gpu) { return static_cast<std::uint64_t>(gpu.native().device.max_allocation); });
    add(intel_gpu::execution_units_count.name(),
        [](const Gpu& gpu) { return static_cast<std::int32_t>(gpu.compute_units()); });
    add(intel_gpu::uarch_version.name(), [=](const Gpu& gpu) { return version(gpu, "", ".0"); });
    add(intel_gpu::memory_statistics.name(), [](const Gpu& gpu) {
      return std::map<std::string, std::uint64_t>{{"cl_mem", gpu.held_bytes()}};
    });
    add(intel_gpu::hint::available_device_mem.name(), [](const Gpu& gpu) {
      return static_cast<std::int64_t>(gpu.memory_bytes() - std::min(gpu.memory_bytes(), gpu.held_bytes()));
    });
    add(intel_gpu::cacheline_size.name(), [](const Gpu& gpu) { return gpu.cache_line_bytes(); });
    add(device::memory_bandwidth.name(), [](const Gpu& gpu) { return roofline_of(gpu).bytes_per_second; });
    add(device::gops.name(), [](const Gpu& gpu) {
      const Roofline& roof = roofline_of(gpu);
      const auto giga = [](double per_second) { return static_cast<float>(per_second / 1e9); };
      std::map<element::Type, float> gops{{element::f32, giga(roof.f32_per_second)}};
      if (roof.f16_per_second) gops[element::f16] = giga(*roof.f16_per_second);
      return gops;
    });
  }
  static std::shared_ptr<CompiledModelImpl> compile_on(const std::shared_ptr<const Model>& model,
                                                       const std::shared_ptr<GpuContext>& context,
                                                       const Config& config) {
    const bool has_hints =
        config.queue_priority != hint::Priority::MEDIUM || config.queue_throttle != hint::Priority::MEDIUM;
    if (context->gpu()->shares_queue() && has_hints)
      throw Error(Code::kInvalidArgument,
                  "GPU: the application's queue has the priority and throttle that it was made with; "
                  "leave GPU_QUEUE_PRIORITY and GPU_QUEUE_THROTTLE at MEDIUM");
    if (context->gpu()->shares_queue() && config.stream_count() > 1)
      throw AssertFailure("[GPU] Throughput streams can't be used with shared queue!");
    // A copy, because the caller may change its model afterwards.
    return std::make_shared<CompiledModel>(model->clone(), context->gpu(), config, context);
  }
  /// A program that asks for "GPU" and gets a CPU, many times slower, is told once.
  static void tell_of_cpu(const Gpu& gpu) {
    static std::once_flag told;
    if (gpu.native().device.is_cpu())
      std::call_once(told, [&] {
        std::fprintf(
            stderr,
            "[GPU] warning: \"GPU\" is a CPU under OpenCL, %s: no platform here has a GPU; the device \"CPU\" is "
            "made for it (the name \"GPU.%s\", or LOG_LEVEL LOG_NONE, silences this)\n",
            full_name(gpu).c_str(), gpu.id().c_str());
      });
  }
  static std::shared_ptr<GpuContext> own_context(const std::shared_ptr<RemoteContextImpl>& context) {
    auto own = std::dynamic_pointer_cast<GpuContext>(context);
    if (!own)
      throw Error(Code::kInvalidArgument, "GPU: a context of " +
                                              (context ? context->device_name() : std::string("no device")) +
                                              " is none of this device's");
    return own;
  }
  /// Where weights of weightless blobs come from; ours hold theirs.
  static AnyMap importing(AnyMap properties) {
    properties.erase(hint::model.name());
    properties.erase(weights_path.name());
    return properties;
  }
  /// The default context of a device: always the same one.
  std::shared_ptr<GpuContext> context_of(const Config& config) {
    const auto gpu = find_gpu(config.device_id);
    if (config.device_id.empty() && config.log_level >= log::Level::WARNING) tell_of_cpu(*gpu);
    const std::lock_guard lock(mutex_);
    auto& context = contexts_[gpu->id()];
    if (!context) context = std::make_shared<GpuContext>(gpu);
    return context;
  }
  DeviceProperties<Config> properties_{"GPU"};
  mutable std::mutex mutex_;
  std::map<std::string, AnyMap> own_;  ///< Settings of single devices, by id.
  std::map<std::string, std::shared_ptr<GpuContext>> contexts_;
};

}  // namespace
}  // namespace tenon::inline v1::gpu_device

TENON_DEVICE_MODULE(::tenon::gpu_device::GpuDevice, "GPU", "Tenon GPU device (OpenCL)")
