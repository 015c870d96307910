// SPDX-License-Identifier: Apache-2.0
// After a change of the release number, no cache entry and no exported blob of the old release is used. The number is
// changed in copies of the built libraries, wherever it stands in them: build ids and all else stay what they were, so
// that nothing but the number can tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/version.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon {
namespace version_bump_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The old release with another last digit: as many letters, so that it fits where the old one was.
std::string next_version() {
  std::string next = TENON_VERSION;
  next.back() = next.back() == '9' ? '8' : static_cast<char>(next.back() + 1);
  return next;
}

bool is_of_a_number(char c) { return c == '.' || std::isdigit(static_cast<unsigned char>(c)); }

/// Changes the release number wherever it is not part of a longer number.
void bump(const fs::path& file) {
  std::string bytes;
  {
    std::ifstream stream(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(stream), {});
  }
  const std::string_view old = TENON_VERSION;
  for (std::size_t at = 0; (at = bytes.find(old, at)) != std::string::npos; at += old.size()) {
    if (at == 0 || is_of_a_number(bytes[at - 1]) || is_of_a_number(bytes[at + old.size()])) continue;
    bytes.replace(at, old.size(), next_version());
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

class VersionBump : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    libraries_ = environment("TENON_TEST_LIBRARIES");
    ASSERT_FALSE(libraries_.empty());
    folder_ = std::make_unique<TemporaryFolder>();
    fs::create_directories(next());
    fs::create_directory_symlink(libraries_ / "tenon", next() / "tenon");  // Where the loader looks for oneDNN.
    for (const char* room : {".", "examples"}) {
      fs::create_directories(next() / room);
      for (const auto& entry : fs::directory_iterator(libraries_ / room)) {
        const fs::path copy = next() / room / entry.path().filename();
        if (entry.path().filename().string().find(".so") == std::string::npos) continue;
        fs::copy(entry.path(), copy, fs::copy_options::copy_symlinks);
        if (entry.is_regular_file() && !entry.is_symlink()) bump(copy);
      }
    }
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static fs::path next() { return folder_->path() / "next"; }
  /// A file or folder of this test.
  fs::path path(const std::string& name) const {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    fs::create_directories(folder_->path() / test->name());
    return folder_->path() / test->name() / name;
  }

  /// What the worker prints with these libraries.
  std::string run(const fs::path& libraries, const std::string& arguments) const {
    std::string command = "LD_LIBRARY_PATH='" + libraries.string() + "' TENON_DEVICE_PATH='" + libraries.string() +
                          ":" + (libraries / "examples").string() + "' TENON_NPU_CACHE_DIR='" +
                          path("driver_cache").string() + "' ";
    if (const std::string driver = environment("TENON_TEST_DRIVER"); !driver.empty())
      command += "ZE_ENABLE_ALT_DRIVERS='" + (libraries / driver).string() + "' ";
    command += "'" + environment("TENON_TEST_WORKER") + "' " + arguments;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
    std::string output;
    std::array<char, 4096> part;
    while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe.get()))
      output.append(part.data(), count);
    return output;
  }
  std::string old_release(const std::string& arguments) const { return run(libraries_, arguments); }
  std::string new_release(const std::string& arguments) const { return run(next(), arguments); }

  /// Every device of the build that exports models, as it is named to run on this machine.
  std::vector<std::string> devices() const {
    std::vector<std::string> names;
    for (const char* room : {".", "examples"}) {
      for (const auto& entry : fs::directory_iterator(libraries_ / room)) {
        constexpr std::string_view kPrefix = "libtenon_device_";
        std::string name = entry.path().stem().string();
        if (!name.starts_with(kPrefix) || entry.path().extension() != ".so") continue;
        name.erase(0, kPrefix.size());
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
        if (name == "OPENVINO") continue;  // Its blobs are OpenVINO's, which names its own release in them.
        if (name == "NPU" && environment("TENON_TEST_DRIVER").empty()) continue;
        if (name == "HETERO" || name == "AUTO") name += ":CPU";
        if (old_release("exports " + name + " -") == "yes\n") names.push_back(name);
      }
    }
    std::sort(names.begin(), names.end());
    EXPECT_FALSE(names.empty());
    return names;
  }

  /// Exported by the old release, taken by it, refused by the new one, which names both.
  /// @param owner  Whose format refuses it: a blob may have others' in it, which would refuse it too.
  void expect_refused(const std::string& device, const std::string& owner, const std::string& exported = "",
                      const std::string& imported = "") {
    SCOPED_TRACE(device);
    const std::string file = path(owner).string();
    ASSERT_EQ(old_release("export " + device + " " + file + " " + exported), "exported\n");
    ASSERT_EQ(old_release("import " + device + " " + file + " " + imported), "imported\n");
    EXPECT_THAT(
        new_release("import " + device + " " + file + " " + imported),
        AllOf(StartsWith("error: "), HasSubstr(owner + ": the compiled blob was made by \"Tenon " TENON_VERSION),
              HasSubstr("this is \"Tenon " + next_version())));
  }

  static inline fs::path libraries_;
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

std::size_t entry_count(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_F(VersionBump, IsSeenByProcessesWithTheChangedLibraries) {
  for (const std::string& device : devices()) {
    EXPECT_EQ(old_release("version " + device + " -"), TENON_VERSION "\n");
    EXPECT_EQ(new_release("version " + device + " -"), next_version() + "\n");
  }
}

TEST_F(VersionBump, BlobsOfTheOldReleaseAreRefused) {
  for (const std::string& device : devices()) expect_refused(device, device.substr(0, device.find(':')));
}

TEST_F(VersionBump, BareBlobsOfTheDriverAreRefused) {
  if (environment("TENON_TEST_DRIVER").empty()) GTEST_SKIP() << "this build has no software NPU";
  expect_refused("NPU", "CPU", "NPU_EXPORT_RAW_BLOB=YES", "NPU_IMPORT_RAW_BLOB=YES");
}

TEST_F(VersionBump, TheModelCacheMissesEntriesOfTheOldRelease) {
  for (const std::string& device : devices()) {
    SCOPED_TRACE(device);
    const fs::path folder = path(device.substr(0, device.find(':')));
    const std::string arguments = "cache " + device + " " + folder.string();
    ASSERT_EQ(old_release(arguments), "miss\n");
    ASSERT_EQ(old_release(arguments), "hit\n");
    const std::size_t before = entry_count(folder);
    EXPECT_EQ(new_release(arguments), "miss\n");
    EXPECT_EQ(entry_count(folder), 2 * before) << "the new release's entries have other names";
    EXPECT_EQ(new_release(arguments), "hit\n");
    EXPECT_EQ(old_release(arguments), "hit\n") << "the old release's entry is still there";
  }
}

TEST_F(VersionBump, TheDriversCacheMissesEntriesOfTheOldRelease) {
  if (environment("TENON_TEST_DRIVER").empty()) GTEST_SKIP() << "this build has no software NPU";
  const fs::path folder = path("driver_cache");
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(old_release("compile NPU -"), "compiled\n");
    ASSERT_EQ(entry_count(folder), 1u);
  }
  ASSERT_EQ(new_release("compile NPU -"), "compiled\n");
  EXPECT_EQ(entry_count(folder), 2u);
}

}  // namespace version_bump_test
}  // namespace tenon
