// SPDX-License-Identifier: Apache-2.0
// The public handles: InferRequest, VariableState, CompiledModel.
#include <algorithm>
#include <sstream>
#include <tenon/runtime/infer_request.hpp>

#include <algorithm>

#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/input_stage/geometry.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/internal/out_of_memory.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/request/request.hpp>

namespace tenon {
inline namespace v1 {

RequestState& state_of(const std::shared_ptr<RequestHandle>& handle) {
  if (!handle) throw AssertFailure("InferRequest was not initialized.");
  return *handle->state;
}

namespace {

PortRef only_port(RequestState& state, bool is_input) {
  const std::size_t count = is_input ? state.model().inputs().size() : state.model().outputs().size();
  if (count != 1) {
    throw AssertFailure(
        std::string(is_input ? "set_input_tensor/get_input_tensor()" : "set_output_tensor/get_output_tensor()") +
        " without an index must be used with models that have exactly one " + (is_input ? "input" : "output") +
        "; this one has " + std::to_string(count));
  }
  return {is_input, 0};
}

PortRef port_at(RequestState& state, bool is_input, std::size_t index) {
  return {is_input, state.model().check_index(is_input, index)};
}

PortRef input_port(PortRef port, const std::string& what) {
  if (!port.is_input)
    throw AssertFailure("set_tensors error. Input port for tensor name " + what + " was not found.", Code::kNotFound);
  return port;
}

}  // namespace

InferRequest::InferRequest(std::shared_ptr<RequestHandle> handle) : handle_(std::move(handle)) {}

void InferRequest::set_tensor(const std::string& tensor_name, const Tensor& tensor) {
  RequestState& state = state_of(handle_);
  state.set(state.model().find(tensor_name), tensor);
}
void InferRequest::set_tensor(const Output<const Node>& port, const Tensor& tensor) {
  RequestState& state = state_of(handle_);
  state.set(state.model().find(port), tensor);
}
void InferRequest::set_tensor(const Output<Node>& port, const Tensor& tensor) {
  set_tensor(Output<const Node>(port), tensor);
}
void InferRequest::set_tensors(const std::string& tensor_name, const std::vector<Tensor>& tensors) {
  RequestState& state = state_of(handle_);
  state.set_batch(input_port(state.model().find(tensor_name), tensor_name), tensors);
}
void InferRequest::set_tensors(const Output<const Node>& port, const std::vector<Tensor>& tensors) {
  RequestState& state = state_of(handle_);
  state.set_batch(input_port(state.model().find(port), port.get_node()->get_friendly_name()), tensors);
}
void InferRequest::set_input_tensor(std::size_t index, const Tensor& tensor) {
  RequestState& state = state_of(handle_);
  state.set(port_at(state, true, index), tensor);
}
void InferRequest::set_input_tensor(const Tensor& tensor) {
  RequestState& state = state_of(handle_);
  state.set(only_port(state, true), tensor);
}
void InferRequest::set_input_tensors(const std::vector<Tensor>& tensors) {
  RequestState& state = state_of(handle_);
  state.set_batch(only_port(state, true), tensors);
}
void InferRequest::set_input_tensors(std::size_t index, const std::vector<Tensor>& tensors) {
  RequestState& state = state_of(handle_);
  state.set_batch(port_at(state, true, index), tensors);
}
void InferRequest::set_output_tensor(std::size_t index, const Tensor& tensor) {
  RequestState& state = state_of(handle_);
  state.set(port_at(state, false, index), tensor);
}
void InferRequest::set_output_tensor(const Tensor& tensor) {
  RequestState& state = state_of(handle_);
  state.set(only_port(state, false), tensor);
}

Tensor InferRequest::get_tensor(const std::string& tensor_name) {
  RequestState& state = state_of(handle_);
  return state.get(state.model().find(tensor_name));
}
Tensor InferRequest::get_tensor(const Output<const Node>& port) {
  RequestState& state = state_of(handle_);
  return state.get(state.model().find(port));
}
Tensor InferRequest::get_tensor(const Output<Node>& port) { return get_tensor(Output<const Node>(port)); }
Tensor InferRequest::get_input_tensor(std::size_t index) {
  RequestState& state = state_of(handle_);
  return state.get(port_at(state, true, index));
}
Tensor InferRequest::get_input_tensor() {
  RequestState& state = state_of(handle_);
  return state.get(only_port(state, true));
}
Tensor InferRequest::get_output_tensor(std::size_t index) {
  RequestState& state = state_of(handle_);
  return state.get(port_at(state, false, index));
}
Tensor InferRequest::get_output_tensor() {
  RequestState& state = state_of(handle_);
  return state.get(only_port(state, false));
}

void InferRequest::set_frame(const std::string& tensor_name, const Frame& frame) {
  RequestState& state = state_of(handle_);
  const PortRef port = state.model().find(tensor_name);
  if (!port.is_input)
    throw AssertFailure("set_frame error. Input port for tensor name " + tensor_name + " was not found.",
                        Code::kNotFound);
  state.set_frame(port.index, frame);
}
void InferRequest::set_frame(std::size_t index, const Frame& frame) {
  RequestState& state = state_of(handle_);
  state.set_frame(state.model().check_index(true, index), frame);
}
void InferRequest::set_frame(const Frame& frame) {
  RequestState& state = state_of(handle_);
  state.set_frame(only_port(state, true).index, frame);
}

void InferRequest::infer() { state_of(handle_).infer(); }
void InferRequest::start_async() { state_of(handle_).start_async(); }
void InferRequest::wait() { state_of(handle_).wait(); }
bool InferRequest::wait_for(const std::chrono::milliseconds timeout) {
  RequestState& state = state_of(handle_);
  // A timeout past what the clock can hold means "for ever", and must not wrap to the past.
  const auto now = Clock::now();
  if (timeout >= std::chrono::duration_cast<std::chrono::milliseconds>(Deadline::max() - now))
    return state.wait(), true;
  return state.wait_until(now + timeout);
}
void InferRequest::cancel() { state_of(handle_).cancel(); }
void InferRequest::set_callback(std::function<void(std::exception_ptr)> callback) {
  state_of(handle_).set_callback(std::move(callback));
}
std::vector<ProfilingInfo> InferRequest::get_profiling_info() const { return state_of(handle_).profiling_info(); }

std::vector<VariableState> InferRequest::query_state() {
  std::vector<VariableState> states;
  for (auto& impl : state_of(handle_).query_state()) states.push_back(VariableState(std::move(impl), handle_));
  return states;
}
void InferRequest::reset_state() {
  for (auto& impl : state_of(handle_).query_state()) impl->reset();
}
CompiledModel InferRequest::get_compiled_model() { return CompiledModel(state_of(handle_).shared_model()); }
Ledger& InferRequest::ledger() { return state_of(handle_).scope(); }

namespace {
/// The values in another element type. @errors kUnimplemented: types that do not convert.
Tensor converted(const Tensor& tensor, ElementType type) {
  const auto from = std::make_shared<op::v0::Parameter>(tensor.element_type(), PartialShape(tensor.shape()));
  const auto to = std::make_shared<op::v0::Convert>(from->output(0), type);
  return evaluate(Model(OutputVector{to->output(0)}, ParameterVector{from}), {tensor}).front();
}
}  // namespace

VariableState::VariableState(std::shared_ptr<VariableStateImpl> impl, std::shared_ptr<RequestHandle> owner)
    : impl_(std::move(impl)), owner_(std::move(owner)) {}
VariableStateImpl& VariableState::impl() const {
  if (!impl_) throw AssertFailure("VariableState was not initialized.");
  owner_->state->check_not_busy();
  return *impl_;
}
void VariableState::reset() { impl().reset(); }
std::string VariableState::get_name() const {
  if (!impl_) throw AssertFailure("VariableState was not initialized.");
  return impl_->name();
}
Tensor VariableState::get_state() const { return impl().state(); }
void VariableState::set_state(const Tensor& state) {
  VariableStateImpl& impl = this->impl();
  if (!state) throw AssertFailure("set_state: the tensor for variable '" + impl.name() + "' is not initialized");
  const Tensor current = impl.state();
  const bool converts = current && current.element_type() != state.element_type();
  Tensor given = state;
  if (const auto* remote = dynamic_cast<const RemoteMemory*>(state.memory().get()); remote && converts) {
    given = Tensor(state.element_type(), state.shape());
    remote->copy_to(state, given);
  }
  impl.set_state(converts ? converted(given, current.element_type()) : given);
  static const EdgeId edge = register_edge("set_state->device (packed)");
  owner_->state->scope().book_copied(edge, current ? current.size_bytes() : state.size_bytes());
}

CompiledModel::CompiledModel(std::shared_ptr<ModelState> state) : state_(std::move(state)) {}
ModelState& CompiledModel::state() const {
  if (!state_) throw AssertFailure("CompiledModel was not initialized.");
  return *state_;
}

namespace {
const Output<const Node>& only(const std::vector<Output<const Node>>& ports, const char* side) {
  if (ports.size() != 1) {
    throw AssertFailure(std::string(side) + "() must be called on a model with exactly one " + side +
                        "; this one has " + std::to_string(ports.size()));
  }
  return ports.front();
}
const Output<const Node>& named(const ModelState& state, bool is_input, const std::string& tensor_name) {
  const auto& infos = is_input ? state.inputs() : state.outputs();
  const auto& ports = is_input ? state.ports().inputs : state.ports().outputs;
  // A name may belong to an input and to an output at once, so this looks on one side only.
  for (const bool friendly : {false, true}) {
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (friendly ? infos[i].friendly_name == tensor_name
                   : std::binary_search(infos[i].names.begin(), infos[i].names.end(), tensor_name)) {
        return ports[i];
      }
    }
  }
  std::string known;
  for (const PortInfo& info : infos) known += (known.empty() ? "" : ", ") + info.label;
  throw AssertFailure(std::string(is_input ? "Input" : "Output") + " for tensor name '" + tensor_name +
                          "' is not found. The model has: " + known,
                      Code::kNotFound);
}
}  // namespace

std::shared_ptr<const Model> CompiledModel::get_runtime_model() const {
  return state().main_variant()->impl->runtime_model();
}
const std::vector<Output<const Node>>& CompiledModel::inputs() const { return state().ports().inputs; }
const std::vector<Output<const Node>>& CompiledModel::outputs() const { return state().ports().outputs; }
const Output<const Node>& CompiledModel::input() const { return only(inputs(), "input"); }
const Output<const Node>& CompiledModel::output() const { return only(outputs(), "output"); }
const Output<const Node>& CompiledModel::input(std::size_t index) const {
  return inputs()[state().check_index(true, index)];
}
const Output<const Node>& CompiledModel::output(std::size_t index) const {
  return outputs()[state().check_index(false, index)];
}
const Output<const Node>& CompiledModel::input(const std::string& tensor_name) const {
  return named(state(), true, tensor_name);
}
const Output<const Node>& CompiledModel::output(const std::string& tensor_name) const {
  return named(state(), false, tensor_name);
}

InferRequest CompiledModel::create_infer_request() {
  state();
  return report_out_of_memory([&] { return "making a request on " + state_->device().name(); },
                              [&] {
                                auto handle = std::make_shared<RequestHandle>(state_);
                                handle->state->prime();
                                process_end::add(handle->state, state_->device().name());
                                process_end::watch_this_thread();
                                return InferRequest(std::move(handle));
                              });
}

FrameGeometry CompiledModel::frame_geometry(const FrameInfo& info, const std::string& tensor_name) const {
  std::size_t index = 0;
  if (!tensor_name.empty()) {
    const PortRef port = state().find(tensor_name);
    if (!port.is_input) throw AssertFailure("frame_geometry: '" + tensor_name + "' is an output", Code::kNotFound);
    index = port.index;
  }
  return state().frame_geometry(info, state().check_index(true, index));
}

Requirements CompiledModel::requirements() const { return state().main_variant()->impl->requirements(); }
Context CompiledModel::memory_context() const { return state().main_variant()->impl->memory_context(); }

void CompiledModel::export_model(std::ostream& stream) {
  const auto impl = state().main_variant()->impl;
  const cache::Settings& settings = state().cache_settings();
  const auto& callbacks = settings.callbacks;
  if (!callbacks || !callbacks->encrypt) return impl->export_blob(stream, settings.leaves_weights());
  std::ostringstream plain;
  impl->export_blob(plain, settings.leaves_weights());
  const std::string text = callbacks->encrypt(std::move(plain).str());
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
}
void CompiledModel::set_property(const AnyMap& properties) { state().main_variant()->impl->set_property(properties); }
Any CompiledModel::get_property(const std::string& name) const {
  if (name == zero_copy) return Any(state().policy());
  if (name == loaded_from_cache) {
    const auto variant = state().main_variant();
    if (variant->from_cache) return Any(true);
    try {
      // Composite devices get it from their members.
      return variant->impl->get_property(name);
    } catch (const Error&) {
      return Any(false);
    }
  }
  Any value = state().main_variant()->impl->get_property(name);
  if (name == supported_properties && value.is<std::vector<PropertyName>>()) {
    auto names = value.as<std::vector<PropertyName>>();
    for (const char* own : {zero_copy.name(), loaded_from_cache.name()})
      if (std::find(names.begin(), names.end(), own) == names.end()) names.emplace_back(own, PropertyMutability::RO);
    return Any(std::move(names));
  }
  return value;
}
void CompiledModel::release_memory() { state().main_variant()->impl->release_memory(); }
RemoteContext CompiledModel::get_context() const {
  return RemoteContext(state().main_variant()->impl->context(), state().shared_ledger());
}

}  // namespace v1
}  // namespace tenon
