// SPDX-License-Identifier: Apache-2.0
// The driver's cache: entries match their key, entries of other users are not read, and damaged entries are replaced.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::npu::compiler {
namespace compile_cache_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// y = x * factor. The nodes have names, so the bytes are the same each time.
Bytes times(double factor) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  auto by = std::make_shared<op::v0::Constant>(element::f32, Shape{1}, std::vector<double>{factor});
  auto product = std::make_shared<op::v1::Multiply>(x->output(0), by->output(0));
  auto result = std::make_shared<op::v0::Result>(product->output(0));
  x->set_friendly_name("x");
  by->set_friendly_name("by");
  product->set_friendly_name("product");
  result->set_friendly_name("y");
  return in_memory(Model(ResultVector{result}, ParameterVector{x}, "times"));
}

class CacheTest : public ::testing::Test {
 protected:
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    if (fs::exists(folder_))
      for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path());
    return all;
  }
  /// Compiles, and checks that the program multiplies by that factor.
  bool is_hit(double factor) const {
    const Compiled compiled = compile(request_for(times(factor)), &cache_);
    ProgramRun run(compiled.program);
    const Tensor x = random_tensor(ElementType::kF32, {1, 4});
    const Tensor y = run_once(run, *compiled.program, {x})[0];
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_FLOAT_EQ(y.data<float>()[i], x.data<float>()[i] * static_cast<float>(factor));
    return compiled.from_cache;
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path() / "cache";
  const CompileCache cache_{folder_, 1 << 24};
};

TEST_F(CacheTest, HitsWhatWasCompiledAndKnowsWhatDiffers) {
  const Bytes ir = in_memory(*small_model()), other = in_memory(*small_model(PartialShape{1, 5}));
  EXPECT_FALSE(compile(request_for(ir), &cache_).from_cache);
  EXPECT_TRUE(compile(request_for(ir), &cache_).from_cache);
  EXPECT_FALSE(compile(request_for(ir, "--config NPU_TILES=\"1\""), &cache_).from_cache);
  EXPECT_FALSE(compile(request_for(other), &cache_).from_cache);
  EXPECT_FALSE(compile(request_for(ir), nullptr).from_cache);
}

TEST_F(CacheTest, ADamagedEntryIsFoundOutAndReplaced) {
  EXPECT_FALSE(is_hit(2));
  ASSERT_EQ(files().size(), 1u);
  const fs::path file = files()[0];
  const auto size = static_cast<std::streamoff>(fs::file_size(file));
  // In the entry's header, in the binary's, far behind.
  for (const std::streamoff at : {std::streamoff{3}, std::streamoff{20}, std::streamoff{40}, std::streamoff{70},
                                  std::streamoff{4100}, std::streamoff{9000}, size - 1}) {
    ASSERT_TRUE(is_hit(2)) << at;
    {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(at);
      const char byte = static_cast<char>(stream.get() ^ 0x55);
      stream.seekp(at);
      stream.put(byte);
    }
    EXPECT_FALSE(is_hit(2)) << at;
    EXPECT_TRUE(is_hit(2)) << "not replaced after damage at " << at;
  }
  for (const auto length : {std::uintmax_t{0}, std::uintmax_t{50}, std::uintmax_t{4096}, std::uintmax_t{5000}}) {
    fs::resize_file(file, length);
    EXPECT_FALSE(is_hit(2)) << length;
    EXPECT_TRUE(is_hit(2)) << length;
  }
}

TEST_F(CacheTest, AnEntryUnderAnothersNameIsNotTaken) {
  EXPECT_FALSE(is_hit(2));
  const fs::path two = files().at(0);
  EXPECT_FALSE(is_hit(3));
  const auto both = files();
  ASSERT_EQ(both.size(), 2u);
  const fs::path three = both[0] == two ? both[1] : both[0];
  fs::copy_file(two, three, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(is_hit(3));
  EXPECT_TRUE(is_hit(3)) << "and it is replaced";
  // Only the binary, behind the header of another entry.
  {
    std::ifstream from(two, std::ios::binary);
    from.seekg(4096);
    std::fstream to(three, std::ios::in | std::ios::out | std::ios::binary);
    to.seekp(4096);
    to << from.rdbuf();
  }
  EXPECT_FALSE(is_hit(3));
  EXPECT_TRUE(is_hit(2));
}

TEST_F(CacheTest, IsItsUsersAlone) {
  const ::mode_t before = ::umask(0);
  EXPECT_FALSE(is_hit(2));
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(files().at(0).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_TRUE(is_hit(2));
  // An entry that other users may have written.
  ASSERT_EQ(::chmod(files()[0].c_str(), 0620), 0);
  EXPECT_FALSE(is_hit(2));
  EXPECT_TRUE(is_hit(2)) << "and it is replaced";
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(files()[0].c_str(), 54321, 54321), 0);
    EXPECT_FALSE(is_hit(2));
    EXPECT_TRUE(is_hit(2));
  }
  // Such a folder is neither read nor written, which is reported once.
  ::testing::internal::CaptureStderr();
  for (const ::mode_t mode : {0770, 0702}) {
    ASSERT_EQ(::chmod(folder_.c_str(), mode), 0);
    EXPECT_FALSE(is_hit(2));
    EXPECT_FALSE(is_hit(4));
  }
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder_.c_str(), 54321, 54321), 0);
    EXPECT_FALSE(is_hit(2));
    ASSERT_EQ(::chown(folder_.c_str(), 0, 0), 0);
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr(folder_.string()));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(is_hit(2));
}

TEST_F(CacheTest, WhatIsNoFileIsNoEntryAndBlocksNobody) {
  EXPECT_FALSE(is_hit(2));
  const fs::path file = files().at(0), elsewhere = temporary_.path() / "elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_FALSE(is_hit(2)) << "a link may lead to another user's file";
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(is_hit(2));
  EXPECT_TRUE(is_hit(2));
}

TEST_F(CacheTest, LeavingsOfKilledWritersGoAndThoseOfLivingOnesStay) {
  EXPECT_FALSE(is_hit(2));
  const std::string stem = files().at(0).stem().string();
  const fs::path dead = folder_ / (stem + ".npu_graph.fedcba9876543210.part"),
                 living = folder_ / (stem + ".npu_graph.0123456789abcdef.part"), foreign = folder_ / "notes.txt";
  for (const fs::path& each : {dead, living, foreign}) std::ofstream(each) << "half";
  const int writer = ::open(living.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(writer, LOCK_EX), 0);
  EXPECT_FALSE(is_hit(3));
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(living));
  EXPECT_TRUE(fs::exists(foreign));
  ::close(writer);
  EXPECT_FALSE(is_hit(4));
  EXPECT_FALSE(fs::exists(living));
  EXPECT_TRUE(is_hit(2));
}

TEST_F(CacheTest, ManyWritersOfOneEntryLeaveOne) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const CompileCache mine(folder_, 1 << 24);
        EXPECT_NO_THROW(compile(request_for(times(2 + i % 2)), &mine).program->load());
        if (i % 5 == 0)
          for (const fs::path& file : files()) fs::remove(file);
      }
    });
  for (auto& thread : threads) thread.join();
  is_hit(2), is_hit(3);
  EXPECT_TRUE(is_hit(2));
  EXPECT_TRUE(is_hit(3));
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(CacheTest, StaysWithinItsSize) {
  compile(request_for(in_memory(*small_model())), &cache_);
  const std::uint64_t size = cache_.used_bytes();
  const CompileCache cache(folder_, 2 * size + size / 2);
  Bytes last;
  for (int i = 1; i <= 5; ++i) {
    last = in_memory(*small_model(PartialShape{1, i}));
    compile(request_for(last), &cache);
    EXPECT_LE(cache.used_bytes(), cache.limit());
  }
  EXPECT_GT(cache.used_bytes(), size);
  EXPECT_TRUE(compile(request_for(last), &cache).from_cache);
}

TEST_F(CacheTest, WhatWasUsedLongestAgoGoesFirst) {
  compile(request_for(times(1)), &cache_);
  const std::uint64_t size = cache_.used_bytes();
  const CompileCache cache(folder_, 3 * size + size / 2);
  const auto use = [&](int factor) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // Clocks of file systems are coarse.
    const Bytes bytes = times(factor);
    return compile(request_for(bytes), &cache).from_cache;
  };
  EXPECT_FALSE(use(2));
  EXPECT_FALSE(use(3));
  ASSERT_LE(cache.used_bytes(), cache.limit()) << "all three fit";
  EXPECT_TRUE(use(1));
  EXPECT_FALSE(use(4)) << "for which 2 goes";
  EXPECT_TRUE(use(3));
  EXPECT_TRUE(use(1));
  EXPECT_FALSE(use(2)) << "for which 4 goes";
  EXPECT_TRUE(use(3));
  EXPECT_TRUE(use(1));
  EXPECT_FALSE(use(4));
}

TEST_F(CacheTest, AFolderThatCannotBeWrittenIsNoError) {
  const CompileCache cache("/proc/no/such/folder", 1 << 24);
  EXPECT_FALSE(compile(request_for(in_memory(*small_model())), &cache).from_cache);
}

}  // namespace compile_cache_test
}  // namespace tenon::npu::compiler
