// SPDX-License-Identifier: Apache-2.0
// Cache folders: size limit, ownership of private folders, and cleanup after crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <tenon/store/cache_folder.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::store {
namespace cache_folder_test {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr CacheFolder::Rules kOpen{.suffix = ".entry", .entry_mode = 0440, .is_private = false};
constexpr CacheFolder::Rules kPrivate{.suffix = ".entry", .entry_mode = 0600, .is_private = true};

class CacheFolderTest : public ::testing::Test {
 protected:
  static std::string name(std::uint64_t key) { return CacheFolder::name_of({key, 0}, kOpen); }
  static void write(const CacheFolder& folder, std::uint64_t key, std::size_t size) {
    const auto file = folder.make(name(key));
    const std::string bytes(size, 'x');
    file->write(bytes.data(), bytes.size());
    file->commit();
    // Clocks of file systems are coarse.
    const timespec times[2] = {{static_cast<std::time_t>(1000 + key), 0}, {0, UTIME_OMIT}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder_path(folder) / name(key)).c_str(), times, 0), 0);
  }
  static fs::path folder_path(const CacheFolder&) { return *path_of_test; }
  static std::vector<std::string> names(const CacheFolder& folder) {
    std::vector<std::string> all;
    for (const auto& entry : folder.entries()) all.push_back(entry.name);
    std::sort(all.begin(), all.end());
    return all;
  }
  CacheFolderTest() { path_of_test = &path; }
  static inline const fs::path* path_of_test = nullptr;
  const TemporaryFolder temporary;
  const fs::path path = temporary.path() / "cache";
};

TEST_F(CacheFolderTest, IsMadeForThisUserAloneWhenItIsWrittenTo) {
  const ::mode_t before = ::umask(0);
  EXPECT_FALSE(CacheFolder("", kOpen, CacheFolder::Missing::kMake));
  EXPECT_EQ(CacheFolder("", kOpen).error(), std::errc::no_such_file_or_directory);
  const CacheFolder missing(path, kOpen);
  EXPECT_FALSE(missing);
  EXPECT_EQ(missing.error(), std::errc::no_such_file_or_directory);
  EXPECT_TRUE(missing.entries().empty());
  EXPECT_FALSE(fs::exists(path));
  const CacheFolder made(path, kOpen, CacheFolder::Missing::kMake);
  ASSERT_TRUE(made);
  EXPECT_FALSE(made.error());
  write(made, 1, 10);
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((path / name(1)).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0440u);
  EXPECT_EQ(made.used_bytes(), 10u);
  const Tensor bytes = made.map(name(1));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes.size_bytes(), 10u);
  EXPECT_FALSE(made.map(name(2)));
}

TEST_F(CacheFolderTest, LetsGoOfWhatWasUsedLongestAgo) {
  const CacheFolder folder(path, kOpen, CacheFolder::Missing::kMake);
  for (const std::uint64_t key : {1, 2, 3, 4}) write(folder, key, 100);
  std::ofstream(path / "notes.entry") << std::string(1000, 'x');
  folder.evict(400, name(4));
  EXPECT_EQ(folder.entries().size(), 4u) << "another's file counts for nothing";
  const Tensor kept = folder.map(name(2));
  folder.touch(name(1));
  folder.evict(300, name(4));
  EXPECT_THAT(names(folder), ElementsAre(name(1), name(2), name(4)));
  folder.evict(200, name(4));
  EXPECT_THAT(names(folder), ElementsAre(name(1), name(4))) << "kept, though it was used longest ago";
}

TEST_F(CacheFolderTest, KeepsTheNewestAndWhatIsMapped) {
  const CacheFolder folder(path, kOpen, CacheFolder::Missing::kMake);
  write(folder, 2, 100);
  write(folder, 1, 100);
  const Tensor mapped = folder.map(name(2));
  folder.evict(50, name(1));
  EXPECT_THAT(names(folder), ElementsAre(name(1)));
  EXPECT_EQ(static_cast<const char*>(mapped.data())[99], 'x');
  EXPECT_TRUE(folder.remove(name(1)));
  EXPECT_FALSE(folder.remove(name(1)));
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(CacheFolderTest, TakesNothingThatOthersMayHaveWritten) {
  const CacheFolder made(path, kPrivate, CacheFolder::Missing::kMake);
  ASSERT_TRUE(made);
  write(made, 1, 10);
  ASSERT_EQ(::chmod((path / name(1)).c_str(), 0620), 0);
  EXPECT_FALSE(made.map(name(1)));
  EXPECT_TRUE(CacheFolder(path, kOpen).map(name(1))) << "unless its rules allow it";
  ASSERT_EQ(::chmod((path / name(1)).c_str(), 0600), 0);
  EXPECT_TRUE(made.map(name(1)));
  fs::rename(path / name(1), temporary.path() / "elsewhere");
  fs::create_symlink(temporary.path() / "elsewhere", path / name(1));
  EXPECT_FALSE(made.map(name(1)));
  EXPECT_TRUE(made.entries().empty());
  EXPECT_TRUE(CacheFolder(path, kOpen).map(name(1)));
  fs::remove(path / name(1));
  ASSERT_EQ(::mkfifo((path / name(1)).c_str(), 0600), 0);
  EXPECT_FALSE(made.map(name(1))) << "and it does not block";
  for (const ::mode_t mode : {0770, 0702}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const CacheFolder refused(path, kPrivate);
    EXPECT_FALSE(refused);
    EXPECT_THAT(refused.distrust(), HasSubstr("others may write to it"));
    EXPECT_TRUE(CacheFolder(path, kOpen));
  }
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 54321, 54321), 0);
    EXPECT_THAT(CacheFolder(path, kPrivate).distrust(), HasSubstr("belongs to user 54321"));
  }
}

TEST_F(CacheFolderTest, IsCleanedUpAfterACrash) {
  const CacheFolder folder(path, kOpen, CacheFolder::Missing::kMake);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto unfinished = folder.make(name(1));
    unfinished->write("half", 4);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  const auto living = folder.make(name(2));
  EXPECT_TRUE(CacheFolder::is_temporary(living->temporary(), kOpen));
  for (const char* foreign : {"notes.txt", "mine.0123456789abcdef.part"}) std::ofstream(path / foreign) << "half";
  EXPECT_EQ(std::distance(fs::directory_iterator(path), fs::directory_iterator()), 4);
  folder.remove_abandoned();
  EXPECT_EQ(std::distance(fs::directory_iterator(path), fs::directory_iterator()), 3);
  living->commit();
  EXPECT_THAT(names(folder), ElementsAre(name(2)));
}

TEST_F(CacheFolderTest, ItsEntriesHaveItsNames) {
  const std::string digits(32, 'a');
  EXPECT_TRUE(CacheFolder::is_entry("somewhere/" + digits + ".entry", kOpen));
  for (const std::string& other :
       {digits + ".blob", digits + "0.entry", digits.substr(1) + ".entry", "g" + digits.substr(1) + ".entry",
        digits + ".entry.entry", std::string(".entry"), digits})
    EXPECT_FALSE(CacheFolder::is_entry(other, kOpen)) << other;
  EXPECT_TRUE(CacheFolder::is_temporary(digits + ".entry.0123456789abcdef.part", kOpen));
  EXPECT_TRUE(CacheFolder::is_temporary(digits + ".entry.415.58.part", kOpen)) << "of an older version";
  for (const char* other : {".blob.0123456789abcdef.part", ".entry", ".part", ".entry.0123456789abcdef"})
    EXPECT_FALSE(CacheFolder::is_temporary(digits + other, kOpen)) << other;
}

TEST_F(CacheFolderTest, StaysWithTheFolderThatItLookedAt) {
  const CacheFolder folder(path, kPrivate, CacheFolder::Missing::kMake);
  fs::rename(path, temporary.path() / "moved");
  fs::create_directory(path);
  const auto file = folder.make(name(1));
  file->write("whole", 5);
  file->commit();
  EXPECT_TRUE(fs::exists(temporary.path() / "moved" / name(1)));
  EXPECT_TRUE(fs::is_empty(path));
  EXPECT_TRUE(folder.map(name(1)));
}

}  // namespace cache_folder_test
}  // namespace tenon::store
