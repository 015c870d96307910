// SPDX-License-Identifier: Apache-2.0
// Runs a test on each instruction set that the machine has, and says what oneDNN does on that of the whole run.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <dnnl.hpp>

namespace tenon::engine_test {

/// Whether images lie in blocks of channels, which no convolution reads before AVX2.
inline bool has_channel_blocks() { return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx2; }

/// Calls body() once for each: meanwhile our kernels use no other.
template <typename Body>
void for_each_instruction_set(const Body& body) {
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t left = all; left; left &= left - 1) {
    const std::int64_t one = left & -left;
    SCOPED_TRACE(hwy::TargetName(one));
    hwy::SetSupportedTargetsForTest(one);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace tenon::engine_test
