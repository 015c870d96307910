// SPDX-License-Identifier: Apache-2.0
// The CPU device: properties, compiling, and the module's factory.
#include <cpuid.h>
#include <array>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/devices/cpu/compiled_model.hpp>
#include <tenon/graph/readers/read_model.hpp>

namespace tenon::inline v1::cpu_device {
namespace {

/// The processor's brand string.
std::string brand() {
  std::array<unsigned, 12> words{};
  unsigned highest = __get_cpuid_max(0x80000000u, nullptr);
  if (highest >= 0x80000004u) {
    unsigned* word = words.data();
    for (unsigned leaf = 0x80000002u; leaf <= 0x80000004u; ++leaf, word += 4)
      __get_cpuid(leaf, word, word + 1, word + 2, word + 3);
  }
  char text[sizeof words + 1] = {};
  std::memcpy(text, words.data(), sizeof words);
  std::string name = text;
  const auto begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
  return begin == name.npos ? "x86-64 CPU" : name.substr(begin, end - begin + 1);
}

std::vector<std::string> capabilities() {
  std::vector<std::string> names{device::capability::FP32, device::capability::INT8, device::capability::EXPORT_IMPORT};
  if (engine::has_native_bf16()) names.emplace_back(device::capability::BF16);
  return names;
}

class CpuDevice final : public Device {
 public:
  CpuDevice() {
    PropertyTable& table = properties_.table();
    table.add_constant(available_devices, std::vector<std::string>{""});
    table.add_constant(device::full_name, brand());
    table.add_constant(device::architecture, std::string("intel64"));
    table.add_constant(device::type, device::Type::INTEGRATED);
    table.add_constant(device::capabilities, capabilities());
    // Dependencies of a blob besides Tenon and the processor, which are in the blob itself.
    std::vector<PropertyName> caching{device::full_name, hint::inference_precision};
    if (table.has(hint::execution_mode.name())) caching.emplace_back(hint::execution_mode);
    table.add_constant(caching_properties, caching);
    table.add_constant(execution_devices, std::vector<std::string>{"CPU"});
    table.add_constant(range_for_async_infer_requests, std::tuple<unsigned, unsigned, unsigned>{1, 1, 1});
    table.add(optimal_number_of_infer_requests,
              [this] { return Any(static_cast<std::uint32_t>(std::max(1, properties_.config().stream_count()))); });
    table.add(compatibility_check, [] { return Any(CompatibilityCheck::NOT_APPLICABLE); });
    table.add_constant(range_for_streams,
                       std::tuple<unsigned, unsigned>{1, static_cast<unsigned>(engine::Workers::available_cpus())});
  }

  std::string name() const override { return "CPU"; }

  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                   const AnyMap& properties) override {
    return std::make_shared<CompiledModel>(model, properties_.with(properties));
  }

  std::shared_ptr<CompiledModelImpl> import_model(std::istream& stream, const AnyMap& properties) override {
    return import_blob(read_all(stream), false, properties);
  }
  std::shared_ptr<CompiledModelImpl> import_blob(const Tensor& blob, bool is_verified,
                                                 const AnyMap& properties) override {
    AnyMap own = properties;
    // Sources of a weightless blob's weights.
    const auto model = own.extract(hint::model.name());
    const auto path = own.extract(weights_path.name());
    const auto source = [&]() -> std::shared_ptr<const Model> {
      if (model) return model.mapped().as<std::shared_ptr<const Model>>();
      if (path) return read_model(path.mapped().as<std::string>());
      return nullptr;
    };
    const engine::Blob read = engine::read_blob(blob, is_verified, source);
    if (const auto wanted = properties.find(hint::inference_precision.name()); wanted != properties.end()) {
      auto type = wanted->second.as<element::Type>();
      if (type == element::f16) type = element::f32;  // As where it was compiled.
      if (type != element::dynamic && type != read.precision)
        throw Error(Code::kFailedPrecondition,
                    "CPU: the compiled blob computes in " + std::string(tenon::name(read.precision)) +
                        ", INFERENCE_PRECISION_HINT asks for " + wanted->second.as<element::Type>().to_string() +
                        "; leave the hint out, or compile the model anew");
    }
    return std::make_shared<CompiledModel>(read, properties_.with(own));
  }

  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const override {
    properties_.with(properties);
    SupportedOpsMap supported;
    for (const auto& node : model->get_ordered_ops())
      if (engine::is_supported(*node)) supported[node->get_friendly_name()] = "CPU";
    return supported;
  }

  Any get_property(const std::string& name, const AnyMap& arguments) const override {
    if (name == compatibility_check.name()) return Any(compatible(arguments));
    return properties_.get(name);
  }
  void set_property(const AnyMap& properties) override { properties_.set(properties); }

 private:
  /// Whether a blob with these RUNTIME_REQUIREMENTS could run here.
  static CompatibilityCheck compatible(const AnyMap& arguments) {
    const auto found = arguments.find(runtime_requirements.name());
    if (found == arguments.end()) return CompatibilityCheck::NOT_APPLICABLE;
    return found->second.as<std::string>() == requirements() ? CompatibilityCheck::SUPPORTED
                                                             : CompatibilityCheck::UNSUPPORTED;
  }

  DeviceProperties<Config> properties_{"CPU"};
};

}  // namespace
}  // namespace tenon::inline v1::cpu_device

TENON_DEVICE_MODULE(::tenon::cpu_device::CpuDevice, "CPU", "Tenon CPU device (oneDNN, TBB)")
