// SPDX-License-Identifier: Apache-2.0
// Elements by name, and modules of them that cannot be loaded.
#include <tenon/elements/registry.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <tenon/core/error.hpp>

namespace tenon::elements {
namespace registry_test {

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
  EXPECT_THAT(found->reason, HasSubstr("was built for another release: 9.9.0, and this is "));
}

bool is_mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos) return true;
  return false;
}

/// In a process of its own, which has loaded no module before.
TEST(ElementRegistryDeathTest, ModulesAreLoadedWhenAnElementIsWantedThatIsElsewhere) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto load = [] {
    // It is a library, but no module of elements. It is mapped when the registry looks at it.
    Dl_info self{};
    ::dladdr(reinterpret_cast<const void*>(&known_elements), &self);
    const std::filesystem::path folder(std::getenv("TENON_ELEMENT_PATH"));
    std::filesystem::copy_file(self.dli_fname, folder / "libtenon_elements_plain.so");
    find_element("identity");
    const bool was_mapped = is_mapped("libtenon_elements_plain.so");
    known_elements();
    std::exit(!was_mapped && is_mapped("libtenon_elements_plain.so") ? 0 : 1);
  };
  EXPECT_EXIT(load(), ::testing::ExitedWithCode(0), "");
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

}  // namespace registry_test
}  // namespace tenon::elements
