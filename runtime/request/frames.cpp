// SPDX-License-Identifier: Apache-2.0
// Binds planes in place, or packed copies where the device refuses that.
#include <tenon/runtime/request/frames.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/request/tensor_way.hpp>

namespace tenon {
inline namespace v1 {
namespace {

/// A plane, [rows, columns] or [rows, columns, samples], in the shape of the stage's port: [1, rows, columns, samples].
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

void check_frame(const PortInfo& info, const Frame& frame) {
  if (frame.plane_count() == 0) {
    throw AssertFailure("Failed to set frame. The frame for input '" + info.label + "' is empty" +
                        (frame.batch().empty() ? "" : " or a batch, which no input takes"));
  }
}

bool reach_plane(const ModelState& model, const DeviceRequest& device, std::span<BoundPlane> planes, std::size_t index,
                 Ledger& ledger) {
  BoundPlane& plane = planes[index];
  if (!plane.each_inference) return false;
  Tensor reached;
  for (const BoundPlane& other : planes.first(index)) {  // Planes mostly share a memory: one access serves them.
    if (!other.access || other.source.memory() != plane.source.memory() || other.source.view() != plane.source.view())
      continue;
    reached = plane.source.through(other.reached.view());
    plane.access = other.access;
    break;
  }
  if (!reached) {
    MappedTensor mapped = map_for_device(model, device, plane.source, Access::kRead, ledger);
    plane.access = std::move(mapped.access);
    reached = std::move(mapped.tensor);
  }
  const bool changed = reached.memory() != plane.reached.memory() || reached.view() != plane.reached.view();
  if (changed) plane.reached = as_picture(reached);
  return changed;
}

std::array<BoundPlane, 4> planes_for(const ModelState& model, const DeviceRequest& device, std::size_t input,
                                     const Frame& frame, Ledger& ledger) {
  const CompiledModelImpl& compiled = device.compiled();
  const std::size_t first = device.variant->first_input[input];
  const std::size_t count = device.variant->input_count[input];
  if (count > frame.plane_count()) {  // A plane of alpha is left out.
    throw Error(Code::kInternal, "a frame of " + std::to_string(frame.plane_count()) +
                                     " planes meets an input stage of " + std::to_string(count));
  }
  std::array<BoundPlane, 4> planes;
  for (std::size_t i = 0; i < count; ++i) {
    BoundPlane& plane = planes[i];
    plane.source = frame.plane(i);
    // Memory of the device's own kinds needs no map.
    const bool is_usable = !plane.source.is_host_addressable() && plane.source.memory()->fd_kind() == FdKind::kNone &&
                           !compiled.refuses_input(first + i, as_picture(plane.source));
    plane.each_inference =
        !is_usable && (!plane.source.is_host_addressable() || needs_bracket(model, device, plane.source));
    const Tensor known = plane.each_inference ? mapped_before(device, plane.source, Access::kRead) : Tensor();
    if (known) {  // An access for the check alone would be a second one beside the inference's.
      plane.reached = as_picture(known);
    } else if (plane.each_inference) {
      reach_plane(model, device, std::span(planes).first(count), i, ledger);
      plane.each_inference = plane.access || plane.reached.memory() != plane.source.memory();
    } else {
      plane.reached = as_picture(plane.source);
    }
    if (const auto refused = compiled.refuses_input(first + i, plane.reached)) {
      if (model.policy() == ZeroCopy::kRequire) {
        const std::string_view remedy = frame.plane(i).memory()->context()->remedy();
        throw Error(Code::kFailedPrecondition,
                    "plane " + std::to_string(i) + " of the frame for input '" + model.inputs()[input].label +
                        "' can't be read where it lies, which the zero-copy policy 'require' asks for: " +
                        refused->reason + (remedy.empty() ? "" : "; " + std::string(remedy)));
      }
      plane.packed = compiled.allocate_input(first + i, plane.reached.shape());
    }
  }
  for (BoundPlane& plane : planes) plane.access = {};  // Each inference begins an access of its own.
  return planes;
}

}  // namespace v1
}  // namespace tenon
