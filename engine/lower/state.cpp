// SPDX-License-Identifier: Apache-2.0
// ReadValue and Assign: variables that live from run to run.
#include <cstring>

#include <tenon/engine/kernels/simd/copy.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/table.hpp>

namespace tenon::inline v1::engine {
namespace {

std::size_t variable_index(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  const std::string& id = node->get_attributes().get_string("variable_id");
  const auto& variables = builder.plan().variables;
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (variables[i].id == id) return i;
  throw Error(Code::kInvalidArgument,
              "CPU: " + node->describe() + " refers to the variable '" + id + "', which no ReadValue declares");
}

/// Readers read the variable itself: the assigned value goes to other memory, which replaces it after the run.
bool lower_read_value(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& made = builder.value(node->output(0));
  const std::size_t bytes = *checked_size_bytes(made.type, made.shape);
  const std::size_t index = variable_index(builder, node);
  const BufferSlice state = builder.state_place(index), is_set = builder.state_is_set_place(index);
  if (node->get_input_size() == 0) {
    builder.note_optimized_out(node);
  } else {
    const BufferSlice initial = builder.plain(builder.input(node, 0));
    builder.add_kernel(node, "initialise state", {initial, is_set}, {state}, [bytes](std::span<void* const> p) {
      if (!*static_cast<const std::uint8_t*>(p[1])) kernels::copy_bytes(p[2], p[0], bytes);
    });
  }
  builder.define_view(made, plain_desc(made.type, made.shape), state);
  return true;
}

bool lower_assign(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  const std::size_t bytes = *checked_size_bytes(source.type, source.shape);
  const std::size_t index = variable_index(builder, node);
  Variable& variable = builder.plan().variables[index];
  if (source.type != variable.type || source.shape != variable.shape) {
    throw Error(Code::kFailedPrecondition, "CPU: " + node->describe() + " assigns " + std::string(name(source.type)) +
                                               " " + to_string(source.shape) + " to the variable '" + variable.id +
                                               "', which its ReadValue declares as " +
                                               std::string(name(variable.type)) + " " + to_string(variable.shape) +
                                               "; a plan's variables keep their type and shape");
  }
  const BufferSlice from = builder.plain(source), next = builder.state_next_place(index);
  variable.is_assigned = true;
  builder.add_kernel(node, "write state", {from}, {next},
                     [bytes](std::span<void* const> p) { kernels::copy_bytes(p[1], p[0], bytes); });
  // The step that makes the value writes it there directly, if the value is a whole buffer of the arena.
  builder.request_part(from, bytes, next, builder.step_count() - 1);
  return true;
}

}  // namespace

void register_state(LoweringTable& table) {
  table["ReadValue"] = {lower_read_value, false};
  table["Assign"] = {lower_assign, false};
}

}  // namespace tenon::inline v1::engine
