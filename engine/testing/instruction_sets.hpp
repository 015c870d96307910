// SPDX-License-Identifier: Apache-2.0
// Runs a test on each instruction set that the machine has.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace tenon::engine_test {

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
