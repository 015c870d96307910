// SPDX-License-Identifier: Apache-2.0
// The AUTO device: ordered candidates, and their properties.
#include <algorithm>
#include <mutex>
#include <set>

#include <tenon/devices/auto/auto.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::auto_device {
namespace {

std::string base_of(const std::string& device) { return device.substr(0, device.find('.')); }

bool is_host_cpu(const DeviceHost& host, const std::string& device) {
  try {
    const auto names = host.get_property(device, device::capabilities.name()).as<std::vector<std::string>>();
    return std::find(names.begin(), names.end(), device::capability::HOST_CPU) != names.end();
  } catch (const Error&) {  // Not available: compile_model() reports it.
    return false;
  }
}

bool takes(const DeviceHost& host, const std::string& device, const std::string& key) {
  try {
    return takes_property(host, device, key);
  } catch (const Error&) {  // Not available: compile_model() reports it.
    return false;
  }
}

/// Dedicated hardware first, then the CPU, then devices of another runtime, and the CPU under another name.
int rank(const DeviceHost& host, const std::string& device) {
  const std::string base = base_of(device);
  if (base == "GPU") return is_host_cpu(host, device) ? 4 : 0;
  if (base == "NPU") return 1;
  if (base == "CPU") return 2;
  return 3;
}

class AutoDevice final : public Device {
 public:
  AutoDevice() {
    config_.declare(table_);
    table_.add_constant(available_devices, std::vector<std::string>{""});
    table_.add_constant(device::full_name, std::string(kName));
    table_.add(PropertyName(device::capabilities.name(), PropertyMutability::RO), [this] { return capabilities(); });
  }
  std::string name() const override { return kName; }
  bool is_composite() const override { return true; }
  void set_host(std::weak_ptr<DeviceHost> host) override { host_ = std::move(host); }

  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& given,
                                                   const AnyMap& properties) override {
    const auto host = this->host();
    Config config;
    AnyMap rest;
    read(properties, config, rest);
    // The background thread compiles it later, and the caller may change its own.
    const std::shared_ptr<const Model> model = given->clone();
    const auto candidates = occupancy_->order(candidates_of(*host, config), config.priority);
    if (config.priorities.empty())
      for (const std::string& device : candidates) config.priorities += (config.priorities.empty() ? "" : ",") + device;
    // A setting of the device's, unlike one of this call, need not be known to any of them.
    for (const auto& [key, value] : config.members)
      if (std::any_of(candidates.begin(), candidates.end(), [&](const auto& each) { return takes(*host, each, key); }))
        rest.emplace(key, value);
    const auto choice = [&](std::vector<std::string> devices) {
      return std::make_shared<Choice>(host, model, std::move(devices), rest, config, occupancy_);
    };
    // Report unknown properties now, not in the background thread. Unavailable devices are
    // skipped when their turn comes.
    for (const auto& candidate : candidates) {
      try {
        properties_for(*host, candidate, candidates, rest);
      } catch (const Error& error) {
        if (error.code() != Code::kUnavailable) throw;
      }
    }
    std::vector<std::shared_ptr<Choice>> choices;
    const auto members = members_of(candidates, config);
    if (!members.empty()) {
      std::string reasons;
      for (const std::string& device : members) {
        auto one = choice({device});
        try {
          one->start("");
          choices.push_back(std::move(one));
        } catch (const Error& error) {
          reasons += (reasons.empty() ? "" : "; ") + std::string(error.what());
        }
      }
      if (choices.empty()) throw Error(Code::kUnavailable, "AUTO: no device runs this model; " + reasons);
      for (const auto& one : choices) one->go_on_with(candidates);
    } else {
      choices.push_back(choice(candidates));
      const bool helps = config.startup_fallback && base_of(candidates.front()) != "CPU" &&
                         std::count(candidates.begin(), candidates.end(), "CPU") > 0;
      choices.front()->start(helps ? "CPU" : "");
    }
    return std::make_shared<AutoModel>(*model, std::move(choices));
  }

  /// The supported nodes of the candidate that supports most. Only compile_model() can tell whether a device supports
  /// all.
  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const override {
    const auto host = this->host();
    Config config;
    AnyMap rest;
    read(properties, config, rest);
    SupportedOpsMap best;
    const auto candidates = candidates_of(*host, config);
    for (const std::string& device : candidates) {
      try {
        auto supported = host->query_model(model, device, properties_for(*host, device, candidates, rest));
        for (auto& [node, where] : supported) where = kName;
        if (supported.size() > best.size()) best = std::move(supported);
      } catch (const Error&) {  // Not available: try the next.
      }
    }
    return best;
  }

  Any get_property(const std::string& name, const AnyMap& arguments) const override {
    if (name == device::priorities.name())
      if (const auto given = arguments.find(name); given != arguments.end()) return given->second;
    if (name == device::capabilities.name())
      return capabilities();  // Asks the Core, whose lock is taken before this one.
    const std::lock_guard lock(mutex_);
    return table_.get(name);
  }
  void set_property(const AnyMap& properties) override {
    const std::lock_guard lock(mutex_);
    table_.set(properties);
  }

 private:
  std::shared_ptr<DeviceHost> host() const {
    if (auto host = host_.lock()) return host;
    throw Error(Code::kFailedPrecondition, "AUTO: the Core of this device was destroyed");
  }

  /// What any of the devices can; that a model can be exported is none of AUTO's.
  Any capabilities() const {
    const auto host = this->host();
    std::set<std::string> all;
    for (const std::string& device : host->available_devices()) {
      try {
        const auto names = host->get_property(device, device::capabilities.name()).as<std::vector<std::string>>();
        all.insert(names.begin(), names.end());
      } catch (const Error&) {  // It is not available any more.
      }
    }
    all.erase(device::capability::EXPORT_IMPORT);
    all.erase(device::capability::HOST_CPU);
    return Any(std::vector<std::string>(all.begin(), all.end()));
  }

  /// Separates AUTO's own properties from those for its devices.
  void read(const AnyMap& properties, Config& config, AnyMap& rest) const {
    {
      const std::lock_guard lock(mutex_);
      config = config_;
    }
    PropertyTable table(kName);
    config.declare(table);
    AnyMap own;
    for (const auto& [key, value] : properties) (table.has(key) ? own : rest)[key] = value;
    table.set(own);
    for (const auto& [key, value] : config.members)
      if (own.count(key) > 0) rest[key] = value;
    const auto given = [&](const auto& property) { return own.count(property.name()) > 0; };
    // Pass hints on to the devices, as properties that they know.
    if (given(hint::performance_mode))
      rest.insert(hint::performance_mode(config.mode == hint::PerformanceMode::CUMULATIVE_THROUGHPUT
                                             ? hint::PerformanceMode::THROUGHPUT
                                             : config.mode));
  }

  /// The devices over which requests are spread; none where one device is chosen.
  static std::vector<std::string> members_of(std::vector<std::string> candidates, const Config& config) {
    if (config.mode == hint::PerformanceMode::CUMULATIVE_THROUGHPUT) return candidates;
    if (config.mode != hint::PerformanceMode::THROUGHPUT || !config.spreads_throughput) return {};
    const std::string first = base_of(candidates.front());
    std::erase_if(candidates, [&](const std::string& name) { return base_of(name) != first; });
    return candidates.size() > 1 ? candidates : std::vector<std::string>();
  }

  static std::vector<std::string> candidates_of(const DeviceHost& host, const Config& config) {
    const auto available = host.available_devices();
    std::vector<std::string> wanted, left_out;
    for (const std::string& name : split_devices(config.priorities))
      (name.front() == '-' ? left_out : wanted).push_back(name.front() == '-' ? name.substr(1) : name);
    std::vector<std::string> candidates = wanted;
    if (wanted.empty()) {
      candidates = available;
      std::stable_sort(candidates.begin(), candidates.end(),
                       [&](const auto& a, const auto& b) { return rank(host, a) < rank(host, b); });
    }
    std::erase_if(candidates, [&](const std::string& name) {
      return std::any_of(left_out.begin(), left_out.end(),
                         [&](const std::string& other) { return name == other || base_of(name) == other; });
    });
    if (candidates.empty()) {
      std::string names;
      for (const auto& name : available) names += (names.empty() ? "" : ", ") + name;
      std::string reasons;
      for (const auto& [device, reason] : host.unavailable_devices()) reasons += "; " + device + ": " + reason;
      throw Error(
          Code::kUnavailable,
          "AUTO: " +
              (config.priorities.empty() ? "there is no device" : "no device is left of \"" + config.priorities + '"') +
              "; available: " + (names.empty() ? "none" : names) + reasons);
    }
    return candidates;
  }

  std::weak_ptr<DeviceHost> host_;
  mutable std::mutex mutex_;
  Config config_;
  PropertyTable table_{kName};
  std::shared_ptr<Occupancy> occupancy_ = std::make_shared<Occupancy>();
};

}  // namespace
}  // namespace tenon::inline v1::auto_device

TENON_DEVICE_MODULE(::tenon::auto_device::AutoDevice, "AUTO", "Tenon AUTO: the best available device")
