// SPDX-License-Identifier: Apache-2.0
// Checks of a tensor, and its way to the device.
#include <tenon/runtime/request/tensor_way.hpp>

#include <string>
#include <utility>

#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon {
inline namespace v1 {
namespace {

bool types_agree(ElementType a, ElementType b) {
  const auto byte_like = [](ElementType type) { return type == ElementType::kBool || type == ElementType::kU8; };
  return a == b || (byte_like(a) && byte_like(b));
}

/// The text "input 'x' can't use <tensor>".
std::string cannot_use(bool is_input, const PortInfo& info, const Tensor& tensor) {
  return std::string(side(is_input)) + " '" + info.label + "' can't use " + to_string(tensor);
}

}  // namespace

const char* side(bool is_input) { return is_input ? "input" : "output"; }

Tensor as_type(const Tensor& tensor, ElementType type) {
  if (tensor.element_type() == type) return tensor;
  TensorInfo info = tensor.info();
  info.type = type;
  return Tensor(std::move(info), tensor.memory(), tensor.offset(), tensor.lease(), tensor.view());
}

void check_tensor(const PortInfo& port, const Tensor& tensor, const Shape& shape, bool is_input) {
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

MappedTensor map_for_device(const ModelState& model, const DeviceRequest& device, const Tensor& source, Access access,
                            Ledger& ledger) {
  Tensor mapped = model.shared().router.map(source, device.compiled().memory_context(),
                                            MapOptions{access, model.policy(), &ledger});
  if (mapped.memory() != source.memory() || mapped.lease() == source.lease()) return {std::move(mapped), {}};
  Lease ends = mapped.lease();
  return {mapped.with_lease(source.lease()), std::move(ends)};
}

Tensor mapped_before(const DeviceRequest& device, const Tensor& tensor, Access access) {
  const Memory& memory = *tensor.memory();
  const Context target = device.compiled().memory_context();
  if (memory.fd_kind() != FdKind::kDmabuf || target->kind() != kCpuMemory || tensor.view()) return {};
  const View* view = memory.find_view(*target, kCpuMemory, access);
  return view && view->standing_edge() < 0 ? tensor.through(view) : Tensor();
}

bool needs_bracket(const ModelState& model, const DeviceRequest& device, const Tensor& tensor) {
  if (tensor.memory()->fd_kind() != FdKind::kDmabuf || !tensor.is_host_addressable()) return false;
  const Context target = device.compiled().memory_context();
  if (target->kind() != kCpuMemory || tensor.kind() == kCpuMemory) return false;
  return model.shared().router.plan(describe(tensor), target, Access::kRead, ZeroCopy::kRequire)->possible();
}

ChosenWay choose_way(const ModelState& model, const DeviceRequest& device, PortRef port, const Tensor& tensor,
                     Ledger& ledger) {
  const CompiledModelImpl& compiled = device.compiled();
  const PortInfo& info = model.info(port);
  const auto refuse = [&](const Tensor& candidate) {
    return port.is_input ? compiled.refuses_input(device.first_port(port), candidate)
                         : compiled.refuses_output(port.index, candidate);
  };
  ChosenWay chosen{Way::kInPlace, as_type(tensor, info.type)};
  auto refused = refuse(chosen.tensor);
  const bool reachable = chosen.tensor.is_host_addressable();
  if ((refused && !reachable) || needs_bracket(model, device, chosen.tensor)) {
    const Context target = compiled.memory_context();
    const Access access = port.is_input ? Access::kRead : Access::kWrite;
    Router& router = model.shared().router;
    const auto route = router.plan(describe(chosen.tensor), target, access, model.policy());
    const bool shares = route->possible() && !route->copies();
    if (!shares && !reachable && (!route->possible() || !port.is_input)) {
      throw Error(Code::kFailedPrecondition,
                  cannot_use(port.is_input, info, tensor) + ": " + refused->reason + "\n" + route->explain());
    }
    if (!shares && !reachable) {
      chosen.way = Way::kRouted;
      return chosen;
    }
    if (shares) {
      // An access for the check alone would be a second one beside the inference's.
      Tensor known = mapped_before(device, chosen.tensor, access);
      MappedTensor mapped =
          known ? MappedTensor{known, {}} : map_for_device(model, device, chosen.tensor, access, ledger);
      chosen.bracketed = known || mapped.access;
      chosen.tensor = std::move(mapped.tensor);
      refused = refuse(chosen.tensor);
    }
  }
  if (!refused) return chosen;
  if (!chosen.tensor.is_host_addressable() || size_bytes(info.type) == 0) {
    throw Error(Code::kFailedPrecondition, cannot_use(port.is_input, info, tensor) + ": " + refused->reason);
  }
  if (model.policy() == ZeroCopy::kRequire) {
    throw Error(Code::kFailedPrecondition, cannot_use(port.is_input, info, tensor) +
                                               " in place, which the zero-copy policy 'require' asks for: " +
                                               refused->reason + "; pass such a tensor, or set the policy to 'prefer'");
  }
  chosen.way = Way::kPacked;
  return chosen;
}

void copy_and_book(const Tensor& from, const Tensor& to, EdgeId edge, Ledger& ledger) {
  copy_strided(from.element_type(), from.shape(), from.data(), from.byte_strides(), to.data(), to.byte_strides());
  ledger.book_map(edge, false);
  ledger.book_copied(edge, from.size_bytes());
}

}  // namespace v1
}  // namespace tenon
