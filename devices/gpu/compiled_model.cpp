// SPDX-License-Identifier: Apache-2.0
// Compiling, and plans for shapes.
#include <tenon/devices/gpu/compiled_model.hpp>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <unordered_map>

#include <tenon/core/host.hpp>
#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/remote/remote.hpp>
#include <tenon/devices/gpu/request/location.hpp>
#include <tenon/devices/gpu/tuner.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/planning/state_ports.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Whether the model's maker said that the input's tensors are images.
bool is_surface(const Node& parameter) {
  const auto& info = parameter.output(0).get_rt_info();
  const auto found = info.find("memory_type_0");
  if (found == info.end() || !found->second.is<AnyMap>()) return false;
  const auto map = found->second.as<AnyMap>();
  const auto value = map.find("value");
  return value != map.end() && value->second.to_text() == intel_gpu::memory_type::surface;
}

/// The form of images that the device would make for such an input; plain if it has none.
InputForm surface_form(const Gpu& gpu, element::Type type, const Shape& shape) {
  if (shape.size() != 4 || shape[0] == 0 || gpu.native().device.max_width == 0) return {};
  const Context images = opencl::images(gpu.context());
  const Shape pixels{shape[1], shape[2], shape[3]};
  const bool has_format =
      !images.as<opencl::ImageContext>()->refusal(static_cast<ElementType>(type), pixels, opencl::Samples::kNormalised);
  constexpr const char* kComponents[] = {"x", "x", "xy", "x", "xyzw"};
  return {shape[0], shape[2] * shape[3], kComponents[has_format ? std::min<std::size_t>(shape[3], 4) : 1], false};
}

/// What the setting says, or else what is worth trying on the device.
std::vector<LaunchWay> launch_ways(const Gpu& gpu, const Config& config, bool has_twin) {
  using Properties = cl_command_queue_properties;
  const Properties properties = gpu.shares_queue()
                                    ? client::info<Properties>(clGetCommandQueueInfo, "clGetCommandQueueInfo",
                                                               gpu.native().queue.get(), CL_QUEUE_PROPERTIES)
                                    : Properties{0};
  const bool takes_buffers = gpu.command_buffers().take(properties);
  if (config.launches == gpu::launch::singly) return {LaunchWay::kSingly};
  if (config.launches == gpu::launch::held) return {LaunchWay::kHeld};
  if (config.launches == gpu::launch::cuda_graph) return {LaunchWay::kGraph};
  if (config.launches == gpu::launch::command_buffer) {
    if (!takes_buffers)
      throw Error(Code::kUnimplemented,
                  "GPU: GPU_LAUNCHES is COMMAND_BUFFER, and " + gpu.native().device.name + " " +
                      (gpu.command_buffers() ? "records no command buffers for such a queue (out of order, or of other "
                                               "properties than the driver takes)"
                                             : "has no cl_khr_command_buffer") +
                      ": leave it at AUTO");
    if (config.profiling)
      throw Error(Code::kInvalidArgument,
                  "GPU: GPU_LAUNCHES is COMMAND_BUFFER, and PERF_COUNT wants the time of each kernel, which a command "
                  "buffer does not tell: leave one of them away");
    return {LaunchWay::kBuffer};
  }
  std::vector<LaunchWay> ways{LaunchWay::kSingly};
  if (config.profiling) return ways;
  // For tests: their few inferences are to run by the twin.
  if (const char* const wish = std::getenv("TENON_GPU_TWIN"); has_twin && wish && std::string_view(wish) == "always")
    return {LaunchWay::kGraph};
  if (has_twin) ways.push_back(LaunchWay::kGraph);
  if (gpu.native().device.is_cpu()) ways.push_back(LaunchWay::kHeld);
  if (takes_buffers) ways.push_back(LaunchWay::kBuffer);
  return ways;
}

/// The device's twin, if the model is to run by it, or to find out whether that is faster.
/// @errors kUnimplemented: the setting wants it, and there is none; kInvalidArgument: another setting forbids it.
std::shared_ptr<Twin> twin_for(const Gpu& gpu, const Config& config, const Model& model) {
  const bool is_wanted = config.launches == gpu::launch::cuda_graph,
             is_tried =
                 config.launches == gpu::launch::automatic && model.get_ops().size() >= LaunchTrial::kLeastKernels;
  if (!is_wanted && !is_tried) return nullptr;
  const auto refuse = [&](Code code, const std::string& why) {
    if (is_wanted) throw Error(code, "GPU: GPU_LAUNCHES is CUDA_GRAPH, and " + why + ": leave it at AUTO");
    return nullptr;
  };
  if (gpu.shares_queue())
    return refuse(Code::kInvalidArgument,
                  "inferences are ordered by the application's queue, for which CUDA cannot wait");
  if (config.profiling)
    return refuse(Code::kInvalidArgument, "PERF_COUNT wants the time of each kernel, which a graph does not tell");
  if (config.queue_priority != hint::Priority::MEDIUM || config.queue_throttle != hint::Priority::MEDIUM)
    return refuse(Code::kInvalidArgument, "a priority or a throttle is set, which are hints for OpenCL's queues");
  std::string why;
  if (auto twin = gpu.use_twin(&why)) return twin;
  return refuse(Code::kUnimplemented, gpu.native().device.name + " has no twin: " + why);
}

Target target_for(const Gpu& gpu, const Config& config, const Twin* twin) {
  Target target = config.target_of(gpu.target());
  if (twin) target.twin_local_bytes = twin->local_bytes();
  return target;
}

const char* name_of(LaunchWay way) {
  switch (way) {
    case LaunchWay::kGraph:
      return gpu::launch::cuda_graph;
    case LaunchWay::kHeld:
      return gpu::launch::held;
    case LaunchWay::kBuffer:
      return gpu::launch::command_buffer;
    default:
      return gpu::launch::singly;
  }
}

}  // namespace

CompiledModel::CompiledModel(std::shared_ptr<const Model> model, std::shared_ptr<const Gpu> gpu, const Config& config,
                             std::shared_ptr<RemoteContextImpl> context)
    : CompiledModelImpl(Ports::of(*model)),
      source_(std::move(model)),
      gpu_(std::move(gpu)),
      config_(config),
      context_(std::move(context)),
      twin_(twin_for(*gpu_, config, *source_)),
      target_(target_for(*gpu_, config, twin_.get())),
      launches_(launch_ways(*gpu_, config, twin_ != nullptr)),
      waits_for_twin_(launches_.is_over() && launches_.way() == LaunchWay::kGraph),
      constants_(gpu_) {
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  const HostBudget::Scope scope(budget);
  const TimeLimit time(model_limits().compile_seconds);
  prepared_ = run_passes(*source_, time, config_.fuses_attention, target_);
  // An output whose shape only passes found out is made known to the request when it runs.
  const auto& outputs = ports().outputs;
  const bool is_moving = std::any_of(outputs.begin(), outputs.end(),
                                     [](const auto& port) { return port.get_partial_shape().is_dynamic(); });
  variables_ = variables_of(*prepared_);
  if (is_moving || std::ranges::any_of(variables_, &Variable::is_port) || DeferredModel::is_open(*prepared_, target_)) {
    const ElementType keys = config_.key_cache_type(target_), values = config_.value_cache_type(target_);
    caches_ = cache_types(*prepared_, keys, values);
    growing_ = growing_axes(*prepared_);
    for (Variable& variable : variables_) {
      variable.is_port = true;
      if (const auto found = caches_.find(variable.id); found != caches_.end()) variable.cache = found->second;
      if (const auto found = growing_.find(variable.id); found != growing_.end()) variable.grows = found->second;
    }
  } else {
    if (config_.tuning_ms > 0) tune();
    static_subgraph_ = whole_subgraph(make_plan(prepared_, true, {}));
    if (static_subgraph_->plan->launches.size() < LaunchTrial::kLeastKernels) launches_.end();
    plan_surfaces();
  }
  table_.add_constant(model_name, source_->get_friendly_name());
  table_.add_constant(optimal_number_of_infer_requests, config_.num_requests
                                                            ? std::min(config_.num_requests, config_.stream_count() * 2)
                                                            : config_.stream_count() * 2);
  table_.add_constant(execution_devices, std::vector<std::string>{gpu_->device_name()});
  table_.add_constant(num_streams, streams::Num(static_cast<std::int32_t>(config_.stream_count())));
  table_.add_constant(enable_profiling, config_.profiling);
  table_.add_constant(hint::performance_mode, config_.mode);
  table_.add_constant(hint::num_requests, config_.num_requests);
  table_.add_constant(intel_gpu::hint::queue_priority, config_.queue_priority);
  table_.add_constant(intel_gpu::hint::queue_throttle, config_.queue_throttle);
  table_.add_constant(hint::model_priority, config_.queue_priority);
  table_.add_constant(cache_dir, config_.cache_dir);
  table_.add_constant(compilation_num_threads, config_.compile_threads);
  table_.add_constant(intel_gpu::hint::enable_sdpa_optimization, config_.fuses_attention);
  table_.add_constant(tenon::gpu::tuning_ms, config_.tuning_ms);
  table_.add_constant(tenon::gpu::tuning_report, tuning_report_);
  table_.add(PropertyName(gpu::launches.name(), PropertyMutability::RO), [this] {
    return Any(std::string(launches_.is_over() ? name_of(launches_.way()) : gpu::launch::automatic));
  });
  const element::Type keys = config_.key_cache_type(target_), values = config_.value_cache_type(target_);
  table_.add_constant(hint::kv_cache_precision, keys == values ? keys : element::dynamic);
  table_.add_constant(key_cache_precision, keys);
  table_.add_constant(value_cache_precision, values);
  table_.add_constant(hint::execution_mode, config_.execution_mode);
  table_.add_constant(device::id, gpu_->id());
  for (const auto& [name, value] : config_.wishes)
    table_.add(PropertyName(name, PropertyMutability::RO), [value = value] { return value; });
  table_.add_constant(hint::inference_precision, element::Type(target_.stores_f16 ? element::f16 : element::f32));
}

const CompiledModel::Opened& CompiledModel::open(const std::set<std::string>& is_set) {
  const std::lock_guard lock(open_mutex_);
  Opened& opened = open_[is_set];
  if (!opened.model) {
    planning::StatePorts ports;
    ports.model = prepared_;
    if (!variables_.empty()) {
      ports = planning::state_ports(*prepared_, is_set);
      ports.model = with_caches(ports, caches_, growing_);
    }
    opened.state_inputs = std::move(ports.inputs);
    opened.state_outputs = std::move(ports.outputs);
    opened.model = std::make_unique<DeferredModel>(
        std::move(ports.model), target_,
        DeferredModel::Maker{[this](const Model& closed) {
                               const TimeLimit limit(model_limits().compile_seconds);
                               return run_passes(closed, limit, config_.fuses_attention, target_);
                             },
                             [this](const auto& closed, const auto& forms) { return make_plan(closed, false, forms); },
                             [this](const Model& open) {
                               const TimeLimit limit(model_limits().compile_seconds);
                               return run_moving_passes(open, limit, config_.fuses_attention);
                             },
                             [this](const auto& model, const auto& order) {
                               return std::make_unique<ModelWalk>(model, order, target_, weights_);
                             },
                             [this](ModelWalk& walk, const auto& changed, const auto& model, const auto& before) {
                               const TimeLimit limit(model_limits().compile_seconds);
                               return finish_plan(walk.run(changed, limit), model, limit, before.get());
                             }});
  }
  last_open_ = opened.model.get();
  return opened;
}

void CompiledModel::check_memory(std::uint64_t bytes) const {
  const bool is_limited = model_limits().bytes != 0 || gpu_->native().device.host_unified;
  if (!is_limited || bytes <= allowed_bytes()) return;
  throw Error(Code::kResourceExhausted, "GPU: '" + source_->get_friendly_name() + "' needs " + std::to_string(bytes) +
                                            " bytes for the values between its kernels" +
                                            limit_text(limit_property::kBytes, allowed_bytes()));
}

void CompiledModel::tune() {
  const TimeLimit time(model_limits().compile_seconds);
  Tuner tuner(gpu_, config_.cache_dir);
  std::vector<Trial> trials;
  std::set<std::string> taken;
  const LaunchPlan plan = lower_model(*prepared_, target_, weights_, true, {}, time,
                                      {.known = &tuner.choices(), .trials = &trials, .taken = &taken});
  if (!trials.empty())
    tuner.measure(plan, std::move(trials), constants_, std::chrono::milliseconds(config_.tuning_ms),
                  config_.compile_threads);
  choices_ = tuner.choices();
  tuning_report_ = tuner.report(taken.size());
}

void CompiledModel::plan_surfaces() {
  std::vector<InputForm> forms;
  bool has_surface = false;
  for (const auto& parameter : prepared_->get_parameters()) {
    const Shape& shape = parameter->get_shape();
    forms.push_back(is_surface(*parameter) ? surface_form(*gpu_, parameter->get_element_type(), shape) : InputForm{});
    has_surface |= !forms.back().is_plain();
  }
  if (has_surface) subgraph_for(forms);
}

std::shared_ptr<const LaunchPlan> CompiledModel::make_plan(const std::shared_ptr<const Model>& model, bool is_special,
                                                           const std::vector<InputForm>& forms) {
  const TimeLimit time(model_limits().compile_seconds);
  return finish_plan(lower_model(*model, target_, weights_, is_special, forms, time,
                                 {.known = is_special && config_.tuning_ms ? &choices_ : nullptr}),
                     model, time, nullptr);
}

std::shared_ptr<const LaunchPlan> CompiledModel::finish_plan(LaunchPlan lowered,
                                                             const std::shared_ptr<const Model>& model,
                                                             const TimeLimit& time, const LaunchPlan* before) {
  auto plan = std::make_shared<LaunchPlan>(std::move(lowered));
  check_memory(plan->arena_bytes);
  plan->model = model;
  plan->idle_kernels = idle_kernels_;
  std::unordered_map<const KernelText*, std::shared_ptr<const Program>> programs;
  if (before)
    for (std::size_t i = 0; i < before->launches.size(); ++i)
      programs.emplace(before->launches[i]->kernel.get(), before->programs[i]);
  KernelLibrary::Texts texts;
  for (const auto& launch : plan->launches)
    if (programs.emplace(launch->kernel.get(), nullptr).second) texts.push_back(launch->kernel);
  if (!texts.empty()) {
    const auto built = gpu_->library().build(texts, config_.cache_dir, time, config_.compile_threads);
    for (std::size_t i = 0; i < texts.size(); ++i) programs[texts[i].get()] = built[i];
  }
  for (const auto& launch : plan->launches) plan->programs.push_back(programs.at(launch->kernel.get()));
  // A product that reads its weights in another form has asked how they lie, too.
  std::vector<bool> is_read(plan->buffers.size());
  for (const auto& launch : plan->launches)
    for (const Argument& argument : launch->arguments)
      if (argument.place) is_read[argument.place.buffer] = true;
  for (planning::BufferId id = 0; id < plan->buffers.size(); ++id) {
    const planning::Buffer& buffer = plan->buffers[id];
    const bool is_held = buffer.kind == planning::BufferKind::kConstant && id != plan->counters && is_read[id],
               is_there = is_held && before && id < before->buffers.size() && before->constants[id] &&
                          before->buffers[id].constant.data() == buffer.constant.data();
    plan->constants.push_back(is_there  ? before->constants[id]
                              : is_held ? constants_.buffer(buffer.constant)
                                        : nullptr);
  }
  if (twin_) bring(plan, before);
  return plan;
}

void CompiledModel::bring(const std::shared_ptr<LaunchPlan>& plan, const LaunchPlan* before) {
  using Known = std::unordered_map<const KernelText*, std::shared_ptr<const Program>>;
  plan->twin = std::make_shared<TwinPrograms>();
  Known known;
  if (before && before->twin && before->twin->are_there())
    for (std::size_t i = 0; i < before->launches.size(); ++i)
      known.emplace(of_twin(*before->launches[i]).kernel.get(), before->twin->all()[i]);
  for (std::size_t i = 0; i < plan->launches.size(); ++i)
    if (!plan->launches[i]->for_twin && plan->programs[i]->was_brought())
      known.emplace(plan->launches[i]->kernel.get(), plan->programs[i]);
  const auto settle = [](const LaunchPlan& of, const Known& all) {
    TwinPrograms::Programs programs;
    for (const auto& launch : of.launches) programs.push_back(all.at(of_twin(*launch).kernel.get()));
    of.twin->set(std::move(programs));
  };
  KernelLibrary::Texts unknown;
  for (const auto& launch : plan->launches)
    if (const auto& kernel = of_twin(*launch).kernel; known.emplace(kernel.get(), nullptr).second)
      unknown.push_back(kernel);
  if (unknown.empty()) return settle(*plan, known);
  const auto work = [this, settle, known = std::move(known), unknown = std::move(unknown)](const LaunchPlan& of) {
    const auto built = gpu_->library().build(unknown, config_.cache_dir, TimeLimit(0), config_.compile_threads);
    KernelLibrary::bring(*twin_, built, config_.compile_threads);
    Known all = known;
    for (std::size_t i = 0; i < unknown.size(); ++i) all[unknown[i].get()] = built[i];
    settle(of, all);
  };
  if (waits_for_twin_) return work(*plan);
  // CUDA's compiler takes as long as OpenCL's, which runs the inferences until then.
  if (!launches_.is_over() || launches_.way() == LaunchWay::kGraph)
    background_.add([work, of = std::weak_ptr<const LaunchPlan>(plan)] {
      if (const auto made = of.lock()) work(*made);
    });
}

std::shared_ptr<const PlannedSubgraph> CompiledModel::subgraph_for(const std::vector<InputForm>& forms) {
  if (std::all_of(forms.begin(), forms.end(), [](const auto& form) { return form.is_plain(); }))
    return static_subgraph_;
  const auto make = [&](const std::vector<InputForm>&) {
    const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
    const HostBudget::Scope scope(budget);
    return whole_subgraph(make_plan(prepared_, true, forms));
  };
  for (;;)
    if (auto subgraph = formed_subgraphs_.get(forms, make)) return subgraph;
}

std::shared_ptr<const Model> CompiledModel::runtime_model() const {
  const DeferredModel* open = nullptr;
  {
    const std::lock_guard lock(open_mutex_);
    open = last_open_;
  }
  const std::lock_guard lock(times_mutex_);
  auto subgraphs = timed_subgraphs_;
  if (is_open())
    subgraphs = open ? open->last_subgraphs() : std::vector<std::shared_ptr<const PlannedSubgraph>>();
  else if (subgraphs.empty())
    subgraphs = {static_subgraph_};
  if (subgraphs.empty())
    throw Error(Code::kFailedPrecondition,
                "GPU: what '" + source_->get_friendly_name() +
                    "' runs depends on its inputs, and it has not run yet, so there are no steps to show "
                    "(get_runtime_model): infer once, or reshape the model to static shapes before compiling it");
  return gpu_device::runtime_model(*source_, subgraphs, timed_subgraphs_ == subgraphs ? last_times_ : SubgraphTimes());
}

void CompiledModel::note_times(std::vector<std::shared_ptr<const PlannedSubgraph>> subgraphs, SubgraphTimes times) {
  const std::lock_guard lock(times_mutex_);
  timed_subgraphs_ = std::move(subgraphs);
  last_times_ = std::move(times);
}

std::unique_ptr<InferRequestImpl> CompiledModel::create_request() { return make_request(shared_from_this()); }

std::optional<Refusal> CompiledModel::refuses_input(std::size_t index, const Tensor& tensor) const {
  if (is_plain(*gpu_, tensor)) return std::nullopt;
  auto found = locate(*gpu_, tensor, Access::kRead, takes_pitch(index));
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  return std::nullopt;
}

std::optional<Refusal> CompiledModel::refuses_batch(std::size_t, std::span<const Tensor> items) const {
  auto found = locate_batch(*gpu_, items);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  return std::nullopt;
}

std::optional<Refusal> CompiledModel::refuses_output(std::size_t, const Tensor& tensor) const {
  if (is_plain(*gpu_, tensor)) return std::nullopt;
  auto found = locate(*gpu_, tensor, Access::kWrite);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  return std::nullopt;
}

Requirements CompiledModel::requirements() const { return gpu_->context()->requirements(); }

Tensor CompiledModel::allocate_input(std::size_t index, const Shape& shape) const {
  return gpu_->make_host_tensor(ports().inputs.at(index).get_element_type(), shape);
}

Tensor CompiledModel::allocate_output(std::size_t index, const Shape& shape) const {
  return gpu_->make_host_tensor(ports().outputs.at(index).get_element_type(), shape);
}

}  // namespace tenon::inline v1::gpu_device
