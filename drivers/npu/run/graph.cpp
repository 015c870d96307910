// SPDX-License-Identifier: Apache-2.0
// Graphs: arguments, runs, loading and evicting plans.
#include <algorithm>
#include <cstring>

#include <tenon/drivers/npu/objects/pace.hpp>
#include <tenon/drivers/npu/objects/tile_scheduler.hpp>
#include <tenon/drivers/npu/run/graph.hpp>
#include <tenon/drivers/npu/run/memory_use.hpp>
#include <tenon/drivers/npu/run/profiling.hpp>

namespace tenon::npu {
namespace {

/// What a run's bindings and steps count for beside its working memory.
constexpr std::size_t kRunBytes = 4096;

std::size_t bytes_of(const compiler::Argument& argument) {
  return (element_count(argument.max_shape()) * bit_width(argument.type) + 7) / 8;
}

/// Converts the client's strides (elements, innermost first) to byte strides, outermost first.
bool convert_strides(const compiler::Argument& argument, std::span<const std::uint32_t> given,
                     std::vector<std::uint64_t>& strides) {
  const Shape shape = argument.max_shape();
  const std::size_t element = size_bytes(argument.type);
  if (element == 0 || given.size() < shape.size()) return false;
  strides.clear();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::uint64_t stride = std::uint64_t{given[shape.size() - 1 - i]} * element;
    if (stride == 0 && shape[i] > 1) return false;
    if (shape[i] > 1 && stride > (std::uint64_t{1} << 40) / shape[i]) return false;
    strides.push_back(stride);
  }
  return true;
}

/// Whether the argument's elements are contiguous.
bool is_packed(const compiler::Argument& argument, const std::vector<std::uint64_t>& strides) {
  const Shape shape = argument.max_shape();
  const ByteStrides packed = packed_strides(argument.type, shape);
  for (std::size_t i = 0; i < strides.size(); ++i)
    if (shape[i] > 1 && strides[i] != static_cast<std::uint64_t>(packed[i])) return false;
  return true;
}

/// Bytes from the first to one past the last.
std::size_t extent_of(const compiler::Argument& argument, const std::vector<std::uint64_t>& strides) {
  const Shape shape = argument.max_shape();
  if (strides.empty() || element_count(shape) == 0) return bytes_of(argument);
  std::size_t extent = size_bytes(argument.type);
  for (std::size_t i = 0; i < shape.size(); ++i) extent += (shape[i] - 1) * static_cast<std::size_t>(strides[i]);
  return extent;
}

}  // namespace

ze_result_t bind_argument(const compiler::Argument& argument, const ArgumentValue& value, const Context& context,
                          BoundArgument* bound) {
  if (!value.data) return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "argument '" + argument.name + "' is set to null");
  bound->data = value.data;
  if (!value.element_strides.empty() && !convert_strides(argument, value.element_strides, bound->byte_strides))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "strides that do not fit argument '" + argument.name + "'");
  if (!argument.reads_strides && !is_packed(argument, bound->byte_strides))
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "argument '" + argument.name +
                    "' takes no strides; the build option NPU_ENABLE_STRIDES_FOR lists arguments that may");
  const std::size_t extent = extent_of(argument, bound->byte_strides);
  const std::size_t min = std::max<std::size_t>(extent, 1);
  bound->allocation = memory_at(context, value.data, min);
  if (!bound->allocation)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "argument '" + argument.name + "' wants " + std::to_string(extent) +
                    (memory_table().find_range(nullptr, value.data, min)
                         ? " bytes of memory of the graph's context, and these are another context's"
                         : " bytes of memory that was allocated or imported here"));
  if (!argument.is_input && !bound->allocation->writable())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "output '" + argument.name + "' is set to read-only memory");
  return ZE_RESULT_SUCCESS;
}

/// A run that keeps its memory alive. Eviction and execution exclude each other.
class ProgramGraphRun final : public GraphRun {
 public:
  ProgramGraphRun(std::shared_ptr<ProgramGraph> owner, std::shared_ptr<ProfilingQuery> query)
      : owner_(std::move(owner)),
        query_(std::move(query)),
        run_(owner_->shared_program()),
        kept_(owner_->program().arguments().size()),
        uses_(kept_.size()) {}

  /// Prevents evict() until the lock is released.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }

  ~ProgramGraphRun() override {
    const std::lock_guard lock(owner_->mutex_);
    std::erase(owner_->runs_, this);
    account(0);
  }

  void bind(std::size_t index, const BoundArgument& bound) {
    run_.set_argument(index, bound.data, bound.byte_strides);
    const auto dma_buf = [](const BoundArgument& argument) {
      return argument.allocation && argument.allocation->is_dma_buf() ? 1u : 0u;
    };
    const auto watched = [&](const BoundArgument& argument) {
      return argument.allocation && argument.allocation->is_shrinkable() ? 1u : dma_buf(argument);
    };
    dma_bufs_ += dma_buf(bound) - dma_buf(kept_[index]);
    watched_ += watched(bound) - watched(kept_[index]);
    kept_[index] = bound;
  }
  void prepare() {
    run_.prepare();
    account(kRunBytes + run_.working_bytes());
  }

  ze_result_t set_argument(std::uint32_t index, const ArgumentValue& value) override {
    return guarded([&] {
      if (index >= kept_.size()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no such graph argument");
      BoundArgument bound;
      const std::lock_guard lock(mutex_);
      if (owner_->keeps_strides_) bound.byte_strides = kept_[index].byte_strides;
      const compiler::Argument& argument = owner_->program().arguments()[index];
      if (const ze_result_t result = bind_argument(argument, value, owner_->context(), &bound)) return result;
      bind(index, bound);
      return ZE_RESULT_SUCCESS;
    });
  }

  ze_result_t execute(TileScheduler& workers, StopCheck stop) noexcept override {
    return guarded([&] {
      const std::lock_guard lock(mutex_);
      if (const ze_result_t result = owner_->initialize()) return result;
      if (watched_ == 0) return compute(workers, stop);
      for (std::size_t i = 0; i < kept_.size(); ++i)
        uses_[i] = {kept_[i].allocation.get(), !owner_->program().arguments()[i].is_input};
      return with_memory(uses_, stop, [&] { return compute(workers, stop); });
    });
  }

  bool may_wait() const noexcept override { return dma_bufs_ != 0; }

  bool uses(const Allocation& memory) const noexcept override {
    return std::any_of(kept_.begin(), kept_.end(), [&](const auto& each) { return each.allocation.get() == &memory; });
  }

  bool rounds_depend_on_data() const noexcept override { return owner_->program().rounds_depend_on_data(); }

  std::uint64_t moved_bytes() const noexcept override {
    std::uint64_t sum = 0;
    for (const compiler::Argument& argument : owner_->program().arguments()) sum += bytes_of(argument);
    return sum;
  }

  /// @return false: it is executing.
  bool release() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    run_.release();
    account(0);
    return true;
  }

 private:
  ze_result_t compute(TileScheduler& workers, StopCheck stop) {
    const compiler::Target& target = owner_->program().settings().target;
    const auto tiles = static_cast<std::uint32_t>(target.turbo ? target.max_tiles : target.tiles);
    bool is_whole = true;
    const auto estimated_ns = static_cast<std::uint64_t>(owner_->program().estimated().count());
    workers.run(tiles, [&](engine::Workers& bounded) {
      Pace& pace = Pace::get();
      const std::uint64_t begin_ns = pace.is_on() ? now_ns() : 0;
      is_whole = run_.execute(bounded, {stop.asked, stop.context});
      // It keeps its tiles for as long as it would have them.
      if (is_whole && pace.is_on() && estimated_ns > 0)
        is_whole = pace.hold(begin_ns, estimated_ns, stop.asked, stop.context);
    });
    if (!is_whole) return kStopped;
    account(kRunBytes + run_.working_bytes());
    if (query_) query_->record(run_.profile(), Pace::get().is_on() ? owner_->shared_program() : nullptr);
    return ZE_RESULT_SUCCESS;
  }
  void account(std::size_t bytes) {
    MemoryAccount& memory = *owner_->context().memory();
    if (bytes > accounted_) memory.add(bytes - accounted_);
    if (bytes < accounted_) memory.remove(accounted_ - bytes);
    accounted_ = bytes;
  }

  const std::shared_ptr<ProgramGraph> owner_;
  const std::shared_ptr<ProfilingQuery> query_;
  std::mutex mutex_;
  compiler::ProgramRun run_;
  std::vector<BoundArgument> kept_;
  std::vector<MemoryUse> uses_;  ///< Filled anew for each run; a member, so that runs allocate nothing.
  std::uint32_t watched_ = 0;    ///< Number of entries of kept_ in files that may shrink or in dma-bufs.
  std::uint32_t dma_bufs_ = 0;
  std::size_t accounted_ = 0;
};

ProgramGraph::ProgramGraph(std::shared_ptr<compiler::Program> program, Ref<Context> context, Ref<Device> device,
                           std::uint32_t property_flags, bool keeps_strides)
    : program_(std::move(program)),
      context_(std::move(context)),
      device_(std::move(device)),
      property_flags_(property_flags),
      keeps_strides_(keeps_strides),
      arguments_(program_->arguments().size()) {
  context_->add(this);
  const std::lock_guard lock(mutex_);  // The context may prune it from now on.
  account_constants();
}

ProgramGraph::~ProgramGraph() {
  context_->remove(this);
  context_->memory()->remove(accounted_);
}

void ProgramGraph::account_constants() {
  const std::size_t bytes = program_->bytes().size_bytes() + program_->constant_bytes();
  if (bytes > accounted_) context_->memory()->add(bytes - accounted_);
  if (bytes < accounted_) context_->memory()->remove(accounted_ - bytes);
  accounted_ = bytes;
}

ze_result_t ProgramGraph::set_argument(std::uint32_t index, const ArgumentValue& value) {
  if (index >= program_->arguments().size()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no such graph argument");
  BoundArgument bound;
  const std::lock_guard lock(mutex_);
  if (keeps_strides_) bound.byte_strides = arguments_[index].byte_strides;
  if (const ze_result_t result = bind_argument(program_->arguments()[index], value, *context_, &bound)) return result;
  arguments_[index] = {bound.data, std::move(bound.byte_strides), bound.allocation};
  return ZE_RESULT_SUCCESS;
}

ze_result_t ProgramGraph::initialize() noexcept {
  return guarded([&] {
    const std::uint32_t wanted = program_->settings().target.platform.number;
    if (wanted != device_->platform().number)
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the graph was compiled for platform " + std::to_string(wanted) +
                                                           ", and this device is " +
                                                           std::to_string(device_->platform().number));
    if (const int tiles = program_->settings().target.tiles; tiles > device_->platform().max_tiles)
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the graph was compiled for " + std::to_string(tiles) +
                                                           " tiles, and this device has " +
                                                           std::to_string(device_->platform().max_tiles));
    if (program_->is_loaded()) return ZE_RESULT_SUCCESS;
    const std::uint64_t begin_ns = now_ns();
    program_->load();
    if (Pace& pace = Pace::get(); pace.is_on())
      pace.hold_loading(begin_ns, static_cast<std::uint64_t>(program_->timing().load.count()));
    const std::lock_guard lock(mutex_);
    account_constants();
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t ProgramGraph::make_run(std::shared_ptr<ProfilingQuery> query, std::unique_ptr<GraphRun>& run) noexcept {
  return guarded([&] {
    auto made =
        std::make_unique<ProgramGraphRun>(std::static_pointer_cast<ProgramGraph>(shared_from_this()), std::move(query));
    const auto held = made->hold();  // Because evict() can find it as soon as it is listed.
    std::vector<BoundArgument> bound;
    {
      const std::lock_guard lock(mutex_);
      for (const SetArgument& set : arguments_) bound.push_back({set.data, set.byte_strides, set.allocation.lock()});
      runs_.push_back(made.get());
    }
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const std::string name = "argument " + std::to_string(i) + " '" + program_->arguments()[i].name + "' ";
      if (bound[i].data && !bound[i].allocation)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, name + "is set to memory that was freed since");
      // Without a given shape, the largest is used.
      if (bound[i].data)
        made->bind(i, bound[i]);
      else if (program_->arguments()[i].role != compiler::Argument::Role::kShape)
        return fail(ZE_RESULT_ERROR_UNINITIALIZED, name + "is not set");
    }
    made->prepare();
    run = std::move(made);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t ProgramGraph::evict() noexcept {
  return guarded([&] {
    const std::lock_guard lock(mutex_);
    bool all = true;
    for (ProgramGraphRun* run : runs_) all &= run->release();
    if (all) program_->unload();
    account_constants();
    return ZE_RESULT_SUCCESS;
  });
}

compiler::CompileCache& compile_cache() {
  static compiler::CompileCache cache = compiler::CompileCache::from_environment();
  return cache;
}

ze_result_t result_of(const Error& error) noexcept {
  switch (error.code()) {
    case Code::kUnimplemented:
      return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, error.what());
    case Code::kResourceExhausted:
      return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, error.what());
    case Code::kInternal:
      return fail(ZE_RESULT_ERROR_UNKNOWN, error.what());
    default:
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, error.what());
  }
}

}  // namespace tenon::npu
