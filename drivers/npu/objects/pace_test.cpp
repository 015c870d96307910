// SPDX-License-Identifier: Apache-2.0
// What pacing counts.
#include <gtest/gtest.h>

#include <tenon/drivers/npu/objects/pace.hpp>

namespace tenon::npu {
namespace pace_test {

TEST(Pace, CountsInferencesAndNotLoading) {
  Pace& pace = Pace::get();
  pace.hold_loading(now_ns() - 1000, 0);
  EXPECT_EQ(pace.paced(), 0U);
  EXPECT_EQ(pace.late(), 0U);
  EXPECT_TRUE(pace.hold(now_ns() - 1000, 0, nullptr, nullptr));
  EXPECT_EQ(pace.paced(), 1U);
  EXPECT_EQ(pace.late(), 1U);
}

}  // namespace pace_test
}  // namespace tenon::npu
