// SPDX-License-Identifier: Apache-2.0
// The tensors that are bound to ports, and the work around each inference.
#include <tenon/runtime/request/bindings.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <typeinfo>
#include <utility>

#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/request/batch.hpp>
#include <tenon/runtime/request/frames.hpp>

namespace tenon {
inline namespace v1 {
namespace {

/// The tensor without the lease of the request that lent it, so that it can be set like any other.
Tensor without_slot_lease(const Tensor& tensor) {
  // SlotLease is final, so comparing types suffices; a dynamic_cast would cost more than everything else here.
  const LeaseState* const lease = tensor.lease().get();
  return lease && typeid(*lease) == typeid(SlotLease) ? tensor.with_lease({}) : tensor;
}

/// The same elements of the same memory, under the same lease.
bool is_same(const Tensor& a, const Tensor& b) {
  return a.memory() == b.memory() && a.view() == b.view() && a.offset() == b.offset() && a.lease() == b.lease() &&
         a.info() == b.info();
}

}  // namespace

Bindings::Bindings(std::shared_ptr<ModelState> model, DeviceRequests& devices, Ledger& ledger)
    : model_(std::move(model)),
      devices_(devices),
      ledger_(ledger),
      inputs_(model_->inputs().size()),
      outputs_(model_->outputs().size()) {}

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
  use_variant_for(inputs_[input], key);
}

void Bindings::use_variant_for(Slot& slot, const InputVariant::Key& key) {
  const Way before = std::exchange(slot.way, Way::kNone);
  try {
    if (devices_.use(key)) bind_all();
  } catch (...) {
    slot.way = before;
    throw;
  }
  slot.planes = {};
}

void Bindings::bind_all() {
  for (const bool is_input : {true, false}) {
    auto& slots = is_input ? inputs_ : outputs_;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].way == Way::kNone) continue;
      if (slots[i].way == Way::kFrame) {
        const DeviceRequest& device = devices_.active();
        for (std::size_t plane = 0; plane < device.variant->input_count[i]; ++plane) {
          device.impl->bind_input(device.variant->first_input[i] + plane, slots[i].planes[plane].bound());
        }
        continue;
      }
      if (slots[i].way == Way::kItems) {
        devices_.active().impl->bind_batch(devices_.active().first_port({is_input, i}), slots[i].batch);
        continue;
      }
      const Tensor tensor = slots[i].tensor;
      settle({is_input, i}, slots[i], tensor, slots[i].from_user);
    }
  }
}

void Bindings::settle(PortRef port, Slot& slot, const Tensor& tensor, bool from_user) {
  const DeviceRequest& device = devices_.active();
  ChosenWay chosen = choose_way(*model_, device, port, tensor, ledger_);
  if (chosen.way == Way::kPacked) {
    const ElementType type = model_->info(port).type;
    if (!slot.staging || slot.staging.shape() != tensor.shape() || slot.staging.element_type() != type) {
      slot.staging = port.is_input ? device.compiled().allocate_input(device.first_port(port), tensor.shape())
                                   : device.compiled().allocate_output(port.index, tensor.shape());
    }
    // The copy reads or writes the routed view, if there is one.
    slot.tensor = chosen.bracketed ? tensor : chosen.tensor;
    device.bind(port, slot.staging);
  } else {
    if (chosen.way == Way::kInPlace) device.bind(port, chosen.tensor);
    if (slot.staging) slot.staging = Tensor();
    slot.tensor = tensor;
  }
  if (chosen.bracketed)
    slot.mapped = std::move(chosen.tensor);
  else if (slot.mapped)
    slot.mapped = Tensor();
  slot.way = chosen.way;
  slot.from_user = from_user;
  if (slot.way != Way::kInPlace || from_user) needs_prepare_ = true;
  if (slot.way == Way::kPacked && !port.is_input) needs_complete_ = true;
}

void Bindings::set(PortRef port, const Tensor& tensor) {
  const PortInfo& info = model_->info(port);
  Slot& slot = this->slot(port);
  // Setting the same tensor again changes nothing and costs nothing: the device is not asked again.
  if (tensor && slot.from_user && slot.batch.empty() && (slot.way == Way::kInPlace || slot.way == Way::kPacked) &&
      is_same(slot.tensor, tensor) && (port.is_input || tensor.is_writable()))
    return;
  check_tensor(info, tensor, tensor.shape(), port.is_input);
  if (!port.is_input && !tensor.is_writable()) {
    throw Error(Code::kPermissionDenied, "Failed to set tensor. output '" + info.label + "' can't be written to " +
                                             to_string(tensor) +
                                             ": the memory is read-only or still read by its owner");
  }
  if (port.is_input) use_tensor(port.index);
  settle(port, slot, without_slot_lease(tensor), true);
  slot.batch.clear();
  slot.detach();
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
  Slot& slot = this->slot(port);
  if (in_place) {
    settle(port, slot, in_place, true);
  } else {
    const DeviceRequest& device = devices_.active();
    settle(port, slot, device.compiled().allocate_input(device.first_port(port), whole), false);
  }
  slot.batch = tensors;
  slot.batch_in_place = static_cast<bool>(in_place);
  slot.detach();
  needs_prepare_ = true;
}

bool Bindings::use_items(PortRef port, const std::vector<Tensor>& tensors) {
  const DeviceRequest& device = devices_.active();
  std::vector<Tensor> items;
  for (const Tensor& tensor : tensors) items.push_back(as_type(without_slot_lease(tensor), model_->info(port).type));
  if (const auto refused = device.compiled().refuses_batch(device.first_port(port), items)) {
    check_copied_items(model_->info(port), items, *refused);
    return false;
  }
  device.impl->bind_batch(device.first_port(port), items);
  Slot& slot = this->slot(port);
  slot.tensor = slot.staging = slot.mapped = Tensor();
  slot.way = Way::kItems;
  slot.from_user = true;
  slot.batch = std::move(items);
  slot.batch_in_place = false;
  slot.detach();
  needs_prepare_ = true;
  return true;
}

void Bindings::set_frame(std::size_t input, const Frame& frame) {
  check_frame(model_->inputs()[input], frame);
  Slot& slot = inputs_[input];
  InputVariant::Key key = key_now();
  if (key[input] != frame.info()) {
    key[input] = frame.info();
    use_variant_for(slot, key);
  }
  const DeviceRequest& device = devices_.active();
  // Anything that can be refused comes before the first plane is bound.
  std::array<BoundPlane, 4> planes = planes_for(*model_, device, input, frame, ledger_);
  for (std::size_t i = 0; i < device.variant->input_count[input]; ++i)
    device.impl->bind_input(device.variant->first_input[input] + i, planes[i].bound());
  slot.planes = std::move(planes);
  slot.plane_bytes = frame.size_bytes();
  slot.tensor = Tensor();
  slot.staging = Tensor();
  slot.mapped = Tensor();
  slot.batch.clear();
  slot.detach();
  slot.way = Way::kFrame;
  slot.from_user = true;
  needs_prepare_ = true;
}

void Bindings::allocate(PortRef port) {
  const DeviceRequest& device = devices_.active();
  const Shape& shape = model_->info(port).static_shape;
  const Tensor tensor = port.is_input ? device.compiled().allocate_input(device.first_port(port), shape)
                                      : device.compiled().allocate_output(port.index, shape);
  // Inputs that the user never fills must at least not change from run to run.
  if (port.is_input && tensor.is_host_addressable() && tensor.size_bytes() != 0)
    std::memset(tensor.data(), 0, tensor.size_bytes());
  settle(port, slot(port), tensor, false);
}

Tensor Bindings::get(PortRef port) {
  follow_shapes();
  Slot& slot = this->slot(port);
  const PortInfo& info = model_->info(port);
  if (!slot.batch.empty()) {
    throw AssertFailure("get_tensor shall not be used together with batched set_tensors/set_input_tensors for port '" +
                        info.label + "'");
  }
  if (slot.way == Way::kFrame) {
    throw Error(Code::kFailedPrecondition,
                "input '" + info.label + "' is fed by frames (set_frame) and has no tensor; set_tensor gives it one");
  }
  if (!slot.tensor) {
    if (port.is_input) use_tensor(port.index);
    if (info.is_static)
      allocate(port);
    else
      slot.tensor = Tensor(info.type, info.least_shape());
  }
  return lend(port, slot);
}

Tensor Bindings::lend(PortRef port, Slot& slot) {
  // A tensor that brought its own lease (a decoder's buffer) keeps it; outputs of static shape have nothing to
  // follow.
  if (slot.tensor.lease() || (!port.is_input && model_->info(port).is_static)) return slot.tensor;
  if (!slot.lease) slot.lease = make_ref<SlotLease>(model_, port, reshaped_);
  slot.lease->lend(slot.tensor);
  return slot.tensor.with_lease(slot.lease);
}

void Bindings::follow_shapes() {
  if (!reshaped_->load(std::memory_order_relaxed) || !reshaped_->exchange(false, std::memory_order_acquire)) return;
  for (const bool is_input : {true, false}) {
    auto& slots = is_input ? inputs_ : outputs_;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      Slot& slot = slots[i];
      if (!slot.lease) continue;
      const Tensor made = slot.lease->take();
      if (!made) continue;
      if (is_input || slot.from_user)
        settle({is_input, i}, slot, made, slot.from_user);
      else
        slot.tensor = made;  // Where output() finds memory for the next one.
    }
  }
}

template <typename Use>
void Bindings::for_each_memory(const Slot& slot, Use use) {
  const auto of = [&](const Tensor& tensor) {
    if (tensor) use(*tensor.memory(), written_bytes(tensor));
  };
  if (slot.way == Way::kFrame) {
    for (const BoundPlane& plane : slot.planes) of(plane.source);
  } else if (!slot.batch.empty() && !slot.batch_in_place) {
    for (const Tensor& item : slot.batch) of(item);
  } else {
    of(slot.tensor);
  }
}

void Bindings::note(const TimelinePoint& end) {
  follow_shapes();
  earlier_.clear();
  // One at a time: of two inferences that use each other's memory, one comes first everywhere.
  static std::mutex* const order = new std::mutex;
  const std::lock_guard lock(*order);
  for (const Slot& slot : inputs_) {
    for_each_memory(slot, [&](const Memory& memory, const WrittenBytes&) {
      Hazards::Points points = memory.hazards().begin(Access::kRead, end);
      if (!points.empty()) earlier_.push_back({std::move(points), Access::kRead});
    });
  }
  for (const Slot& slot : outputs_) {
    for_each_memory(slot, [&](const Memory& memory, const WrittenBytes& bytes) {
      Hazards::Points points = memory.hazards().begin(Access::kWrite, end, bytes);
      if (!points.empty()) earlier_.push_back({std::move(points), Access::kWrite});
    });
  }
  noted_ = true;
}

void Bindings::wrote_outputs() const {
  for (const Slot& slot : outputs_) {
    for_each_memory(slot, [](const Memory& memory, const WrittenBytes& bytes) {
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
  const auto wait = [&](const std::vector<Slot>& slots, Access access) {
    for (const Slot& slot : slots) {
      if (!slot.from_user && slot.batch.empty()) continue;
      for_each_memory(slot, [&](const Memory& memory, const WrittenBytes&) {
        memory.wait_for(access, default_deadline(), &ledger_, device_waits);
      });
    }
  };
  wait(inputs_, Access::kRead);
  wait(outputs_, Access::kWrite);
}

void Bindings::prepare_input(std::size_t index) {
  Slot& slot = inputs_[index];
  const PortInfo& info = model_->inputs()[index];
  if (slot.way == Way::kNone) {
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
  begin_access({true, index}, slot);
  // The items come first: if the device only takes packed copies, the joined batch is packed.
  if (!slot.batch.empty() && !slot.batch_in_place && slot.way != Way::kItems) copy_batch(slot);
  if (slot.way == Way::kFrame) {
    prepare_planes(index, slot);
    ledger_.book_map(frame_edge(), true);
    ledger_.book_converted(frame_edge(), slot.plane_bytes);
  } else if (slot.way == Way::kPacked) {
    copy_and_book(slot.reached(), slot.staging, copy_in_edge(), ledger_);
  } else if (slot.way == Way::kRouted) {
    const DeviceRequest& device = devices_.active();
    const Tensor mapped = model_->shared().router.map(slot.tensor, device.compiled().memory_context(),
                                                      MapOptions{Access::kRead, model_->policy(), &ledger_});
    device.bind({true, index}, as_type(mapped, info.type));
  }
}

void Bindings::copy_batch(const Slot& slot) {
  const DeviceRequest& device = devices_.active();
  const auto bracketed = [&](const Tensor& item) { return needs_bracket(*model_, device, item); };
  if (std::none_of(slot.batch.begin(), slot.batch.end(), bracketed))
    return copy_items(slot.batch, slot.tensor, ledger_);
  std::vector<MappedTensor> mapped;
  std::vector<Tensor> items;
  for (const Tensor& item : slot.batch) {
    mapped.push_back(bracketed(item) ? map_for_device(*model_, device, item, Access::kRead, ledger_)
                                     : MappedTensor{item, {}});
    items.push_back(mapped.back().tensor);
  }
  copy_items(items, slot.tensor, ledger_);
}

void Bindings::prepare_planes(std::size_t input, Slot& slot) {
  const DeviceRequest& device = devices_.active();
  const std::span<BoundPlane> planes(slot.planes.data(), device.variant->input_count[input]);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    accesses_ |= planes[i].each_inference;
    if (reach_plane(*model_, device, planes, i, ledger_) && !planes[i].packed)
      device.impl->bind_input(device.variant->first_input[input] + i, planes[i].reached);
    if (planes[i].packed) copy_and_book(planes[i].reached, planes[i].packed, copy_in_edge(), ledger_);
  }
}

void Bindings::begin_access(PortRef port, Slot& slot) {
  if (!slot.mapped) return;
  accesses_ = true;
  const DeviceRequest& device = devices_.active();
  MappedTensor mapped =
      map_for_device(*model_, device, slot.tensor, port.is_input ? Access::kRead : Access::kWrite, ledger_);
  slot.access = std::move(mapped.access);
  Tensor reached = as_type(mapped.tensor, model_->info(port).type);
  if (is_same(reached, slot.mapped)) return;
  slot.mapped = std::move(reached);
  if (slot.way == Way::kInPlace) device.bind(port, slot.mapped);
}

void Bindings::end_access() noexcept {
  if (!std::exchange(accesses_, false)) return;
  for (std::vector<Slot>* slots : {&inputs_, &outputs_}) {
    for (Slot& slot : *slots) {
      slot.access = {};
      for (BoundPlane& plane : slot.planes) plane.access = {};
    }
  }
}

void Bindings::prepare() {
  follow_shapes();
  if (!needs_prepare_ && !noted_) return;
  wait_for_others();
  const OrderedWork ordered;
  bool again = false;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    prepare_input(i);
    again |= inputs_[i].way != Way::kInPlace || inputs_[i].from_user || !inputs_[i].batch.empty();
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Slot& slot = outputs_[i];
    if (slot.way == Way::kNone && model_->outputs()[i].is_static) allocate({false, i});
    begin_access({false, i}, slot);
    again |= slot.from_user;
  }
  needs_prepare_ = again;
}

Tensor Bindings::output(std::size_t index, const Shape& shape) {
  Slot& slot = outputs_.at(index);
  const PortInfo& info = model_->outputs()[index];
  if (!info.fits(shape)) {
    throw Error(Code::kInternal, "the device computed the shape " + to_string(shape) + " for output '" + info.label +
                                     "' of shape " + info.shape.to_string());
  }
  if (slot.from_user) {
    try {
      if (slot.tensor.shape() != shape) slot.tensor.set_shape(shape);
      if (slot.mapped && slot.mapped.shape() != shape) slot.mapped.set_shape(shape);
    } catch (const Error& error) {
      const bool has_room = element_count(shape) <= element_count(slot.tensor.shape());
      throw AssertFailure("output '" + info.label + "' has the shape " + to_string(shape) +
                          " now, for which the tensor set by the user, " + to_string(slot.tensor) + ", is " +
                          (has_room ? "of no use: " + std::string(error.what()) : "too small"));
    }
    if (slot.way == Way::kPacked) {
      if (slot.staging.shape() != shape) slot.staging = Tensor(info.type, shape);
      return slot.staging;
    }
    return as_type(slot.reached(), info.type);
  }
  if (slot.tensor && slot.tensor.shape() == shape) return slot.tensor;
  slot.detach();
  // Tensors returned by get_tensor keep their contents: a new shape is a new view, on new memory when it grows.
  const bool fits_memory = slot.tensor && slot.tensor.is_contiguous() &&
                           checked_size_bytes(info.type, shape).value_or(SIZE_MAX) <=
                               slot.tensor.memory()->size_bytes() - slot.tensor.offset();
  if (fits_memory)
    slot.tensor.set_shape(shape);
  else
    slot.tensor = devices_.active().compiled().allocate_output(index, shape);
  return slot.tensor;
}

void Bindings::complete() {
  if (!needs_complete_) return;
  const OrderedWork ordered;
  bool again = false;
  for (const Slot& slot : outputs_) {
    if (slot.way != Way::kPacked) continue;
    again = true;
    copy_and_book(slot.staging, slot.reached(), copy_out_edge(), ledger_);
  }
  needs_complete_ = again;
}

void Bindings::clear() noexcept {
  inputs_.clear();
  outputs_.clear();
}

}  // namespace v1
}  // namespace tenon
