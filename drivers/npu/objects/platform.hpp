// SPDX-License-Identifier: Apache-2.0
// The NPUs that this driver can be: numbers that clients know real ones by.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tenon::npu {

struct Platform {
  std::uint32_t number;     ///< As clients write it: 4000 in "NPU.4000".
  std::uint32_t device_id;  ///< Of PCI.
  std::uint32_t tiles;      ///< Each is one worker thread here; zeDeviceGetProperties calls them slices.
  std::uint32_t revision;
  const char* name;
};

/// @return null for a platform that this driver cannot be.
const Platform* find_platform(std::uint32_t number) noexcept;
/// One entry per device, from "4000", "3720" or a list as "4000,4000,3720". Empty text, or one with anything else in
/// it: a single 4000, and `mistake` says what was not understood.
std::vector<const Platform*> parse_platforms(std::string_view text, std::string_view* mistake = nullptr);

}  // namespace tenon::npu
