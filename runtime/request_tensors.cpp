// SPDX-License-Identifier: Apache-2.0
// A request's tensors: checks, the way each one takes to the device, frames, outputs of dynamic shape.
#include <algorithm>
#include <cstring>

#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>
#include "request_internal.hpp"

namespace tenon {
inline namespace v1 {
namespace {

const char* side(bool is_input) { return is_input ? "input" : "output"; }

/// boolean and u8 are the same bytes; the device is promised the port's type.
Tensor as_type(const Tensor& tensor, ElementType type) {
  if (tensor.element_type() == type) return tensor;
  TensorInfo info = tensor.info();
  info.type = type;
  return Tensor(std::move(info), tensor.memory(), tensor.offset(), tensor.lease(), tensor.view());
}

/// A plane, [rows, columns] or [rows, columns, samples], as the stage's port sees it: [1, rows, columns, samples].
Tensor as_picture(const Tensor& plane) {
  TensorInfo info = plane.info();
  const Shape& shape = plane.shape();
  const ByteStrides& strides = plane.byte_strides();
  if (shape.size() < 2 || shape.size() > 3) return plane;
  const auto sample = static_cast<std::ptrdiff_t>(size_bytes(info.type));
  info.shape = Shape{1, shape[0], shape[1], shape.size() == 3 ? shape[2] : 1};
  info.strides = ByteStrides{strides[0] * static_cast<std::ptrdiff_t>(shape[0]), strides[0], strides[1],
                             shape.size() == 3 ? strides[2] : sample};
  return Tensor(std::move(info), plane.memory(), plane.offset(), plane.lease(), plane.view());
}

bool types_agree(ElementType a, ElementType b) {
  const auto byte_like = [](ElementType type) { return type == ElementType::kBool || type == ElementType::kU8; };
  return a == b || (byte_like(a) && byte_like(b));
}

}  // namespace

void RequestState::check(const PortInfo& port, const Tensor& tensor, bool is_input) const {
  if (!tensor) {
    throw AssertFailure("Failed to set tensor. The tensor is not initialized! (" + std::string(side(is_input)) + " '" +
                        port.label + "')");
  }
  if (!types_agree(tensor.element_type(), port.type)) {
    throw AssertFailure("Failed to set tensor. The tensor element type is not corresponding with " +
                        std::string(side(is_input)) + " element type (" + std::string(name(tensor.element_type())) +
                        " != " + std::string(name(port.type)) + ") of '" + port.label + "'");
  }
  // A dynamic output takes any tensor: whether it is large enough is known when its shape is.
  if (!is_input && !port.is_static) return;
  if (!port.fits(tensor.shape())) {
    throw AssertFailure("Failed to set tensor. The " + std::string(side(is_input)) +
                        " tensor size is not equal to the model " + side(is_input) + " type: got " +
                        to_string(tensor.shape()) + " expecting " + port.shape.to_string() + " ('" + port.label + "')");
  }
}

RequestState::Plan& RequestState::plan() {
  if (plans_.empty()) use_variant({});
  return plans_[active_plan_];
}

Variant::Key RequestState::key_now() {
  Variant::Key key = plan().variant->key;
  key.resize(inputs_.size());
  return key;
}

void RequestState::use_tensor(std::size_t input) {
  if (!takes_frames(input)) return;
  Variant::Key key = key_now();
  key[input].reset();
  if (std::none_of(key.begin(), key.end(), [](const auto& format) { return format.has_value(); })) key.clear();
  Slot& slot = inputs_[input];
  const Way before = std::exchange(slot.way, Way::kNone);
  try {
    use_variant(key);
  } catch (...) {
    slot.way = before;
    throw;
  }
  slot.planes = {};
}

void RequestState::use_variant(const Variant::Key& key) {
  const auto known =
      std::find_if(plans_.begin(), plans_.end(), [&](const Plan& plan) { return plan.variant->key == key; });
  const std::size_t before = active_plan_;
  const bool first = plans_.empty();
  if (known == plans_.end()) {
    // The model without frames is what an input_frames() option compiled first, if there was one.
    auto variant = first && key.empty() ? model_->main_variant() : model_->variant(key);
    auto impl = variant->impl->create_request();
    plans_.push_back({std::move(variant), std::move(impl)});
    active_plan_ = plans_.size() - 1;
  } else {
    active_plan_ = static_cast<std::size_t>(known - plans_.begin());
  }
  if (first || active_plan_ == before) return;
  // The plan that is left must hold nobody's memory.
  InferRequestImpl& left = *plans_[before].impl;
  for (std::size_t i = 0; i < plans_[before].variant->impl->ports().inputs.size(); ++i) left.bind_input(i, Tensor());
  for (std::size_t i = 0; i < outputs_.size(); ++i) left.bind_output(i, Tensor());
  // The caller has cleared the slot whose format changed; all others go over to the new plan as they are.
  for (const bool is_input : {true, false}) {
    auto& slots = is_input ? inputs_ : outputs_;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].way == Way::kNone) continue;
      if (slots[i].way == Way::kFrame) {
        Plan& now = plans_[active_plan_];
        for (std::size_t plane = 0; plane < now.variant->input_count[i]; ++plane) {
          now.impl->bind_input(now.variant->first_input[i] + plane, slots[i].planes[plane]);
        }
        continue;
      }
      const Tensor tensor = slots[i].tensor;
      settle({is_input, i}, slots[i], tensor, slots[i].from_user);
    }
  }
}

void RequestState::bind(PortRef port, const Tensor& tensor) {
  Plan& now = plans_[active_plan_];
  if (port.is_input)
    now.impl->bind_input(now.variant->first_input[port.index], tensor);
  else
    now.impl->bind_output(port.index, tensor);
}

void RequestState::settle(PortRef port, Slot& slot, const Tensor& tensor, bool from_user) {
  Plan& now = plan();
  const CompiledModelImpl& compiled = *now.variant->impl;
  const std::size_t at = port.is_input ? now.variant->first_input[port.index] : port.index;
  const PortInfo& info = this->info(port);
  const Tensor typed = as_type(tensor, info.type);
  const auto refuse = [&](const Tensor& candidate) {
    return port.is_input ? compiled.refuses_input(at, candidate) : compiled.refuses_output(at, candidate);
  };
  Way way = Way::kInPlace;
  Tensor bound = typed;
  auto refused = refuse(typed);
  if (refused && !typed.is_host_addressable()) {
    const Context target = compiled.memory_context();
    const Access access = port.is_input ? Access::kRead : Access::kWrite;
    const auto route = model_->shared().router.plan(describe(typed), target, access, model_->policy());
    if (!route->possible() || (route->copies() && !port.is_input)) {
      throw Error(Code::kFailedPrecondition, std::string(side(port.is_input)) + " '" + info.label + "' can't use " +
                                                 to_string(tensor) + ": " + refused->reason + "\n" + route->explain());
    }
    if (route->copies()) {
      way = Way::kRouted;
    } else {
      bound = model_->shared().router.map(typed, target, MapOptions{access, model_->policy(), &ledger_});
      refused = refuse(bound);
    }
  }
  if (refused && way != Way::kRouted) {
    if (!bound.is_host_addressable() || size_bytes(info.type) == 0) {
      throw Error(Code::kFailedPrecondition, std::string(side(port.is_input)) + " '" + info.label + "' can't use " +
                                                 to_string(tensor) + ": " + refused->reason);
    }
    if (model_->policy() == ZeroCopy::kRequire) {
      throw Error(Code::kFailedPrecondition,
                  std::string(side(port.is_input)) + " '" + info.label + "' can't use " + to_string(tensor) +
                      " in place, which the zero-copy policy 'require' asks for: " + refused->reason +
                      "; pass such a tensor, or set the policy to 'prefer'");
    }
    way = Way::kPacked;
  }
  if (way == Way::kPacked) {
    if (!slot.staging || slot.staging.shape() != tensor.shape() || slot.staging.element_type() != info.type) {
      slot.staging =
          port.is_input ? compiled.allocate_input(at, tensor.shape()) : compiled.allocate_output(at, tensor.shape());
    }
    slot.tensor = bound;  // What the copy reads or writes: the routed view, where there is one.
    bind(port, slot.staging);
  } else {
    if (way == Way::kInPlace) bind(port, bound);
    slot.staging = Tensor();
  }
  if (way != Way::kPacked) slot.tensor = tensor;
  slot.way = way;
  slot.from_user = from_user;
  if (way != Way::kInPlace || from_user) needs_prepare_ = true;
  if (way == Way::kPacked && !port.is_input) needs_complete_ = true;
}

void RequestState::set(PortRef port, const Tensor& tensor) {
  check_not_busy();
  check(info(port), tensor, port.is_input);
  if (!port.is_input && !tensor.is_writable()) {
    throw Error(Code::kPermissionDenied, "Failed to set tensor. output '" + info(port).label +
                                             "' can't be written to " + to_string(tensor) +
                                             ": the memory is read-only or still read by its owner");
  }
  Slot& slot = this->slot(port);
  if (port.is_input) use_tensor(port.index);
  settle(port, slot, tensor, true);
  slot.batch.clear();
}

void RequestState::set_batch(PortRef port, const std::vector<Tensor>& tensors) {
  check_not_busy();
  const PortInfo& info = this->info(port);
  if (tensors.empty()) throw AssertFailure("set_input_tensors/set_tensors can't be called with empty tensors");
  if (tensors.size() == 1) return set(port, tensors.front());
  if (!info.is_static || info.static_shape.empty() || info.static_shape[0] != tensors.size()) {
    throw AssertFailure("set_input_tensors/set_tensors error: '" + info.label + "' of shape " + info.shape.to_string() +
                        " needs as many tensors as its batch, got " + std::to_string(tensors.size()));
  }
  Shape item = info.static_shape;
  item[0] = 1;
  for (const Tensor& tensor : tensors) {
    if (!tensor || !types_agree(tensor.element_type(), info.type) || tensor.shape() != item ||
        !tensor.is_host_addressable()) {
      throw AssertFailure("set_input_tensors/set_tensors error: each tensor for '" + info.label +
                          "' must be host memory of " + std::string(name(info.type)) + " " + to_string(item) +
                          ", got " + (tensor ? to_string(tensor) : "an empty one"));
    }
    if (!tensor.is_contiguous()) throw AssertFailure("Strides for batched tensors should be default.");
  }
  if (model_->policy() == ZeroCopy::kRequire) {
    throw Error(Code::kFailedPrecondition, "batched tensors for '" + info.label +
                                               "' would be copied into one, which the zero-copy policy "
                                               "'require' forbids: lay the batch out in one tensor");
  }
  use_tensor(port.index);
  Plan& now = plan();
  Slot& slot = this->slot(port);
  const std::size_t at = now.variant->first_input[port.index];
  Tensor whole = now.variant->impl->allocate_input(at, info.static_shape);
  settle(port, slot, whole, false);
  slot.batch = tensors;
  needs_prepare_ = true;
}

void RequestState::set_frame(std::size_t input, const Frame& frame) {
  check_not_busy();
  const PortInfo& info = model_->inputs()[input];
  if (frame.plane_count() == 0) {
    throw AssertFailure("Failed to set frame. The frame for input '" + info.label + "' is empty" +
                        (frame.batch().empty() ? "" : " or a batch, which no input takes"));
  }
  Slot& slot = inputs_[input];
  Variant::Key key = key_now();
  if (key[input] != frame.info()) {
    key[input] = frame.info();
    // What the input held does not fit the new plan; it stays when that can't be built.
    const Way before = std::exchange(slot.way, Way::kNone);
    try {
      use_variant(key);
    } catch (...) {
      slot.way = before;
      throw;
    }
    slot.planes = {};
  }
  Plan& now = plan();
  const CompiledModelImpl& compiled = *now.variant->impl;
  const std::size_t first = now.variant->first_input[input];
  const std::size_t count = now.variant->input_count[input];
  if (count != frame.plane_count()) {
    throw Error(Code::kInternal, "a frame of " + std::to_string(frame.plane_count()) +
                                     " planes meets an input stage of " + std::to_string(count));
  }
  // Everything that can be refused comes before the first plane is bound.
  std::array<Tensor, 4> bound;
  for (std::size_t i = 0; i < count; ++i) {
    Tensor plane = frame.plane(i);
    if (!plane.is_host_addressable()) {
      plane = model_->shared().router.map(plane, compiled.memory_context(),
                                          MapOptions{Access::kRead, model_->policy(), &ledger_});
    }
    bound[i] = as_picture(plane);
    if (const auto refused = compiled.refuses_input(first + i, bound[i])) {
      if (model_->policy() == ZeroCopy::kRequire) {
        throw Error(
            Code::kFailedPrecondition,
            "plane " + std::to_string(i) + " of the frame for input '" + info.label +
                "' can't be read where it lies, which the zero-copy policy 'require' asks for: " + refused->reason);
      }
      Tensor packed = compiled.allocate_input(first + i, bound[i].shape());
      copy_strided(packed.element_type(), packed.shape(), bound[i].data(), bound[i].byte_strides(), packed.data(),
                   packed.byte_strides());
      ledger_.book_map(copy_in_edge(), false);
      ledger_.book_copied(copy_in_edge(), packed.size_bytes());
      bound[i] = packed;
    }
  }
  for (std::size_t i = 0; i < count; ++i) now.impl->bind_input(first + i, bound[i]);
  slot.planes = std::move(bound);
  slot.plane_bytes = frame.size_bytes();
  slot.tensor = Tensor();
  slot.staging = Tensor();
  slot.batch.clear();
  slot.way = Way::kFrame;
  slot.from_user = true;
  needs_prepare_ = true;
}

void RequestState::allocate(PortRef port) {
  Plan& now = plan();
  const PortInfo& info = this->info(port);
  const CompiledModelImpl& compiled = *now.variant->impl;
  Tensor tensor = port.is_input ? compiled.allocate_input(now.variant->first_input[port.index], info.static_shape)
                                : compiled.allocate_output(port.index, info.static_shape);
  // Inputs that nobody fills in must at least not change from run to run.
  if (port.is_input && tensor.is_host_addressable() && tensor.size_bytes() != 0)
    std::memset(tensor.data(), 0, tensor.size_bytes());
  settle(port, slot(port), tensor, false);
}

Tensor RequestState::get(PortRef port) {
  check_not_busy();
  Slot& slot = this->slot(port);
  const PortInfo& info = this->info(port);
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
  return slot.tensor;
}

void RequestState::prepare() {
  if (!needs_prepare_) return;
  Plan& now = plan();
  const bool host_device = !now.impl->is_asynchronous();
  bool again = false;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Slot& slot = inputs_[i];
    if (slot.way == Way::kNone) {
      const PortInfo& info = model_->inputs()[i];
      if (takes_frames(i)) {
        throw Error(
            Code::kFailedPrecondition,
            "input '" + info.label + "' takes frames (input_frames) and none was set; call set_frame or set_tensor");
      }
      if (!info.is_static) {
        throw AssertFailure("input '" + info.label + "' has the dynamic shape " + info.shape.to_string() +
                            " and no tensor was set");
      }
      allocate({true, i});
    }
    again |= slot.way != Way::kInPlace || slot.from_user;
    if (slot.from_user && host_device) {
      // Producers on other devices leave the point after which the bytes may be read with the memory.
      if (slot.way == Way::kFrame) {
        for (const Tensor& plane : slot.planes) {
          if (plane) plane.memory()->hazards().wait_for(Access::kRead, default_deadline(), &ledger_);
        }
      } else if (slot.way != Way::kRouted) {
        slot.tensor.memory()->hazards().wait_for(Access::kRead, default_deadline(), &ledger_);
      }
    }
    if (slot.way == Way::kFrame) {
      ledger_.book_map(frame_edge(), true);
      ledger_.book_converted(frame_edge(), slot.plane_bytes);
    } else if (slot.way == Way::kPacked) {
      copy_strided(slot.tensor.element_type(), slot.tensor.shape(), slot.tensor.data(), slot.tensor.byte_strides(),
                   slot.staging.data(), slot.staging.byte_strides());
      ledger_.book_map(copy_in_edge(), false);
      ledger_.book_copied(copy_in_edge(), slot.tensor.size_bytes());
    } else if (slot.way == Way::kRouted) {
      const CompiledModelImpl& compiled = *now.variant->impl;
      bind({true, i}, as_type(model_->shared().router.map(slot.tensor, compiled.memory_context(),
                                                          MapOptions{Access::kRead, model_->policy(), &ledger_}),
                              model_->inputs()[i].type));
    }
    if (!slot.batch.empty()) {
      again = true;
      auto* to = static_cast<std::byte*>(slot.tensor.data());
      for (const Tensor& item : slot.batch) {
        std::memcpy(to, item.data(), item.size_bytes());
        to += item.size_bytes();
        ledger_.book_copied(copy_in_edge(), item.size_bytes());
      }
    }
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Slot& slot = outputs_[i];
    if (slot.way == Way::kNone && model_->outputs()[i].is_static) allocate({false, i});
    if (slot.from_user && host_device && slot.tensor) {
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
