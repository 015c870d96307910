// SPDX-License-Identifier: Apache-2.0
// The device itself: properties, compilation, contexts, and the symbol by which the runtime finds the module.
#include <tenon/devices/template/template.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::template_device {
namespace {

class TemplateDevice final : public Device {
 public:
  TemplateDevice() {
    PropertyTable& table = properties_.table();
    // Properties that every device has.
    table.add_constant(available_devices, std::vector<std::string>{""});
    table.add_constant(device::full_name, std::string("Tenon template device (reference kernels)"));
    table.add_constant(device::architecture, std::string("reference"));
    table.add_constant(device::capabilities,
                       std::vector<std::string>{device::capability::FP32, device::capability::EXPORT_IMPORT});
    // Dependencies of a blob; the cache makes them part of its entries' names.
    table.add_constant(caching_properties, std::vector<PropertyName>{device::full_name});
  }

  std::string name() const override { return kName; }

  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                   const AnyMap& properties) override {
    return compile_in_context(model, context_, properties);
  }
  std::shared_ptr<CompiledModelImpl> compile_in_context(const std::shared_ptr<const Model>& model,
                                                        const std::shared_ptr<RemoteContextImpl>& context,
                                                        const AnyMap& properties) override {
    if (!std::dynamic_pointer_cast<DeviceContext>(context))
      throw Error(Code::kInvalidArgument,
                  std::string(kName) + ": " +
                      (context ? "a context of " + context->device_name() : std::string("a null context")) +
                      " is not one of this device");
    check_supported(*model);
    // A copy, because the caller may change the model afterwards.
    return std::make_shared<CompiledModel>(model->clone(), properties_.with(properties), context);
  }
  std::shared_ptr<CompiledModelImpl> import_model(std::istream& stream, const AnyMap& properties) override {
    return import_blob(read_all(stream), false, properties);
  }
  std::shared_ptr<CompiledModelImpl> import_blob(const Tensor& blob, bool is_verified,
                                                 const AnyMap& properties) override {
    AnyMap own = properties;
    // Sources of weights for weightless blobs; this device's blobs contain their weights.
    own.erase(hint::model.name());
    own.erase(weights_path.name());
    return std::make_shared<CompiledModel>(read_model_blob(blob, is_verified, kBlobFormat), properties_.with(own),
                                           context_);
  }

  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const override {
    properties_.with(properties);
    SupportedOpsMap supported;
    for (const auto& node : model->get_ordered_ops())
      if (runs(*node)) supported[node->get_friendly_name()] = kName;
    return supported;
  }

  Any get_property(const std::string& name, const AnyMap&) const override { return properties_.get(name); }
  void set_property(const AnyMap& properties) override { properties_.set(properties); }

  std::shared_ptr<RemoteContextImpl> create_context(const AnyMap& params) override {
    if (!params.empty())
      throw Error(Code::kNotFound, std::string(kName) + ": contexts of this device take no parameter " +
                                       params.begin()->first + "; leave all out");
    return std::make_shared<DeviceContext>();
  }
  std::shared_ptr<RemoteContextImpl> default_context(const AnyMap&) override { return context_; }

 private:
  static bool runs(const Node& node) {
    return node.operation().evaluate != nullptr || is_op(&node, "Parameter") || is_op(&node, "Result") ||
           is_op(&node, "Constant") || is_op(&node, "ReadValue") || is_op(&node, "Assign");
  }
  /// Names all missing operations at once, so that users need not try repeatedly.
  static void check_supported(const Model& model) {
    std::string lacking;
    for (const auto& node : model.get_ordered_ops())
      if (!runs(*node)) lacking += (lacking.empty() ? "" : ", ") + node->describe();
    if (!lacking.empty()) throw NotImplemented(std::string(kName) + " has no kernel for " + lacking);
  }

  DeviceProperties<Config> properties_{kName};
  std::shared_ptr<DeviceContext> context_ = std::make_shared<DeviceContext>();
};

}  // namespace
}  // namespace tenon::inline v1::template_device

TENON_DEVICE_MODULE(::tenon::template_device::TemplateDevice, "TEMPLATE", "Tenon template device")
