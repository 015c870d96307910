// SPDX-License-Identifier: Apache-2.0
// Compiling, plans for shapes, and which tensors are used in place.
#include <tenon/devices/gpu/compiled_model.hpp>

#include <algorithm>

#include <tenon/core/host.hpp>
#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/remote.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

bool is_of(const Gpu& gpu, const Tensor& tensor) {
  if (tensor.context() == gpu.context()) return tensor.kind() == opencl::kBufferMemory;
  const auto* facet = tensor.context().as<opencl::FacetContext>();
  return facet && tensor.kind() == opencl::kBufferMemory && facet->native().context.get() == gpu.native().context.get();
}

/// Whether a tensor begins where an element of its memory does.
bool is_aligned(const Tensor& tensor) {
  const std::size_t element = size_bytes(tensor.element_type());
  return element <= 1 || tensor.offset() % element == 0;
}

/// What locate() finds in place, at the cost of a look.
bool is_usable(const Gpu& gpu, const Tensor& tensor) {
  return is_of(gpu, tensor) && tensor.is_contiguous() && is_aligned(tensor);
}

/// Bytes from row to row of a picture's plane [1, rows, columns, samples], or without the first axis, whose samples lie
/// side by side within a row; 0 for any other tensor.
std::size_t pitch_of(const Tensor& tensor) {
  const std::size_t rank = tensor.shape().size(), element = size_bytes(tensor.element_type());
  if (rank < 3 || rank > 4 || tensor.byte_strides().size() != rank) return 0;
  const auto stride = [&](std::size_t from_end) {
    return static_cast<std::size_t>(tensor.byte_strides()[rank - from_end]);
  };
  const Shape& shape = tensor.shape();
  const std::size_t row = shape[rank - 1] * shape[rank - 2] * element;
  const bool is_side_by_side = (shape[rank - 1] == 1 || stride(1) == element) &&
                               (shape[rank - 2] == 1 || stride(2) == shape[rank - 1] * element);
  if (!is_side_by_side || (rank == 4 && shape[0] != 1)) return 0;
  if (shape[rank - 3] <= 1) return row;
  return stride(3) % element == 0 && tensor.byte_strides()[rank - 3] >= static_cast<std::ptrdiff_t>(row) ? stride(3)
                                                                                                         : 0;
}

}  // namespace

std::variant<Location, Refusal> locate(const Gpu& gpu, const Tensor& tensor, Access access, bool takes_pitch) {
  const std::size_t pitch = takes_pitch ? pitch_of(tensor) : 0;
  if (!tensor.is_contiguous() && pitch == 0)
    return Refusal{"kernels take packed tensors, and " + to_string(tensor) +
                   " is strided; copy_to() a packed one of this context"};
  if (!is_aligned(tensor)) return Refusal{to_string(tensor) + " begins within an element of its memory"};
  if (is_of(gpu, tensor)) return Location{false, {}, {opencl::buffer(tensor), nullptr, tensor.offset(), pitch}};
  if (std::byte* const pointer = pointer_of(gpu, tensor)) return Location{false, {}, {nullptr, pointer, 0, pitch}};
  if (!tensor.is_host_addressable())
    return Refusal{to_string(tensor) + " lies neither in the device's cl_context nor in host memory"};
  if (gpu.native().coherency != opencl::Coherency::kStanding || tensor.size_bytes() == 0) return Location{true, {}, {}};
  try {
    MapOptions options;
    options.access = access;
    options.policy = ZeroCopy::kRequire;
    Tensor mapped = gpu.router().map(tensor, gpu.context(), options);
    const BoundMemory memory{opencl::buffer(mapped), nullptr, mapped.offset(), pitch};
    return Location{false, std::move(mapped), memory};
  } catch (const Error& error) {
    return Refusal{error.what()};
  }
}

CompiledModel::CompiledModel(std::shared_ptr<const Model> model, std::shared_ptr<const Gpu> gpu, const Config& config,
                             std::shared_ptr<RemoteContextImpl> context)
    : CompiledModelImpl(Ports::of(*model)),
      source_(std::move(model)),
      gpu_(std::move(gpu)),
      config_(config),
      context_(std::move(context)),
      constants_(gpu_) {
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  const HostBudget::Scope scope(budget);
  const TimeLimit time(model_limits().compile_seconds);
  prepared_ = run_passes(*source_, time, config_.fuses_attention);
  // An output whose shape only passes found out is made known to the request when it runs.
  const auto& outputs = ports().outputs;
  const bool is_moving = std::any_of(outputs.begin(), outputs.end(),
                                     [](const auto& port) { return port.get_partial_shape().is_dynamic(); });
  if (is_moving || OpenModel::is_open(*prepared_, gpu_->target()))
    open_ =
        std::make_unique<OpenModel>(prepared_, gpu_->target(),
                                    OpenModel::Maker{[this](const Model& closed) {
                                                       const TimeLimit limit(model_limits().compile_seconds);
                                                       return run_passes(closed, limit, config_.fuses_attention);
                                                     },
                                                     [this](const auto& closed) { return make_plan(closed, false); }});
  else
    static_stage_ = whole_stage(make_plan(prepared_, true));
  table_.add_constant(model_name, source_->get_friendly_name());
  table_.add_constant(optimal_number_of_infer_requests, config_.num_requests
                                                            ? std::min(config_.num_requests, config_.stream_count() * 2)
                                                            : config_.stream_count() * 2);
  table_.add_constant(execution_devices, std::vector<std::string>{"GPU." + gpu_->id()});
  table_.add_constant(num_streams, streams::Num(static_cast<std::int32_t>(config_.stream_count())));
  table_.add_constant(enable_profiling, config_.profiling);
  table_.add_constant(hint::performance_mode, config_.mode);
  table_.add_constant(hint::num_requests, config_.num_requests);
  table_.add_constant(intel_gpu::hint::queue_priority, config_.queue_priority);
  table_.add_constant(intel_gpu::hint::queue_throttle, config_.queue_throttle);
  table_.add_constant(hint::model_priority, config_.queue_priority);
  table_.add_constant(compilation_num_threads, config_.compile_threads);
  table_.add_constant(intel_gpu::hint::enable_sdpa_optimization, config_.fuses_attention);
  table_.add_constant(hint::execution_mode, config_.execution_mode);
  table_.add_constant(hint::inference_precision, element::Type(element::f32));
}

std::shared_ptr<const Plan> CompiledModel::make_plan(const std::shared_ptr<const Model>& model, bool is_special) {
  const TimeLimit time(model_limits().compile_seconds);
  auto plan = std::make_shared<Plan>(lower_model(*model, gpu_->target(), is_special, time));
  KernelLibrary::Texts texts;
  for (const Launch& launch : plan->launches) texts.push_back(launch.kernel);
  plan->model = model;
  plan->programs = gpu_->library().build(texts, config_.cache_dir, time, config_.compile_threads);
  for (const engine::Buffer& buffer : plan->buffers)
    plan->constants.push_back(buffer.kind == engine::BufferKind::kConstant ? constants_.buffer(buffer.constant)
                                                                           : nullptr);
  return plan;
}

std::shared_ptr<const Model> CompiledModel::runtime_model() const {
  const auto stages = static_stage_ ? std::vector{static_stage_} : open_->last_stages();
  if (stages.empty())
    throw Error(Code::kFailedPrecondition,
                "GPU: what '" + source_->get_friendly_name() +
                    "' runs depends on its inputs, and it has not run yet, so there are no steps to show "
                    "(get_runtime_model): infer once, or reshape the model to static shapes before compiling it");
  const std::lock_guard lock(times_mutex_);
  return gpu_device::runtime_model(*source_, stages, timed_stages_ == stages ? last_times_ : StageTimes());
}

void CompiledModel::note_times(std::vector<std::shared_ptr<const Stage>> stages, StageTimes times) {
  const std::lock_guard lock(times_mutex_);
  timed_stages_ = std::move(stages);
  last_times_ = std::move(times);
}

std::unique_ptr<InferRequestImpl> CompiledModel::create_request() { return make_request(shared_from_this()); }

std::optional<Refusal> CompiledModel::refuses_input(std::size_t index, const Tensor& tensor) const {
  if (is_usable(*gpu_, tensor)) return std::nullopt;
  auto found = locate(*gpu_, tensor, Access::kRead, takes_pitch(index));
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  return std::nullopt;
}

std::optional<Refusal> CompiledModel::refuses_output(std::size_t, const Tensor& tensor) const {
  if (is_usable(*gpu_, tensor)) return std::nullopt;
  auto found = locate(*gpu_, tensor, Access::kWrite);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  return std::nullopt;
}

Requirements CompiledModel::requirements() const { return gpu_->context()->requirements(); }

Tensor CompiledModel::allocate(element::Type type, const Shape& shape) const {
  const auto size = checked_size_bytes(type, shape);
  // Where the device has memory of its own, host memory is what users fill, and it is moved at every inference.
  if (!size || *size == 0 || gpu_->native().coherency != opencl::Coherency::kStanding) return Tensor(type, shape);
  Requirements wanted = requirements();
  wanted.size_bytes = *size;
  Tensor made(TensorInfo{type, shape, {}}, gpu_->context()->allocate(wanted));
  gpu_->count_memory(opencl::buffer(made), *size);
  return made;
}

Tensor CompiledModel::allocate_input(std::size_t index, const Shape& shape) const {
  return allocate(ports().inputs.at(index).get_element_type(), shape);
}

Tensor CompiledModel::allocate_output(std::size_t index, const Shape& shape) const {
  return allocate(ports().outputs.at(index).get_element_type(), shape);
}

}  // namespace tenon::inline v1::gpu_device
