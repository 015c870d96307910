// SPDX-License-Identifier: Apache-2.0
// What a lowering has from without and gives: inputs, constants, results, states, and the plan in the end.
#include <tenon/devices/gpu/lower/build/builder.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/planning/growth.hpp>
#include <tenon/planning/memory_plan.hpp>

namespace tenon::inline v1::gpu_device {

void Builder::add_input(const Node& parameter, std::uint32_t index) {
  Value& value = add_value(parameter, 0);
  const InputForm form = index < forms_.size() ? forms_[index] : InputForm{};
  plan_.inputs[index].form = form;
  const std::size_t bytes = bytes_of(value.type, value.shape) / form.items;
  std::vector<planning::BufferSlice> items;
  for (std::size_t item = 0; item < form.items; ++item)
    items.push_back({add_buffer(planning::BufferKind::kInput, bytes, plan_.input_index(index, item)), 0});
  View view{items[0], value.type, value.shape, packed_strides(value.shape)};
  if (form.items > target_.most_items) {
    value.view = gathered(view, form, items, parameter);
    return;
  }
  if (!form.is_plain()) view = sourced(view, form, std::move(items));
  const auto grown = std::ranges::find_if(grown_, [&](const auto& each) { return each.second.input == index; });
  if (grown != grown_.end()) view.strides = grow(grown->first, view);
  value.view = view;
}

Extents Builder::grow(std::uint32_t result, const View& view) {
  const Node& concat = *model_.get_results()[result]->get_input_node_ptr(0);
  View whole = as_result(result, view.type, concat.get_output_shape(0));
  whole.place = view.place;
  wholes_[&concat] = whole;
  if (unit_) unit_->wholes.emplace_back(&concat, whole);
  return whole.strides;
}

View Builder::sourced(const View& view, const InputForm& form, std::vector<planning::BufferSlice> items) {
  View result = view;
  const std::size_t elements = element_count(view.shape) / form.items;
  result.place = {};
  result.source = std::make_shared<const InputSource>(view.type, form, std::move(items), elements);
  return result;
}

/// One buffer for a batch in more tensors than a kernel takes: a launch for each of them copies it there.
View Builder::gathered(const View& view, const InputForm& form, const std::vector<planning::BufferSlice>& items,
                       const Node& of) {
  const View whole = scratch(view.type, view.shape);
  InputForm one = form;
  one.items = 1;
  View to = whole;
  to.shape[0] /= items.size();
  for (const planning::BufferSlice& item : items) {
    View from = to;
    from.place = item;
    launching_ = {{of.get_friendly_name(), of.get_type_name()}};
    copy(one.is_plain() ? from : sourced(from, one, {item}), to, of);
    to.place.offset += bytes_of(to.type, to.shape);
  }
  plan_.gathered_bytes += bytes_of(view.type, view.shape);
  return whole;
}

void Builder::add_constant(const Node& node, const Tensor& bytes, std::size_t output) {
  Value& value = new_value({&node, output});
  value.type = node.get_output_element_type(output);
  value.shape = node.get_output_shape(output);
  value.readers = node.count_output_readers(output);
  value.constant = bytes;
}

void Builder::add_result(const Node& result, std::uint32_t index) {
  const Output<Node> source = result.input_value(0);
  Value& value = value_of(source);
  if (!is_readable(value.type))
    throw Error(Code::kUnimplemented, "GPU: " + result.describe() + " is of type " + std::string(name(value.type)) +
                                          ", which kernels neither read nor write");
  const View from = made(source);
  const planning::Buffer* const buffer = from.source ? nullptr : &plan_.buffers[from.place.buffer];
  View to = as_result(index, value.type, value.shape);
  if (buffer && buffer->kind == planning::BufferKind::kOutput && buffer->index == index && from.place.offset == 0 &&
      from.strides == to.strides)
    return;
  if (const auto grown = grown_.find(index); grown != grown_.end() && grown->second.input) return;
  to.place.buffer = add_buffer(planning::BufferKind::kOutput, bytes_of(value.type, value.shape), index);
  launching_ = {{result.get_friendly_name(), result.get_type_name()}};
  copy(from, to, result);
}

View Builder::state(const std::string& id, ElementType type, const Shape& shape, bool next) {
  View view{{}, type, shape, packed_strides(shape)};
  auto known = states_.find({id, next});
  if (known == states_.end()) {
    std::uint32_t index = 0;
    while (index < plan_.variables.size() && plan_.variables[index].id != id) ++index;
    if (index == plan_.variables.size()) plan_.variables.push_back({id, type, shape});
    const std::size_t bytes = bytes_of(type, shape);
    const planning::BufferId buffer =
        add_buffer(planning::BufferKind::kState, bytes, index * 2 + static_cast<std::uint32_t>(next));
    known = states_.emplace(std::pair(id, next), buffer).first;
  }
  view.place.buffer = known->second;
  return view;
}

namespace {

/// An input of which every launch takes the pitch.
void find_pitched_inputs(LaunchPlan& plan) {
  std::vector<int> reads(plan.inputs.size(), 0), pitches(plan.inputs.size(), 0);
  for (const auto& launch : plan.launches) {
    for (const Argument& argument : launch->arguments) {
      if (!argument.place) continue;
      const planning::Buffer& buffer = plan.buffers[argument.place.buffer];
      if (buffer.kind != planning::BufferKind::kInput) continue;
      ++(argument.is_pitch ? pitches : reads)[buffer.index % plan.inputs.size()];
    }
  }
  for (std::size_t i = 0; i < plan.inputs.size(); ++i)
    plan.inputs[i].takes_pitch = pitches[i] > 0 && pitches[i] == reads[i];
}

}  // namespace

LaunchPlan Builder::finish() {
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
    const auto& parameter = *model_.get_parameters()[i];
    PlanPort& port = plan_.inputs[i];
    port.name = parameter.get_friendly_name();
    port.type = parameter.get_element_type();
    port.shape = parameter.get_shape();
    port.room = 0;
  }
  for (const auto& result : model_.get_results()) {
    const Output<Node> source = result->input_value(0);
    plan_.outputs.push_back({result->get_friendly_name(), result->get_element_type(), value_of(source).shape, false});
    if (const auto grown = grown_.find(static_cast<std::uint32_t>(plan_.outputs.size() - 1)); grown != grown_.end()) {
      PlanPort& port = plan_.outputs.back();
      port.room = planning::room_for(port.shape[grown->second.axis]);
      port.is_in_place = grown->second.input.has_value();
      if (port.is_in_place) plan_.inputs[*grown->second.input].room = port.room;
    }
    const auto count = counts_.find(source.get_node());
    if (count == counts_.end() || source.get_partial_shape().is_static()) continue;
    plan_.outputs.back().count = count->second;
    plan_.outputs.back().open = source.get_partial_shape();
  }
  for (std::size_t i = 0; i < counts_.size(); ++i) plan_.outputs.push_back({"count", ElementType::kI32, {1}, false});
  find_pitched_inputs(plan_);
  Launches joined = joins_.run(plan_.launches, plan_.counters, *texts_);
  std::vector<std::span<const planning::Operand>> operands;
  for (const auto& launch : joined) operands.emplace_back(launch->operands);
  plan_.arena_bytes = planning::plan_memory(plan_.buffers, operands);
  LaunchPlan made = readers_ ? plan_ : std::move(plan_);
  made.launches = std::move(joined);
  return made;
}

}  // namespace tenon::inline v1::gpu_device
