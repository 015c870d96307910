// SPDX-License-Identifier: Apache-2.0
// The NPU device: properties, compiling through the driver, contexts, and the module's factory.
#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

#include <tenon/devices/npu/adapt.hpp>
#include <tenon/devices/npu/batch.hpp>
#include <tenon/devices/npu/compiled_model.hpp>
#include <tenon/devices/npu/remote.hpp>
#include <tenon/devices/npu/weightless.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::npu_device {
namespace {

/// 10^9 operations per second: clock x tiles x 8-bit operations per tile and cycle, as the driver reports them.
std::map<element::Type, float> gops_of(const Npu& npu) {
  const ze_device_properties_t& p = npu.properties;
  const double per_cycle =
      static_cast<double>(p.numSlices) * p.numSubslicesPerSlice * p.numEUsPerSubslice * p.physicalEUSimdWidth;
  const auto int8 = static_cast<float>(per_cycle * p.coreClockRate / 1e9);
  return {
      {element::f32, 0.f}, {element::f16, int8 / 2}, {element::bf16, 0.f}, {element::u8, int8}, {element::i8, int8}};
}

class NpuDevice final : public Device {
 public:
  NpuDevice() : first_(npus().front()) {
    Settings::Asked asked;
    asked.max_tiles = [this] { return asked_npu()->max_tiles(); };
    settings_.declare(table_, first_->abilities(), asked);
    declare_facts();
  }

  std::string name() const override { return "NPU"; }
  /// A single NPU has no id; AVAILABLE_DEVICES reports one.
  std::vector<std::string> available_ids() const override {
    if (npus().size() == 1) return {""};
    return ids();
  }

  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                   const AnyMap& properties) override {
    Settings settings = configured(properties);
    const auto npu = npu_for(settings);
    return compile(model, npu, context_of(npu), std::move(settings));
  }
  std::shared_ptr<CompiledModelImpl> compile_in_context(const std::shared_ptr<const Model>& model,
                                                        const std::shared_ptr<RemoteContextImpl>& context,
                                                        const AnyMap& properties) override {
    const auto own = own_context(context);
    return compile(model, own->npu(), own, configured(properties));
  }
  std::shared_ptr<CompiledModelImpl> import_model(std::istream& stream, const AnyMap& properties) override {
    return import_blob(read_all(stream), false, properties);
  }
  std::shared_ptr<CompiledModelImpl> import_in_context(std::istream& stream,
                                                       const std::shared_ptr<RemoteContextImpl>& context,
                                                       const AnyMap& properties) override {
    const auto own = own_context(context);
    AnyMap rest = properties;
    const WeightsSource weights = take_weights(rest);
    return import(read_all(stream), false, own->npu(), own, configured(rest), weights);
  }
  std::shared_ptr<CompiledModelImpl> import_blob(const Tensor& blob, bool is_verified,
                                                 const AnyMap& properties) override {
    AnyMap rest = properties;
    const WeightsSource weights = take_weights(rest);
    Settings settings = configured(rest);
    const auto npu = npu_for(settings);
    return import(blob, is_verified, npu, context_of(npu), std::move(settings), weights);
  }

  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const override {
    const Settings settings = configured(properties);
    const auto npu = npu_for(settings);
    SupportedOpsMap supported;
    const std::string platform = platform_for(settings, *npu);
    const auto as_compiled = adapted(model, *npu);
    const auto layers = supported_layers(*npu, ir_of(*as_compiled, settings, *npu),
                                         flags_of(*as_compiled, config_of(settings, *npu, platform), settings, *npu));
    for (const std::string& layer : own_layers(*model, *as_compiled, layers)) supported[layer] = device_name_of(*npu);
    return supported;
  }

  Any get_property(const std::string& name, const AnyMap& arguments) const override {
    const std::lock_guard lock(mutex_);
    const auto id = arguments.find(device::id.name());
    asked_ = id == arguments.end() ? settings_.device_id : id->second.as<std::string>();
    if (name == compatibility_check.name()) return Any(compatible(arguments));
    if (!table_.has(name)) {
      if (const auto own = settings_.given.find(name); own != settings_.given.end()) return Any(own->second);
      if (name.compare(0, 4, "NPU_") == 0 && asked_npu()->takes_option(name)) return Any(std::string());
    }
    return table_.get(name);
  }
  void set_property(const AnyMap& properties) override {
    const std::lock_guard lock(mutex_);
    apply(settings_, table_, properties, *first_);
  }

  std::shared_ptr<RemoteContextImpl> create_context(const AnyMap& params) override {
    AnyMap rest = params;
    const auto npu = npu_of(take_id(rest));
    return std::make_shared<NpuContext>(npu, std::move(rest));
  }
  std::shared_ptr<RemoteContextImpl> default_context(const AnyMap& params) override {
    AnyMap rest = params;
    return context_of(npu_of(take_id(rest)));
  }

 private:
  static std::vector<std::string> ids() {
    std::vector<std::string> ids;
    for (const auto& npu : npus()) ids.push_back(npu->id);
    return ids;
  }
  std::string take_id(AnyMap& params) const {
    const auto node = params.extract(device::id.name());
    if (node) return node.mapped().as<std::string>();
    const std::lock_guard lock(mutex_);
    return settings_.device_id;
  }

  /// One object for all calls and models, as users expect.
  std::shared_ptr<NpuContext> context_of(const std::shared_ptr<const Npu>& npu) {
    const std::lock_guard lock(mutex_);
    auto& context = contexts_[npu.get()];
    if (!context) context = std::make_shared<NpuContext>(npu, AnyMap{});
    return context;
  }
  static std::shared_ptr<NpuContext> own_context(const std::shared_ptr<RemoteContextImpl>& context) {
    auto own = std::dynamic_pointer_cast<NpuContext>(context);
    if (!own)
      throw Error(Code::kInvalidArgument,
                  "NPU: " + (context ? "a context of " + context->device_name() : std::string("a null context")) +
                      " is not one of this device");
    return own;
  }

  /// Sets the properties that the device declares, and further options that the driver's compiler knows.
  static void apply(Settings& settings, const PropertyTable& table, const AnyMap& properties, const Npu& npu) {
    AnyMap known, others;
    for (const auto& [key, value] : properties) {
      const bool is_compilers = !table.has(key) && key.compare(0, 4, "NPU_") == 0 && npu.takes_option(key);
      (is_compilers ? others : known).emplace(key, value);
    }
    table.set(known);
    for (const auto& [key, value] : others) settings.given[key] = value.to_text();
  }
  Settings configured(const AnyMap& properties) const {
    Settings settings;
    {
      const std::lock_guard lock(mutex_);
      settings = settings_;
    }
    PropertyTable table("NPU");
    settings.declare(table, first_->abilities());
    apply(settings, table, properties, *first_);
    return settings;
  }
  static std::shared_ptr<const Npu> npu_for(const Settings& settings) { return npu_of(settings.device_id); }
  static std::string platform_for(const Settings& settings, const Npu& npu) {
    std::string platform = settings.platform;
    if (platform == "AUTO_DETECT") platform.clear();
    if (platform.compare(0, 3, "NPU") == 0) platform.erase(0, 3);
    return platform.empty() ? npu.platform : platform;
  }
  /// Removes the properties that name the source of a weightless blob's weights; other blobs ignore them.
  static WeightsSource take_weights(AnyMap& properties) {
    WeightsSource source;
    if (const auto model = properties.extract(hint::model.name()))
      source.model = model.mapped().as<std::shared_ptr<const Model>>();
    if (const auto path = properties.extract(weights_path.name())) source.path = path.mapped().as<std::string>();
    return source;
  }

  static constexpr const char *kSerializer = "NPU_MODEL_SERIALIZER_VERSION", *kByAddress = "NO_WEIGHTS_COPY";
  /// Whether the driver's compiler reads weights by address, which avoids copying them.
  static bool takes_addresses(const Settings& settings, const Npu& npu) {
    const auto own = settings.given.find(kSerializer);
    return own == settings.given.end() ? npu.takes_option(kSerializer, kByAddress) : own->second == kByAddress;
  }
  static Tensor ir_of(const Model& model, const Settings& settings, const Npu& npu) {
    for (const auto& node : model.get_ordered_ops())
      if (has_strings(*node))
        throw Error(Code::kUnimplemented,
                    "NPU: " + node->describe() + " takes or makes strings, which only the CPU device runs");
    return takes_addresses(settings, npu) ? write_in_memory_ir_by_address(model, npu.compiler)
                                          : write_in_memory_ir(model, npu.compiler);
  }
  /// Options for the driver's compiler, except for the form of the IR.
  static std::map<std::string, std::string> config_of(const Settings& settings, const Npu& npu,
                                                      const std::string& platform) {
    std::map<std::string, std::string> config;
    for (const auto& [key, value] : settings.given)
      if (key != kSerializer && npu.takes_option(key)) config[key] = value;
    config[intel_npu::platform.name()] = platform;
    return config;
  }
  static std::string flags_of(const Model& model, std::map<std::string, std::string> config, const Settings& settings,
                              const Npu& npu) {
    if (takes_addresses(settings, npu)) config[kSerializer] = kByAddress;
    return build_flags(model, config, !npu.at_least(1, 9));
  }
  /// Sets whether the driver may reclaim memory while the device is idle; per context, by the last model's setting. For
  /// an application's own context only if requested.
  static void tell_idle_memory(const Npu& npu, const Settings& settings) {
    if (!npu.context_table || (npu.applications && !settings.keep_idle_memory)) return;
    abi::ContextNpuProperties wanted;
    wanted.options = settings.keep_idle_memory ? 0u : std::uint32_t{abi::kContextIdleOptimizations};
    check(call(npu.context_table->set_properties, npu.own_context, &wanted), "pfnSetProperties",
          "setting the driver's policy for idle memory");
  }
  static std::uint32_t graph_flags_of(const Settings& settings) {
    std::uint32_t flags = 0;
    // Avoid a second cache: with CACHE_DIR the driver need not cache.
    if (settings.bypass_umd_caching || !settings.cache_dir.empty()) flags |= abi::kGraphDisableCaching;
    if (settings.profiling && settings.profiling_type == ProfilingType::MODEL) flags |= abi::kGraphEnableProfiling;
    return flags;
  }

  std::shared_ptr<CompiledModelImpl> compile(const std::shared_ptr<const Model>& model,
                                             const std::shared_ptr<const Npu>& npu,
                                             std::shared_ptr<RemoteContextImpl> context, Settings settings) {
    const auto begin = Clock::now();
    tell_idle_memory(*npu, settings);
    ModelInfo info;
    info.name = model->get_friendly_name();
    info.platform = platform_for(settings, *npu);
    info.ports = Ports::of(*model);
    info.profiled = settings.profiling;
    const auto config = config_of(settings, *npu, info.platform);
    const auto for_compiler = for_driver(model, settings.batch_mode, *npu, info);
    auto graph = compile_graph(*for_compiler, config, settings, npu, info.name);
    const log::Level level = settings.log_level;
    const bool cached = graph->loaded_from_driver_cache();
    auto compiled =
        std::make_shared<CompiledModel>(std::move(graph), std::move(info), std::move(settings), std::move(context));
    compiled->remember(model, config);
    log_line(level, log::Level::INFO,
             "compiled '" + model->get_friendly_name() + "' in " +
                 std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count()) +
                 " ms" + (cached ? ", from the driver's cache" : ""));
    return compiled;
  }

  static std::shared_ptr<Graph> compile_graph(const Model& model, const std::map<std::string, std::string>& config,
                                              const Settings& settings, const std::shared_ptr<const Npu>& npu,
                                              const std::string& name) {
    return Graph::compile(npu, ir_of(model, settings, *npu), flags_of(model, config, settings, *npu),
                          graph_flags_of(settings), name);
  }
  static std::shared_ptr<Graph> import_graph(const Blob& blob, const Settings& settings,
                                             const std::shared_ptr<const Npu>& npu, const WeightsSource& weights) {
    if (blob.kind == BlobKind::kNative) return Graph::import(npu, blob.native);
    const Weightless read =
        read_weightless({static_cast<const char*>(blob.native.data()), blob.native.size_bytes()}, weights);
    // This machine's driver may support less than the one that exported it.
    return compile_graph(*adapted(read.model, *npu), read.config, settings, npu, blob.info.name);
  }

  std::shared_ptr<CompiledModelImpl> import(const Tensor& bytes, bool is_verified,
                                            const std::shared_ptr<const Npu>& npu,
                                            std::shared_ptr<RemoteContextImpl> context, Settings settings,
                                            WeightsSource weights) {
    if (weights.path.empty()) weights.path = settings.weights_path;
    const bool is_raw =
        settings.import_raw && (!bytes || bytes.size_bytes() < 8 || std::memcmp(bytes.data(), "TNPUBLOB", 8) != 0);
    Blob blob;
    if (is_raw) {
      if (!bytes || bytes.size_bytes() == 0) throw Error(Code::kDataLoss, "NPU: the driver's blob is empty");
      blob.native = bytes;
      blob.info.platform = npu->platform;
      blob.info.name = "imported";
    } else {
      blob = read_blob(bytes, is_verified, settings.disable_version_check);
      if (blob.info.platform != npu->platform)
        throw Error(Code::kFailedPrecondition, "NPU: the compiled blob is for platform " + blob.info.platform +
                                                   ", this device is a " + npu->platform +
                                                   "; compile the model for NPU_PLATFORM " + npu->platform);
    }
    auto graph = import_graph(blob, settings, npu, weights);
    if (is_raw) blob.info.ports = ports_of(*graph);
    if (settings.profiling && settings.profiling_type == ProfilingType::MODEL && !blob.info.profiled && !is_raw)
      throw Error(Code::kFailedPrecondition, "NPU: Model was not compiled with profiling enabled (PERF_COUNT)");
    return std::make_shared<CompiledModel>(std::move(graph), std::move(blob.info), std::move(settings),
                                           std::move(context));
  }

  CompatibilityCheck compatible(const AnyMap& arguments) const {
    const auto found = arguments.find(runtime_requirements.name());
    if (found == arguments.end()) return CompatibilityCheck::NOT_APPLICABLE;
    const auto npu = asked_npu();
    return found->second.as<std::string>() == requirements_of(*npu, npu->platform) ? CompatibilityCheck::SUPPORTED
                                                                                   : CompatibilityCheck::UNSUPPORTED;
  }

  /// Settings have values whether the device that they name is present or not; only what is asked of it needs it.
  std::shared_ptr<const Npu> asked_npu() const { return npu_of(asked_); }

  void declare_facts() {
    table_.add_constant(available_devices, ids());
    table_.add_constant(device::capabilities,
                        std::vector<std::string>{device::capability::FP16, device::capability::INT8,
                                                 device::capability::EXPORT_IMPORT});
    const auto add = [this](const auto& property, auto answer) {
      table_.add(PropertyName(property.name(), PropertyMutability::RO),
                 [this, answer] { return Any(answer(*asked_npu())); });
    };
    add(device::full_name, [](const Npu& npu) { return npu.facts.name; });
    add(device::architecture, [](const Npu& npu) { return npu.platform; });
    add(device::type,
        [](const Npu& npu) { return npu.facts.integrated ? device::Type::INTEGRATED : device::Type::DISCRETE; });
    add(device::uuid, [](const Npu& npu) {
      device::UUID uuid;
      std::copy_n(npu.properties.uuid.id, uuid.uuid.size(), uuid.uuid.begin());
      return uuid;
    });
    add(device::gops, gops_of);
    add(device::pci_info, [](const Npu& npu) {
      ze_pci_ext_properties_t pci{};
      pci.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES;
      check(call(zeDevicePciGetPropertiesExt, npu.device, &pci), "zeDevicePciGetPropertiesExt",
            "asking for the NPU's PCI address");
      return device::PCIInfo{pci.address.domain, pci.address.bus, pci.address.device, pci.address.function};
    });
    add(hint::model, [](const Npu&) { return std::shared_ptr<const Model>(); });
    add(intel_npu::device_alloc_mem_size, [](const Npu& npu) { return npu.memory().allocated; });
    add(intel_npu::device_total_mem_size, [](const Npu& npu) { return npu.memory().total; });
    add(intel_npu::driver_version, [](const Npu& npu) { return npu.facts.driver->driver_version; });
    add(intel_npu::compiler_version,
        [](const Npu& npu) { return static_cast<std::uint32_t>(npu.compiler.major) << 16 | npu.compiler.minor; });
    add(execution_devices, [](const Npu& npu) {
      return std::vector<std::string>{npus().size() > 1 ? "NPU." + npu.id : std::string("NPU")};
    });
    add(optimal_number_of_infer_requests,
        [this](const Npu& npu) { return settings_.optimal_requests(platform_for(settings_, npu)); });
    table_.add_constant(range_for_async_infer_requests, std::tuple<unsigned, unsigned, unsigned>{1, 8, 1});
    table_.add_constant(range_for_streams, std::tuple<unsigned, unsigned>{0, 8});
    table_.add(compatibility_check, [] { return Any(CompatibilityCheck::NOT_APPLICABLE); });
    // Everything besides Tenon that a blob depends on: device, driver, and compiler options.
    std::vector<PropertyName> caching{device::architecture, intel_npu::driver_version, intel_npu::compiler_version};
    for (const char* key :
         {hint::performance_mode.name(), hint::execution_mode.name(), hint::inference_precision.name(),
          enable_profiling.name(), intel_npu::platform.name(), intel_npu::compilation_mode_params.name(),
          intel_npu::compiler_dynamic_quantization.name(), intel_npu::qdq_optimization.name(),
          intel_npu::qdq_optimization_aggressive.name(), intel_npu::tiles.name(), intel_npu::max_tiles.name(),
          stepping.name(), dma_engines.name(), compilation_mode.name(), backend_compilation_params.name(),
          batch_mode.name(), intel_npu::turbo.name(), intel_npu::enable_strides_for.name()})
      if (table_.has(key)) caching.emplace_back(std::string(key));
    table_.add_constant(caching_properties, caching);
  }

  const std::shared_ptr<const Npu> first_;
  mutable std::mutex mutex_;
  mutable std::string asked_;  ///< The id of the NPU that get_property queries, under mutex_.
  Settings settings_;
  PropertyTable table_{"NPU"};
  std::map<const Npu*, std::shared_ptr<NpuContext>> contexts_;
};

}  // namespace
}  // namespace tenon::inline v1::npu_device

TENON_DEVICE_MODULE(::tenon::npu_device::NpuDevice, "NPU", "Tenon NPU device (Level Zero)")
