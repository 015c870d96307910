// SPDX-License-Identifier: Apache-2.0
// The BATCH device: its list names one device, and how many requests are a batch.
#include <algorithm>
#include <charconv>
#include <mutex>

#include <tenon/devices/batch/batch.hpp>
#include <tenon/runtime/device/device_host.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::batch_device {
namespace {

/// "GPU(2)"; "GPU" leaves the size to the device.
struct Wanted {
  std::string device;
  std::size_t size = 0;
};
Wanted wanted_of(const std::string& text) {
  const auto refuse = [&](const std::string& what) {
    throw AssertFailure("BATCH:" + text + " " + what + "; BATCH:GPU(4) joins 4 requests on the GPU");
  };
  const auto names = split_devices(text);
  if (names.size() != 1) refuse(names.empty() ? "names no device" : "names several devices");
  const std::string& name = names.front();
  const auto open = name.find('(');
  if (open == std::string::npos && name.find(')') == std::string::npos) return {name, 0};
  if (open == std::string::npos || name.back() != ')') refuse("has brackets that do not belong together");
  Wanted wanted{name.substr(0, open), 0};
  const char* const end = name.data() + name.size() - 1;
  const auto [stop, error] = std::from_chars(name.data() + open + 1, end, wanted.size);
  constexpr std::size_t kMost = 1024;
  if (error != std::errc() || stop != end || wanted.size == 0 || wanted.size > kMost || wanted.device.empty())
    refuse("wants a number from 1 to " + std::to_string(kMost) + " in brackets behind the device's name");
  return wanted;
}

/// The size that the device says is best; 1 where it does not say.
std::size_t best_size(const DeviceHost& host, const std::string& device) {
  try {
    return std::max(1U, host.get_property(device, optimal_batch_size.name()).as<unsigned>());
  } catch (const Error&) {
    return 1;
  }
}

class BatchDevice final : public Device {
 public:
  BatchDevice() {
    config_.declare(table_);
    table_.add_constant(available_devices, std::vector<std::string>{""});
    table_.add_constant(device::full_name, std::string(kName));
    table_.add_constant(device::capabilities, std::vector<std::string>{});
  }
  std::string name() const override { return kName; }
  bool is_composite() const override { return true; }
  void set_host(std::weak_ptr<DeviceHost> host) override { host_ = std::move(host); }

  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                   const AnyMap& properties) override {
    const auto host = this->host();
    AnyMap rest;
    const Config config = read(properties, rest);
    const Wanted wanted = wanted_of(config.priorities);
    const AnyMap own = properties_for(*host, wanted.device, {wanted.device}, rest);
    const auto compiled = [&](const std::shared_ptr<const Model>& which) {
      CompiledModel made = host->compile_model(which, wanted.device, own);
      auto impl = host->device_model(made);
      return Compiled{std::move(made), std::move(impl)};
    };
    Compiled single = compiled(model);
    const std::size_t size = wanted.size != 0 ? wanted.size : best_size(*host, wanted.device);
    const auto batched = size > 1 ? batched_model(*model, size) : nullptr;
    if (!batched) return single.impl;  // As OpenVINO's: what has no batch runs as it is.
    return std::make_shared<BatchModel>(*model, wanted.device, std::move(single), compiled(batched), size,
                                        std::chrono::milliseconds(config.timeout_ms));
  }

  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const override {
    const auto host = this->host();
    AnyMap rest;
    const Wanted wanted = wanted_of(read(properties, rest).priorities);
    auto supported =
        host->query_model(model, wanted.device, properties_for(*host, wanted.device, {wanted.device}, rest));
    for (auto& [node, where] : supported) where = kName;
    return supported;
  }

  Any get_property(const std::string& name, const AnyMap& arguments) const override {
    if (name == device::priorities.name())
      if (const auto given = arguments.find(name); given != arguments.end()) return given->second;
    const std::lock_guard lock(mutex_);
    return table_.get(name);
  }
  void set_property(const AnyMap& properties) override {
    const std::lock_guard lock(mutex_);
    table_.set(properties);
  }

 private:
  struct Config {
    std::string priorities;
    std::uint32_t timeout_ms = 1000;
    void declare(PropertyTable& table) {
      table.add_value(device::priorities, priorities);
      table.add_value(auto_batch_timeout, timeout_ms);
    }
  };
  std::shared_ptr<DeviceHost> host() const {
    if (auto host = host_.lock()) return host;
    throw Error(Code::kFailedPrecondition, "BATCH: the Core of this device was destroyed");
  }
  /// Separates BATCH's own properties from those for its device.
  Config read(const AnyMap& properties, AnyMap& rest) const {
    Config config;
    {
      const std::lock_guard lock(mutex_);
      config = config_;
    }
    PropertyTable table(kName);
    config.declare(table);
    AnyMap own;
    for (const auto& [key, value] : properties) (table.has(key) ? own : rest)[key] = value;
    table.set(own);
    return config;
  }

  std::weak_ptr<DeviceHost> host_;
  mutable std::mutex mutex_;
  Config config_;
  PropertyTable table_{kName};
};

}  // namespace
}  // namespace tenon::inline v1::batch_device

TENON_DEVICE_MODULE(::tenon::batch_device::BatchDevice, "BATCH", "Tenon BATCH: requests joined to batches")
