// SPDX-License-Identifier: Apache-2.0
// A libva of the tests' own (fake_va.cpp), for machines without a driver of VA-API: what it answers, the test decides.
#pragma once

#include <cstdint>

namespace tenon::gpu_testing {

/// What a VADisplay points to here.
struct FakeDisplay {
  unsigned surface_count = 0;  ///< First: the OpenCL layer that shares surfaces reads it.
  /// As the functions of libva. @return a VAStatus.
  int (*sync)(FakeDisplay*, unsigned surface, std::uint64_t timeout_ns) = nullptr;
  int (*export_handle)(FakeDisplay*, unsigned surface, std::uint32_t type, std::uint32_t flags, void* out) = nullptr;
};

}  // namespace tenon::gpu_testing
