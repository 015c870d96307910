// SPDX-License-Identifier: Apache-2.0
// Compiled models of the NPU: ports, memory, properties.
#include <tenon/devices/npu/compiled_model.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <ostream>
#include <tuple>

#include <tenon/devices/npu/adapt.hpp>
#include <tenon/devices/npu/batch.hpp>
#include <tenon/devices/npu/memory.hpp>
#include <tenon/devices/npu/remote.hpp>
#include <tenon/devices/npu/request.hpp>
#include <tenon/devices/npu/weightless.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::npu_device {
namespace {

bool byte_like(ElementType type) { return type == ElementType::kBool || type == ElementType::kU8; }

const std::string& producer_name(const Output<const Node>& port) {
  const Node& node = *port.get_node();
  return node.get_input_size() > 0 ? node.get_input_node_ptr(0)->get_friendly_name() : node.get_friendly_name();
}

bool is_called(const Argument& argument, const Output<const Node>& port) {
  return argument.friendly_name == port.get_node()->get_friendly_name() ||
         argument.friendly_name == producer_name(port);
}

/// Arguments in port order: by name if every port has a matching one, else in the driver's order.
std::vector<const Argument*> matched(const std::vector<Argument>& all, bool is_input,
                                     const std::vector<Output<const Node>>& ports) {
  std::vector<const Argument*> listed;
  for (const Argument& argument : all)
    if (argument.is_input == is_input && argument.role == Argument::Role::kPort) listed.push_back(&argument);
  if (listed.size() != ports.size())
    throw Error(Code::kInternal, "NPU: the driver's graph has " + std::to_string(listed.size()) +
                                     (is_input ? " inputs" : " outputs") + ", the model has " +
                                     std::to_string(ports.size()));
  std::vector<const Argument*> by_name;
  std::vector<const Argument*> left = listed;
  for (const auto& port : ports) {
    const auto found =
        std::find_if(left.begin(), left.end(), [&](const Argument* argument) { return is_called(*argument, port); });
    if (found == left.end()) return listed;
    by_name.push_back(*found);
    left.erase(found);
  }
  return by_name;
}

/// Requests check tensors against the port, but the device accesses the argument: sizes must agree. @errors kDataLoss:
/// the blob's parts do not belong together.
void check_size(const Argument& argument, const Output<const Node>& port, bool takes_items) {
  PartialShape shape = port.get_partial_shape();
  if (takes_items && shape.rank().is_static() && shape.size() > 0) shape[0] = Dimension(1);
  if (shape.is_dynamic()) return;
  const auto bytes = checked_size_bytes(argument.type, shape.to_shape());
  if (bytes && *bytes == argument.bytes()) return;
  throw Error(Code::kDataLoss, "NPU: the driver's graph has '" + argument.name + "' of shape " +
                                   to_string(argument.shape) + ", the model says " + shape.to_string() +
                                   "; compile the model anew");
}

/// The queue shared by all models with EXCLUSIVE_ASYNC_REQUESTS, which runs their inferences one after the other; one
/// per set of options, since these are fixed on creation.
std::shared_ptr<const CompiledModel::Queue> exclusive_queue(const Npu& npu, QueueOptions options) {
  // Other queues may run submissions concurrently. Drivers without the option to request order always keep it.
  options.sequential = options.sequential || npu.queue_version >= abi::version(1, 1);
  using Key = std::tuple<ze_context_handle_t, ze_device_handle_t, hint::Priority, bool, bool>;
  static std::mutex mutex;
  static auto* queues = new std::map<Key, std::weak_ptr<const CompiledModel::Queue>>;  // Models may outlive statics.
  const std::lock_guard lock(mutex);
  auto& known = (*queues)[{npu.context, npu.device, options.priority, options.turbo, options.sequential}];
  auto queue = known.lock();
  if (!queue) known = queue = std::make_shared<const CompiledModel::Queue>(make_queue(npu, options));
  return queue;
}

}  // namespace

CompiledModel::CompiledModel(std::shared_ptr<Graph> graph, ModelInfo info, Settings settings,
                             std::shared_ptr<RemoteContextImpl> context)
    : CompiledModelImpl(info.ports),
      graph_(std::move(graph)),
      info_(std::move(info)),
      settings_(std::move(settings)),
      context_(std::move(context)),
      completion_(std::make_shared<Completion>(settings_.sequential)) {
  plan_ports();
  plan_states();
  declare();
  const bool off_device = info_.platform != npu()->platform;
  if (off_device) return;  // Compiled for another machine, only for export.
  queue_ = new_queue(settings_.priority);
  if (!settings_.defer_weights_load) graph_->initialize(queue_->get());
}

std::shared_ptr<const CompiledModel::Queue> CompiledModel::new_queue(hint::Priority priority) const {
  const QueueOptions options{priority, settings_.turbo, settings_.sequential};
  auto queue = settings_.exclusive_requests ? exclusive_queue(*npu(), options)
                                            : std::make_shared<const Queue>(make_queue(*npu(), options));
  if (settings_.workload != WorkloadType::DEFAULT) set_workload(queue->get(), settings_.workload);
  return queue;
}

void CompiledModel::set_workload(ze_command_queue_handle_t queue, WorkloadType type) const {
  const auto native = type == WorkloadType::EFFICIENT ? abi::WorkloadType::kBackground : abi::WorkloadType::kDefault;
  check(call(npu()->queue_table->set_workload_type, driver_side(queue), native), "pfnSetWorkloadType",
        "setting the workload type of a model");
}

CompiledModel::~CompiledModel() { completion_->stop(); }

void CompiledModel::plan_ports() {
  for (const bool is_input : {true, false}) {
    const auto& ports = is_input ? info_.ports.inputs : info_.ports.outputs;
    const auto arguments = matched(graph_->arguments(), is_input, ports);
    for (std::size_t i = 0; i < ports.size(); ++i)
      (is_input ? inputs_ : outputs_).push_back(plan_port(*arguments[i], ports[i]));
  }
}

PortPlan CompiledModel::plan_port(const Argument& argument, const Output<const Node>& port) const {
  PortPlan plan;
  plan.argument = argument.index;
  plan.type = port.get_element_type();
  if (argument.type != plan.type && !(byte_like(argument.type) && byte_like(plan.type)))
    throw Error(Code::kInternal, "NPU: the driver made '" + port.get_node()->get_friendly_name() + "' an argument of " +
                                     std::string(name(argument.type)) + ", the model says " +
                                     std::string(name(plan.type)));
  plan.max_bytes = argument.bytes();
  check_size(argument, port, info_.batch != 0);
  if (info_.batch != 0) {
    plan.kind = PortPlan::Kind::kBatch;
  } else if (port.get_partial_shape().is_dynamic()) {
    plan.kind = PortPlan::Kind::kBounded;
    for (const Argument& other : graph_->arguments())
      if (other.role == Argument::Role::kShape && other.is_input == argument.is_input && other.name == argument.name)
        plan.shape_argument = other.index;
    if (plan.shape_argument < 0)
      throw Error(Code::kUnimplemented, "NPU: the driver gives no argument for the shape of '" + argument.name +
                                            "', which is dynamic (" + port.get_partial_shape().to_string() +
                                            "); reshape the model to a static shape");
  }
  return plan;
}

void CompiledModel::plan_states() {
  const auto find = [&](const Variable& variable, bool is_input, Argument::Role role) -> std::uint32_t {
    for (const Argument& argument : graph_->arguments())
      if (argument.role == role && argument.is_input == is_input && argument.name == variable.name)
        return argument.index;
    if (role == Argument::Role::kStateShape)
      throw Error(Code::kUnimplemented, "NPU: the driver gives no argument for the shape of state '" + variable.name +
                                            "', which is dynamic (" + variable.shape.to_string() +
                                            "); reshape the model so that its states are static");
    throw Error(Code::kInternal, "NPU: the driver's graph lacks the " + std::string(is_input ? "input" : "output") +
                                     " of state '" + variable.name + "'");
  };
  // A blob imported without our header is described only by its arguments.
  if (info_.variables.empty()) {
    for (const Argument& argument : graph_->arguments())
      if (argument.role == Argument::Role::kState && argument.is_input)
        info_.variables.push_back({argument.name, argument.type, argument.model_shape, {}});
  }
  for (const Variable& variable : info_.variables) {
    StatePlan plan{find(variable, true, Argument::Role::kState), find(variable, false, Argument::Role::kState)};
    if (variable.shape.is_dynamic()) {
      plan.input_shape = find(variable, true, Argument::Role::kStateShape);
      plan.output_shape = find(variable, false, Argument::Role::kStateShape);
    }
    states_.push_back(plan);
  }
}

std::variant<std::byte*, Refusal> CompiledModel::place(const PortPlan& plan, const Tensor& tensor,
                                                       Access access) const {
  const Argument& argument = graph_->arguments()[plan.argument];
  if (!tensor.is_contiguous()) {
    const std::size_t element = size_bytes(tensor.element_type());
    const auto& strides = tensor.byte_strides();
    const bool whole = element != 0 && std::all_of(strides.begin(), strides.end(), [&](std::ptrdiff_t stride) {
                         return stride > 0 && stride % static_cast<std::ptrdiff_t>(element) == 0;
                       });
    if (!argument.strides || !whole || strides.size() > abi::kMaxArgumentDimensions ||
        plan.kind == PortPlan::Kind::kBounded)
      return Refusal{"the NPU's driver takes no strides for this tensor (" + to_string(strides) +
                     " bytes); name it in NPU_ENABLE_STRIDES_FOR where the driver can, or pass a packed one"};
  }
  std::size_t needed = plan.max_bytes;
  if (plan.kind != PortPlan::Kind::kBounded) needed = checked_extent_bytes(tensor.info()).value_or(SIZE_MAX);
  return locate(*npu(), tensor, access, needed);
}

std::optional<Refusal> CompiledModel::refuses_input(std::size_t index, const Tensor& tensor) const {
  auto placed = place(inputs_.at(index), tensor, Access::kRead);
  if (auto* refusal = std::get_if<Refusal>(&placed)) return std::move(*refusal);
  return std::nullopt;
}

std::optional<Refusal> CompiledModel::refuses_output(std::size_t index, const Tensor& tensor) const {
  const PortPlan& plan = outputs_.at(index);
  // Whether the result fits is known later; the request copies to tensors that the device cannot write in place.
  const bool is_late = plan.kind == PortPlan::Kind::kBatch && info_.batch == ModelInfo::kAnyBatch;
  if (plan.kind == PortPlan::Kind::kBounded || is_late) {
    if (lies_on_npu(tensor) && tensor.is_contiguous()) return std::nullopt;
    return CompiledModelImpl::refuses_output(index, tensor);
  }
  auto placed = place(plan, tensor, Access::kWrite);
  if (auto* refusal = std::get_if<Refusal>(&placed)) return std::move(*refusal);
  return std::nullopt;
}

std::variant<std::vector<std::byte*>, Refusal> CompiledModel::place_items(std::size_t index,
                                                                          std::span<const Tensor> items) const {
  const PortPlan& plan = inputs_.at(index);
  std::vector<std::byte*> addresses;
  if (plan.kind != PortPlan::Kind::kBatch) {
    for (const Tensor& item : items) {
      addresses.push_back(item.is_contiguous() && lies_on_npu(item) ? mapped_address(item) : nullptr);
      if (!addresses.back())
        return Refusal{
            "the driver's graph takes the batch in one piece (NPU_BATCH_MODE PLUGIN makes graphs that take one item), "
            "and " +
            to_string(item) + " is no packed tensor in the NPU's memory"};
    }
    return addresses;
  }
  for (const Tensor& item : items) {
    if (!item.is_contiguous()) return Refusal{to_string(item) + " is strided"};
    auto placed = place(plan, item, Access::kRead);
    if (auto* refusal = std::get_if<Refusal>(&placed)) return std::move(*refusal);
    if (!npu()->waits_for_fences && fence_fd(item) >= 0)
      return Refusal{to_string(item) + " is a dma-buf, for whose fences the driver does not wait by itself"};
    addresses.push_back(std::get<std::byte*>(placed));
  }
  return addresses;
}

std::optional<Refusal> CompiledModel::refuses_batch(std::size_t index, std::span<const Tensor> items) const {
  auto placed = place_items(index, items);
  if (auto* refusal = std::get_if<Refusal>(&placed)) return std::move(*refusal);
  return std::nullopt;
}

Context CompiledModel::memory_context() const { return npu_device::memory_context(*npu()); }

Requirements CompiledModel::requirements() const {
  Requirements wanted = CompiledModelImpl::requirements();
  if (!npu()->imports_system_memory && !native_of(*npu())->imports_memfd) return wanted;
  // Import whole pages, which a memfd has, by descriptor or by address.
  wanted.fd = FdKind::kMemfd;
  return wanted;
}

Tensor CompiledModel::allocate_input(std::size_t index, const Shape& shape) const {
  const PortPlan& plan = inputs_.at(index);
  return allocate_tensor(*npu(), plan.type, shape, true,
                         plan.kind == PortPlan::Kind::kBounded ? plan.max_bytes : std::size_t{0});
}

Tensor CompiledModel::allocate_output(std::size_t index, const Shape& shape) const {
  return allocate_tensor(*npu(), outputs_.at(index).type, shape, false);
}

void CompiledModel::declare() {
  table_.add_constant(model_name, info_.name);
  table_.add_constant(execution_devices, std::vector<std::string>{npus().size() > 1 ? "NPU." + npu()->id : "NPU"});
  table_.add_constant(optimal_number_of_infer_requests, settings_.optimal_requests(info_.platform));
  table_.add_constant(num_streams, streams::Num(1));
  table_.add_constant(hint::performance_mode, settings_.mode);
  table_.add_constant(hint::num_requests, settings_.num_requests.value_or(1));
  table_.add(
      hint::model_priority, [this] { return Any(settings_.priority); },
      [this](const Any& value, bool apply) {
        const auto wanted = value.as<hint::Priority>();
        if (!apply || wanted == settings_.priority) return;
        // A queue's priority is fixed when it is created.
        if (queue_) {
          queue_ = new_queue(wanted);
          queue_number_.fetch_add(1, std::memory_order_release);
        }
        settings_.priority = wanted;
      });
  table_.add_constant(hint::execution_mode, settings_.execution_mode);
  table_.add_constant(hint::inference_precision, settings_.precision);
  table_.add_constant(hint::enable_cpu_pinning, settings_.cpu_pinning);
  table_.add_constant(enable_profiling, settings_.profiling);
  table_.add_constant(log::level, settings_.log_level);
  table_.add_constant(compilation_num_threads, settings_.compilation_threads);
  table_.add_constant(device::id, npu()->id);
  table_.add_constant(intel_npu::platform, info_.platform);
  table_.add_constant(intel_npu::compiler_type, settings_.compiler_type);
  table_.add_constant(intel_npu::compiler_version,
                      static_cast<std::uint32_t>(npu()->compiler.major) << 16 | npu()->compiler.minor);
  table_.add_constant(intel_npu::compilation_mode_params, settings_.compilation_mode_params);
  table_.add_constant(intel_npu::tiles, settings_.tiles);
  table_.add_constant(intel_npu::bypass_umd_caching, settings_.bypass_umd_caching);
  table_.add_constant(intel_npu::defer_weights_load, settings_.defer_weights_load);
  table_.add_constant(intel_npu::run_inferences_sequentially, settings_.sequential);
  table_.add_constant(batch_mode, settings_.batch_mode);
  table_.add_constant(cache_dir, settings_.cache_dir);
  if (npu()->abilities().turbo) table_.add_constant(intel_npu::turbo, settings_.turbo);
  table_.add_constant(runtime_requirements, requirements_of(*npu(), info_.platform));
  if (!npu()->queue_table) return;
  table_.add(
      workload_type, [this] { return Any(settings_.workload); },
      [this](const Any& value, bool apply) {
        const auto wanted = value.as<WorkloadType>();
        if (!apply) return;
        if (queue_) set_workload(queue_->get(), wanted);
        settings_.workload = wanted;
      });
}

Any CompiledModel::get_property(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return table_.get(name);
}

void CompiledModel::set_property(const AnyMap& properties) {
  const std::lock_guard lock(mutex_);
  table_.set(properties);
}

void CompiledModel::export_model(std::ostream& stream) const {
  graph_->with_blob([&](const void* data, std::size_t size) {
    if (!settings_.export_raw) return write_blob(stream, info_, BlobKind::kNative, data, size);
    stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    if (!stream) throw Error(Code::kDataLoss, "NPU: the stream took only a part of the driver's blob");
  });
}

void CompiledModel::export_blob(std::ostream& stream, bool weightless) const {
  const auto model = weightless && !settings_.export_raw ? source_.lock() : nullptr;
  if (!model) return export_model(stream);
  ModelInfo known;
  const std::string rest = write_weightless(*for_driver(model, settings_.batch_mode, *npu(), known), config_);
  write_blob(stream, info_, BlobKind::kWeightless, rest.data(), rest.size());
}

std::shared_ptr<const Model> CompiledModel::runtime_model() const {
  throw NotImplemented("the NPU's driver does not report its steps (get_runtime_model)");
}

void CompiledModel::release_memory() {
  if (TENON_NPU_HAS(*npu(), evict))
    check(call(npu()->graph->evict, graph_->handle()), "pfnEvict", "releasing the device's memory of a model");
}

Ports ports_of(const Graph& graph) {
  Ports ports;
  for (const Argument& argument : graph.arguments()) {
    if (argument.role != Argument::Role::kPort) continue;
    auto value = std::make_shared<op::v0::Parameter>(element::Type(argument.type), argument.model_shape);
    value->set_friendly_name(argument.friendly_name.empty() ? argument.name : argument.friendly_name);
    value->output(0).set_names({argument.tensor_names.begin(), argument.tensor_names.end()});
    if (argument.is_input) {
      ports.inputs.emplace_back(std::shared_ptr<const Node>(value), 0);
      continue;
    }
    auto result = std::make_shared<op::v0::Result>(value->output(0));
    result->set_friendly_name(value->get_friendly_name());
    ports.outputs.emplace_back(std::shared_ptr<const Node>(result), 0);
  }
  return ports;
}

}  // namespace tenon::inline v1::npu_device
