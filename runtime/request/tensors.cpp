// SPDX-License-Identifier: Apache-2.0
// A request's tensors: checks, and the way that each one takes to the device.
#include <algorithm>
#include <cstring>

#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/request/request.hpp>

namespace tenon {
inline namespace v1 {
namespace {

const char* side(bool is_input) { return is_input ? "input" : "output"; }

bool types_agree(ElementType a, ElementType b) {
  const auto byte_like = [](ElementType type) { return type == ElementType::kBool || type == ElementType::kU8; };
  return a == b || (byte_like(a) && byte_like(b));
}

/// A tensor that some request lent is a plain one where it is set.
Tensor without_slot_lease(const Tensor& tensor) {
  return tensor.lease() && dynamic_cast<SlotLease*>(tensor.lease().get()) ? tensor.with_lease({}) : tensor;
}

}  // namespace

Tensor as_type(const Tensor& tensor, ElementType type) {
  if (tensor.element_type() == type) return tensor;
  TensorInfo info = tensor.info();
  info.type = type;
  return Tensor(std::move(info), tensor.memory(), tensor.offset(), tensor.lease(), tensor.view());
}

void RequestState::check(const PortInfo& port, const Tensor& tensor, const Shape& shape, bool is_input) const {
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
  if (!port.fits(shape)) {
    throw AssertFailure("Failed to set tensor. The " + std::string(side(is_input)) +
                        " tensor size is not equal to the model " + side(is_input) + " type: got " + to_string(shape) +
                        " expecting " + port.shape.to_string() + " ('" + port.label + "')");
  }
}

RequestState::DevicePlan& RequestState::plan() {
  if (plans_.empty()) use_variant({});
  return plans_[active_plan_];
}

InputVariant::Key RequestState::key_now() {
  InputVariant::Key key = plan().variant->key;
  key.resize(inputs_.size());
  return key;
}

void RequestState::use_tensor(std::size_t input) {
  if (!takes_frames(input)) return;
  InputVariant::Key key = key_now();
  key[input].reset();
  if (std::none_of(key.begin(), key.end(), [](const auto& format) { return format.has_value(); })) key.clear();
  use_variant_for(inputs_[input], key);
}

void RequestState::use_variant_for(Slot& slot, const InputVariant::Key& key) {
  const Way before = std::exchange(slot.way, Way::kNone);
  try {
    use_variant(key);
  } catch (...) {
    slot.way = before;
    throw;
  }
  slot.planes = {};
}

void RequestState::use_variant(const InputVariant::Key& key) {
  const auto known =
      std::find_if(plans_.begin(), plans_.end(), [&](const DevicePlan& plan) { return plan.variant->key == key; });
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
  active_.store(plans_[active_plan_].impl.get(), std::memory_order_release);
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
        DevicePlan& now = plans_[active_plan_];
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
  DevicePlan& now = plans_[active_plan_];
  if (port.is_input)
    now.impl->bind_input(now.variant->first_input[port.index], tensor);
  else
    now.impl->bind_output(port.index, tensor);
}

void RequestState::settle(PortRef port, Slot& slot, const Tensor& tensor, bool from_user) {
  DevicePlan& now = plan();
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

namespace {

/// The same elements of the same memory, under the same lease.
bool is_same(const Tensor& a, const Tensor& b) {
  return a.memory() == b.memory() && a.view() == b.view() && a.offset() == b.offset() && a.lease() == b.lease() &&
         a.info() == b.info();
}

}  // namespace

void RequestState::set(PortRef port, const Tensor& tensor) {
  check_not_busy();
  // Setting once more what is set changes nothing, and costs nothing: no device is asked again whether it takes it.
  if (const Slot& slot = this->slot(port); tensor && slot.from_user && slot.batch.empty() &&
                                           (slot.way == Way::kInPlace || slot.way == Way::kPacked) &&
                                           is_same(slot.tensor, tensor) && (port.is_input || tensor.is_writable()))
    return;
  check(info(port), tensor, tensor.shape(), port.is_input);
  if (!port.is_input && !tensor.is_writable()) {
    throw Error(Code::kPermissionDenied, "Failed to set tensor. output '" + info(port).label +
                                             "' can't be written to " + to_string(tensor) +
                                             ": the memory is read-only or still read by its owner");
  }
  Slot& slot = this->slot(port);
  if (port.is_input) use_tensor(port.index);
  settle(port, slot, without_slot_lease(tensor), true);
  slot.batch.clear();
  if (slot.lease) slot.lease->detach();
}

void RequestState::allocate(PortRef port) {
  DevicePlan& now = plan();
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
  follow_shapes();
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
  return lend(port, slot);
}

Tensor RequestState::lend(PortRef port, Slot& slot) {
  // A tensor that brought a lease of its own (a decoder's buffer) keeps it; outputs of static shape have nothing to
  // follow.
  if (slot.tensor.lease() || (!port.is_input && info(port).is_static)) return slot.tensor;
  if (!slot.lease) slot.lease = make_ref<SlotLease>(model_, port, reshaped_);
  slot.lease->lend(slot.tensor);
  return slot.tensor.with_lease(slot.lease);
}

}  // namespace v1
}  // namespace tenon
