// SPDX-License-Identifier: Apache-2.0
// Linked into programs that go through tables of generated cases: where the environment has TENON_EIGHTH=0..7 and no filter is given, they run
// that eighth of their tests. CI and ./dev test set it to an eighth that moves on each day.
#include <cstdlib>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include <tenon/core/platform/testing/environment.hpp>

namespace {

bool chosen_by_hand() {
  return std::getenv("GTEST_FILTER") || tenon::platform::command_line().find("--gtest_filter") != std::string::npos;
}

// GoogleTest has read its variables before it sets up environments. A program that a test starts must not be cut as well.
class UncutChildren : public testing::Environment {
  void SetUp() override {
    for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", "TENON_EIGHTH"})
      tenon::platform::set_variable(name, nullptr);
  }
};

[[maybe_unused]] const bool kCut = [] {
  const char* const eighth = std::getenv("TENON_EIGHTH");
  if (!eighth || std::strlen(eighth) != 1 || *eighth < '0' || *eighth > '7' || chosen_by_hand()) return false;
  tenon::platform::set_variable("GTEST_TOTAL_SHARDS", "8");
  tenon::platform::set_variable("GTEST_SHARD_INDEX", eighth);
  testing::AddGlobalTestEnvironment(new UncutChildren);  // GoogleTest deletes it.
  return true;
}();

}  // namespace
