// SPDX-License-Identifier: Apache-2.0
// Elements by name, and modules of them that cannot be loaded.
#include <tenon/elements/registry.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <tenon/core/error.hpp>

namespace tenon::elements {
namespace {

using ::testing::HasSubstr;

/// A folder with modules that cannot be used, for as long as the program runs: modules are looked for once.
class BrokenModules {
 public:
  BrokenModules() : folder_(std::filesystem::temp_directory_path() / ("tenon_elements_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "libtenon_elements_broken.so") << "no library";
    if (const char* const foreign = std::getenv("TENON_FOREIGN_ELEMENTS"))
      std::filesystem::copy_file(foreign, folder_ / "libtenon_elements_foreign.so");
    ::setenv("TENON_ELEMENT_PATH", folder_.c_str(), 1);
  }
  ~BrokenModules() { std::filesystem::remove_all(folder_); }

 private:
  std::filesystem::path folder_;
};
const BrokenModules broken;

TEST(ElementRegistry, AModuleThatCannotBeLoadedIsAbsentWithItsReason) {
  const auto absent = absent_elements();
  const auto found = std::find_if(absent.begin(), absent.end(), [](const auto& one) { return one.module == "broken"; });
  ASSERT_NE(found, absent.end());
  EXPECT_THAT(found->reason, HasSubstr("libtenon_elements_broken.so"));
  EXPECT_FALSE(known_elements().empty());
}

TEST(ElementRegistry, AModuleOfAnotherReleaseIsAbsentAndNotCalled) {
  ASSERT_TRUE(std::getenv("TENON_FOREIGN_ELEMENTS")) << "run the test through ctest";
  const auto absent = absent_elements();
  const auto found =
      std::find_if(absent.begin(), absent.end(), [](const auto& one) { return one.module == "foreign"; });
  ASSERT_NE(found, absent.end());
  EXPECT_THAT(found->reason, HasSubstr("is of another release: 9.9.0, and this is "));
}

TEST(ElementRegistry, AnUnknownNameIsAnsweredWithTheNearestAndWithWhatIsAbsent) {
  try {
    find_element("identify");
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'identity'?"));
    EXPECT_THAT(error.what(), HasSubstr("those of 'broken' are absent: "));
  }
}

}  // namespace
}  // namespace tenon::elements
