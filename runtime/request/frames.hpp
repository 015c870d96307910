// SPDX-License-Identifier: Apache-2.0
// A frame as an input: its planes at the ports of the input stage.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/request/device_requests.hpp>
#include <tenon/runtime/request/model_state.hpp>

namespace tenon {
inline namespace v1 {

/// @errors kInvalidArgument: the frame has no planes.
void check_frame(const PortInfo& info, const Frame& frame);

/// A plane of the user's frame, and the tensor that the device reads instead.
struct BoundPlane {
  Tensor source;
  Tensor reached;               ///< In the device's context, in the shape of its port.
  Tensor packed;                ///< Empty, or what the device reads: `reached` is copied there for each inference.
  bool each_inference = false;  ///< `reached` is valid for one inference, and is mapped again for the next.
  Lease access;                 ///< The lease of that map, while an inference runs.
  const Tensor& bound() const { return packed ? packed : reached; }
};

/// The planes of `frame` as `device`'s input stage reads them: in place, or, if the device refuses a plane, through a
/// packed copy. Nothing is bound or copied.
/// @errors kFailedPrecondition: a plane would be copied under ZeroCopy::kRequire; says why and what helps
std::array<BoundPlane, 4> planes_for(const ModelState& model, const DeviceRequest& device, std::size_t input,
                                     const Frame& frame, Ledger& ledger);

/// Maps planes[index] for one inference if it needs that. Planes before it have been reached.
/// @return whether the device must be given `reached` anew.  @errors as Router::map
bool reach_plane(const ModelState& model, const DeviceRequest& device, std::span<BoundPlane> planes, std::size_t index,
                 Ledger& ledger);

}  // namespace v1
}  // namespace tenon
