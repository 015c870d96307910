// SPDX-License-Identifier: Apache-2.0
// A loader that finds no platform: its environment is that of the process.
#include <tenon/frameworks/opencl/contexts.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace no_platform_test {

using namespace tenon;
using namespace tenon::opencl;

// In a separate process, whose loader finds no platform.
TEST(NoPlatform, GivesAnEmptyListAndAnErrorThatSaysWhatToInstall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* const before = std::getenv("OCL_ICD_VENDORS");
  const std::string kept = before ? before : "";
  ::setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
  EXPECT_EXIT(
      {
        const Error none = error_of([] { make_context(); });
        const bool good = contexts().empty() && none.code() == Code::kUnavailable &&
                          std::string(none.what()).find("install") != std::string::npos;
        std::exit(good ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  if (before)
    ::setenv("OCL_ICD_VENDORS", kept.c_str(), 1);
  else
    ::unsetenv("OCL_ICD_VENDORS");
}

}  // namespace no_platform_test
