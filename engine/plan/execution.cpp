// SPDX-License-Identifier: Apache-2.0
// One request's state: memory, bindings, and the run itself.
#include <algorithm>
#include <cstring>
#include <exception>

#include <tenon/core/error.hpp>
#include <tenon/engine/plan/plan.hpp>

namespace tenon::inline v1::engine {
namespace {

using Clock = std::chrono::steady_clock;

struct Binding {
  Tensor tensor;   ///< The user's; empty if none is bound.
  Tensor staging;  ///< Packed memory of ours, used if the user's can't be; made on first need.
  bool staged = false;
  void* address = nullptr;
  std::vector<std::size_t> steps;  ///< Steps that touch the port.
};

struct Range {
  const char *begin, *end;
  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};

Range range_of(const Tensor& tensor) {
  if (tensor.element_count() == 0) return {nullptr, nullptr};
  const char* begin = static_cast<const char*>(tensor.data());
  return {begin, begin + checked_extent_bytes(tensor.info()).value_or(0)};
}

bool is_aligned(const Tensor& tensor) {
  const std::size_t size = std::max<std::size_t>(size_bytes(tensor.element_type()), 1);
  return reinterpret_cast<std::uintptr_t>(tensor.data()) % size == 0;
}

dnnl::memory::dims dims_of_packed(const Shape& shape) {
  dnnl::memory::dims strides(std::max<std::size_t>(shape.size(), 1), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * static_cast<std::int64_t>(shape[i]);
  return strides;
}

std::string text(const Port& port) { return std::string(name(port.type)) + " " + to_string(port.shape); }

}  // namespace

struct ExecutionImpl {
  std::shared_ptr<const Plan> owner;
  const PlanImpl* plan = nullptr;
  std::shared_ptr<Workspace> workspace;
  char* arena = nullptr;  // the workspace's address that the steps were given
  dnnl::stream stream;
  std::vector<std::unique_ptr<StepState>> states;
  std::vector<Binding> inputs, outputs;
  std::vector<Tensor> variables;
  std::vector<Tensor> variable_is_set;   // one byte each
  std::vector<Tensor> next_variables;    // values that the run assigns; swapped with `variables` on success
  std::vector<std::size_t> state_steps;  // steps that access one of them
  std::vector<void*> pointers;           // scratch of rebind
  std::vector<Execution::Timing> timings;
  std::uint64_t packed_bytes = 0;
  bool changed = true;
  std::exception_ptr failure;
  Execution::Observer observer;
  RunControl control;
  static constexpr std::size_t kUnknown = ~std::size_t{0} - 1, kNever = ~std::size_t{0};
  std::size_t commit_step = kNever;  // the first step that overwrites a placed input, a state say; see may_stop()

  const Tensor& state(std::size_t index) const {
    const std::size_t count = variables.size();
    return (index < count ? variables : index < 2 * count ? variable_is_set : next_variables)[index % count];
  }

  void* address(BufferSlice place) const {
    const BufferSlice root = plan->root(place);
    const Buffer& buffer = plan->buffers[root.buffer];
    char* base = nullptr;
    switch (buffer.kind) {
      case BufferKind::kArena:
        base = arena + buffer.arena_offset;
        break;
      case BufferKind::kConstant:
        base = static_cast<char*>(buffer.constant.data());
        break;
      case BufferKind::kInput:
        base = static_cast<char*>(inputs[buffer.index].address);
        break;
      case BufferKind::kOutput:
        base = static_cast<char*>(outputs[buffer.index].address);
        break;
      case BufferKind::kState:
        base = static_cast<char*>(state(buffer.index).data());
        break;
    }
    return base ? base + root.offset : nullptr;
  }

  void rebind(std::size_t step) {
    const auto& operands = plan->steps[step]->operands;
    pointers.clear();
    for (const Operand& operand : operands) pointers.push_back(operand.place ? address(operand.place) : nullptr);
    states[step]->rebind(pointers);
    auto* tensor_state = dynamic_cast<TensorState*>(states[step].get());
    if (!tensor_state) return;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const BufferSlice root = plan->root(operands[i].place);
      const Buffer& buffer = plan->buffers[root.buffer];
      if (buffer.kind == BufferKind::kInput && !inputs[buffer.index].staged && inputs[buffer.index].tensor)
        tensor_state->rebind_tensor(i, inputs[buffer.index].tensor);
    }
  }

  void place(Binding& binding, void* data) {
    if (binding.address == data) return;
    binding.address = data;
    commit_step = kUnknown;
    for (std::size_t step : binding.steps) rebind(step);
  }

  /// The first step that writes an output which lies where an input does.
  std::size_t find_commit_step() const {
    std::size_t first = kNever;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const bool over_input = std::any_of(inputs.begin(), inputs.end(), [&](const Binding& input) {
        return input.address && input.address == outputs[i].address;
      });
      if (!over_input) continue;
      for (std::size_t step : outputs[i].steps)
        for (const Operand& operand : plan->steps[step]->operands) {
          if (!operand.written || !operand.place) continue;
          const Buffer& buffer = plan->buffers[plan->root(operand.place).buffer];
          if (buffer.kind == BufferKind::kOutput && buffer.index == i) first = std::min(first, step);
        }
    }
    return first;
  }

  /// Whether the run may end before step `next`. Once an input is overwritten it goes on: a cancelled run assigns
  /// nothing to states that are updated in place. Loops still end early, since they may be endless.
  bool may_stop(std::size_t next) const { return next <= commit_step && !control.committed; }

  void stage(Binding& binding, const Port& port, bool staged) {
    if (staged && !binding.staging) binding.staging = Tensor(port.type, port.shape);
    binding.staged = staged;
    void* address = (staged ? binding.staging : binding.tensor).data();
    if (address == binding.address && !plan->steps.empty() && !changed) return;
    binding.address = address;
  }

  /// Whether the tensor lies in a variable's memory, which the user may hold and bind and steps read and write.
  bool lies_in_state(const Tensor& tensor) const {
    return std::any_of(variables.begin(), variables.end(),
                       [&](const Tensor& variable) { return range_of(variable).overlaps(range_of(tensor)); });
  }

  /// After a bind: decides which ports can be used in place, then gives steps their addresses.
  void settle() {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Binding& input = inputs[i];
      const bool strided_ok = plan->input_read_strided[i];
      stage(
          input, plan->inputs[i],
          lies_in_state(input.tensor) || (!strided_ok && (!input.tensor.is_contiguous() || !is_aligned(input.tensor))));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (owner->is_grown(i)) continue;
      Binding& output = outputs[i];
      bool staged = !output.tensor || !output.tensor.is_contiguous() || !is_aligned(output.tensor) ||
                    lies_in_state(output.tensor);
      // Inner steps write into outputs before the last reader of an input has run, so shared memory needs a detour.
      if (!staged) {
        const Range range = range_of(output.tensor);
        for (const Binding& input : inputs) staged |= !input.staged && range.overlaps(range_of(input.tensor));
        for (std::size_t j = 0; j < i; ++j) staged |= !outputs[j].staged && range.overlaps(range_of(outputs[j].tensor));
      }
      stage(output, plan->outputs[i], staged);
    }
    for (Binding* binding = inputs.data(); binding != inputs.data() + inputs.size(); ++binding)
      for (std::size_t step : binding->steps) rebind(step);
    for (Binding* binding = outputs.data(); binding != outputs.data() + outputs.size(); ++binding)
      for (std::size_t step : binding->steps) rebind(step);
    changed = false;
  }

  void copy(const Tensor& from, const Tensor& to) {
    if (bit_width(from.element_type()) < 8) {
      std::memcpy(to.data(), from.data(), from.size_bytes());
    } else {
      copy_strided(from.element_type(), from.shape(), from.data(), from.byte_strides(), to.data(), to.byte_strides());
    }
    packed_bytes += from.size_bytes();
  }

  void report_made(std::ptrdiff_t step) {
    for (const Made& made : plan->made) {
      if (made.is_copy || made.step != step || element_count(made.shape) == 0) continue;
      Tensor value(made.type, made.shape);
      void* from = address(made.place);
      const md packed =
          made.desc.get_ndims() ? md(made.desc.get_dims(), data_type(made.type), dims_of_packed(made.shape)) : md();
      if (made.desc.get_ndims() == 0 || made.desc == packed) {
        std::memcpy(value.data(), from, value.size_bytes());
      } else {
        dnnl::memory source(made.desc, plan->engine, from), target(packed, plan->engine, value.data());
        dnnl::reorder(source, target).execute(stream, source, target);
        if (made.quantization && size_bytes(element_type(made.desc)) == 1) {
          float* values = value.data<float>();
          for (std::size_t i = 0; i < value.element_count(); ++i)
            values[i] = made.quantization->scale * (values[i] - static_cast<float>(made.quantization->zero_point));
        }
      }
      observer(made.node->get_friendly_name(), made.output, value);
    }
  }

  /// After a run: the next run reads the assigned values.
  void advance_variables() {
    bool moved = false;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      *variable_is_set[i].data<std::uint8_t>() = 1;
      if (!plan->variables[i].is_assigned) continue;
      std::swap(variables[i], next_variables[i]);
      // If the old value was handed out, it keeps its memory.
      if (next_variables[i].memory()->ref_count() > 1)
        next_variables[i] = Tensor(next_variables[i].element_type(), next_variables[i].shape());
      moved = true;
    }
    if (!moved) return;
    for (std::size_t step : state_steps) rebind(step);
  }

  bool run_steps(bool (*cancelled)(void*), void* context) {
    control = {cancelled, context};
    if (cancelled && commit_step == kUnknown) commit_step = find_commit_step();
    if (observer) {
      report_made(-1);
      for (std::size_t i = 0; i < states.size(); ++i) {
        states[i]->run(stream);
        report_made(static_cast<std::ptrdiff_t>(i));
      }
    } else if (!timings.empty()) {
      const auto begin = Clock::now();
      auto last = begin;
      for (std::size_t i = 0; i < states.size(); ++i) {
        if (cancelled && may_stop(i) && cancelled(context)) return false;
        states[i]->run(stream);
        const auto now = Clock::now();
        timings[i] = {last - begin, now - last};
        last = now;
      }
    } else {
      for (std::size_t i = 0; i < states.size(); ++i) {
        if (cancelled && may_stop(i) && cancelled(context)) return false;
        states[i]->run(stream);
      }
    }
    return !control.stopped;
  }
};

void Workspace::reserve(std::size_t size_bytes) {
  if (size_bytes > memory_.size_bytes()) memory_ = Tensor(ElementType::kU8, Shape{size_bytes});
}

Execution::Execution(std::shared_ptr<const Plan> plan, std::shared_ptr<Workspace> workspace)
    : impl_(std::make_unique<ExecutionImpl>()) {
  ExecutionImpl& e = *impl_;
  e.owner = std::move(plan);
  e.plan = e.owner->impl_.get();
  e.stream = dnnl::stream(e.plan->engine);
  e.workspace = workspace ? std::move(workspace) : std::make_shared<Workspace>();
  e.workspace->reserve(e.plan->arena_bytes);
  e.arena = e.workspace->data();
  e.inputs.resize(e.plan->inputs.size());
  e.outputs.resize(e.plan->outputs.size());
  for (const Variable& variable : e.plan->variables) {
    e.variables.emplace_back(variable.type, variable.shape);
    std::memset(e.variables.back().data(), 0, e.variables.back().size_bytes());
    e.variable_is_set.emplace_back(ElementType::kU8, Shape{1});
    *e.variable_is_set.back().data<std::uint8_t>() = 0;
    e.next_variables.emplace_back(variable.type, variable.is_assigned ? variable.shape : Shape{0});
  }
  for (std::size_t i = 0; i < e.plan->steps.size(); ++i) {
    const Step& step = *e.plan->steps[i];
    e.states.push_back(step.make_state());
    e.states.back()->control = &e.control;
    bool external = false;
    for (const Operand& operand : step.operands) {
      if (!operand.place) continue;
      const Buffer& buffer = e.plan->buffers[e.plan->root(operand.place).buffer];
      if (buffer.kind == BufferKind::kState && (e.state_steps.empty() || e.state_steps.back() != i))
        e.state_steps.push_back(i);
      Binding* binding = buffer.kind == BufferKind::kInput    ? &e.inputs[buffer.index]
                         : buffer.kind == BufferKind::kOutput ? &e.outputs[buffer.index]
                                                              : nullptr;
      if (!binding) continue;
      external = true;
      if (binding->steps.empty() || binding->steps.back() != i) binding->steps.push_back(i);
    }
    if (!external) e.rebind(i);
  }
  e.pointers.reserve(64);
  if (e.plan->options.profile) e.timings.resize(e.plan->steps.size());
}

Execution::~Execution() = default;

static void check(const Port& port, const char* what, std::size_t index, const Tensor& tensor) {
  if (!tensor) return;
  if (tensor.element_type() != port.type || tensor.shape() != port.shape) {
    throw Error(Code::kInvalidArgument, std::string("CPU: ") + what + " " + std::to_string(index) + " '" + port.name +
                                            "' is " + text(port) + ", but the tensor is " + to_string(tensor));
  }
  if (!tensor.is_host_addressable()) {
    throw Error(Code::kInvalidArgument, std::string("CPU: ") + what + " '" + port.name +
                                            "' needs host memory, but the tensor is " + to_string(tensor) +
                                            "; map it to the host first");
  }
}

/// Whether steps that were given the one find the other there, type and shape being the port's.
static bool is_same_memory(const Tensor& a, const Tensor& b) {
  return a && b && a.data() == b.data() && a.byte_strides() == b.byte_strides();
}

void Execution::bind_input(std::size_t index, const Tensor& tensor) {
  ExecutionImpl& e = *impl_;
  if (index >= e.inputs.size())
    throw Error(Code::kOutOfRange,
                "CPU: no input " + std::to_string(index) + "; the model has " + std::to_string(e.inputs.size()));
  check(e.plan->inputs[index], "input", index, tensor);
  e.changed |= !is_same_memory(e.inputs[index].tensor, tensor);
  e.inputs[index].tensor = tensor;
}

void Execution::bind_output(std::size_t index, const Tensor& tensor) {
  ExecutionImpl& e = *impl_;
  if (index >= e.outputs.size())
    throw Error(Code::kOutOfRange,
                "CPU: no output " + std::to_string(index) + "; the model has " + std::to_string(e.outputs.size()));
  check(e.plan->outputs[index], "output", index, tensor);
  e.changed |= !is_same_memory(e.outputs[index].tensor, tensor);
  e.outputs[index].tensor = tensor;
}

Tensor Execution::output(std::size_t index) {
  ExecutionImpl& e = *impl_;
  Binding& output = e.outputs.at(index);
  if (output.tensor) return output.tensor;
  if (!output.staging) output.staging = Tensor(e.plan->outputs[index].type, e.plan->outputs[index].shape);
  return output.staging;
}

bool Execution::run(Workers& workers, bool (*cancelled)(void*), void* context) {
  ExecutionImpl& e = *impl_;
  for (std::size_t i = 0; i < e.inputs.size(); ++i) {
    if (!e.inputs[i].tensor)
      throw Error(Code::kFailedPrecondition,
                  "CPU: input '" + e.plan->inputs[i].name + "' has no tensor; set one before running");
  }
  if (e.arena != e.workspace->data()) {
    // Another execution has made the shared memory larger.
    e.arena = e.workspace->data();
    for (std::size_t i = 0; i < e.states.size(); ++i) e.rebind(i);
  }
  if (e.changed) e.settle();
  e.packed_bytes = e.plan->assigned_copy_bytes;
  for (Binding& input : e.inputs)
    if (input.staged) e.copy(input.tensor, input.staging);
  bool done = false;
  // Captured by reference through one pointer, so that std::function allocates nothing.
  struct Job {
    ExecutionImpl& e;
    bool (*cancelled)(void*);
    void* context;
    bool& done;
  } job{e, cancelled, context, done};
  workers.run([&job] {
    try {
      job.done = job.e.run_steps(job.cancelled, job.context);
    } catch (...) {
      job.e.failure = std::current_exception();
    }
  });
  if (e.failure) std::rethrow_exception(std::exchange(e.failure, nullptr));
  if (!done) return false;
  e.advance_variables();
  for (Binding& output : e.outputs)
    if (output.staged && output.tensor) e.copy(output.staging, output.tensor);
  return true;
}

void Execution::place_input(std::size_t index, void* data) { impl_->place(impl_->inputs[index], data); }
void Execution::place_output(std::size_t index, void* data) { impl_->place(impl_->outputs[index], data); }
bool Execution::run_placed(bool (*cancelled)(void*), void* context) { return impl_->run_steps(cancelled, context); }

void Execution::observe(Observer observer) { impl_->observer = std::move(observer); }
std::uint64_t Execution::packed_bytes() const { return impl_->packed_bytes; }
const std::vector<Execution::Timing>& Execution::timings() const { return impl_->timings; }

std::vector<std::string> Execution::variables() const {
  std::vector<std::string> names;
  for (const Variable& variable : impl_->plan->variables) names.push_back(variable.id);
  return names;
}
Tensor Execution::variable(std::size_t index) const { return impl_->variables.at(index); }

void Execution::set_variable(std::size_t index, const Tensor& value) {
  Tensor& variable = impl_->variables.at(index);
  if (value.element_type() != variable.element_type() || value.shape() != variable.shape()) {
    throw Error(Code::kInvalidArgument, "CPU: variable '" + impl_->plan->variables[index].id + "' is " +
                                            to_string(variable) + ", but the value is " + to_string(value));
  }
  copy_strided(value.element_type(), value.shape(), value.data(), value.byte_strides(), variable.data(),
               variable.byte_strides());
  *impl_->variable_is_set[index].data<std::uint8_t>() = 1;
}
bool Execution::is_variable_set(std::size_t index) const {
  return *impl_->variable_is_set.at(index).data<std::uint8_t>() != 0;
}
void Execution::reset_variable(std::size_t index) {
  Tensor& variable = impl_->variables.at(index);
  std::memset(variable.data(), 0, variable.size_bytes());
  *impl_->variable_is_set[index].data<std::uint8_t>() = 0;
}

}  // namespace tenon::inline v1::engine
