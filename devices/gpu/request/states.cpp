// SPDX-License-Identifier: Apache-2.0
// Values of variables.
#include <tenon/devices/gpu/request/states.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/lower/build/cache_rows.hpp>
#include <tenon/devices/gpu/remote/remote_copies.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

const std::string& id_of(const Node& node) { return node.get_attributes().get_string("variable_id"); }

/// Whether a tensor lies in memory of this size that has no other owner.
bool is_free(const Tensor& tensor, std::size_t bytes) {
  return tensor && tensor.memory()->size_bytes() >= bytes && tensor.memory()->ref_count() == 1;
}

}  // namespace

std::vector<Variable> variables_of(const Model& model) {
  std::vector<Variable> found;
  const NodeVector nodes = model.get_ordered_ops();
  const auto known = [&](const Node& node) {
    return std::ranges::find_if(found, [&](const auto& variable) { return variable.id == id_of(node); });
  };
  for (const auto& node : nodes) {
    if (!is_op(node, "ReadValue") || known(*node) != found.end()) continue;
    const auto initial = node->get_input_size() ? node->get_input_tensor(0).value() : nullptr;
    found.push_back({id_of(*node), node->get_output_element_type(0), node->get_output_partial_shape(0),
                     initial ? *initial : Tensor(), false,
                     node->is_dynamic() || (node->get_input_size() > 0 && !initial)});
  }
  for (const auto& node : nodes) {
    if (!is_op(node, "Assign")) continue;
    if (known(*node) == found.end())  // Nothing reads it.
      found.push_back({id_of(*node), node->get_input_element_type(0), node->get_input_partial_shape(0), Tensor(), true,
                       node->get_input_partial_shape(0).is_dynamic()});
    known(*node)->is_assigned = true;
  }
  return found;
}

namespace {

/// A buffer of the device's as memory of its context.
class HeldBuffer final : public opencl::BufferMemory {
 public:
  HeldBuffer(const Gpu& gpu, const Properties& properties, std::shared_ptr<const DeviceBuffer> held)
      : BufferMemory(gpu.context(), properties, gpu.native_ref(),
                     client::Handle<cl_mem>::retain(held->buffer.get(), "a buffer of a state"), CL_MEM_READ_WRITE, {}),
        held_(std::move(held)) {}

 private:
  const std::shared_ptr<const DeviceBuffer> held_;
};

}  // namespace

Tensor device_tensor(const Gpu& gpu, ElementType type, const Shape& shape) {
  Requirements wanted = gpu.context()->requirements();
  wanted.size_bytes = std::max<std::size_t>(checked_size_bytes(type, shape).value_or(0), 1);
  if (gpu.twin()) {
    auto held = gpu.make_buffer(wanted.size_bytes, nullptr, "a buffer of a state");
    Memory::Properties properties;
    properties.size_bytes = held->size_bytes;
    properties.identity = {MemoryIdentity::Kind::kHandle, 0, reinterpret_cast<std::uintptr_t>(held->buffer.get())};
    return Tensor(TensorInfo{type, shape, {}}, make_ref<HeldBuffer>(gpu, properties, std::move(held)));
  }
  Tensor made(TensorInfo{type, shape, {}}, gpu.context()->allocate(wanted));
  gpu.count_memory(opencl::buffer(made), wanted.size_bytes);
  return made;
}

State::State(std::shared_ptr<const Gpu> gpu, const Variable& variable) : gpu_(std::move(gpu)), variable_(variable) {
  reset();
  if (!variable_.is_port && variable_.is_assigned) next(present_.shape());
}

Tensor State::zeros() const {
  Shape shape;
  if (variable_.shape.rank().is_dynamic()) {
    shape = {0};
  } else {
    for (const Dimension& extent : variable_.shape)
      shape.push_back(extent.is_static() ? static_cast<std::size_t>(extent.get_length()) : 0);
  }
  Tensor zeros(variable_.type, shape);
  if (zeros.size_bytes()) std::memset(zeros.data(), 0, zeros.size_bytes());
  return zeros;
}

Tensor State::state() const {
  if (!present_) return zeros();
  const Tensor value = present_.is_host_addressable() && room_ == 0 ? present_ : on_host();
  return variable_.cache ? from_cache(value, *variable_.cache) : value;
}

Tensor State::on_host() const {
  Tensor value(type(), present_.shape());
  const Lines all = lines(value.shape(), room_);
  for (std::size_t i = 0; i < all.count && all.bytes > 0; ++i)
    gpu_->context()->read(
        Tensor(TensorInfo{ElementType::kU8, {all.bytes}, {}}, present_.memory(), present_.offset() + i * all.pitch),
        {static_cast<std::byte*>(value.data()) + i * all.bytes, all.bytes});
  return value;
}

State::Lines State::lines(const Shape& shape, std::size_t room) const {
  Lines all{1, tenon::size_bytes(type()), 0};
  const std::size_t axis = variable_.grows.value_or(0);
  for (std::size_t i = 0; i < shape.size(); ++i) (i < axis ? all.count : all.bytes) *= shape[i];
  all.pitch = room && shape[axis] ? all.bytes / shape[axis] * room : all.bytes;
  return all;
}

ElementType State::type() const { return variable_.cache ? lying_type(variable_.cache->type) : variable_.type; }

void State::set_state(const Tensor& state) {
  if (!state || state.element_type() != variable_.type || !variable_.shape.compatible(PartialShape(state.shape())))
    throw Error(Code::kInvalidArgument, "GPU: state '" + variable_.id + "' is " +
                                            std::string(tenon::name(variable_.type)) + " " +
                                            variable_.shape.to_string() + ", given was " +
                                            (state ? to_string(state) : std::string("an empty tensor")));
  const auto* remote = dynamic_cast<const RemoteMemory*>(state.memory().get());
  if (const auto* own = dynamic_cast<const CopiedMemory*>(remote); own && !variable_.cache) {  // On the device.
    Tensor memory = next(state.shape());
    own->copy_to(state, memory);
    return turn();
  }
  Tensor packed(variable_.type, state.shape());
  if (remote)
    remote->copy_to(state, packed);
  else
    state.copy_to(packed);
  if (variable_.cache) packed = as_cache(packed, variable_.cache->type);
  const Tensor& memory = next(packed.shape());
  if (packed.size_bytes())
    gpu_->context()->write(memory, {static_cast<const std::byte*>(packed.data()), packed.size_bytes()});
  turn();
}

void State::reset() {
  if (variable_.is_port)
    present_ = Tensor(), room_ = 0;
  else
    set_state(variable_.initial ? variable_.initial : zeros());
}

std::size_t State::bytes_of(const Shape& shape, std::size_t room) const {
  Shape whole = shape;
  if (room) whole[*variable_.grows] = room;
  return checked_size_bytes(type(), whole).value_or(0);
}

std::optional<BoundMemory> State::next_memory(const Shape& shape, std::size_t room, bool is_in_place) const {
  if (is_in_place) return present_memory();
  if (!is_free(next_, bytes_of(shape, room))) return std::nullopt;
  return BoundMemory{opencl::buffer(next_), nullptr, next_.offset()};
}

const Tensor& State::next(const Shape& shape, std::size_t room) {
  const std::size_t bytes = bytes_of(shape, room);
  next_room_ = room;
  if (is_free(next_, bytes)) {
    if (next_.shape() != shape) next_ = Tensor(TensorInfo{type(), shape, {}}, next_.memory(), next_.offset());
    return next_;
  }
  next_ = Tensor();
  // One that grows step by step gets room for half as much again, unless it has room.
  const bool grows = !room && present_ && present_.size_bytes() > 0 && present_.size_bytes() < bytes;
  const Tensor made = device_tensor(*gpu_, ElementType::kU8, {grows ? gpu_->with_room(bytes) : bytes});
  return next_ = Tensor(TensorInfo{type(), shape, {}}, made.memory(), made.offset());
}

const Tensor& State::grow(const Shape& shape) {
  next_room_ = room_;
  return next_ = Tensor(TensorInfo{type(), shape, {}}, present_.memory(), present_.offset());
}

void State::lie(std::size_t room, cl_command_queue queue) {
  if (room == room_) return;
  const Tensor& to = next(present_.shape(), room);
  const Lines from = lines(present_.shape(), room_), into = lines(present_.shape(), room);
  // Not as one rectangle: PoCL 3.1 crashes over parts of buffers.
  for (std::size_t i = 0; i < from.count && from.bytes > 0; ++i)
    client::check(client::call(clEnqueueCopyBuffer, queue, opencl::buffer(present_), opencl::buffer(to),
                               present_.offset() + i * from.pitch, to.offset() + i * into.pitch, from.bytes, cl_uint{0},
                               kNoEvents, kNoEvent),
                  "clEnqueueCopyBuffer", [&] { return "giving state '" + variable_.id + "' room"; });
  turn();
}

void State::bind(Execution& execution, std::size_t index) {
  execution.bind_state(index, false, present_memory());
  if (!variable_.is_assigned) return;
  const Tensor& to = next(present_.shape());
  execution.bind_state(index, true, {opencl::buffer(to), nullptr, to.offset()});
}

}  // namespace tenon::inline v1::gpu_device
