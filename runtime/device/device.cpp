// SPDX-License-Identifier: Apache-2.0
// Default implementations of the device interface.
#include <tenon/runtime/device/device.hpp>

#include <cstring>
#include <istream>

#include <tenon/core/host.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/internal/bytes_stream.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon {
inline namespace v1 {

VariableStateImpl::~VariableStateImpl() = default;
InferRequestImpl::~InferRequestImpl() = default;
CompiledModelImpl::~CompiledModelImpl() = default;
RemoteContextImpl::~RemoteContextImpl() = default;
Device::~Device() = default;

void Inference::throw_if_cancelled() const {
  if (cancelled()) throw Cancelled("Infer Request was canceled");
}

void InferRequestImpl::bind_batch(std::size_t, std::span<const Tensor>) {
  throw Error(Code::kUnimplemented, "this device takes a batch as one tensor");
}

void InferRequestImpl::start(Inference&) {
  throw Error(Code::kInternal, "this device is synchronous: its requests are run, not started");
}

std::vector<ProfilingInfo> InferRequestImpl::profiling_info() const {
  throw Error(
      Code::kFailedPrecondition,
      "Profiling data was not collected: set the property PERF_COUNT (enable_profiling) when the model is compiled");
}

namespace {

void copy_rt_info(const RTMap& from, RTMap& to) { to.insert(from.begin(), from.end()); }

std::optional<Refusal> refuses_unless_packed_host(const Tensor& tensor) {
  if (!tensor.is_host_addressable()) {
    return Refusal{"this device reads host memory, and " + to_string(tensor) + " can't be addressed by the CPU"};
  }
  if (!tensor.is_contiguous()) {
    return Refusal{"this device requires packed tensors, and " + to_string(tensor) + " has byte strides " +
                   to_string(tensor.byte_strides())};
  }
  return std::nullopt;
}

}  // namespace

Ports Ports::of(const Model& model) {
  Ports ports;
  for (const auto& source : model.get_parameters()) {
    auto parameter = std::make_shared<op::v0::Parameter>(source->get_element_type(), source->get_partial_shape());
    parameter->set_friendly_name(source->get_friendly_name());
    parameter->output(0).set_names(source->output(0).get_names());
    copy_rt_info(source->get_rt_info(), parameter->get_rt_info());
    copy_rt_info(source->output(0).get_rt_info(), parameter->output(0).get_rt_info());
    ports.inputs.emplace_back(std::shared_ptr<const Node>(parameter), 0);
  }
  for (const auto& source : model.get_results()) {
    // The parameter stands for whatever the model computes; results answer for the tensor that they read.
    auto value =
        std::make_shared<op::v0::Parameter>(source->get_output_element_type(0), source->get_output_partial_shape(0));
    value->set_friendly_name(source->get_input_node_ptr(0)->get_friendly_name());
    value->output(0).set_names(source->output(0).get_names());
    auto result = std::make_shared<op::v0::Result>(value->output(0));
    result->set_friendly_name(source->get_friendly_name());
    copy_rt_info(source->get_rt_info(), result->get_rt_info());
    ports.outputs.emplace_back(std::shared_ptr<const Node>(result), 0);
  }
  return ports;
}

std::optional<Refusal> CompiledModelImpl::refuses_input(std::size_t, const Tensor& tensor) const {
  return refuses_unless_packed_host(tensor);
}
std::optional<Refusal> CompiledModelImpl::refuses_output(std::size_t, const Tensor& tensor) const {
  return refuses_unless_packed_host(tensor);
}
std::optional<Refusal> CompiledModelImpl::refuses_batch(std::size_t, std::span<const Tensor> items) const {
  return Refusal{"the device takes a batch as one tensor, not as " + std::to_string(items.size()) + " of an item each"};
}
Context CompiledModelImpl::memory_context() const { return host_context(); }
Requirements CompiledModelImpl::requirements() const {
  Requirements wanted;
  wanted.host_access = true;
  wanted.alignment = wanted.pitch_alignment = 64;
  return wanted;
}
Tensor CompiledModelImpl::allocate_input(std::size_t index, const Shape& shape) const {
  return Tensor(ports_.inputs.at(index).get_element_type(), shape);
}
Tensor CompiledModelImpl::allocate_output(std::size_t index, const Shape& shape) const {
  return Tensor(ports_.outputs.at(index).get_element_type(), shape);
}

void CompiledModelImpl::set_property(const AnyMap& properties) {
  if (properties.empty()) return;
  throw NotImplemented("property " + properties.begin()->first + " can't be changed after the model was compiled");
}
std::shared_ptr<const Model> CompiledModelImpl::runtime_model() const {
  throw NotImplemented("this device can't describe the model it runs (get_runtime_model)");
}
void CompiledModelImpl::export_model(std::ostream&) const {
  throw NotImplemented("this device can't export compiled models (it lacks the capability EXPORT_IMPORT)");
}
void CompiledModelImpl::export_blob(std::ostream& stream, bool) const { export_model(stream); }
std::shared_ptr<RemoteContextImpl> CompiledModelImpl::context() const {
  throw NotImplemented("get_context is not supported by this device");
}

Tensor RemoteContextImpl::create_host_tensor(element::Type type, const Shape& shape) { return Tensor(type, shape); }

std::shared_ptr<CompiledModelImpl> Device::compile_in_context(const std::shared_ptr<const Model>&,
                                                              const std::shared_ptr<RemoteContextImpl>&,
                                                              const AnyMap&) {
  throw NotImplemented("compiling for a remote context is not supported by " + name() + " plugin!");
}
std::shared_ptr<CompiledModelImpl> Device::import_model(std::istream&, const AnyMap&) {
  throw NotImplemented(name() + " device can't import compiled models (it lacks the capability EXPORT_IMPORT)");
}
std::shared_ptr<CompiledModelImpl> Device::import_in_context(std::istream&, const std::shared_ptr<RemoteContextImpl>&,
                                                             const AnyMap&) {
  throw NotImplemented("importing for a remote context is not supported by " + name() + " plugin!");
}
std::shared_ptr<CompiledModelImpl> Device::import_blob(const Tensor& blob, bool, const AnyMap& properties) {
  BytesBuffer buffer(blob.data(), blob.size_bytes());
  std::istream stream(&buffer);
  return import_model(stream, properties);
}
// Devices that keep it move it.
void Device::set_host(std::weak_ptr<DeviceHost>) {}  // NOLINT(performance-unnecessary-value-param)
std::shared_ptr<RemoteContextImpl> Device::create_context(const AnyMap&) {
  throw NotImplemented("create_context is not supported by " + name() + " plugin!");
}
std::shared_ptr<RemoteContextImpl> Device::default_context(const AnyMap&) {
  throw NotImplemented("get_default_context is not supported by " + name() + " plugin!");
}

Tensor read_all(std::istream& stream) {
  constexpr std::size_t kFirst = std::size_t{1} << 16;
  // If the stream knows its remaining length, one allocation suffices.
  std::size_t capacity = kFirst;
  if (const auto here = stream.tellg(); here != std::istream::pos_type(-1) && stream.seekg(0, std::ios::end)) {
    capacity = static_cast<std::size_t>(stream.tellg() - here) + 1;
    stream.seekg(here);
  }
  stream.clear();
  Tensor bytes(ElementType::kU8, Shape{capacity});
  std::size_t size = 0;
  for (;;) {
    stream.read(static_cast<char*>(bytes.data()) + size, static_cast<std::streamsize>(capacity - size));
    size += static_cast<std::size_t>(stream.gcount());
    if (stream.bad()) throw Error(Code::kDataLoss, "the stream of a compiled model can't be read");
    if (!stream) break;
    Tensor larger(ElementType::kU8, Shape{2 * capacity});
    std::memcpy(larger.data(), bytes.data(), size);
    bytes = std::move(larger);
    capacity *= 2;
  }
  return Tensor(bytes, Shape{0}, Shape{size});
}

}  // namespace v1
}  // namespace tenon
