// SPDX-License-Identifier: Apache-2.0
// Runs a piece of work with each of its native calls failing in turn.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <thread>

#include <tenon/core/error.hpp>

namespace tenon::testing {

/// Waits up to a minute: the thread that ends an inference releases its handles a moment after the request's owner.
template <typename Probe>
bool handles_fall_to(std::size_t count) {
  for (int i = 0; i < 6000 && Probe::handles.load() > count; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return Probe::handles.load() <= count;  // Fewer: what the test before left was let go of only now.
}

/// Runs `work` with the first call failing, then the second, until no call is left. Either `work` throws an error with
/// the text of the injected code, or its result must satisfy `expect_right(made)`, called with all calls succeeding
/// again: a device that hides an error must have found another way. No handle may be left.
/// @param Probe  The framework's CallProbe.
/// @param has_other_ways  Failures are hidden rightly, all of them on some drivers: of what is only tried.
template <typename Probe, typename Work, typename ExpectRight>
void fail_each_call(const char* injected, const Work& work, const ExpectRight& expect_right,
                    bool has_other_ways = false) {
  const auto run = [&] {
    auto made = work();
    expect_right(made);
  };
  run();  // Creates what exists once per process.
  ASSERT_FALSE(::testing::Test::HasFailure()) << "with every call succeeding";
  std::size_t before = Probe::handles.load();
  int calls = 0, thrown = 0;
  const auto fail_call = [&](int number) {
    Probe::failed = false;
    Probe::countdown = number + 1;
    try {
      auto made = work();
      Probe::countdown = 0;
      expect_right(made);
    } catch (const Error& error) {
      Probe::countdown = 0;
      ++thrown;
      EXPECT_TRUE(Probe::failed) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr(injected)) << "of call " << number;
    }
  };
  for (;; ++calls) {
    fail_call(calls);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "when call " << calls << " failed";
    if (has_other_ways && !handles_fall_to<Probe>(before)) {
      // The other way may have made what stays for the process: then there is no more of it the next time.
      before = Probe::handles.load();
      fail_call(calls);
    }
    ASSERT_TRUE(handles_fall_to<Probe>(before)) << Probe::handles.load() << " of " << before << " after call " << calls;
    if (!Probe::failed) break;
    ASSERT_LT(calls, 2000);
  }
  if (!has_other_ways) {
    EXPECT_GT(thrown, calls / 2) << "of " << calls << " calls: most have no other way";
  }
  run();  // The failures had no lasting effect.
}

}  // namespace tenon::testing
