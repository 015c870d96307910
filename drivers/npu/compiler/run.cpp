// SPDX-License-Identifier: Apache-2.0
// Binds arguments: in place if memory is packed, aligned and not shared; otherwise through a staging copy.
#include <tenon/drivers/npu/compiler/run.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>

#include <tbb/parallel_for.h>

#include <tenon/core/error.hpp>
#include <tenon/engine/staged.hpp>

namespace tenon::npu::compiler {
namespace {

constexpr std::size_t kKeptInstances = 4;
/// For fewer bytes, waking another thread takes as long as copying.
constexpr std::size_t kMinSharedBytes = std::size_t{256} << 10;

bool is_aligned(ElementType type, const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % std::max<std::size_t>(size_bytes(type), 1) == 0;
}

}  // namespace

/// The binding of one port of a plan.
struct ProgramRun::Bound {
  ElementType type;
  Shape shape;
  ByteStrides strides;  ///< Strides of the client's memory.
  void* client = nullptr;
  bool is_packed = true;
  bool staged = false;
  Tensor staging;  ///< Allocated on first use.
  const char* begin = nullptr;
  const char* end = nullptr;

  void take(const Value& value) {
    client = value.data;
    strides = packed_strides(type, shape);
    bool packed = true;
    for (std::size_t i = 0; i < value.byte_strides.size(); ++i) {
      packed &= shape[i] <= 1 || static_cast<std::uint64_t>(strides[i]) == value.byte_strides[i];
      strides[i] = static_cast<std::ptrdiff_t>(value.byte_strides[i]);
    }
    is_packed = packed || value.byte_strides.empty();
    begin = end = static_cast<const char*>(client);
    if (element_count(shape) == 0) return;
    std::size_t extent = bit_width(type) < 8 ? (element_count(shape) * bit_width(type) + 7) / 8 : size_bytes(type);
    if (bit_width(type) >= 8)
      for (std::size_t i = 0; i < shape.size(); ++i) extent += (shape[i] - 1) * static_cast<std::size_t>(strides[i]);
    end = begin + extent;
  }
  bool overlaps(const Bound& other) const { return begin < other.end && other.begin < end; }
  void* address() {
    if (!staged) return client;
    if (!staging) staging = Tensor(type, shape);
    return staging.data();
  }
  std::size_t bytes() const { return (element_count(shape) * bit_width(type) + 7) / 8; }
  /// Copies the `part`th of `parts` in or out.
  void move(bool in, std::size_t part, std::size_t parts) const {
    if (in)
      copy(client, strides, staging.data(), staging.byte_strides(), part, parts);
    else
      copy(staging.data(), staging.byte_strides(), client, strides, part, parts);
  }

 private:
  void copy(const void* from, const ByteStrides& from_strides, void* to, const ByteStrides& to_strides,
            std::size_t part, std::size_t parts) const {
    if (bit_width(type) < 8) {
      if (part == 0) std::memcpy(to, from, bytes());
      return;
    }
    const std::size_t axis = static_cast<std::size_t>(
        std::find_if(shape.begin(), shape.end(), [](auto n) { return n != 1; }) - shape.begin());
    if (axis == shape.size()) {
      if (part == 0) std::memcpy(to, from, bytes());
      return;
    }
    Shape piece = shape;
    const std::size_t first = shape[axis] * part / parts;
    piece[axis] = shape[axis] * (part + 1) / parts - first;
    const auto offset = [&](const ByteStrides& each) { return static_cast<std::ptrdiff_t>(first) * each[axis]; };
    copy_strided(type, piece, static_cast<const char*>(from) + offset(from_strides), from_strides,
                 static_cast<char*>(to) + offset(to_strides), to_strides);
  }
};

/// A variant's execution and its ports.
struct ProgramRun::Instance {
  std::shared_ptr<const ProgramVariant> variant;
  std::unique_ptr<engine::Execution> execution;
  std::unique_ptr<engine::Staged> staged;  ///< Used if there is no plan.
  std::vector<Bound> inputs, outputs;
  bool changed = true;
  bool through_tensors = false;  ///< Some kernel reads strides, which only tensors carry.
};

ProgramRun::ProgramRun(std::shared_ptr<Program> program)
    : program_(std::move(program)),
      values_(program_->arguments().size()),
      addresses_(values_.size()),
      states_(*program_) {
  const auto& arguments = program_->arguments();
  inputs_.resize(program_->input_count());
  outputs_.resize(program_->output_count());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].role != Argument::Role::kShape)
      (arguments[i].is_input ? inputs_ : outputs_).at(arguments[i].port) = i;
}

ProgramRun::~ProgramRun() = default;

void ProgramRun::set_argument(std::size_t index, void* data, std::span<const std::uint64_t> byte_strides) {
  if (index >= values_.size())
    throw Error(Code::kOutOfRange,
                "NPU: no argument " + std::to_string(index) + "; the graph has " + std::to_string(values_.size()));
  const Argument& argument = program_->arguments()[index];
  if (!byte_strides.empty() && (byte_strides.size() != argument.shape.size() || bit_width(argument.type) < 8 ||
                                argument.role == Argument::Role::kState))
    throw Error(Code::kInvalidArgument, "NPU: " + std::to_string(byte_strides.size()) + " strides for argument '" +
                                            argument.name + "' " + argument.shape.to_string());
  Value& value = values_[index];
  if (value.data == data &&
      std::equal(byte_strides.begin(), byte_strides.end(), value.byte_strides.begin(), value.byte_strides.end()))
    return;
  value.data = addresses_[index] = data;
  value.byte_strides.assign(byte_strides.begin(), byte_strides.end());
  for (auto& instance : instances_) instance->changed = true;
}

const ProgramRun::Value& ProgramRun::value_of(bool is_input, std::size_t port) const {
  const std::size_t index = (is_input ? inputs_ : outputs_)[port];
  if (!values_[index].data)
    throw Error(Code::kFailedPrecondition,
                "NPU: argument " + std::to_string(index) + " '" + program_->arguments()[index].name + "' is not set");
  return values_[index];
}

std::vector<Shape> ProgramRun::input_shapes() const {
  const auto& arguments = program_->arguments();
  std::vector<Shape> shapes;
  for (const std::size_t index : inputs_) shapes.push_back(arguments[index].max_shape());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (argument.role != Argument::Role::kShape || !argument.is_input || !values_[i].data) continue;
    const Argument& about = arguments[argument.port];
    Shape& shape = shapes[about.port];
    for (std::size_t k = 0; k < shape.size(); ++k) {
      std::int32_t extent = 0;
      std::memcpy(&extent, static_cast<const char*>(values_[i].data) + (shape.size() - 1 - k) * sizeof extent,
                  sizeof extent);
      const Dimension& bound = about.shape[k];
      if (extent < bound.get_min_length() || extent > bound.get_max_length())
        throw Error(Code::kOutOfRange, "NPU: extent " + std::to_string(k) + " of '" + about.name + "' is " +
                                           std::to_string(extent) + ", and its shape is " + about.shape.to_string());
      shape[k] = static_cast<std::size_t>(extent);
    }
  }
  states_.tell_shapes(shapes);
  return shapes;
}

void ProgramRun::begin_states(engine::Workers& workers) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) value_of(true, i);
  for (std::size_t i = 0; i < outputs_.size(); ++i) value_of(false, i);
  if (!states_.find_reset(addresses_)) return;
  const std::vector<Shape> shapes = input_shapes();
  std::vector<Tensor> ports;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (program_->arguments()[inputs_[i]].role == Argument::Role::kPort)
      ports.push_back(client_tensor(inputs_[i], shapes[i]));
  states_.initialise(addresses_, ports, workers);
}

Tensor ProgramRun::client_tensor(std::size_t argument, const Shape& shape) const {
  Bound bound;
  bound.type = program_->arguments()[argument].type;
  bound.shape = shape;
  bound.take(values_[argument]);
  return bit_width(bound.type) < 8 ? Tensor(bound.type, bound.shape, bound.client)
                                   : Tensor(bound.type, bound.shape, bound.client, bound.strides);
}

void ProgramRun::check_output(std::size_t port, const Shape& shape) const {
  const Argument& argument = program_->arguments()[outputs_[port]];
  if (!argument.shape.compatible(PartialShape(shape)))
    throw Error(Code::kOutOfRange, "NPU: output '" + argument.name + "' has the shape " + to_string(shape) +
                                       ", and its bounds are " + argument.shape.to_string());
}

ProgramRun::Instance& ProgramRun::instance_for(const std::shared_ptr<const ProgramVariant>& variant) {
  for (auto it = instances_.begin(); it != instances_.end(); ++it) {
    if ((*it)->variant != variant) continue;
    instances_.splice(instances_.begin(), instances_, it);
    return *instances_.front();
  }
  auto instance = std::make_unique<Instance>();
  instance->variant = variant;
  if (variant->plan) {
    instance->execution = std::make_unique<engine::Execution>(variant->plan);
    const auto add = [](const std::vector<engine::Port>& ports, std::vector<Bound>& bounds) {
      for (const engine::Port& port : ports) {
        Bound& bound = bounds.emplace_back();
        bound.type = port.type;
        bound.shape = port.shape;
      }
    };
    add(variant->plan->inputs(), instance->inputs);
    add(variant->plan->outputs(), instance->outputs);
    for (std::size_t i = 0; i < instance->outputs.size(); ++i) check_output(i, instance->outputs[i].shape);
  }
  instances_.push_front(std::move(instance));
  if (instances_.size() > kKeptInstances) instances_.pop_back();
  return *instances_.front();
}

void ProgramRun::prepare() {
  if (!program_->is_loaded()) return;
  if (program_->is_static()) instance_for(program_->variant_for({}));
}

void ProgramRun::release() { instances_.clear(); }

bool ProgramRun::uses_strided_kernels(const Instance& instance) const {
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    if (!instance.inputs[i].is_packed && instance.variant->plan->reads_strided(i)) return true;
  return false;
}

/// Decides for each port whether the plan uses the client's memory directly.
void ProgramRun::place(Instance& instance) {
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    Bound& input = instance.inputs[i];
    input.take(value_of(true, i));
    input.staged = !input.is_packed || !is_aligned(input.type, input.client);
  }
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) instance.outputs[i].take(value_of(false, i));
  // Kernels keep a bound tensor, so plain addresses cannot be used again.
  instance.through_tensors |= uses_strided_kernels(instance);
  if (instance.through_tensors)
    bind(instance);
  else
    place_outputs(instance);
  instance.changed = false;
}

void ProgramRun::place_outputs(Instance& instance) {
  const engine::Plan& plan = *instance.variant->plan;
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    Bound& output = instance.outputs[i];
    output.staged = !output.is_packed || !is_aligned(output.type, output.client);
    for (std::size_t k = 0; k < instance.inputs.size() && !output.staged; ++k) {
      const Bound& input = instance.inputs[k];
      // A state's new value overwrites the old one if the plan allows it.
      const bool same = input.client == output.client && input.bytes() == output.bytes();
      output.staged = !input.staged && input.overlaps(output) && !(same && plan.may_share(k, i));
    }
    for (std::size_t k = 0; k < i && !output.staged; ++k)
      output.staged = !instance.outputs[k].staged && instance.outputs[k].overlaps(output);
  }
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    instance.execution->place_input(i, instance.inputs[i].address());
  for (std::size_t i = 0; i < instance.outputs.size(); ++i)
    instance.execution->place_output(i, instance.outputs[i].address());
}

void ProgramRun::bind(Instance& instance) {
  const auto tensor = [](const Bound& bound) {
    return bit_width(bound.type) < 8 ? Tensor(bound.type, bound.shape, bound.client)
                                     : Tensor(bound.type, bound.shape, bound.client, bound.strides);
  };
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    instance.execution->bind_input(i, tensor(instance.inputs[i]));
  for (std::size_t i = 0; i < instance.outputs.size(); ++i)
    instance.execution->bind_output(i, tensor(instance.outputs[i]));
}

bool ProgramRun::run_placed(Instance& instance, engine::Workers& workers, Stop stop) {
  move(instance.inputs, true);
  struct Job {
    engine::Execution& execution;
    Stop stop;
    bool is_whole = false;
    std::exception_ptr failure;
  } job{*instance.execution, stop, false, nullptr};
  // Captures one pointer: std::function then allocates nothing.
  workers.run([&job] {
    try {
      job.is_whole = job.execution.run_placed(job.stop.asked, job.stop.context);
    } catch (...) {
      job.failure = std::current_exception();
    }
  });
  if (job.failure) std::rethrow_exception(job.failure);
  if (job.is_whole) move(instance.outputs, false);
  return job.is_whole;
}

void ProgramRun::move(const std::vector<Bound>& bounds, bool in) {
  for (const Bound& bound : bounds) {
    if (!bound.staged) continue;
    copied_bytes_ += bound.bytes();
    const auto engines = static_cast<std::size_t>(std::max(program_->settings().target.dma_engines, 1));
    if (engines == 1 || bound.bytes() < kMinSharedBytes) {
      bound.move(in, 0, 1);
      continue;
    }
    if (!movers_) movers_ = std::make_unique<engine::Workers>(static_cast<int>(engines));
    // A release/acquire pair that ThreadSanitizer sees, since oneTBB's own hand-over of work is not instrumented:
    // writes before this point are visible to the moving threads, and their writes to the caller.
    std::atomic<std::size_t> moved{0};
    moved.store(0, std::memory_order_release);
    movers_->run([&] {
      tbb::parallel_for(std::size_t{0}, engines, [&](std::size_t part) {
        static_cast<void>(moved.load(std::memory_order_acquire));
        bound.move(in, part, engines);
        moved.fetch_add(1, std::memory_order_release);
      });
    });
    static_cast<void>(moved.load(std::memory_order_acquire));
  }
}

bool ProgramRun::run_staged(const ProgramVariant& variant, engine::Workers& workers, Stop stop) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    value_of(true, i);
    inputs.push_back(client_tensor(inputs_[i], variant.input_shapes[i]));
  }
  auto& staged = instances_.front()->staged;
  if (!staged) staged = std::make_unique<engine::Staged>(program_->settings().engine_options());
  const std::vector<Tensor> results = staged->run(variant.model, inputs, workers, {stop.asked, stop.context});
  if (results.empty() && !outputs_.empty()) return false;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < results.size(); ++i) {
    check_output(i, results[i].shape());
    Bound bound;
    bound.type = program_->arguments()[outputs_[i]].type;
    bound.shape = results[i].shape();
    bound.staging = results[i];
    bound.take(value_of(false, i));
    bound.move(false, 0, 1);
    copied_bytes_ += bound.bytes();
    shapes.push_back(bound.shape);
  }
  write_shapes(shapes);
  return true;
}

void ProgramRun::write_shapes(const std::vector<Shape>& outputs) {
  if (!states_.empty()) states_.keep(addresses_, outputs);
  const auto& arguments = program_->arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (argument.role != Argument::Role::kShape || argument.is_input || !values_[i].data) continue;
    const Shape& shape = outputs[arguments[argument.port].port];
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const auto extent = static_cast<std::int32_t>(shape[shape.size() - 1 - k]);
      std::memcpy(static_cast<char*>(values_[i].data) + k * sizeof extent, &extent, sizeof extent);
    }
  }
}

bool ProgramRun::execute(engine::Workers& workers, Stop stop) {
  copied_bytes_ = 0;
  const auto begin = std::chrono::steady_clock::now();
  Instance* instance = nullptr;
  if (!states_.empty()) begin_states(workers);
  if (program_->is_static()) {
    if (instances_.empty()) instance_for(program_->variant_for({}));
    instance = instances_.front().get();
  } else {
    const auto variant = program_->variant_for(input_shapes());
    instance = &instance_for(variant);
    if (!variant->plan) return run_staged(*variant, workers, stop);
  }
  if (instance->changed) place(*instance);
  if (instance->through_tensors) {
    if (!instance->execution->run(workers, stop.asked, stop.context)) return false;
    copied_bytes_ = instance->execution->packed_bytes();
  } else if (!run_placed(*instance, workers, stop)) {
    return false;
  }
  if (!program_->is_static()) {
    std::vector<Shape> shapes;
    for (const Bound& output : instance->outputs) shapes.push_back(output.shape);
    write_shapes(shapes);
  } else if (!states_.empty()) {
    states_.keep(addresses_, {});
  }
  if (!program_->settings().profiling) return true;
  profile_.plan = instance->variant->plan;
  profile_.begin = std::chrono::duration_cast<std::chrono::nanoseconds>(begin.time_since_epoch());
  profile_.timings.assign(instance->execution->timings().begin(), instance->execution->timings().end());
  return true;
}

std::size_t ProgramRun::working_bytes() const {
  std::size_t bytes = 0;
  for (const auto& instance : instances_) {
    if (instance->variant->plan) bytes += instance->variant->plan->arena_bytes();
    for (const auto* bounds : {&instance->inputs, &instance->outputs})
      for (const Bound& bound : *bounds)
        if (bound.staging) bytes += bound.staging.size_bytes();
  }
  return bytes;
}

}  // namespace tenon::npu::compiler
