// SPDX-License-Identifier: Apache-2.0
// A frame as an input: its planes at the ports of the input stage.
#pragma once

#include <array>
#include <cstddef>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/request/device_requests.hpp>
#include <tenon/runtime/request/model_state.hpp>

namespace tenon {
inline namespace v1 {

/// @errors kInvalidArgument: the frame has no planes.
void check_frame(const PortInfo& info, const Frame& frame);

/// The planes of `frame` as `device`'s input stage reads them: in place, or, if the device refuses a plane, a packed copy,
/// which is booked. Nothing is bound.
/// @errors kFailedPrecondition: a plane would be copied under ZeroCopy::kRequire; says why and what helps
std::array<Tensor, 4> planes_for(const ModelState& model, const DeviceRequest& device, std::size_t input,
                                 const Frame& frame, Ledger& ledger);

}  // namespace v1
}  // namespace tenon
