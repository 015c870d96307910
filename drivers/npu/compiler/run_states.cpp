// SPDX-License-Identifier: Apache-2.0
#include <tenon/drivers/npu/compiler/run_states.hpp>

#include <cstring>

#include <tenon/core/error.hpp>

namespace tenon::npu::compiler {
namespace {

std::size_t bytes_of(ElementType type, const Shape& shape) { return (element_count(shape) * bit_width(type) + 7) / 8; }

bool is_zero(const void* memory, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(memory);
  return bytes == 0 || (at[0] == 0 && std::memcmp(at, at + 1, bytes - 1) == 0);
}

std::size_t assigned_argument(const std::vector<Argument>& arguments, const std::string& id) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].role == Argument::Role::kState && arguments[i].name == kAssignPrefix + id) return i;
  throw Error(Code::kInternal, "NPU: the state '" + id + "' has no output");  // Impossible: blobs are checked.
}

int result_named(const Model* initialisers, const std::string& id) {
  if (!initialisers) return -1;
  const auto& results = initialisers->get_results();
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i]->get_friendly_name() == id) return static_cast<int>(i);
  return -1;
}

Shape min_shape(const PartialShape& shape) {
  Shape min;
  for (const Dimension& extent : shape) min.push_back(static_cast<std::size_t>(extent.get_min_length()));
  return min;
}

}  // namespace

RunStates::RunStates(const Program& program) : program_(program) {
  const auto& arguments = program.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].role != Argument::Role::kState || !arguments[i].is_input) continue;
    const std::string id = arguments[i].name.substr(std::size(kReadValuePrefix) - 1);
    State state;
    state.input = i;
    state.output = assigned_argument(arguments, id);
    state.initialiser = result_named(program.initialisers().get(), id);
    if (state.initialiser < 0 && arguments[i].shape.is_static()) continue;
    state.shape = arguments[i].max_shape();
    states_.push_back(std::move(state));
  }
}

bool RunStates::find_reset(const std::vector<void*>& memory) {
  bool any = false;
  for (State& state : states_) {
    const Argument& argument = program_.arguments()[state.input];
    const void* at = memory[state.input];
    const bool is_known = state.memory == at;
    state.was_reset = !(is_known && state.left_zeros) && is_zero(at, bytes_of(argument.type, argument.max_shape()));
    any |= state.was_reset;
    if (!is_known && !state.was_reset) state.shape = argument.max_shape();
  }
  return any;
}

void RunStates::initialise(const std::vector<void*>& memory, const std::vector<Tensor>& inputs,
                           engine::Workers& workers) {
  std::vector<Tensor> values;
  for (State& state : states_) {
    if (!state.was_reset) continue;
    const Argument& argument = program_.arguments()[state.input];
    if (state.initialiser < 0) {
      state.shape = min_shape(argument.shape);
      continue;
    }
    if (values.empty()) {
      if (!staged_) staged_ = std::make_unique<engine::Staged>(program_.settings().engine_options());
      values = staged_->run(program_.initialisers(), inputs, workers);
    }
    const Tensor& value = values.at(static_cast<std::size_t>(state.initialiser));
    if (!argument.shape.compatible(PartialShape(value.shape())))
      throw Error(Code::kOutOfRange, "NPU: the state '" + argument.name + "' begins with the shape " +
                                         to_string(value.shape()) + ", and its bounds are " +
                                         argument.shape.to_string());
    if (const std::size_t bytes = bytes_of(argument.type, value.shape()))
      std::memcpy(memory[state.input], value.data(), bytes);
    state.shape = value.shape();
  }
}

void RunStates::tell_shapes(std::vector<Shape>& shapes) const {
  for (const State& state : states_) shapes[program_.arguments()[state.input].port] = state.shape;
}

void RunStates::keep(const std::vector<void*>& memory, const std::vector<Shape>& shapes) {
  for (State& state : states_) {
    const Argument& argument = program_.arguments()[state.output];
    state.memory = memory[state.output];
    state.left_zeros = is_zero(state.memory, bytes_of(argument.type, argument.max_shape()));
    if (!shapes.empty()) state.shape = shapes[argument.port];
  }
}

}  // namespace tenon::npu::compiler
