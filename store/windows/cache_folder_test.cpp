// SPDX-License-Identifier: Apache-2.0
// Cache folders on Windows: entries appear whole, the least recently used are removed, and what others may write to is not trusted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

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
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // Times of use differ.
  }
  static std::vector<std::string> names(const CacheFolder& folder) {
    std::vector<std::string> all;
    for (const auto& entry : folder.entries()) all.push_back(entry.name);
    std::sort(all.begin(), all.end());
    return all;
  }
  const TemporaryFolder temporary;
  const fs::path path = temporary.path() / "cache";
};

TEST_F(CacheFolderTest, IsMadeWhenItIsWrittenTo) {
  EXPECT_FALSE(CacheFolder("", kOpen, CacheFolder::Missing::kMake));
  const CacheFolder missing(path, kOpen);
  EXPECT_FALSE(missing);
  EXPECT_EQ(missing.error(), std::errc::no_such_file_or_directory);
  const CacheFolder made(path, kPrivate, CacheFolder::Missing::kMake);
  ASSERT_TRUE(made) << made.error() << made.distrust();
  write(made, 1, 10);
  EXPECT_EQ(made.used_bytes(), 10u);
  const Tensor bytes = made.map(name(1));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes.size_bytes(), 10u);
  EXPECT_EQ(static_cast<const char*>(bytes.data())[9], 'x');
  EXPECT_FALSE(made.map(name(2)));
}

TEST_F(CacheFolderTest, LetsGoOfWhatWasUsedLongestAgo) {
  const CacheFolder folder(path, kOpen, CacheFolder::Missing::kMake);
  for (const std::uint64_t key : {1, 2, 3, 4}) write(folder, key, 100);
  std::ofstream(path / "notes.entry") << std::string(1000, 'x');
  folder.evict(400, name(4));
  EXPECT_EQ(folder.entries().size(), 4u) << "another's file counts for nothing";
  folder.touch(name(1));
  folder.evict(300, name(4));
  EXPECT_THAT(names(folder), ElementsAre(name(1), name(3), name(4)));
  EXPECT_TRUE(folder.remove(name(1)));
  EXPECT_FALSE(folder.remove(name(1)));
}

TEST_F(CacheFolderTest, WhatIsBeingWrittenIsNotRemoved) {
  const CacheFolder folder(path, kOpen, CacheFolder::Missing::kMake);
  const auto living = folder.make(name(2));
  EXPECT_TRUE(CacheFolder::is_temporary(living->temporary(), kOpen));
  std::ofstream(path / (name(1) + ".0123456789abcdef.part")) << "half";
  std::ofstream(path / "mine.0123456789abcdef.part") << "half";
  folder.remove_abandoned();
  EXPECT_EQ(std::distance(fs::directory_iterator(path), fs::directory_iterator()), 2);
  living->commit();
  EXPECT_THAT(names(folder), ElementsAre(name(2)));
}

}  // namespace cache_folder_test
}  // namespace tenon::store
