// SPDX-License-Identifier: Apache-2.0
// The NPU platforms that this driver can present, by the numbers that clients use for real ones.
#pragma once

#include <string_view>
#include <vector>

#include <tenon/core/npu_platforms.hpp>

namespace tenon::npu {

/// A tile is one worker thread here; zeDeviceGetProperties calls tiles slices.
using Platform = NpuPlatform;

/// Parses "4000", "3720" or a list such as "4000,4000,3720" into one entry per device. Empty or invalid text yields a
/// single 4000; `mistake` is then the part that was not understood.
std::vector<const Platform*> parse_platforms(std::string_view text, std::string_view* mistake = nullptr);

}  // namespace tenon::npu
