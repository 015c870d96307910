// SPDX-License-Identifier: Apache-2.0
// Mapped parts of files, addresses of zeros, builds of libraries, and the processors of a thread.
#include <tenon/core/platform/mappings.hpp>
#include <tenon/core/platform/modules.hpp>
#include <tenon/core/platform/processors.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include <tenon/core/host.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/core/page_bytes.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace mappings_test {

using namespace tenon;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(MappedParts, BytesThatAreWrittenStayOrGoToTheFile) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "parts";
  const std::size_t offset = platform::mapping_granularity();
  std::ofstream(path, std::ios::binary) << std::string(offset, 'a') << "second";
  for (const auto writes : {platform::Writes::kPrivate, platform::Writes::kToFile}) {
    UniqueFd fd;
    const auto failure = writes == platform::Writes::kToFile
                             ? platform::open_to_write(path, fd)
                             : platform::open_file(platform::kWorkingFolder, path, platform::Links::kFollow, fd);
    ASSERT_FALSE(failure) << failure.call << " gave " << failure.error;
    void* part = nullptr;
    const auto unmapped = platform::map_part(fd.get(), offset, 6, writes, part);
    ASSERT_FALSE(unmapped) << unmapped.call << " gave " << unmapped.error;
    EXPECT_EQ(std::string(static_cast<const char*>(part), 6), "second");
    std::memcpy(part, "SEC", 3);
    platform::unmap(part, 6);
    fd.reset();
    EXPECT_EQ(text_of(path).substr(offset), writes == platform::Writes::kToFile ? "SECond" : "second");
  }
}

TEST(MappedParts, WhatIsNotThereIsNotOpened) {
  const TemporaryFolder folder;
  UniqueFd fd;
  const auto failure = platform::open_to_write(folder.path() / "none", fd);
  ASSERT_TRUE(failure);
  EXPECT_EQ(platform::code_of(failure.error), Code::kNotFound);
  EXPECT_FALSE(fd);
}

TEST(Zeros, AreTouchedWhenTheyAreRead) {
  const std::size_t size = 16 * page_bytes();
  void* zeros = nullptr;
  const auto failure = platform::map_zeros(size, zeros);
  ASSERT_FALSE(failure) << failure.call << " gave " << failure.error;
  EXPECT_FALSE(platform::were_touched(zeros, size));
  EXPECT_EQ(*(static_cast<const volatile char*>(zeros) + 5 * page_bytes()), 0);
  EXPECT_TRUE(platform::were_touched(zeros, size));
  platform::unmap_zeros(zeros, size);
}

TEST(Zeros, NoSystemHasThatManyAddresses) {
  void* zeros = nullptr;
  const auto failure = platform::map_zeros(std::size_t{1} << 62, zeros);
  EXPECT_TRUE(failure);
  EXPECT_EQ(zeros, nullptr);
}

TEST(Builds, OfTwoLibrariesDiffer) {
  // A table of virtual functions lies in core's library; of functions, a program on Windows has its own entries.
  const void* const in_core = *reinterpret_cast<const void* const*>(host_context().impl().get());
  static const int in_program = 0;
  EXPECT_FALSE(platform::build_of(in_core).empty());
  EXPECT_EQ(platform::build_of(in_core), platform::build_of(in_core));
  EXPECT_NE(platform::build_of(in_core), platform::build_of(&in_program));
  EXPECT_EQ(platform::build_of(nullptr), "");
}

TEST(Processors, AThreadIsKeptOnOne) {
  const platform::ProcessorSet before = platform::processors_of_thread();
  ASSERT_GT(before.count(), 0);
  int last = platform::ProcessorSet::kMost - 1;
  while (!before.contains(last)) --last;
  if (!platform::keep_thread_on(platform::ProcessorSet(last)))
    GTEST_SKIP() << "the system keeps no thread on a processor";
  const platform::ProcessorSet one = platform::processors_of_thread();
  EXPECT_EQ(one.count(), 1);
  EXPECT_TRUE(one.contains(last));
  EXPECT_TRUE(platform::keep_thread_on(before));
  EXPECT_EQ(platform::processors_of_thread().words, before.words);
}

}  // namespace mappings_test
