// SPDX-License-Identifier: Apache-2.0
// Frames as inputs: planes bound where they lie, another plan for another format.
#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/request/request.hpp>

namespace tenon {
inline namespace v1 {
namespace {

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

}  // namespace

void RequestState::set_frame(std::size_t input, const Frame& frame) {
  check_not_busy();
  const PortInfo& info = model_->inputs()[input];
  if (frame.plane_count() == 0) {
    throw AssertFailure("Failed to set frame. The frame for input '" + info.label + "' is empty" +
                        (frame.batch().empty() ? "" : " or a batch, which no input takes"));
  }
  Slot& slot = inputs_[input];
  InputVariant::Key key = key_now();
  if (key[input] != frame.info()) {
    key[input] = frame.info();
    use_variant_for(slot, key);
  }
  DevicePlan& now = plan();
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
        const std::string_view remedy = frame.plane(i).memory()->context()->remedy();
        throw Error(Code::kFailedPrecondition,
                    "plane " + std::to_string(i) + " of the frame for input '" + info.label +
                        "' can't be read where it lies, which the zero-copy policy 'require' asks for: " +
                        refused->reason + (remedy.empty() ? "" : "; " + std::string(remedy)));
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
  if (slot.lease) slot.lease->detach();
  slot.way = Way::kFrame;
  slot.from_user = true;
  needs_prepare_ = true;
}

}  // namespace v1
}  // namespace tenon
