// SPDX-License-Identifier: Apache-2.0
// The devices of an installed OpenVINO: names, properties, compiling, and the module's factory.
#include <algorithm>
#include <istream>
#include <mutex>
#include <new>

#include <openvino/runtime/core.hpp>

#include <tenon/devices/openvino/compiled_model.hpp>
#include <tenon/devices/openvino/native.hpp>
#include <tenon/devices/openvino/remote.hpp>
#include <tenon/frameworks/openvino/openvino.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::openvino_device {
namespace {

/// OpenVINO's devices by their own names ("CPU", "GPU.0"), as ids of one device, which cannot be confused with Tenon's
/// own. Without an id, it is the CPU, or the first device if there is no CPU.
class OpenVinoDevice final : public Device {
 public:
  ~OpenVinoDevice() override {
    try {
      keep_plugins_loaded();
    } catch (const std::bad_alloc&) {  // Ignored: OpenVINO may then unload them.
    }
  }
  std::string name() const override { return "OPENVINO"; }

  std::vector<std::string> available_ids() const override {
    std::call_once(listed_, [this] {
      try {
        ids_ = core_.get_available_devices();
        keep_plugins_loaded();
      } catch (...) {
        rethrow("ov::Core::get_available_devices", "listing devices");
      }
    });
    return ids_;
  }

  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                   const AnyMap& properties) override {
    return compile(model, properties, nullptr);
  }
  std::shared_ptr<CompiledModelImpl> compile_in_context(const std::shared_ptr<const Model>& model,
                                                        const std::shared_ptr<RemoteContextImpl>& context,
                                                        const AnyMap& properties) override {
    return compile(model, properties, &native_of(*context));
  }

  std::shared_ptr<CompiledModelImpl> import_model(std::istream& stream, const AnyMap& properties) override {
    AnyMap rest = properties;
    const std::string device = take_device(rest);
    try {
      ov::CompiledModel native = core_.import_model(stream, device, to_native(rest));
      Ports ports = ports_of(native);
      CompiledModel::Source source;
      for (std::size_t i = 0; i < ports.inputs.size(); ++i) source.split.inputs.push_back({-1, i});
      return std::make_shared<CompiledModel>(std::move(ports), std::move(source), std::move(native), device);
    } catch (...) {
      rethrow("ov::Core::import_model", "importing a compiled model on " + device);
    }
  }

  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const override {
    AnyMap rest = properties;
    const std::string device = take_device(rest);
    const SplitModel parts = split(model);
    SupportedOpsMap supported = query_native(parts, device, rest);
    if (parts.stages.empty()) return supported;
    for (const auto& node : model->get_ordered_ops())
      if (is_op(node.get(), "InputStage")) supported[node->get_friendly_name()] = name();
    for (std::size_t i = 0; i < parts.inputs.size(); ++i)
      if (parts.inputs[i].stage >= 0) supported[model->get_parameters()[i]->get_friendly_name()] = name();
    return supported;
  }

  Any get_property(const std::string& name, const AnyMap& arguments) const override {
    AnyMap rest = arguments;
    const std::string device = take_device(rest);
    if (name == available_devices.name()) return Any(available_ids());
    if (name == device::id.name()) return Any(device);
    try {
      if (name == supported_properties.name()) return Any(names_of(device));
      return from_native(core_.get_property(device, name, to_native(rest)));
    } catch (...) {
      check_listed(device, {{name, Any()}});
      rethrow("ov::Core::get_property", "property " + name + " of " + device);
    }
  }

  void set_property(const AnyMap& properties) override {
    AnyMap rest = properties;
    const std::string device = take_device(rest);
    check_settable(device, rest);
    const std::lock_guard lock(mutex_);
    ov::AnyMap before;
    try {
      for (const auto& [name, value] : rest) before[name] = core_.get_property(device, name);
      core_.set_property(device, to_native(rest));
    } catch (...) {
      // OpenVINO sets them one by one: restore those set before the invalid one.
      const std::exception_ptr error = std::current_exception();
      try {
        core_.set_property(device, before);
      } catch (const std::exception&) {  // Report the first failure.
      }
      try {
        std::rethrow_exception(error);
      } catch (...) {
        rethrow("ov::Core::set_property", "setting properties of " + device);
      }
    }
  }

  std::shared_ptr<RemoteContextImpl> create_context(const AnyMap& params) override {
    AnyMap rest = params;
    const std::string device = take_device(rest);
    try {
      return make_context(core_.create_context(device, to_native(rest)), device);
    } catch (...) {
      rethrow("ov::Core::create_context", "a remote context of " + device);
    }
  }
  std::shared_ptr<RemoteContextImpl> default_context(const AnyMap& params) override {
    AnyMap rest = params;
    const std::string device = take_device(rest);
    try {
      return make_context(core_.get_default_context(device), device);
    } catch (...) {
      rethrow("ov::Core::get_default_context", "the default remote context of " + device);
    }
  }

 private:
  /// OpenVINO's name for the device in DEVICE_ID, which is removed. @errors kUnavailable: not present.
  std::string take_device(AnyMap& properties) const {
    const std::vector<std::string> ids = available_ids();
    if (const auto id = properties.find(device::id.name()); id != properties.end()) {
      const std::string wanted = id->second.as<std::string>();
      if (!wanted.empty() && std::find(ids.begin(), ids.end(), wanted) == ids.end()) {
        std::string present;
        for (const std::string& each : ids) present += (present.empty() ? "" : ", ") + each;
        throw Error(Code::kUnavailable, "OPENVINO: OpenVINO has no device '" + wanted +
                                            "'; present: " + (present.empty() ? "none" : present));
      }
      properties.erase(id);
      if (!wanted.empty()) return wanted;
    }
    if (ids.empty()) throw Error(Code::kUnavailable, "OPENVINO: OpenVINO found no device on this machine");
    return std::find(ids.begin(), ids.end(), "CPU") != ids.end() ? "CPU" : ids.front();
  }

  /// OpenVINO's list for the device, plus the properties that Tenon requires of every device.
  std::vector<PropertyName> names_of(const std::string& device) const {
    auto names = from_native(core_.get_property(device, supported_properties.name())).as<std::vector<PropertyName>>();
    for (const PropertyName& needed : {PropertyName(supported_properties), PropertyName(available_devices),
                                       PropertyName(device::full_name), PropertyName(device::capabilities)}) {
      if (std::find(names.begin(), names.end(), needed) == names.end()) names.push_back(needed);
    }
    return names;
  }
  /// @errors kNotFound: OpenVINO does not list one of them; it has no exception class for that.
  void check_listed(const std::string& device, const AnyMap& properties) const {
    const auto names = names_of(device);
    for (const auto& [name, value] : properties) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      std::string known;
      for (const PropertyName& each : names) known += (known.empty() ? "" : ", ") + each;
      throw Error(Code::kNotFound,
                  "Unsupported property " + name + " by " + full_name(device) + "; supported: " + known);
    }
  }
  void check_settable(const std::string& device, const AnyMap& properties) const {
    check_listed(device, properties);
    for (const PropertyName& name : names_of(device)) {
      if (properties.count(name) && !name.is_mutable())
        throw Error(Code::kInvalidArgument, "property " + name + " of " + full_name(device) + " is read-only");
    }
  }

  /// Converts the model for OpenVINO, through an in-memory IR whose weights it reads in place.
  std::shared_ptr<ov::Model> to_native_model(const Model& model) const {
    const SerializedModel ir = serialize(model);
    try {
      return core_.read_model(ir.xml, openvino::tensor(ir.weights));
    } catch (...) {
      rethrow("ov::Core::read_model", "handing model " + model.get_friendly_name() + " over");
    }
  }

  SupportedOpsMap query_native(const SplitModel& parts, const std::string& device, const AnyMap& properties) const {
    SupportedOpsMap supported;
    const auto native = to_native_model(*parts.rest);
    try {
      for (const auto& entry : core_.query_model(native, device, to_native(properties)))
        supported[entry.first] = name();
    } catch (...) {
      rethrow("ov::Core::query_model", "asking " + device + " what it runs");
    }
    return supported;
  }

  std::shared_ptr<CompiledModelImpl> compile(const std::shared_ptr<const Model>& model, const AnyMap& properties,
                                             const ov::RemoteContext* context) {
    AnyMap rest = properties;
    const std::string device = take_device(rest);
    CompiledModel::Source source;
    source.split = split(model);
    source.name = model->get_friendly_name();
    for (const auto& node : model->get_ordered_ops())
      source.types[node->get_friendly_name()] = node->get_type_info().name;
    const auto native = to_native_model(*source.split.rest);
    ov::CompiledModel compiled;
    try {
      compiled = context ? core_.compile_model(native, *context, to_native(rest))
                         : core_.compile_model(native, device, to_native(rest));
    } catch (...) {
      check_listed(device, rest);
      check_supported(source.split, device, rest);
      rethrow("ov::Core::compile_model", "compiling " + source.name + " for " + device);
    }
    return std::make_shared<CompiledModel>(Ports::of(*model), std::move(source), std::move(compiled), device);
  }

  /// Called after a failed compilation: names unsupported nodes if they are the reason.
  void check_supported(const SplitModel& parts, const std::string& device, const AnyMap& properties) const {
    std::string missing;
    try {
      const SupportedOpsMap supported = query_native(parts, device, properties);
      for (const auto& node : parts.rest->get_ordered_ops())
        if (!supported.count(node->get_friendly_name())) missing += (missing.empty() ? "" : ", ") + node->describe();
    } catch (const std::exception&) {  // Ignored: OpenVINO's own message is reported instead.
      return;
    }
    if (!missing.empty())
      throw Error(Code::kUnimplemented, "OPENVINO: OpenVINO's " + device + " device does not run " + missing);
  }

  mutable ov::Core core_;
  mutable std::once_flag listed_;
  mutable std::vector<std::string> ids_;
  std::mutex mutex_;
};

}  // namespace
}  // namespace tenon::inline v1::openvino_device

TENON_DEVICE_MODULE(::tenon::openvino_device::OpenVinoDevice, "OPENVINO", "Devices of the installed OpenVINO")
