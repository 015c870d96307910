// SPDX-License-Identifier: Apache-2.0
// Surfaces of VA-API: which way they could take here, and what is missing for it.
#pragma once

#include <string>

#include <tenon/core/context.hpp>

namespace tenon::inline v1::gpu_device {

/// Throws what VADisplay as a context, or VASurfaceID as a tensor, lacks on the device behind `context`, way by way:
/// the platform's sharing, dma-bufs, the host's memory. @param what  Asked for. @errors kUnimplemented.
[[noreturn]] void refuse_surfaces(const Context& context, const std::string& what);

}  // namespace tenon::inline v1::gpu_device
