// SPDX-License-Identifier: Apache-2.0
// The HETERO device: assigns nodes to the devices in its list, in order of preference.
#include <mutex>
#include <sstream>

#include <tenon/devices/hetero/hetero.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::hetero {
namespace {

class HeteroDevice final : public Device {
 public:
  HeteroDevice() {
    table_.add_value(device::priorities, priorities_);
    table_.add_constant(available_devices, std::vector<std::string>{""});
    table_.add_constant(device::full_name, std::string(kName));
    // Applies if the members support it.
    table_.add_constant(device::capabilities, std::vector<std::string>{device::capability::EXPORT_IMPORT});
  }
  std::string name() const override { return kName; }
  bool is_composite() const override { return true; }
  void set_host(std::weak_ptr<DeviceHost> host) override { host_ = std::move(host); }

  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& given,
                                                   const AnyMap& properties) override {
    const auto host = this->host();
    const Call call = read(properties);
    // Parts and initial values refer to it, and the caller may change its own.
    const std::shared_ptr<const Model> model = given->clone();
    const Assignment assignment = assign(*host, model, call.devices, call.properties, false);
    Partition partition = cut(*model, assignment);
    std::vector<CompiledModel::Compiled> parts;
    for (const Part& part : partition.parts) {
      auto compiled = host->compile_model(part.model, part.device,
                                          properties_for(*host, part.device, call.devices, call.properties));
      auto impl = host->device_model(compiled);
      parts.push_back({std::move(compiled), std::move(impl)});
    }
    return std::make_shared<CompiledModel>(Ports::of(*model), model->get_friendly_name(), std::move(partition),
                                           std::move(parts), described(*model, assignment));
  }

  std::shared_ptr<CompiledModelImpl> import_model(std::istream& stream, const AnyMap& properties) override {
    const auto host = this->host();
    AnyMap mine = properties;
    mine.erase(device::priorities.name());  // The blob names its parts' devices.
    Imported imported = read_blob(read_all(stream));
    std::vector<std::string> devices;
    for (const Part& part : imported.partition.parts) devices.push_back(part.device);
    std::vector<CompiledModel::Compiled> parts;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      std::istringstream blob(std::move(imported.blobs[i]));
      auto compiled = host->import_model(blob, devices[i], properties_for(*host, devices[i], devices, mine));
      auto impl = host->device_model(compiled);
      check_ports(*impl, imported.partition.parts[i]);
      parts.push_back({std::move(compiled), std::move(impl)});
    }
    return std::make_shared<CompiledModel>(std::move(imported.ports), std::move(imported.name),
                                           std::move(imported.partition), std::move(parts), nullptr);
  }

  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const override {
    const auto host = this->host();
    const Call call = read(properties);
    const Assignment assignment = assign(*host, model, call.devices, call.properties, true);
    SupportedOpsMap supported;
    for (const auto& node : model->get_ordered_ops())
      if (const auto found = assignment.find(node.get()); found != assignment.end())
        supported[node->get_friendly_name()] = found->second;
    return supported;
  }

  Any get_property(const std::string& name, const AnyMap& arguments) const override {
    // A query for "HETERO:GPU,CPU" includes its list.
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
  struct Call {
    std::vector<std::string> devices;
    AnyMap properties;  ///< Passed to the members.
  };
  std::shared_ptr<DeviceHost> host() const {
    if (auto host = host_.lock()) return host;
    throw Error(Code::kFailedPrecondition, "HETERO: the Core of this device was destroyed");
  }
  Call read(const AnyMap& properties) const {
    Call call;
    std::string list;
    {
      const std::lock_guard lock(mutex_);
      list = priorities_;
    }
    for (const auto& [key, value] : properties) {
      if (key == device::priorities.name())
        list = value.as<std::string>();
      else
        call.properties[key] = value;
    }
    call.devices = split_devices(list);
    if (call.devices.empty())
      throw Error(Code::kInvalidArgument,
                  "HETERO was given no devices: name them in order of preference, as in \"HETERO:GPU,CPU\"");
    return call;
  }
  static void check_ports(const CompiledModelImpl& part, const Part& expected) {
    if (part.ports().inputs.size() != expected.inputs.size() || part.ports().outputs.size() != expected.outputs.size())
      throw Error(Code::kDataLoss, "HETERO: the blob's part for " + expected.device + " has other ports than it names");
  }
  static std::shared_ptr<const Model> described(const Model& model, const Assignment& assignment) {
    auto copy = model.clone();
    const auto from = model.get_ordered_ops(), to = copy->get_ordered_ops();
    for (std::size_t i = 0; i < from.size(); ++i)
      if (const auto found = assignment.find(from[i].get()); found != assignment.end())
        to[i]->get_rt_info()["affinity"] = Any(found->second);
    return copy;
  }

  std::weak_ptr<DeviceHost> host_;
  mutable std::mutex mutex_;
  std::string priorities_;
  PropertyTable table_{kName};
};

}  // namespace
}  // namespace tenon::inline v1::hetero

TENON_DEVICE_MODULE(::tenon::hetero::HeteroDevice, "HETERO", "Tenon HETERO: one model over several devices")
