// SPDX-License-Identifier: Apache-2.0
// Compilations that are given up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/wanted.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon {
namespace wanted_test {

Error asked() {
  return error_of([] { TimeLimit(0).check("compiling", "m", limit_property::kCompileSeconds); });
}
void expect_wanted() { EXPECT_NO_THROW(TimeLimit(0).check("compiling", "m", limit_property::kCompileSeconds)); }

TEST(CancellationScope, IsAskedWhereTheTimeIs) {
  expect_wanted();
  bool is_wanted = true;
  const CancellationScope scope([&] { return is_wanted; });
  expect_wanted();
  is_wanted = false;
  EXPECT_EQ(asked().code(), Code::kCancelled);
  EXPECT_THAT(asked().what(), ::testing::HasSubstr("compiling 'm'"));
}

TEST(CancellationScope, HoldsInItsThreadAndWhereItIsFdOwnership) {
  const CancellationScope outer([] { return false; });
  {
    const CancellationScope inner{{}};
    expect_wanted();
  }
  EXPECT_EQ(asked().code(), Code::kCancelled);
  std::thread(expect_wanted).join();
  std::thread([is_wanted = CancellationScope::current()] {
    const CancellationScope helper(is_wanted);
    EXPECT_EQ(asked().code(), Code::kCancelled);
  }).join();
}

}  // namespace wanted_test
}  // namespace tenon
