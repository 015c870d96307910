// SPDX-License-Identifier: Apache-2.0
// The implementation of Core: devices by name, the properties that were set, compiling and importing.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <istream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/router.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/runtime/cache/cache.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/device_host.hpp>
#include <tenon/runtime/internal/compile.hpp>
#include <tenon/runtime/internal/out_of_memory.hpp>  // IWYU pragma: export
#include <tenon/runtime/internal/registry.hpp>
#include <tenon/runtime/request/model_state.hpp>

namespace tenon {
inline namespace v1 {

inline constexpr const char* kInputFrames = "TENON_INPUT_FRAMES";

/// "GPU.1" is device GPU with id 1; "AUTO:GPU,CPU" is device AUTO over those, "MULTI:GPU,CPU" is AUTO that runs on all of them.
struct DeviceName {
  std::string base;
  std::string id;
  std::string members;
  bool runs_on_all = false;
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
    runs_on_all = base == "MULTI";
    if (runs_on_all) base = "AUTO";
  }
  /// Whether properties given for this name are meant for `other`: "GPU" means each GPU, "GPU.1" no GPU.0.
  bool means(const DeviceName& other) const {
    return base == other.base && (id.empty() || other.id.empty() || id == other.id);
  }
};

class Core::Impl final : public DeviceHost {
 public:
  Impl() : shared(std::make_shared<SharedState>()) { shared->router.add(host_context()); }
  struct Entry {
    std::shared_ptr<Device> device;
    const DeviceModule* module = nullptr;
  };
  std::map<std::string, KnownModule> known(std::string* unread = nullptr) const;
  Entry entry(const std::string& name) const;
  /// Sets those of `properties` that the device lists as writable.
  static void set_supported(Device& device, const AnyMap& properties);
  void set_for_all(const AnyMap& properties);
  /// The device, with the id in `properties` when the name has one.
  std::shared_ptr<Device> device(const DeviceName& name, AnyMap* properties) const;
  static std::vector<std::string> ids_property(Device& device);
  CompileOptions split(const DeviceName& name, const AnyMap& properties) const;
  /// As split(). For a composite device, hands the properties of cache and devices on to its members.
  CompileOptions options_for(const DeviceName& name, const std::shared_ptr<Device>& device,
                             const AnyMap& properties) const;
  /// What MULTI says to AUTO: every device of the list runs, and a hint that is given is one for each of them.
  static AnyMap for_all_members(const DeviceName& name, AnyMap properties);
  /// The device to use if the caller left the choice open.
  DeviceName choose(const std::string& device_name, const std::shared_ptr<const Model>& model) const;
  CompiledModel compile(ModelSource source, const std::string& device_name, const AnyMap& properties);
  CompiledModel compile(const std::shared_ptr<const Model>& model, const std::string& device_name,
                        const AnyMap& properties);
  CompiledModel compile_file(const std::filesystem::path& path, const std::string& device_name,
                             const AnyMap& properties);
  CompiledModel import(std::istream& stream, const std::string& device_name, const AnyMap& properties);
  SupportedOpsMap query(const std::shared_ptr<const Model>& model, const std::string& device_name,
                        const AnyMap& properties) const;
  // DeviceHost, for composite devices.
  std::vector<std::string> available_devices() const override;
  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const std::string& device,
                              const AnyMap& properties) override;
  CompiledModel import_model(std::istream& stream, const std::string& device, const AnyMap& properties) override;
  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const std::string& device,
                              const AnyMap& properties) const override;
  Any get_property(const std::string& device, const std::string& name) const override;
  std::shared_ptr<CompiledModelImpl> device_model(const CompiledModel& model) const override;
  std::map<std::string, std::string> unavailable_devices() const override;
  std::shared_ptr<Ledger> shared_ledger() const { return {shared, &shared->ledger}; }
  /// Whether model files are mapped: the call's setting, else this Core's.
  bool maps_files(const AnyMap& properties) const;
  /// The first available device that runs the whole model.
  std::string select(const std::shared_ptr<const Model>& model) const;
  static void add_all(const AnyMap& from, AnyMap& to);
  static void add_nested(const Any& value, const DeviceName& name, AnyMap& to);

  std::weak_ptr<DeviceHost> self;  ///< Given to composite devices.
  std::shared_ptr<SharedState> shared;
  mutable std::mutex mutex;
  mutable std::map<std::string, Entry> entries;  ///< Made when first asked for.
  std::map<std::string, KnownModule> registered;
  std::map<std::string, AnyMap> configs;
  AnyMap for_all;  ///< Set without naming a device.
  bool map_files = true;
  bool tbb_terminate = false;  ///< Stored and returned; has no effect, since worker threads end with their device.
  ZeroCopy policy = ZeroCopy::kPrefer;
  cache::Settings cache_for_all;
  std::map<std::string, AnyMap> caches;  ///< Cache properties of devices that have their own.
};

}  // namespace v1
}  // namespace tenon
