// SPDX-License-Identifier: Apache-2.0
// The NPUs that this driver can be: numbers that clients know real ones by.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <tenon/core/npu_platforms.hpp>

namespace tenon::npu {

/// Each tile is one worker thread here; zeDeviceGetProperties calls them slices.
using Platform = NpuPlatform;

/// One entry per device, from "4000", "3720" or a list as "4000,4000,3720". Empty text, or one with anything else in
/// it: a single 4000, and `mistake` says what was not understood.
std::vector<const Platform*> parse_platforms(std::string_view text, std::string_view* mistake = nullptr);

}  // namespace tenon::npu
