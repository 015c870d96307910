// SPDX-License-Identifier: Apache-2.0
// Core, compiled models, requests, states, remote contexts.
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>

#include <openvino/runtime/core.hpp>
#include <tenon/graph/exec_model_info.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/properties.hpp>

#include "convert.hpp"

namespace ov {

using detail::from;
using detail::guarded;
using detail::model_of;
using detail::to;

class ICompiledModel {
 public:
  explicit ICompiledModel(tenon::CompiledModel compiled) : model(std::move(compiled)) {
    for (const auto& port : model.inputs()) inputs.push_back(from(port));
    for (const auto& port : model.outputs()) outputs.push_back(from(port));
    for (const auto* ports : {&inputs, &outputs})
      for (const auto& port : *ports) dynamic |= port.get_partial_shape().is_dynamic();
  }
  tenon::CompiledModel model;
  std::vector<Output<const Node>> inputs, outputs;
  bool dynamic = false;
};

class IVariableState {
 public:
  tenon::VariableState state;
};

/// A tensor of ov that the program and the request both have, where shapes move: the program's set_shape reaches the request,
/// and the request's results reach the program's tensor.
class IAsyncInferRequest {
 public:
  IAsyncInferRequest(tenon::InferRequest made, std::shared_ptr<ICompiledModel> from_model)
      : request(std::move(made)), model(std::move(from_model)) {}

  /// @param key  Makes a name of the port, which only models whose shapes move need.
  template <typename Key, typename Set, typename Get>
  void set(Key key, const Tensor& tensor, Set set_tensor, Get get_tensor) {
    guarded([&] { set_tensor(request, to(tensor)); });
    if (!model->dynamic) return;
    const std::lock_guard lock(mutex_);
    shared_[key()] = {tensor.impl(), tensor.impl()->changes, set_tensor, get_tensor};
  }
  template <typename Key, typename Get>
  Tensor get(Key key, Get get_tensor) {
    if (!model->dynamic) return Tensor(guarded([&] { return detail::in_place([&] { return get_tensor(request); }); }));
    tenon::Tensor tensor = guarded([&] { return get_tensor(request); });
    const std::lock_guard lock(mutex_);
    Shared& shared = shared_[key()];
    if (shared.tensor)
      shared.follow(std::move(tensor));
    else
      shared = {std::make_shared<ITensor>(std::move(tensor)), 0, {}, get_tensor};
    return Tensor(shared.tensor);
  }
  /// Before an inference: shapes that the program gave to tensors that it had set.
  void take_shapes() {
    if (!model->dynamic) return;
    const std::lock_guard lock(mutex_);
    for (auto& [key, shared] : shared_) {
      if (shared.set && shared.tensor->changes != shared.seen) {
        shared.set(request, shared.tensor->tensor);
        shared.seen = shared.tensor->changes;
      }
    }
  }
  /// After one: shapes of results. Tensors that only the request has are forgotten.
  void give_shapes() {
    if (!model->dynamic) return;
    const std::lock_guard lock(mutex_);
    for (auto entry = shared_.begin(); entry != shared_.end();) {
      Shared& shared = entry->second;
      if (!shared.set && shared.tensor.use_count() == 1) {
        entry = shared_.erase(entry);
        continue;
      }
      shared.follow(shared.get(request));
      ++entry;
    }
  }

  tenon::InferRequest request;
  const std::shared_ptr<ICompiledModel> model;

 private:
  struct Shared {
    /// A tensor of the program's stays its own: what it is set to later is no business of this request's.
    void follow(tenon::Tensor now) { tensor->set(set ? now.with_lease(tensor->tensor.lease()) : std::move(now)); }
    std::shared_ptr<ITensor> tensor;
    unsigned seen = 0;
    std::function<void(tenon::InferRequest&, const tenon::Tensor&)> set;  ///< Empty for a tensor of the request's own.
    std::function<tenon::Tensor(tenon::InferRequest&)> get;
  };
  std::mutex mutex_;
  std::map<std::string, Shared> shared_;
};

// ---------------------------------------------------------------- requests
IAsyncInferRequest& InferRequest::checked() const {
  if (!_impl) OPENVINO_THROW("InferRequest was not initialized.");
  return *_impl;
}
namespace {
/// Differs for ports of different nodes.
template <typename T>
std::string port_key(const Output<T>& port) {
  return std::to_string(
             reinterpret_cast<std::uintptr_t>(port.get_node() ? port.get_node()->impl().node.get() : nullptr)) +
         ":" + std::to_string(port.get_index());
}
template <typename T>
void set_port(IAsyncInferRequest& impl, const Output<T>& port, const Tensor& tensor) {
  const auto there = guarded([&] { return to(port); });
  if (!impl.model->dynamic) return guarded([&] { impl.request.set_tensor(there, to(tensor)); });
  impl.set([&] { return port_key(port); }, tensor,
           [there](tenon::InferRequest& request, const tenon::Tensor& each) { request.set_tensor(there, each); },
           [there](tenon::InferRequest& request) { return request.get_tensor(there); });
}
template <typename T>
Tensor get_port(IAsyncInferRequest& impl, const Output<T>& port) {
  const auto there = guarded([&] { return to(port); });
  if (!impl.model->dynamic)
    return Tensor(guarded([&] { return detail::in_place([&] { return impl.request.get_tensor(there); }); }));
  return impl.get([&] { return port_key(port); },
                  [there](tenon::InferRequest& request) { return request.get_tensor(there); });
}
std::vector<tenon::Tensor> all_of(const std::vector<Tensor>& tensors) {
  std::vector<tenon::Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(to(tensor));
  return result;
}
}  // namespace
void InferRequest::set_tensor(const std::string& name, const Tensor& tensor) {
  if (!checked().model->dynamic) return guarded([&] { _impl->request.set_tensor(name, to(tensor)); });
  checked().set([&] { return "name " + name; }, tensor,
                [name](tenon::InferRequest& request, const tenon::Tensor& each) { request.set_tensor(name, each); },
                [name](tenon::InferRequest& request) { return request.get_tensor(name); });
}
void InferRequest::set_tensor(const Output<const Node>& port, const Tensor& tensor) {
  set_port(checked(), port, tensor);
}
void InferRequest::set_tensor(const Output<Node>& port, const Tensor& tensor) { set_port(checked(), port, tensor); }
void InferRequest::set_tensors(const std::string& name, const std::vector<Tensor>& tensors) {
  guarded([&] { checked().request.set_tensors(name, all_of(tensors)); });
}
void InferRequest::set_tensors(const Output<const Node>& port, const std::vector<Tensor>& tensors) {
  guarded([&] { checked().request.set_tensors(to(port), all_of(tensors)); });
}
void InferRequest::set_input_tensors(const std::vector<Tensor>& tensors) {
  guarded([&] { checked().request.set_input_tensors(all_of(tensors)); });
}
void InferRequest::set_input_tensors(std::size_t index, const std::vector<Tensor>& tensors) {
  guarded([&] { checked().request.set_input_tensors(index, all_of(tensors)); });
}
#define OV_TENON_PORT(direction)                                                                                     \
  void InferRequest::set_##direction##_tensor(std::size_t index, const Tensor& tensor) {                             \
    checked().set([&] { return #direction + std::to_string(index); }, tensor,                                        \
                  [index](tenon::InferRequest& request, const tenon::Tensor& each) {                                 \
                    request.set_##direction##_tensor(index, each);                                                   \
                  },                                                                                                 \
                  [index](tenon::InferRequest& request) { return request.get_##direction##_tensor(index); });        \
  }                                                                                                                  \
  void InferRequest::set_##direction##_tensor(const Tensor& tensor) {                                                \
    checked().set(                                                                                                   \
        [] { return #direction; }, tensor,                                                                           \
        [](tenon::InferRequest& request, const tenon::Tensor& each) { request.set_##direction##_tensor(each); },     \
        [](tenon::InferRequest& request) { return request.get_##direction##_tensor(); });                            \
  }                                                                                                                  \
  Tensor InferRequest::get_##direction##_tensor(std::size_t index) {                                                 \
    return checked().get([&] { return #direction + std::to_string(index); },                                         \
                         [index](tenon::InferRequest& request) { return request.get_##direction##_tensor(index); }); \
  }                                                                                                                  \
  Tensor InferRequest::get_##direction##_tensor() {                                                                  \
    return checked().get([] { return #direction; },                                                                  \
                         [](tenon::InferRequest& request) { return request.get_##direction##_tensor(); });           \
  }
OV_TENON_PORT(input)
OV_TENON_PORT(output)
#undef OV_TENON_PORT
Tensor InferRequest::get_tensor(const std::string& name) {
  if (!checked().model->dynamic)
    return Tensor(guarded([&] { return detail::in_place([&] { return _impl->request.get_tensor(name); }); }));
  return checked().get([&] { return "name " + name; },
                       [name](tenon::InferRequest& request) { return request.get_tensor(name); });
}
Tensor InferRequest::get_tensor(const Output<const Node>& port) { return get_port(checked(), port); }
Tensor InferRequest::get_tensor(const Output<Node>& port) { return get_port(checked(), port); }
void InferRequest::infer() {
  IAsyncInferRequest& impl = checked();
  guarded([&] {
    impl.take_shapes();
    impl.request.infer();
    impl.give_shapes();
  });
}
void InferRequest::start_async() {
  IAsyncInferRequest& impl = checked();
  guarded([&] {
    impl.take_shapes();
    impl.request.start_async();
  });
}
namespace {
/// What a callback of the program's threw arrives as an Exception with its text, whatever it was.
template <typename F>
auto waited(F&& wait) {
  try {
    return guarded(wait);
  } catch (const Exception&) {
    throw;
  } catch (const std::exception& error) {
    OPENVINO_THROW(error.what());
  } catch (...) {
    OPENVINO_THROW("Unexpected exception");
  }
}
}  // namespace
void InferRequest::wait() {
  IAsyncInferRequest& impl = checked();
  waited([&] {
    impl.request.wait();
    impl.give_shapes();
  });
}
bool InferRequest::wait_for(const std::chrono::milliseconds timeout) {
  IAsyncInferRequest& impl = checked();
  return waited([&] {
    if (!impl.request.wait_for(timeout)) return false;
    impl.give_shapes();
    return true;
  });
}
void InferRequest::cancel() {
  guarded([&] { checked().request.cancel(); });
}
void InferRequest::set_callback(std::function<void(std::exception_ptr)> callback) {
  guarded([&] {
    if (!callback) return checked().request.set_callback({});
    checked().request.set_callback(
        [callback = std::move(callback), weak = std::weak_ptr(_impl)](std::exception_ptr error) {
          // Tensors that the program has show the results here, before wait().
          if (const auto impl = error ? nullptr : weak.lock()) impl->give_shapes();
          callback(detail::translated(error));
        });
  });
}
namespace {
bool is_on_cpu(const tenon::CompiledModel& model) {
  const auto devices = model.get_property(tenon::execution_devices.name()).as<std::vector<std::string>>();
  return devices.size() == 1 && devices[0].compare(0, 3, "CPU") == 0;
}
std::vector<ProfilingInfo> steps_of(const tenon::CompiledModel& model) {
  std::vector<ProfilingInfo> result;
  for (const auto& node : model.get_runtime_model()->get_ordered_ops()) {
    const auto& info = node->get_rt_info();
    const auto note = [&](const char* key) {
      const auto found = info.find(key);
      return found == info.end() ? std::string() : found->second.to_text();
    };
    ProfilingInfo step;
    step.node_name = node->get_friendly_name();
    step.exec_type = note(tenon::exec_model_info::IMPL_TYPE);
    step.node_type = note(tenon::exec_model_info::LAYER_TYPE);
    result.push_back(std::move(step));
  }
  return result;
}
}  // namespace
std::vector<ProfilingInfo> InferRequest::get_profiling_info() const {
  return guarded([&] {
    std::vector<ProfilingInfo> result;
    try {
      for (const tenon::ProfilingInfo& info : checked().request.get_profiling_info()) {
        result.push_back({static_cast<ProfilingInfo::Status>(info.status), info.real_time, info.cpu_time,
                          info.node_name, info.exec_type, info.node_type, info.start_time});
      }
    } catch (const tenon::Busy&) {
      throw;
    } catch (const tenon::Error& error) {
      // The original's CPU names its steps without measuring them, and before the first inference; its other devices refuse.
      if (error.code() != tenon::Code::kFailedPrecondition || !is_on_cpu(_impl->model->model)) throw;
      return steps_of(_impl->model->model);
    }
    return result;
  });
}
std::vector<VariableState> InferRequest::query_state() {
  return guarded([&] {
    std::vector<VariableState> result;
    for (const tenon::VariableState& state : checked().request.query_state())
      result.emplace_back(std::make_shared<IVariableState>(IVariableState{state}));
    return result;
  });
}
void InferRequest::reset_state() {
  guarded([&] { checked().request.reset_state(); });
}
CompiledModel InferRequest::get_compiled_model() { return CompiledModel(checked().model); }

IVariableState& VariableState::checked() const {
  if (!_impl) OPENVINO_THROW("VariableState was not initialized.");
  return *_impl;
}
void VariableState::reset() {
  guarded([&] { checked().state.reset(); });
}
std::string VariableState::get_name() const {
  return guarded([&] { return checked().state.get_name(); });
}
Tensor VariableState::get_state() const {
  return from(guarded([&] { return checked().state.get_state(); }));
}
void VariableState::set_state(const Tensor& state) {
  guarded([&] { checked().state.set_state(to(state)); });
}

// ---------------------------------------------------------------- compiled models
ICompiledModel& CompiledModel::checked() const {
  if (!_impl) OPENVINO_THROW("CompiledModel was not initialized.");
  return *_impl;
}
std::shared_ptr<const Model> CompiledModel::get_runtime_model() const {
  return guarded([&] { return from(std::const_pointer_cast<tenon::Model>(checked().model.get_runtime_model())); });
}
namespace {
/// The port of ov that stands for one of Tenon's: both lists have the same order.
const Output<const Node>& port_of(const std::vector<Output<const Node>>& ports,
                                  const std::vector<tenon::Output<const tenon::Node>>& tenons,
                                  const tenon::Output<const tenon::Node>& port) {
  return ports[static_cast<std::size_t>(std::find(tenons.begin(), tenons.end(), port) - tenons.begin())];
}
}  // namespace
#define OV_TENON_PORTS(name)                                                                                        \
  const std::vector<Output<const Node>>& CompiledModel::name##s() const { return checked().name##s; }               \
  const Output<const Node>& CompiledModel::name() const {                                                           \
    ICompiledModel& impl = checked();                                                                               \
    return guarded([&]() -> auto& { return port_of(impl.name##s, impl.model.name##s(), impl.model.name()); });      \
  }                                                                                                                 \
  const Output<const Node>& CompiledModel::name(std::size_t index) const {                                          \
    ICompiledModel& impl = checked();                                                                               \
    return guarded([&]() -> auto& { return port_of(impl.name##s, impl.model.name##s(), impl.model.name(index)); }); \
  }                                                                                                                 \
  const Output<const Node>& CompiledModel::name(const std::string& tensor_name) const {                             \
    ICompiledModel& impl = checked();                                                                               \
    return guarded([&]() -> auto& {                                                                                 \
      return port_of(impl.name##s, impl.model.name##s(), impl.model.name(tensor_name));                             \
    });                                                                                                             \
  }
OV_TENON_PORTS(input)
OV_TENON_PORTS(output)
#undef OV_TENON_PORTS
InferRequest CompiledModel::create_infer_request() {
  return guarded([&] {
    return InferRequest(std::make_shared<IAsyncInferRequest>(checked().model.create_infer_request(), _impl));
  });
}
void CompiledModel::export_model(std::ostream& stream) {
  guarded([&] { checked().model.export_model(stream); });
}
void CompiledModel::set_property(const AnyMap& properties) {
  guarded([&] { checked().model.set_property(to(properties)); });
}
Any CompiledModel::get_property(const std::string& name) const {
  return guarded([&] { return from(checked().model.get_property(name)); });
}
void CompiledModel::release_memory() {
  guarded([&] { checked().model.release_memory(); });
}
RemoteContext CompiledModel::get_context() const {
  return guarded(
      [&] { return RemoteContext(std::make_shared<IRemoteContext>(IRemoteContext{checked().model.get_context()})); });
}

// ---------------------------------------------------------------- contexts
IRemoteContext& RemoteContext::checked() const {
  if (!_impl) OPENVINO_THROW("RemoteContext was not initialized.");
  return *_impl;
}
void RemoteContext::type_check(const RemoteContext& context,
                               const std::map<std::string, std::vector<std::string>>& type_info) {
  guarded([&] { tenon::RemoteContext::type_check(context.checked().context, type_info); });
}
std::string RemoteContext::get_device_name() const {
  return guarded([&] { return checked().context.get_device_name(); });
}
AnyMap RemoteContext::get_params() const {
  return guarded([&] { return from(checked().context.get_params()); });
}
RemoteTensor RemoteContext::create_tensor(const element::Type& type, const Shape& shape, const AnyMap& params) {
  return guarded([&] {
    return RemoteTensor(std::make_shared<ITensor>(checked().context.create_tensor(to(type), to(shape), to(params))));
  });
}
Tensor RemoteContext::create_host_tensor(const element::Type type, const Shape& shape) {
  return from(guarded([&] { return checked().context.create_host_tensor(to(type), to(shape)); }));
}

// ---------------------------------------------------------------- Core
struct Core::Impl {
  tenon::Core core;
};
namespace {
CompiledModel compiled(tenon::CompiledModel model) {
  return CompiledModel(std::make_shared<ICompiledModel>(std::move(model)));
}
const tenon::RemoteContext& context_of(const RemoteContext& context) {
  if (!context) OPENVINO_THROW("Remote context is null");
  return context.impl()->context;
}
}  // namespace
Core::Core(const std::string& xml_config_file) {
  if (!xml_config_file.empty()) {
    OPENVINO_THROW("a list of plugins, ", xml_config_file,
                   ": Tenon finds devices in the folders of TENON_DEVICE_PATH, and has no such lists");
  }
  impl_ = guarded([] { return std::make_shared<Impl>(); });
}
std::map<std::string, Version> Core::get_versions(const std::string& device_name) const {
  return guarded([&] {
    std::map<std::string, Version> result;
    for (const auto& [name, version] : impl_->core.get_versions(device_name))
      result[name] = {version.buildNumber, version.description};
    return result;
  });
}
std::vector<std::string> Core::get_available_devices() const {
  return guarded([&] { return impl_->core.get_available_devices(); });
}
std::shared_ptr<Model> Core::read_model(const std::filesystem::path& model_path, const std::filesystem::path& bin_path,
                                        const AnyMap& properties) const {
  return guarded([&] { return from(impl_->core.read_model(model_path, bin_path, to(properties))); });
}
std::shared_ptr<Model> Core::read_model(const std::string& model_path, const std::string& bin_path,
                                        const AnyMap& properties) const {
  return read_model(std::filesystem::path(model_path), std::filesystem::path(bin_path), properties);
}
std::shared_ptr<Model> Core::read_model(const std::string& model, const Tensor& weights) const {
  return guarded([&] { return from(impl_->core.read_model(model, weights ? to(weights) : tenon::Tensor())); });
}
CompiledModel Core::compile_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) {
  return guarded([&] { return compiled(impl_->core.compile_model(model_of(model), to(properties))); });
}
CompiledModel Core::compile_model(const std::shared_ptr<const Model>& model, const std::string& device_name,
                                  const AnyMap& properties) {
  return guarded([&] { return compiled(impl_->core.compile_model(model_of(model), device_name, to(properties))); });
}
CompiledModel Core::compile_model(const std::filesystem::path& model_path, const AnyMap& properties) {
  return guarded([&] { return compiled(impl_->core.compile_model(model_path, to(properties))); });
}
CompiledModel Core::compile_model(const std::filesystem::path& model_path, const std::string& device_name,
                                  const AnyMap& properties) {
  return guarded([&] { return compiled(impl_->core.compile_model(model_path, device_name, to(properties))); });
}
CompiledModel Core::compile_model(const std::string& model_path, const AnyMap& properties) {
  return compile_model(std::filesystem::path(model_path), properties);
}
CompiledModel Core::compile_model(const std::string& model_path, const std::string& device_name,
                                  const AnyMap& properties) {
  return compile_model(std::filesystem::path(model_path), device_name, properties);
}
CompiledModel Core::compile_model(const std::string& model, const Tensor& weights, const std::string& device_name,
                                  const AnyMap& properties) {
  return guarded([&] {
    return compiled(
        impl_->core.compile_model(model, weights ? to(weights) : tenon::Tensor(), device_name, to(properties)));
  });
}
CompiledModel Core::compile_model(const std::shared_ptr<const Model>& model, const RemoteContext& context,
                                  const AnyMap& properties) {
  return guarded(
      [&] { return compiled(impl_->core.compile_model(model_of(model), context_of(context), to(properties))); });
}
CompiledModel Core::import_model(std::istream& stream, const std::string& device_name, const AnyMap& properties) {
  return guarded([&] { return compiled(impl_->core.import_model(stream, device_name, to(properties))); });
}
CompiledModel Core::import_model(const Tensor& blob, const std::string& device_name, const AnyMap& properties) {
  return guarded([&] { return compiled(impl_->core.import_model(to(blob), device_name, to(properties))); });
}
CompiledModel Core::import_model(std::istream& stream, const RemoteContext& context, const AnyMap& properties) {
  return guarded([&] { return compiled(impl_->core.import_model(stream, context_of(context), to(properties))); });
}
CompiledModel Core::import_model(const Tensor& blob, const RemoteContext& context, const AnyMap& properties) {
  return guarded([&] { return compiled(impl_->core.import_model(to(blob), context_of(context), to(properties))); });
}
SupportedOpsMap Core::query_model(const std::shared_ptr<const Model>& model, const std::string& device_name,
                                  const AnyMap& properties) const {
  return guarded([&] { return impl_->core.query_model(model_of(model), device_name, to(properties)); });
}
void Core::set_property(const AnyMap& properties) {
  guarded([&] { impl_->core.set_property(to(properties)); });
}
void Core::set_property(const std::string& device_name, const AnyMap& properties) {
  guarded([&] { impl_->core.set_property(device_name, to(properties)); });
}
Any Core::get_property(const std::string& device_name, const std::string& name) const {
  return guarded([&] { return from(impl_->core.get_property(device_name, name)); });
}
Any Core::get_property(const std::string& device_name, const std::string& name, const AnyMap& arguments) const {
  return guarded([&] { return from(impl_->core.get_property(device_name, name, to(arguments))); });
}
RemoteContext Core::create_context(const std::string& device_name, const AnyMap& remote_properties) {
  return guarded([&] {
    return RemoteContext(std::make_shared<IRemoteContext>(
        IRemoteContext{impl_->core.create_context(device_name, to(remote_properties))}));
  });
}
RemoteContext Core::get_default_context(const std::string& device_name) {
  return guarded([&] {
    return RemoteContext(
        std::make_shared<IRemoteContext>(IRemoteContext{impl_->core.get_default_context(device_name)}));
  });
}
void Core::register_plugin(const std::string& plugin, const std::string& device_name, const AnyMap& config) {
  guarded([&] { impl_->core.register_plugin(plugin, device_name, to(config)); });
}
void Core::unload_plugin(const std::string& device_name) {
  guarded([&] { impl_->core.unload_plugin(device_name); });
}

}  // namespace ov
