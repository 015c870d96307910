// SPDX-License-Identifier: Apache-2.0
// The CPU device: properties, compilation, and the module's factory.
#include <cpuid.h>
#include <array>
#include <cstring>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/devices/cpu/compiled_model_internal.hpp>

namespace tenon::inline v1::cpu_device {
namespace {

/// The processor's own name for itself.
std::string brand() {
  std::array<unsigned, 12> words{};
  unsigned highest = __get_cpuid_max(0x80000000u, nullptr);
  if (highest >= 0x80000004u) {
    for (unsigned i = 0; i < 3; ++i)
      __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
  }
  char text[sizeof words + 1] = {};
  std::memcpy(text, words.data(), sizeof words);
  std::string name = text;
  const auto begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
  return begin == name.npos ? "x86-64 CPU" : name.substr(begin, end - begin + 1);
}

class CpuDevice final : public Device {
 public:
  CpuDevice() {
    config_.declare(table_);
    table_.add_constant(available_devices, std::vector<std::string>{""});
    table_.add_constant(device::full_name, brand());
    table_.add_constant(device::architecture, std::string("intel64"));
    table_.add_constant(device::type, device::Type::INTEGRATED);
    table_.add_constant(device::capabilities, std::vector<std::string>{device::capability::FP32});
    table_.add_constant(execution_devices, std::vector<std::string>{"CPU"});
    table_.add_constant(range_for_async_infer_requests, std::tuple<unsigned, unsigned, unsigned>{1, 1, 1});
    table_.add(optimal_number_of_infer_requests,
               [this] { return Any(static_cast<std::uint32_t>(std::max(1, config_.stream_count()))); });
    table_.add(compatibility_check, [] { return Any(CompatibilityCheck::NOT_APPLICABLE); });
    table_.add_constant(range_for_streams,
                        std::tuple<unsigned, unsigned>{1, static_cast<unsigned>(engine::Workers::available_cpus())});
  }

  std::string name() const override { return "CPU"; }

  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                   const AnyMap& properties) override {
    return std::make_shared<CompiledModel>(model, configured(properties));
  }

  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const override {
    configured(properties);
    SupportedOpsMap supported;
    for (const auto& node : model->get_ordered_ops())
      if (engine::is_supported(*node)) supported[node->get_friendly_name()] = "CPU";
    return supported;
  }

  Any get_property(const std::string& name, const AnyMap& arguments) const override {
    if (name == compatibility_check.name()) return Any(compatible(arguments));
    const std::lock_guard lock(mutex_);
    return table_.get(name);
  }
  void set_property(const AnyMap& properties) override {
    const std::lock_guard lock(mutex_);
    table_.set(properties);
  }

 private:
  /// The device's settings with those of one call over them.
  Config configured(const AnyMap& properties) const {
    Config config;
    {
      const std::lock_guard lock(mutex_);
      config = config_;
    }
    PropertyTable table("CPU");
    config.declare(table);
    table.set(properties);
    return config;
  }

  /// Whether a blob that says RUNTIME_REQUIREMENTS of itself would run here.
  static CompatibilityCheck compatible(const AnyMap& arguments) {
    const auto found = arguments.find(runtime_requirements.name());
    if (found == arguments.end()) return CompatibilityCheck::NOT_APPLICABLE;
    return found->second.as<std::string>() == requirements() ? CompatibilityCheck::SUPPORTED
                                                             : CompatibilityCheck::UNSUPPORTED;
  }

  mutable std::mutex mutex_;
  Config config_;
  PropertyTable table_{"CPU"};
};

}  // namespace
}  // namespace tenon::inline v1::cpu_device

TENON_DEVICE_MODULE(::tenon::cpu_device::CpuDevice, "CPU", "Tenon CPU device (oneDNN, TBB)")
