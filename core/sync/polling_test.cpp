// SPDX-License-Identifier: Apache-2.0
#include <tenon/core/polling.hpp>

#include <gtest/gtest.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace polling_test {

using namespace tenon;
using namespace std::chrono_literals;

TEST(Polling, AsksUntilTheAnswerIsTrueOrTheDeadlineIsThere) {
  int asked = 0;
  EXPECT_TRUE(poll_until(Deadline::max(), [&] { return ++asked == 3; }));
  EXPECT_EQ(asked, 3);
  const auto begin = Clock::now();
  EXPECT_FALSE(poll_until(begin + 2ms, [] { return false; }));
  EXPECT_GE(Clock::now(), begin + 2ms);
}

#ifdef __linux__
int timer_slack() { return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0); }

TEST(Polling, NapsArePromptAndTheThreadIsLeftAsItWas) {
  const int before = timer_slack();
  if (before <= 1) GTEST_SKIP() << "naps of this thread are prompt, or the kernel does not say";
  int min = before;
  EXPECT_TRUE(poll_until(Clock::now() + 10s, [&] {  // Not 1 ms: a busy machine may take the processor away for longer.
    min = std::min(min, timer_slack());
    return min == 1;
  }));
  EXPECT_EQ(timer_slack(), before);
  EXPECT_THROW(poll_until(Deadline::max(),
                          [begin = Clock::now()]() -> bool {
                            if (Clock::now() - begin > 500us) throw std::runtime_error("the device is lost");
                            return false;
                          }),
               std::runtime_error);
  EXPECT_EQ(timer_slack(), before);
}
#endif

}  // namespace polling_test
