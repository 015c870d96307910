// SPDX-License-Identifier: Apache-2.0
// How a tensor gets to the device: in place, by a route, or packed.
#pragma once

#include <tenon/core/element_type.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/request/device_requests.hpp>
#include <tenon/runtime/request/model_state.hpp>

namespace tenon {
inline namespace v1 {

/// How the user's tensor relates to the device's.
enum class Way : unsigned char {
  kNone,     ///< Nothing bound yet.
  kInPlace,  ///< The same memory.
  kPacked,   ///< Copied to or from a tensor of the request's own at every inference.
  kRouted,   ///< Mapped by the router at every inference, because the route copies.
};

struct ChosenWay {
  Way way = Way::kInPlace;
  /// The tensor with the port's type, mapped to the device's context if that is possible without a copy.
  Tensor tensor;
  /// The map brackets each access, as for the CPU's access to a dma-buf: `tensor` may be used only while the lease of such a
  /// map is held, so it is mapped again for each inference.
  bool bracketed = false;
};

/// A tensor mapped to the device's context, and the lease of the map if that ends an access (see ChosenWay).
struct MappedTensor {
  Tensor tensor;  ///< Under the lease of its source.
  Lease access;
};
/// @errors as Router::map. @cost those of the edges; allocates nothing when repeated.
MappedTensor map_for_device(const ModelState& model, const DeviceRequest& device, const Tensor& source, Access access,
                            Ledger& ledger);

/// The result of an earlier map of `tensor`, for checks of where it lies, not for use. Begins no access and does not wait.
/// Empty if it was never mapped, or if a map of it begins no access.
Tensor mapped_before(const DeviceRequest& device, const Tensor& tensor, Access access);

/// Whether the device must reach `tensor` by a map, though it has a host address: a dma-buf that was mapped when it was
/// made, so that its accesses are not bracketed.
bool needs_bracket(const ModelState& model, const DeviceRequest& device, const Tensor& tensor);

/// "input" or "output", for messages.
const char* side(bool is_input);

/// The tensor with the port's type, which devices rely on: boolean and u8 have the same bytes.
Tensor as_type(const Tensor& tensor, ElementType type);

/// @param shape  The tensor's, or the whole port's if `tensor` is an item of its batch.
/// @errors kInvalidArgument, in OpenVINO's words: empty, another type, or a shape that the port does not take.
void check_tensor(const PortInfo& port, const Tensor& tensor, const Shape& shape, bool is_input);

/// The cheapest way that the device, the router and the policy allow. Nothing is bound.
/// @errors kFailedPrecondition with the reasons: no way, or only one that copies under ZeroCopy::kRequire.
ChosenWay choose_way(const ModelState& model, const DeviceRequest& device, PortRef port, const Tensor& tensor,
                     Ledger& ledger);

/// Copies between tensors of one type and shape in host memory, and books it under `edge`.
void copy_and_book(const Tensor& from, const Tensor& to, EdgeId edge, Ledger& ledger);

}  // namespace v1
}  // namespace tenon
