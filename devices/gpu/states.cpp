// SPDX-License-Identifier: Apache-2.0
// Values of variables.
#include <tenon/devices/gpu/states.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::gpu_device {

std::vector<PlanVariable> variables_of(const Model& model) {
  std::vector<PlanVariable> found;
  for (const auto& node : model.get_ordered_ops()) {
    if (!is_op(node, "ReadValue") || node->is_dynamic()) continue;
    const auto initial = node->get_input_size() ? node->get_input_tensor(0).value() : nullptr;
    if (node->get_input_size() && !initial) continue;
    found.push_back({node->get_attributes().get_string("variable_id"), node->get_output_element_type(0),
                     node->get_output_shape(0), initial ? *initial : Tensor(), false});
  }
  return found;
}

Tensor device_tensor(const Gpu& gpu, ElementType type, const Shape& shape) {
  Requirements wanted = gpu.context()->requirements();
  wanted.size_bytes = std::max<std::size_t>(checked_size_bytes(type, shape).value_or(0), 1);
  Tensor made(TensorInfo{type, shape, {}}, gpu.context()->allocate(wanted));
  gpu.count_memory(opencl::buffer(made), wanted.size_bytes);
  return made;
}

State::State(std::shared_ptr<const Gpu> gpu, const PlanVariable& variable)
    : gpu_(std::move(gpu)),
      variable_(variable),
      present_(device_tensor(*gpu_, variable_.type, variable_.shape)),
      next_(device_tensor(*gpu_, variable_.type, variable_.shape)) {
  reset();
}

Tensor State::state() const {
  if (present_.is_host_addressable()) return present_;
  Tensor copy(variable_.type, variable_.shape);
  gpu_->context()->read(present_, {static_cast<std::byte*>(copy.data()), copy.size_bytes()});
  return copy;
}

void State::set_state(const Tensor& state) {
  if (!state || state.element_type() != variable_.type || state.shape() != variable_.shape)
    throw Error(Code::kInvalidArgument, "GPU: state '" + variable_.id + "' is " +
                                            std::string(tenon::name(variable_.type)) + " " +
                                            to_string(variable_.shape) + ", given was " +
                                            (state ? to_string(state) : std::string("an empty tensor")));
  Tensor packed;
  state.copy_to(packed);
  gpu_->context()->write(present_, {static_cast<const std::byte*>(packed.data()), packed.size_bytes()});
}

void State::reset() {
  if (variable_.initial) return set_state(variable_.initial);
  Tensor zeros(variable_.type, variable_.shape);
  if (zeros.size_bytes()) std::memset(zeros.data(), 0, zeros.size_bytes());
  set_state(zeros);
}

void State::bind(Execution& execution, std::size_t index) const {
  execution.bind_state(index, false, {opencl::buffer(present_), nullptr, present_.offset()});
  execution.bind_state(index, true, {opencl::buffer(next_), nullptr, next_.offset()});
}

void State::advance(cl_command_queue queue) const {
  if (present_.size_bytes() == 0) return;
  client::check(client::call(clEnqueueCopyBuffer, queue, opencl::buffer(next_), opencl::buffer(present_),
                             next_.offset(), present_.offset(), present_.size_bytes(), cl_uint{0},
                             static_cast<const cl_event*>(nullptr), static_cast<cl_event*>(nullptr)),
                "clEnqueueCopyBuffer", [&] { return "keeping the state '" + variable_.id + "'"; });
}

}  // namespace tenon::inline v1::gpu_device
