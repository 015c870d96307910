// SPDX-License-Identifier: Apache-2.0
// What a request will probably run next, from what it ran: a token's kernels differ from those before in the same steps.
#pragma once

#include <span>
#include <vector>

#include <tenon/devices/gpu/twin/twin.hpp>

namespace tenon::inline v1::gpu_device {

/// @thread one at a time.
class Foresight {
 public:
  /// @return what probably follows these kernels; none where they are as before, or were not foreseen themselves. Valid until the next call.
  std::span<const TwinLaunch> after(std::span<const TwinLaunch> now);

 private:
  /// The inference before, and the one before that, whose memory may be the next one's.
  std::vector<TwinLaunch> before_, earlier_, ahead_;
};

}  // namespace tenon::inline v1::gpu_device
