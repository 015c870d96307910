// SPDX-License-Identifier: Apache-2.0
// For tests: a device with contexts, remote tensors and blobs, on the reference interpreter. A context has the
// parameters it was created with. Tensors are remote, but host-addressable unless HIDDEN is "YES".
#pragma once

#include <cstring>
#include <istream>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/remote_tensor.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

namespace tenon::testing {

inline constexpr MemoryKind kPlacesMemory{"test.places"};

class PlacesMemory final : public Memory, public RemoteMemory {
 public:
  PlacesMemory(std::vector<unsigned char> bytes, AnyMap params, bool hidden)
      : Memory(host_context(), hidden ? kPlacesMemory : kCpuMemory, properties_of(bytes, hidden)),
        bytes_(std::move(bytes)),
        params_(std::move(params)) {}
  std::string device_name() const override { return "PLACES"; }
  AnyMap remote_params() const override { return params_; }
  void copy_from(const Tensor& self, const Tensor& source) override {
    check_type(self, source);
    copy_strided(self.element_type(), self.shape(), address(source), source.byte_strides(), address(self),
                 self.byte_strides());
  }
  void copy_to(const Tensor& self, Tensor& destination) const override {
    check_type(self, destination);
    copy_strided(self.element_type(), self.shape(), address(self), self.byte_strides(), address(destination),
                 destination.byte_strides());
  }

 private:
  static Properties properties_of(std::vector<unsigned char>& bytes, bool hidden) {
    Properties properties;
    properties.size_bytes = bytes.size();
    if (!hidden) properties.host = bytes.data();
    return properties;
  }
  static void check_type(const Tensor& a, const Tensor& b) {
    if (a.element_type() != b.element_type() || !(a.shape() == b.shape()))
      throw Error(Code::kInvalidArgument, "PLACES: " + to_string(a) + " and " + to_string(b) + " differ");
  }
  static void* address(const Tensor& tensor) {
    if (tensor.is_host_addressable()) return tensor.data();
    auto& memory = dynamic_cast<PlacesMemory&>(*tensor.memory());
    return memory.bytes_.data() + tensor.offset();
  }
  std::vector<unsigned char> bytes_;
  AnyMap params_;
};

class PlacesContext final : public RemoteContextImpl {
 public:
  explicit PlacesContext(AnyMap params) : params_(std::move(params)) {}
  /// "PLACES", or the parameter AS: parameters' keys depend on the device's name.
  std::string device_name() const override {
    const auto as = params_.find("AS");
    return as == params_.end() ? "PLACES" : as->second.as<std::string>();
  }
  AnyMap params() const override { return params_; }
  Tensor create_tensor(element::Type type, const Shape& shape, const AnyMap& params) override {
    TensorInfo info{type, shape, packed_strides(type, shape)};
    const auto hidden = params.find("HIDDEN");
    std::vector<unsigned char> bytes(checked_extent_bytes(info).value());
    return Tensor(std::move(info), Ref<Memory>(new PlacesMemory(std::move(bytes), params,
                                                                hidden != params.end() && hidden->second.as<bool>())));
  }

 private:
  AnyMap params_;
};

/// A reference model that can be exported (as IR; its models have no weights).
class PlacesModel final : public CompiledModelImpl {
 public:
  PlacesModel(std::shared_ptr<const Model> model, std::shared_ptr<CompiledModelImpl> inner,
              std::shared_ptr<RemoteContextImpl> context)
      : CompiledModelImpl(inner->ports()),
        model_(std::move(model)),
        inner_(std::move(inner)),
        context_(std::move(context)) {}
  std::unique_ptr<InferRequestImpl> create_request() override { return inner_->create_request(); }
  Any get_property(const std::string& name) const override { return inner_->get_property(name); }
  void set_property(const AnyMap& properties) override { seen = properties; }
  void export_model(std::ostream& stream) const override { stream << serialize(*model_).xml; }
  std::shared_ptr<RemoteContextImpl> context() const override { return context_; }
  static inline AnyMap seen;

 private:
  std::shared_ptr<const Model> model_;
  std::shared_ptr<CompiledModelImpl> inner_;
  std::shared_ptr<RemoteContextImpl> context_;
};

class PlacesDevice final : public Device {
 public:
  std::string name() const override { return "PLACES"; }
  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                   const AnyMap& properties) override {
    return compile_in_context(model, context_, properties);
  }
  std::shared_ptr<CompiledModelImpl> compile_in_context(const std::shared_ptr<const Model>& model,
                                                        const std::shared_ptr<RemoteContextImpl>& context,
                                                        const AnyMap& properties) override {
    return std::make_shared<PlacesModel>(model, reference_.compile_model(model, properties), context);
  }
  std::shared_ptr<CompiledModelImpl> import_model(std::istream& stream, const AnyMap& properties) override {
    const std::string xml(std::istreambuf_iterator<char>(stream), {});
    return compile_model(read_ir(xml, Tensor()), properties);
  }
  std::shared_ptr<CompiledModelImpl> import_in_context(std::istream& stream,
                                                       const std::shared_ptr<RemoteContextImpl>& context,
                                                       const AnyMap& properties) override {
    const std::string xml(std::istreambuf_iterator<char>(stream), {});
    return compile_in_context(read_ir(xml, Tensor()), context, properties);
  }
  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const override {
    return reference_.query_model(model, properties);
  }
  Any get_property(const std::string& name, const AnyMap& arguments) const override {
    return reference_.get_property(name, arguments);
  }
  void set_property(const AnyMap& properties) override { reference_.set_property(properties); }
  std::shared_ptr<RemoteContextImpl> create_context(const AnyMap& params) override {
    return std::make_shared<PlacesContext>(params);
  }
  std::shared_ptr<RemoteContextImpl> default_context(const AnyMap&) override { return context_; }

 private:
  ReferenceDevice reference_;
  std::shared_ptr<RemoteContextImpl> context_ = std::make_shared<PlacesContext>(AnyMap{{"CONTEXT_TYPE", Any("TEST")}});
};

inline const DeviceModule& places_module() {
  static const DeviceModule module{kDeviceAbiVersion, sizeof(DeviceModule), "PLACES",
                                   "Tenon device with contexts, for tests",
                                   []() -> std::shared_ptr<Device> { return std::make_shared<PlacesDevice>(); }};
  return module;
}

}  // namespace tenon::testing
