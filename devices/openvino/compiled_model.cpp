// SPDX-License-Identifier: Apache-2.0
// A model compiled by OpenVINO: properties, export, and which tensors it uses in place.
#include <tenon/devices/openvino/compiled_model.hpp>

#include <algorithm>
#include <ostream>

#include <openvino/core/node.hpp>

#include <tenon/devices/openvino/native.hpp>
#include <tenon/devices/openvino/remote.hpp>
#include <tenon/frameworks/openvino/openvino.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::openvino_device {
namespace {

PartialShape to_partial_shape(const ov::PartialShape& native) {
  if (native.rank().is_dynamic()) return PartialShape::dynamic();
  std::vector<Dimension> extents;
  for (const auto& extent : native) extents.emplace_back(extent.get_min_length(), extent.get_max_length());
  return PartialShape(extents);
}

std::shared_ptr<op::v0::Parameter> parameter_like(const ov::Output<const ov::Node>& port) {
  const auto type = openvino::from_native(port.get_element_type());
  if (!type)
    throw Error(Code::kUnimplemented, "OPENVINO: port " + port.get_node()->get_friendly_name() + ": " +
                                          openvino::why_not(port.get_element_type()));
  auto parameter = std::make_shared<op::v0::Parameter>(*type, to_partial_shape(port.get_partial_shape()));
  parameter->set_friendly_name(port.get_node()->get_friendly_name());
  parameter->output(0).set_names(port.get_names());
  return parameter;
}

}  // namespace

Ports ports_of(const ov::CompiledModel& native) {
  // Ports needs a model: parameters stand for the results that the blob computes.
  ParameterVector parameters;
  ResultVector results;
  for (const auto& port : native.inputs()) parameters.push_back(parameter_like(port));
  const std::size_t input_count = parameters.size();
  for (const auto& port : native.outputs()) {
    parameters.push_back(parameter_like(port));
    auto result = std::make_shared<op::v0::Result>(parameters.back()->output(0));
    result->set_friendly_name(port.get_node()->get_friendly_name());
    results.push_back(std::move(result));
  }
  Ports ports = Ports::of(Model(results, parameters));
  ports.inputs.resize(input_count);
  return ports;
}

CompiledModel::CompiledModel(Ports ports, Source source, ov::CompiledModel native, std::string native_device)
    : CompiledModelImpl(std::move(ports)),
      source_(std::move(source)),
      native_(std::move(native)),
      native_device_(std::move(native_device)) {
  try {
    profiles_ = native_.get_property(enable_profiling.name()).as<bool>();
  } catch (const std::exception&) {  // Without the property, no profiling.
  }
  try {
    stream_count_ = std::max(1u, native_.get_property(optimal_number_of_infer_requests.name()).as<unsigned>());
  } catch (const std::exception&) {  // One request is always possible.
  }
}

std::unique_ptr<InferRequestImpl> CompiledModel::create_request() {
  try {
    return make_request(shared_from_this(), native_.create_infer_request());
  } catch (...) {
    rethrow("ov::CompiledModel::create_infer_request", "making a request on " + native_device_);
  }
}

std::optional<Refusal> CompiledModel::refuses(const Tensor& tensor, std::optional<Refusal> as_host_tensor) const {
  if (tensor && tensor.kind() == openvino::kOpenVinoMemory && !tensor.is_host_addressable()) {
    if (in_context_of(tensor, native_device_)) return std::nullopt;
    return Refusal{"a remote tensor of another device than " + native_device_};
  }
  if (as_host_tensor) return as_host_tensor;
  if (!openvino::to_native(tensor.element_type())) return Refusal{openvino::why_not(tensor.element_type())};
  return std::nullopt;
}
std::optional<Refusal> CompiledModel::refuses_input(std::size_t index, const Tensor& tensor) const {
  // The input stage reads the decoder's rows in place.
  if (split().inputs.at(index).stage >= 0 && tensor.is_host_addressable()) return std::nullopt;
  return refuses(tensor, CompiledModelImpl::refuses_input(index, tensor));
}
std::optional<Refusal> CompiledModel::refuses_output(std::size_t index, const Tensor& tensor) const {
  return refuses(tensor, CompiledModelImpl::refuses_output(index, tensor));
}

Any CompiledModel::get_property(const std::string& name) const {
  // The original model's name, which a blob may have lost.
  if (name == model_name.name() && !source_.name.empty()) return Any(source_.name);
  try {
    if (name == execution_devices.name()) {
      auto devices = native_.get_property(name).as<std::vector<std::string>>();
      for (std::string& device : devices) device = full_name(device);
      return Any(std::move(devices));
    }
    return from_native(native_.get_property(name));
  } catch (...) {
    rethrow("ov::CompiledModel::get_property", "property " + name + " of a model compiled for " + native_device_);
  }
}
void CompiledModel::set_property(const AnyMap& properties) {
  try {
    native_.set_property(to_native(properties));
  } catch (...) {
    rethrow("ov::CompiledModel::set_property", "setting properties of a model compiled for " + native_device_);
  }
}

void CompiledModel::export_model(std::ostream& stream) const {
  if (!split().stages.empty())
    throw NotImplemented("OPENVINO: a model with input stages can't be exported; export it before it takes frames");
  try {
    native_.export_model(stream);
  } catch (...) {
    rethrow("ov::CompiledModel::export_model", "exporting a model compiled for " + native_device_);
  }
}
void CompiledModel::release_memory() {
  try {
    native_.release_memory();
  } catch (...) {
    rethrow("ov::CompiledModel::release_memory", "releasing memory of a model compiled for " + native_device_);
  }
}
std::shared_ptr<RemoteContextImpl> CompiledModel::context() const {
  try {
    return make_context(native_.get_context(), native_device_);
  } catch (...) {
    rethrow("ov::CompiledModel::get_context", "the context of a model compiled for " + native_device_);
  }
}

const std::string& CompiledModel::type_of(const std::string& node_name, const std::string& otherwise) const {
  const auto found = source_.types.find(node_name);
  return found == source_.types.end() ? otherwise : found->second;
}

}  // namespace tenon::inline v1::openvino_device
