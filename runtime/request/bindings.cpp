// SPDX-License-Identifier: Apache-2.0
// The tensors that are bound to ports, and the work around each inference.
#include <tenon/runtime/request/bindings.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <typeinfo>
#include <utility>
#include <variant>

#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/request/batch.hpp>

namespace tenon {
inline namespace v1 {
namespace {

/// The tensor without the lease of the request that lent it, so that it can be set like any other.
Tensor without_slot_lease(const Tensor& tensor) {
  // SlotLease is final, so comparing types suffices; a dynamic_cast would cost more than everything else here.
  const LeaseState* const lease = tensor.lease().get();
  return lease && typeid(*lease) == typeid(SlotLease) ? tensor.with_lease({}) : tensor;
}

template <class Kind>
bool is(const PortBinding& binding) {
  return std::holds_alternative<Kind>(binding);
}

bool is_bound(const PortBinding& binding) {
  const TensorPath* const path = path_of(binding);
  return !path || path->is_bound();
}

/// No inference needs work for it.
bool is_standing(const PortBinding& binding) {
  const auto* const own = std::get_if<OwnTensor>(&binding);
  return own && own->path.is_standing();
}

/// Calls use(memory, bytes) for each memory that the user gave for the port, or got from it.
template <typename Use>
void for_each_memory(const PortBinding& binding, Use use) {
  std::visit(
      [&](const auto& bound) {
        bound.for_each([&](const Tensor& tensor) { use(*tensor.memory(), written_bytes(tensor)); });
      },
      binding);
}

}  // namespace

Bindings::Bindings(std::shared_ptr<ModelState> model, DeviceRequests& devices, Ledger& ledger)
    : model_(std::move(model)),
      devices_(devices),
      ledger_(ledger),
      inputs_(model_->inputs().size()),
      outputs_(model_->outputs().size()) {}

template <typename Use>
void Bindings::for_each_slot(Use use) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) use(PortRef{true, i}, inputs_[i]);
  for (std::size_t i = 0; i < outputs_.size(); ++i) use(PortRef{false, i}, outputs_[i]);
}

InputVariant::Key Bindings::key_now() {
  InputVariant::Key key = devices_.active().variant->key;
  key.resize(inputs_.size());
  return key;
}

bool Bindings::takes_frames(std::size_t input) {
  const InputVariant::Key& key = devices_.active().variant->key;
  return !key.empty() && key[input].has_value();
}

void Bindings::use_tensor(std::size_t input) {
  if (!takes_frames(input)) return;
  InputVariant::Key key = key_now();
  key[input].reset();
  if (std::none_of(key.begin(), key.end(), [](const auto& format) { return format.has_value(); })) key.clear();
  use_variant_for(input, key);
}

void Bindings::use_variant_for(std::size_t input, const InputVariant::Key& key) {
  if (devices_.use(key)) {
    needs_prepare_ = needs_complete_ = true;
    for_each_slot([&](PortRef port, Slot& slot) {
      if (&slot != &inputs_[input]) std::visit([&](auto& bound) { bound.bind(site(port)); }, slot.binding);
    });
  }
  inputs_[input].binding = {};
}

void Bindings::replace(PortRef port, PortBinding binding) {
  Slot& slot = this->slot(port);
  slot.binding = std::move(binding);
  slot.detach();
  needs_prepare_ = needs_complete_ = true;
}

void Bindings::set(PortRef port, const Tensor& tensor) {
  const PortInfo& info = model_->info(port);
  // Setting the same tensor again changes nothing and costs nothing: the device is not asked again.
  Slot& slot = this->slot(port);
  auto* user = std::get_if<UserTensor>(&slot.binding);
  if (tensor && user && user->path.serves(tensor) && (port.is_input || tensor.is_writable())) return;
  check_tensor(info, tensor, tensor.shape(), port.is_input);
  if (!port.is_input && !tensor.is_writable()) {
    throw Error(Code::kPermissionDenied, "Failed to set tensor. output '" + info.label + "' can't be written to " +
                                             to_string(tensor) +
                                             ": the memory is read-only or still read by its owner");
  }
  if (port.is_input) use_tensor(port.index);
  user = std::get_if<UserTensor>(&slot.binding);
  if (!user)
    return replace(port, UserTensor{TensorPath(site(port), without_slot_lease(tensor), path_of(slot.binding))});
  user->adopt(site(port), without_slot_lease(tensor));
  slot.detach();
  needs_prepare_ = needs_complete_ = true;
}

void Bindings::set_batch(PortRef port, const std::vector<Tensor>& tensors) {
  const PortInfo& info = model_->info(port);
  if (tensors.empty()) throw AssertFailure("set_input_tensors/set_tensors can't be called with empty tensors");
  if (tensors.size() == 1) return set(port, tensors.front());
  const Shape whole = batch_shape(info, tensors);
  check_tensor(info, tensors.front(), whole, port.is_input);
  use_tensor(port.index);
  const Tensor in_place = joined(tensors, whole);
  if (!in_place && use_items(port, tensors)) return;
  if (!in_place && model_->policy() == ZeroCopy::kRequire) {
    throw Error(Code::kFailedPrecondition, "batched tensors for '" + info.label +
                                               "' would be copied into one, which the zero-copy policy 'require' "
                                               "forbids: lay the batch out in one tensor");
  }
  const BindingSite site = this->site(port);
  replace(port, JoinedBatch{TensorPath(site, in_place ? in_place : site.allocate(whole), path_of(slot(port).binding)),
                            in_place ? std::vector<Tensor>() : tensors});
}

bool Bindings::use_items(PortRef port, const std::vector<Tensor>& tensors) {
  const BindingSite site = this->site(port);
  ItemBatch batch;
  for (const Tensor& tensor : tensors) batch.items.push_back(as_type(without_slot_lease(tensor), site.info().type));
  if (const auto refused = site.device.compiled().refuses_batch(site.device.first_port(port), batch.items)) {
    check_copied_items(site.info(), batch.items, *refused);
    return false;
  }
  batch.bind(site);
  replace(port, std::move(batch));
  return true;
}

void Bindings::set_frame(std::size_t input, const Frame& frame) {
  check_frame(model_->inputs()[input], frame);
  InputVariant::Key key = key_now();
  if (key[input] != frame.info()) {
    key[input] = frame.info();
    use_variant_for(input, key);
  }
  // Anything that can be refused comes before the first plane is bound.
  const BindingSite site = this->site({true, input});
  FramePlanes planes{planes_for(*model_, site.device, input, frame, ledger_), frame.size_bytes()};
  planes.bind(site);
  replace(site.port, std::move(planes));
}

void Bindings::allocate(PortRef port) {
  const BindingSite site = this->site(port);
  const Tensor tensor = site.allocate(site.info().static_shape);
  // Inputs that the user never fills must at least not change from run to run.
  if (port.is_input && tensor.is_host_addressable() && tensor.size_bytes() != 0 &&
      tensor.element_type() != ElementType::kString)
    std::memset(tensor.data(), 0, tensor.size_bytes());
  slot(port).binding = OwnTensor{TensorPath(site, tensor, nullptr)};
  needs_prepare_ = needs_complete_ = true;
}

Tensor Bindings::get(PortRef port) {
  follow_shapes();
  Slot& slot = this->slot(port);
  const PortInfo& info = model_->info(port);
  if (is<JoinedBatch>(slot.binding) || is<ItemBatch>(slot.binding)) {
    throw AssertFailure("get_tensor shall not be used together with batched set_tensors/set_input_tensors for port '" +
                        info.label + "'");
  }
  if (is<FramePlanes>(slot.binding)) {
    throw Error(Code::kFailedPrecondition,
                "input '" + info.label + "' is fed by frames (set_frame) and has no tensor; set_tensor gives it one");
  }
  if (!path_of(slot.binding)->tensor()) {
    if (port.is_input) use_tensor(port.index);
    if (info.is_static)
      allocate(port);
    else
      slot.binding = OwnTensor{TensorPath(Tensor(info.type, info.least_shape()))};
  }
  return lend(port, slot, path_of(slot.binding)->tensor());
}

Tensor Bindings::lend(PortRef port, Slot& slot, const Tensor& tensor) {
  // A tensor that brought its own lease (a decoder's buffer) keeps it; outputs of static shape have nothing to
  // follow.
  if (tensor.lease() || (!port.is_input && model_->info(port).is_static)) return tensor;
  if (!slot.lease) slot.lease = make_ref<SlotLease>(model_, port, reshaped_);
  slot.lease->lend(tensor);
  return tensor.with_lease(slot.lease);
}

void Bindings::follow_shapes() {
  if (!reshaped_->load(std::memory_order_relaxed) || !reshaped_->exchange(false, std::memory_order_acquire)) return;
  for_each_slot([&](PortRef port, Slot& slot) {
    const Tensor made = slot.lease ? slot.lease->take() : Tensor();
    if (!made) return;
    if (auto* const own = std::get_if<OwnTensor>(&slot.binding)) own->adopt(site(port), made);
    if (auto* const user = std::get_if<UserTensor>(&slot.binding)) user->adopt(site(port), made);
    needs_prepare_ = needs_complete_ = true;
  });
}

void Bindings::note(const TimelinePoint& end) {
  follow_shapes();
  earlier_.clear();
  // One at a time: of two inferences that use each other's memory, one comes first everywhere.
  static std::mutex* const order = new std::mutex;
  const std::lock_guard lock(*order);
  for_each_slot([&](PortRef port, const Slot& slot) {
    for_each_memory(slot.binding, [&](const Memory& memory, const WrittenBytes& bytes) {
      const Access access = port.is_input ? Access::kRead : Access::kWrite;
      Hazards::Points points = memory.hazards().begin(access, end, bytes);
      if (!points.empty()) earlier_.push_back({std::move(points), access});
    });
  });
  noted_ = true;
}

void Bindings::wrote_outputs() const {
  for (const Slot& slot : outputs_) {
    for_each_memory(slot.binding, [](const Memory& memory, const WrittenBytes& bytes) {
      if (memory.has_hazards() && memory.hazards().has_points()) memory.hazards().wrote(TimelinePoint::ready(), bytes);
    });
  }
}

void Bindings::wait_for_others() {
  InferRequestImpl& device = *devices_.active().impl;
  const auto device_waits = [&](const TimelinePoint& point) { return device.wait_for(point); };
  if (std::exchange(noted_, false)) {
    for (const Earlier& work : earlier_) work.points.wait_for(work.access, default_deadline(), &ledger_, device_waits);
    earlier_.clear();
    return;
  }
  for_each_slot([&](PortRef port, const Slot& slot) {
    if (is<OwnTensor>(slot.binding)) return;
    for_each_memory(slot.binding, [&](const Memory& memory, const WrittenBytes&) {
      memory.wait_for(port.is_input ? Access::kRead : Access::kWrite, default_deadline(), &ledger_, device_waits);
    });
  });
}

void Bindings::provide_input(std::size_t index) {
  const PortInfo& info = model_->inputs()[index];
  if (takes_frames(index)) {
    throw Error(
        Code::kFailedPrecondition,
        "input '" + info.label + "' takes frames (input_frames) and none was set; call set_frame or set_tensor");
  }
  if (!info.is_static) {
    throw AssertFailure("input '" + info.label + "' has the dynamic shape " + info.shape.to_string() +
                        " and no tensor was set");
  }
  allocate({true, index});
}

void Bindings::end_access() noexcept {
  if (!std::exchange(accesses_, false)) return;
  for_each_slot([](PortRef, Slot& slot) { std::visit([](auto& bound) { bound.end_access(); }, slot.binding); });
}

void Bindings::prepare() {
  follow_shapes();
  if (!needs_prepare_ && !noted_) return;
  wait_for_others();
  const OrderedWork ordered;
  accesses_ = true;
  bool again = false;
  for_each_slot([&](PortRef port, Slot& slot) {
    if (!is_bound(slot.binding)) {
      if (port.is_input)
        provide_input(port.index);
      else if (model_->info(port).is_static)
        allocate(port);
    }
    std::visit([&](auto& bound) { bound.prepare(site(port)); }, slot.binding);
    if (!port.is_input) bind_fixed_output(port);
    again |= !is_standing(slot.binding);
  });
  needs_prepare_ = again;
}

/// Frames fix the input's shape, and so shapes of outputs that are open in the model: a device of fixed shapes writes where it is told.
void Bindings::bind_fixed_output(PortRef port) {
  if (model_->info(port).is_static) return;
  const DeviceRequest& device = devices_.active();
  const PartialShape& shape = device.compiled().ports().outputs[port.index].get_partial_shape();
  if (shape.is_static()) device.bind(port, output(port.index, shape.to_shape()));
}

Tensor Bindings::output(std::size_t index, const Shape& shape) {
  Slot& slot = outputs_.at(index);
  const PortInfo& info = model_->outputs()[index];
  if (!info.fits(shape)) {
    throw Error(Code::kInternal, "the device computed the shape " + to_string(shape) + " for output '" + info.label +
                                     "' of shape " + info.shape.to_string());
  }
  if (auto* const user = std::get_if<UserTensor>(&slot.binding)) return user->output(site({false, index}), shape);
  auto& own = std::get<OwnTensor>(slot.binding);
  if (const Tensor& tensor = own.path.tensor(); tensor && tensor.shape() == shape) return tensor;
  slot.detach();
  return own.make_output(site({false, index}), shape);
}

void Bindings::complete() {
  if (!needs_complete_) return;
  const OrderedWork ordered;
  bool again = false;
  for (const Slot& slot : outputs_) {
    const TensorPath& path = *path_of(slot.binding);
    again |= path.is_packed();
    path.take_output(ledger_);
  }
  needs_complete_ = again;
}

void Bindings::clear() noexcept {
  inputs_.clear();
  outputs_.clear();
}

}  // namespace v1
}  // namespace tenon
