// SPDX-License-Identifier: Apache-2.0
// The release that made a blob: this one, or another, which the error names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/version.hpp>
#include <tenon/store/release.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::store {
namespace store_release_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(MadeBy, ThisReleaseIsTakenAndAnyOtherIsNamed) {
  EXPECT_EQ(release(), "Tenon " TENON_VERSION);
  MadeBy made = MadeBy::this_release();
  EXPECT_EQ(made.release(), release());
  EXPECT_NO_THROW(check_made_by(made, "TEST"));
  std::strncpy(made.text, "Tenon 9.9.9", sizeof made.text);
  EXPECT_THAT(error_of([&] { check_made_by(made, "TEST", "do this"); }, Code::kFailedPrecondition),
              AllOf(StartsWith("TEST: "), HasSubstr("made by \"Tenon 9.9.9\", this is \"Tenon " TENON_VERSION "\""),
                    HasSubstr("do this")));
  std::memset(made.text, 'x', sizeof made.text);
  EXPECT_EQ(made.release(), std::string(sizeof made.text, 'x')) << "no further than the field";
}

}  // namespace store_release_test
}  // namespace tenon::store
