// SPDX-License-Identifier: Apache-2.0
// set_shape() on a request's own tensors.
#include <tenon/runtime/request/slot_lease.hpp>

#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon {
inline namespace v1 {

void SlotLease::lend(const Tensor& tensor) {
  std::lock_guard lock(mutex_);
  current_ = tensor;
  made_ = Tensor();
}

Tensor SlotLease::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(made_, Tensor());
}

Tensor SlotLease::resized(const Tensor& tensor, const Shape& shape) const {
  const auto bytes = checked_size_bytes(tensor.element_type(), shape);
  if (!bytes) throw AssertFailure("Could set new shape: " + to_string(shape) + " has more bytes than can be addressed");
  if (tensor.is_contiguous() && *bytes <= tensor.memory()->size_bytes() - tensor.offset())
    return Tensor(TensorInfo{tensor.element_type(), shape, {}}, tensor.memory(), tensor.offset(), {}, tensor.view());
  if (const auto model = model_.lock()) {
    const auto variant = model->main_variant();
    if (variant->key.empty()) {
      return port_.is_input ? variant->impl->allocate_input(port_.index, shape)
                            : variant->impl->allocate_output(port_.index, shape);
    }
  }
  return Tensor(tensor.element_type(), shape);
}

bool SlotLease::reshape(Tensor& tensor, const Shape& shape) {
  bool speaks = false;
  {
    std::lock_guard lock(mutex_);
    speaks = current_ && current_.memory() == tensor.memory() && current_.offset() == tensor.offset() &&
             current_.info() == tensor.info();
  }
  Lease self = tensor.lease();
  if (!speaks) {
    tensor = tensor.with_lease({});
    tensor.set_shape(shape);
    tensor = tensor.with_lease(std::move(self));
    return true;
  }
  if (const auto model = model_.lock()) {
    const PortInfo& port = model->info(port_);
    if (!port.fits(shape)) {
      throw AssertFailure("Could set new shape: " + to_string(shape) + " does not fit '" + port.label + "' of shape " +
                          port.shape.to_string());
    }
  }
  const Tensor made = resized(tensor, shape);
  {
    std::lock_guard lock(mutex_);
    current_ = made_ = made;
  }
  changed_->store(true, std::memory_order_release);
  tensor = made.with_lease(std::move(self));
  return true;
}

}  // namespace v1
}  // namespace tenon
