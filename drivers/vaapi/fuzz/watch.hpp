// SPDX-License-Identifier: Apache-2.0
// Helpers of the fuzz tests: their duration, and checks for leaks.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace tenon::va::test {

/// Calls round(number) for numbers from 0: `few` times, or for TENON_VA_SOAK seconds (./dev check va). Descriptors must be as many
/// as before, and a soak's memory must not grow once a tenth of the time has passed.
template <class Round>
void soak(unsigned few, Round round) {
  using Clock = std::chrono::steady_clock;
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto resident_bytes = [] {
    std::size_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  };
  const char* wanted = std::getenv("TENON_VA_SOAK");
  const double seconds = wanted ? std::atof(wanted) : 0;
  const auto passed = [start = Clock::now()] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  round(0u);  // Warm-up: libraries allocate memory that they keep for ever.
  const auto before = descriptors();
  std::size_t warm_bytes = 0;
  for (unsigned number = 1; seconds > 0 ? passed() < seconds : number < few; ++number) {
    SCOPED_TRACE("seed " + std::to_string(number));
    round(number);
    if (::testing::Test::HasFatalFailure()) return;
    if (!warm_bytes && passed() > seconds / 10) warm_bytes = resident_bytes();
  }
  EXPECT_EQ(descriptors(), before);
  constexpr std::size_t kSlack = std::size_t{96} << 20;  // Allocators keep memory that threads freed.
  if (seconds >= 30) {
    EXPECT_LT(resident_bytes(), warm_bytes + kSlack);
  }
}

}  // namespace tenon::va::test
