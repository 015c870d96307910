// SPDX-License-Identifier: Apache-2.0
// What a request does with its tensors around each inference: copies in and out, outputs of dynamic shape.
#include <cstring>

#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/request/request.hpp>

namespace tenon {
inline namespace v1 {

void RequestState::follow_shapes() {
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
        slot.tensor = made;  // Where output() finds memory for what comes.
    }
  }
}

void RequestState::copy_batch(Slot& slot) {
  auto* to = static_cast<std::byte*>(slot.tensor.data());
  for (const Tensor& item : slot.batch) {
    std::memcpy(to, item.data(), item.size_bytes());
    to += item.size_bytes();
    ledger_.book_copied(copy_in_edge(), item.size_bytes());
  }
  ledger_.book_map(copy_in_edge(), false);
}

void RequestState::prepare_input(std::size_t index, bool host_waits) {
  Slot& slot = inputs_[index];
  if (slot.way == Way::kNone) {
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
  if (host_waits && slot.from_user && slot.way != Way::kRouted) {
    // Producers on other devices leave the point after which the bytes may be read with the memory.
    if (slot.way == Way::kFrame) {
      for (const Tensor& plane : slot.planes) {
        if (plane) plane.memory()->hazards().wait_for(Access::kRead, default_deadline(), &ledger_);
      }
    } else {
      slot.tensor.memory()->hazards().wait_for(Access::kRead, default_deadline(), &ledger_);
    }
  }
  // The items come first: where the device takes packed copies only, it is their sum that is packed.
  if (!slot.batch.empty() && !slot.batch_in_place) copy_batch(slot);
  if (slot.way == Way::kFrame) {
    ledger_.book_map(frame_edge(), true);
    ledger_.book_converted(frame_edge(), slot.plane_bytes);
  } else if (slot.way == Way::kPacked) {
    copy_strided(slot.tensor.element_type(), slot.tensor.shape(), slot.tensor.data(), slot.tensor.byte_strides(),
                 slot.staging.data(), slot.staging.byte_strides());
    ledger_.book_map(copy_in_edge(), false);
    ledger_.book_copied(copy_in_edge(), slot.tensor.size_bytes());
  } else if (slot.way == Way::kRouted) {
    const CompiledModelImpl& compiled = *plan().variant->impl;
    bind({true, index}, as_type(model_->shared().router.map(slot.tensor, compiled.memory_context(),
                                                            MapOptions{Access::kRead, model_->policy(), &ledger_}),
                                model_->inputs()[index].type));
  }
}

void RequestState::prepare() {
  follow_shapes();
  if (!needs_prepare_) return;
  const bool host_waits = !plan().impl->orders_hazards();
  bool again = false;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    prepare_input(i, host_waits);
    again |= inputs_[i].way != Way::kInPlace || inputs_[i].from_user || !inputs_[i].batch.empty();
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Slot& slot = outputs_[i];
    if (slot.way == Way::kNone && model_->outputs()[i].is_static) allocate({false, i});
    if (slot.from_user && host_waits && slot.tensor) {
      again = true;
      slot.tensor.memory()->hazards().wait_for(Access::kWrite, default_deadline(), &ledger_);
    }
  }
  needs_prepare_ = again;
}

Tensor RequestState::output(std::size_t index, const Shape& shape) {
  Slot& slot = outputs_.at(index);
  const PortInfo& info = model_->outputs()[index];
  if (!info.fits(shape)) {
    throw Error(Code::kInternal, "the device computed the shape " + to_string(shape) + " for output '" + info.label +
                                     "' of shape " + info.shape.to_string());
  }
  if (slot.from_user) {
    try {
      if (slot.tensor.shape() != shape) slot.tensor.set_shape(shape);
    } catch (const Error&) {
      throw AssertFailure("output '" + info.label + "' has the shape " + to_string(shape) +
                          " now, for which the tensor set by the user, " + to_string(slot.tensor) + ", is too small");
    }
    if (slot.way == Way::kPacked) {
      if (slot.staging.shape() != shape) slot.staging = Tensor(info.type, shape);
      return slot.staging;
    }
    return as_type(slot.tensor, info.type);
  }
  if (slot.tensor && slot.tensor.shape() == shape) return slot.tensor;
  if (slot.lease) slot.lease->detach();
  // Tensors handed out by get_tensor keep what they hold: a new shape is a new view, on new memory when it grows.
  bool fits_memory = slot.tensor && slot.tensor.is_contiguous() &&
                     checked_size_bytes(info.type, shape).value_or(SIZE_MAX) <=
                         slot.tensor.memory()->size_bytes() - slot.tensor.offset();
  if (fits_memory)
    slot.tensor.set_shape(shape);
  else
    slot.tensor = plans_[active_plan_].variant->impl->allocate_output(index, shape);
  return slot.tensor;
}

void RequestState::complete_outputs() {
  if (!needs_complete_) return;
  bool again = false;
  for (Slot& slot : outputs_) {
    if (slot.way != Way::kPacked) continue;
    again = true;
    copy_strided(slot.tensor.element_type(), slot.tensor.shape(), slot.staging.data(), slot.staging.byte_strides(),
                 slot.tensor.data(), slot.tensor.byte_strides());
    ledger_.book_map(copy_out_edge(), false);
    ledger_.book_copied(copy_out_edge(), slot.tensor.size_bytes());
  }
  needs_complete_ = again;
}

}  // namespace v1
}  // namespace tenon
