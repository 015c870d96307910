// SPDX-License-Identifier: Apache-2.0
// Compiling, plans for shapes, and which tensors are used in place.
#include <tenon/devices/gpu/compiled_model.hpp>

#include <algorithm>
#include <set>

#include <tenon/core/host.hpp>
#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/remote/remote.hpp>
#include <tenon/devices/gpu/tuner.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
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

/// Whether plain_memory() finds it.
bool is_plain(const Gpu& gpu, const Tensor& tensor) {
  return is_of(gpu, tensor) && tensor.is_contiguous() && is_aligned(tensor);
}

/// Bytes from row to row of planes [n, rows, columns, samples], or without the first axis, whose samples lie side by side
/// within a row, and rows of all of them at one pitch; 0 for any other tensor.
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
  if (!is_side_by_side) return 0;
  const bool is_pitch = stride(3) % element == 0 && tensor.byte_strides()[rank - 3] >= static_cast<std::ptrdiff_t>(row);
  const std::size_t pitch = shape[rank - 3] <= 1 ? row : is_pitch ? stride(3) : 0;
  const bool follows = rank == 3 || shape[0] == 1 || stride(4) == pitch * shape[1];
  return follows ? pitch : 0;
}

}  // namespace

namespace {

/// The letters of a pixel's components, in the order in which they lie in memory; "" for orders that no tensor has.
std::string components_of(cl_channel_order order) {
  switch (order) {
    case CL_R:
    case CL_LUMINANCE:
    case CL_INTENSITY:
      return "x";
    case CL_A:
      return "w";
    case CL_RG:
      return "xy";
    case CL_RA:
      return "xw";
    case CL_RGBA:
      return "xyzw";
    case CL_BGRA:
      return "zyxw";
    case CL_ARGB:
      return "wxyz";
    default:
      return {};
  }
}

/// How a tensor lies as rows at a pitch: elements that are side by side, and from row to row.
struct Rows {
  std::size_t elements = 0, pitch = 0;
};
/// Nothing if it does not lie so.
std::optional<Rows> rows_of(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const ByteStrides& strides = tensor.byte_strides();
  const auto element = static_cast<std::ptrdiff_t>(size_bytes(tensor.element_type()));
  if (element == 0 || strides.size() != shape.size() || tensor.size_bytes() == 0) return std::nullopt;
  Rows rows{1, 0};
  std::ptrdiff_t step = element;
  std::size_t axis = shape.size();
  for (; axis > 0 && (shape[axis - 1] == 1 || strides[axis - 1] == step); --axis) {
    step *= static_cast<std::ptrdiff_t>(shape[axis - 1]);
    rows.elements *= shape[axis - 1];
  }
  // Axes of extent 1 in front say nothing of rows.
  while (axis > 0 && shape[axis - 1] == 1) --axis;
  if (axis == 0) return Rows{rows.elements, rows.elements * static_cast<std::size_t>(element)};
  const std::ptrdiff_t pitch = strides[axis - 1];
  if (pitch < step || pitch % element != 0) return std::nullopt;
  rows.pitch = static_cast<std::size_t>(pitch);
  step = pitch;
  for (; axis > 0; --axis) {
    if (shape[axis - 1] != 1 && strides[axis - 1] != step) return std::nullopt;
    step *= static_cast<std::ptrdiff_t>(shape[axis - 1]);
  }
  return rows;
}

/// Elements that lie side by side in a row of the image; nothing if the tensor's rows are not the image's.
std::optional<std::size_t> row_in(const client::ImageLayout& layout, const Tensor& tensor) {
  const auto rows = rows_of(tensor);
  if (!rows || (rows->pitch != layout.pitch && element_count(tensor.shape()) != rows->elements)) return std::nullopt;
  // One row of all elements, where the image has no space beside them, is as many rows as the image has.
  return std::min(rows->elements, layout.row_bytes() / size_bytes(tensor.element_type()));
}
Refusal other_rows(const Tensor& tensor) {
  return Refusal{"the rows of " + to_string(tensor) + " are not those of its image; copy_to() a buffer"};
}

/// The pixels that are exactly `tensor`, as the target of a copy: bytes stay what they are, in every format.
std::variant<Location, Refusal> locate_image_target(const Tensor& tensor, const Tensor& seen) {
  const auto [image, layout] = client::image_and_layout(seen);
  const auto row = row_in(*layout, tensor);
  if (!row) return other_rows(tensor);
  const std::size_t begin = seen.offset() - layout->base, left = begin % layout->pitch,
                    row_bytes = *row * size_bytes(tensor.element_type());
  if (left % layout->pixel_bytes != 0 || row_bytes % layout->pixel_bytes != 0)
    return Refusal{to_string(tensor) + " begins or ends within a pixel of its image"};
  Location location;
  location.image = {image,
                    {left / layout->pixel_bytes, begin / layout->pitch, 0},
                    {row_bytes / layout->pixel_bytes, element_count(tensor.shape()) / *row, 1}};
  return location;
}

/// An image of the device's cl_context, or an image over a buffer of it.
std::variant<Location, Refusal> locate_image(const Tensor& tensor, const Tensor& seen) {
  const auto [image, layout] = client::image_and_layout(seen);
  const auto format = client::info<cl_image_format>(clGetImageInfo, "clGetImageInfo", image, CL_IMAGE_FORMAT);
  Location location{false, {}, {image, nullptr, seen.offset() - layout->base, layout->pitch}, {}};
  location.form.components = components_of(format.image_channel_order);
  location.form.is_integer =
      format.image_channel_data_type >= CL_SIGNED_INT8 && format.image_channel_data_type <= CL_UNSIGNED_INT32;
  const ElementType type = client::elements_of(format).first;
  const bool is_signed_share = !location.form.is_integer && (type == ElementType::kI8 || type == ElementType::kI16);
  if (type != tensor.element_type() || location.form.components.empty() || is_signed_share)
    return Refusal{"an image of channel order " + std::to_string(format.image_channel_order) + " and data type " +
                   std::to_string(format.image_channel_data_type) + " is not read as " +
                   std::string(name(tensor.element_type())) +
                   "; kernels read unsigned integers, scaled or not, signed ones that are not scaled, f16 and f32"};
  const auto row = row_in(*layout, tensor);
  if (!row) return other_rows(tensor);
  location.form.row = *row;
  return location;
}

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

/// The image that a tensor lies in; empty if it is none of the device's.
Tensor seen_image(const Gpu& gpu, const Tensor& tensor) {
  if (Tensor image = image_of(gpu, tensor)) return image;
  const auto* facet = tensor.context().as<opencl::FacetContext>();
  const bool is_own = facet && facet->native().context.get() == gpu.native().context.get();
  return is_own && tensor.kind() == opencl::kImageMemory ? tensor : Tensor();
}

}  // namespace

std::optional<BoundMemory> plain_memory(const Gpu& gpu, const Tensor& tensor, bool takes_pitch) {
  if (!is_plain(gpu, tensor)) return std::nullopt;
  return BoundMemory{opencl::buffer(tensor), nullptr, tensor.offset(), takes_pitch ? pitch_of(tensor) : 0};
}

std::variant<Location, Refusal> locate(const Gpu& gpu, const Tensor& tensor, Access access, bool takes_pitch) try {
  if (const auto memory = plain_memory(gpu, tensor, takes_pitch)) return Location{false, {}, *memory, {}};
  if (const Tensor seen = seen_image(gpu, tensor))
    return writes(access) ? locate_image_target(tensor, seen) : locate_image(tensor, seen);
  const std::size_t pitch = takes_pitch ? pitch_of(tensor) : 0;
  BoundMemory memory{nullptr, nullptr, 0, pitch};
  InputForm form;
  if (!tensor.is_contiguous() && pitch == 0) {
    const auto rows = rows_of(tensor);
    if (!rows || writes(access))
      return Refusal{std::string(writes(access) ? "outputs are packed" : "kernels take rows at one pitch") + ", and " +
                     to_string(tensor) + " is strided; copy_to() a packed one of this context"};
    form.row = rows->elements;
    memory.pitch = rows->pitch;
  }
  if (!is_aligned(tensor)) return Refusal{to_string(tensor) + " begins within an element of its memory"};
  if (is_of(gpu, tensor)) {  // Strided, or at a pitch.
    memory.buffer = opencl::buffer(tensor);
    memory.offset = tensor.offset();
    return Location{false, {}, memory, form};
  }
  if (std::byte* const pointer = pointer_of(gpu, tensor)) {
    memory.pointer = pointer;
    return Location{false, {}, memory, form};
  }
  if (!tensor.is_host_addressable())
    return Refusal{to_string(tensor) + " lies neither in the device's cl_context nor in host memory"};
  if (gpu.native().coherency != opencl::Coherency::kStanding || tensor.size_bytes() == 0) {
    // Moved: the request moves rows of pictures as they lie, and nothing else that is strided.
    if (form.is_plain()) return Location{true, {}, {}, {}};
    return Refusal{to_string(tensor) + " is strided, and is packed before it is moved to the device"};
  }
  MapOptions options;
  options.access = access;
  options.policy = ZeroCopy::kRequire;
  Tensor mapped = gpu.router().map(tensor, gpu.context(), options);
  memory.buffer = opencl::buffer(mapped);
  memory.offset = mapped.offset();
  return Location{false, std::move(mapped), memory, form};
} catch (const Error& error) {
  return Refusal{error.what()};
}

std::variant<std::vector<Location>, Refusal> locate_batch(const Gpu& gpu, std::span<const Tensor> items) try {
  std::vector<Location> locations;
  for (const Tensor& given : items) {
    // A dma-buf, as one tensor, is mapped for each inference; as an item, as long as it is bound.
    Tensor item = given;
    if (given.kind() == dmabuf::kDmabufMemory)
      item = gpu.router().map(given, gpu.context(), MapOptions{Access::kRead, ZeroCopy::kRequire});
    auto found = locate(gpu, item, Access::kRead);
    if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
    auto& location = std::get<Location>(found);
    if (location.is_moved) return Refusal{"the device has memory of its own, to which a batch is moved at once"};
    if (!locations.empty() && location.form != locations.front().form)
      return Refusal{
          "[GPU] Incorrect input blobs. All blobs must be of the same type: images of one format, or buffers "
          "with rows of one length"};
    if (!location.mapped) location.mapped = item;
    locations.push_back(std::move(location));
  }
  return locations;
} catch (const Error& error) {
  return Refusal{error.what()};
}

namespace {

/// What the setting says, or else what is worth trying on the device.
std::vector<LaunchWay> launch_ways(const Gpu& gpu, const Config& config) {
  using Properties = cl_command_queue_properties;
  const Properties properties = gpu.shares_queue()
                                    ? client::info<Properties>(clGetCommandQueueInfo, "clGetCommandQueueInfo",
                                                               gpu.native().queue.get(), CL_QUEUE_PROPERTIES)
                                    : Properties{0};
  const bool takes_buffers = gpu.command_buffers().take(properties);
  if (config.launches == gpu::launch::singly) return {LaunchWay::kSingly};
  if (config.launches == gpu::launch::held) return {LaunchWay::kHeld};
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
  if (gpu.native().device.is_cpu()) ways.push_back(LaunchWay::kHeld);
  if (takes_buffers) ways.push_back(LaunchWay::kBuffer);
  return ways;
}

const char* name_of(LaunchWay way) {
  switch (way) {
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
      target_(config.target_of(gpu_->target())),
      launches_(launch_ways(*gpu_, config)),
      constants_(gpu_) {
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  const HostBudget::Scope scope(budget);
  const TimeLimit time(model_limits().compile_seconds);
  prepared_ = run_passes(*source_, time, config_.fuses_attention, target_.multiplies_numbers);
  // An output whose shape only passes found out is made known to the request when it runs.
  const auto& outputs = ports().outputs;
  const bool is_moving = std::any_of(outputs.begin(), outputs.end(),
                                     [](const auto& port) { return port.get_partial_shape().is_dynamic(); });
  if (is_moving || OpenModel::is_open(*prepared_, target_)) {
    open_ = std::make_unique<OpenModel>(
        prepared_, target_,
        OpenModel::Maker{[this](const Model& closed) {
                           const TimeLimit limit(model_limits().compile_seconds);
                           return run_passes(closed, limit, config_.fuses_attention, target_.multiplies_numbers);
                         },
                         [this](const auto& closed, const auto& forms) { return make_plan(closed, false, forms); }});
  } else {
    if (config_.tuning_ms > 0) tune();
    static_stage_ = whole_stage(make_plan(prepared_, true, {}));
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
  table_.add_constant(hint::execution_mode, config_.execution_mode);
  table_.add_constant(hint::inference_precision, element::Type(target_.stores_f16 ? element::f16 : element::f32));
}

void CompiledModel::tune() {
  const TimeLimit time(model_limits().compile_seconds);
  Tuner tuner(gpu_, config_.cache_dir);
  std::vector<Trial> trials;
  std::set<std::string> taken;
  const Plan plan = lower_model(*prepared_, target_, weights_, true, {}, time,
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
  if (has_surface) formed_stages_.push_front({forms, whole_stage(make_plan(prepared_, true, forms))});
}

std::shared_ptr<const Plan> CompiledModel::make_plan(const std::shared_ptr<const Model>& model, bool is_special,
                                                     const std::vector<InputForm>& forms) {
  const TimeLimit time(model_limits().compile_seconds);
  auto plan = std::make_shared<Plan>(lower_model(*model, target_, weights_, is_special, forms, time,
                                                 {.known = is_special && config_.tuning_ms ? &choices_ : nullptr}));
  KernelLibrary::Texts texts;
  for (const Launch& launch : plan->launches) texts.push_back(launch.kernel);
  plan->model = model;
  plan->programs = gpu_->library().build(texts, config_.cache_dir, time, config_.compile_threads);
  for (engine::BufferId id = 0; id < plan->buffers.size(); ++id) {
    const engine::Buffer& buffer = plan->buffers[id];
    const bool is_held = buffer.kind == engine::BufferKind::kConstant && id != plan->counters;
    plan->constants.push_back(is_held ? constants_.buffer(buffer.constant) : nullptr);
  }
  return plan;
}

std::shared_ptr<const Stage> CompiledModel::stage_for(const std::vector<InputForm>& forms) {
  if (std::all_of(forms.begin(), forms.end(), [](const auto& form) { return form.is_plain(); })) return static_stage_;
  const std::lock_guard lock(stages_mutex_);
  const auto known = std::find_if(formed_stages_.begin(), formed_stages_.end(),
                                  [&](const FormedStage& kept) { return kept.forms == forms; });
  if (known != formed_stages_.end()) {
    formed_stages_.splice(formed_stages_.begin(), formed_stages_, known);
    return formed_stages_.front().stage;
  }
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  const HostBudget::Scope scope(budget);
  formed_stages_.push_front({forms, whole_stage(make_plan(prepared_, true, forms))});
  if (formed_stages_.size() > kKeptStages) formed_stages_.pop_back();
  return formed_stages_.front().stage;
}

std::shared_ptr<const Model> CompiledModel::runtime_model() const {
  const std::lock_guard lock(times_mutex_);
  const auto known = timed_stages_.empty() ? std::vector{static_stage_} : timed_stages_;
  const auto stages = static_stage_ ? known : open_->last_stages();
  if (stages.empty())
    throw Error(Code::kFailedPrecondition,
                "GPU: what '" + source_->get_friendly_name() +
                    "' runs depends on its inputs, and it has not run yet, so there are no steps to show "
                    "(get_runtime_model): infer once, or reshape the model to static shapes before compiling it");
  return gpu_device::runtime_model(*source_, stages, timed_stages_ == stages ? last_times_ : StageTimes());
}

void CompiledModel::note_times(std::vector<std::shared_ptr<const Stage>> stages, StageTimes times) {
  const std::lock_guard lock(times_mutex_);
  timed_stages_ = std::move(stages);
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
