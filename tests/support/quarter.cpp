// SPDX-License-Identifier: Apache-2.0
// Linked into programs that go through tables of generated cases: where the environment has TENON_QUARTER=0..3 and no filter is given, they run
// that quarter of their tests. CI and ./dev test set it to a quarter that moves on each day.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace {

bool chosen_by_hand() {
  std::ifstream file("/proc/self/cmdline");
  const std::string command{std::istreambuf_iterator<char>(file), {}};
  return std::getenv("GTEST_FILTER") || command.find("--gtest_filter") != std::string::npos;
}

// GoogleTest has read its variables before it sets up environments. A program that a test starts must not be cut as well.
class UncutChildren : public testing::Environment {
  void SetUp() override {
    for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", "TENON_QUARTER"}) ::unsetenv(name);
  }
};

[[maybe_unused]] const bool kCut = [] {
  const char* const quarter = std::getenv("TENON_QUARTER");
  if (!quarter || !*quarter || chosen_by_hand()) return false;
  ::setenv("GTEST_TOTAL_SHARDS", "4", 1);
  ::setenv("GTEST_SHARD_INDEX", quarter, 1);
  testing::AddGlobalTestEnvironment(new UncutChildren);  // GoogleTest deletes it.
  return true;
}();

}  // namespace
