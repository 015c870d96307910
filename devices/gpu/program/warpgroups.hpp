// SPDX-License-Identifier: Apache-2.0
// Instructions of one architecture in kernels that NVIDIA's driver compiles for all of a generation.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenon::inline v1::gpu_device {

/// Whether a kernel's text, or PTX, has comments that open_warpgroups() opens.
bool has_warpgroups(std::string_view text);

/// PTX for sm_90 as PTX for sm_90a, with what stands in comments /*sm_90a ... sm_90a*/ as code.
/// @return nothing if this is no PTX for sm_90 with such comments.
std::optional<std::string> open_warpgroups(std::string_view ptx);

}  // namespace tenon::inline v1::gpu_device
