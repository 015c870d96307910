// SPDX-License-Identifier: Apache-2.0
// Files as POSIX has them: FIFOs and sockets are refused at once, modes, fsync, killed writers, and memory that runs out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <new>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/core/testing/allocation_count.hpp>
#include <tenon/core/testing/in_a_folder.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/resident.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace {
/// How many allocations of this thread still succeed; negative: all.
thread_local long allocations_left = -1;
thread_local std::size_t allocations_made = 0;

void* allocate(std::size_t size) {
  ++allocations_made;
  if (allocations_left == 0) return nullptr;
  if (allocations_left > 0) --allocations_left;
  return std::malloc(size ? size : 1);
}

/// Names of the files and folders that were synchronised with the disk, in order.
thread_local std::vector<std::string> synchronised;
}  // namespace

extern "C" int fsync(int fd) {
  std::error_code ignored;
  const auto target = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored);
  synchronised.push_back(target.filename().string());
  static const auto next = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fsync"));
  return next(fd);
}

// Not inlined: the compiler would take malloc and free for a mismatch with new and delete elsewhere.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

std::size_t tenon_test::allocations_of_this_thread() { return allocations_made; }

namespace tenon {
namespace posix_file_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PosixFiles : public tenon_test::InAFolder {};

TEST_F(PosixFiles, WhatIsNoFileIsNamedAndNeverWaitedFor) {
  ::alarm(20);  // Ends a reader that blocks on the FIFO.
  const fs::path fifo = folder / "fifo", link = folder / "link", socket = folder / "socket";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(::symlink(fifo.c_str(), link.c_str()), 0);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket.string().size(), sizeof address.sun_path);
  std::copy_n(socket.c_str(), socket.string().size(), address.sun_path);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::pair<fs::path, const char*> cases[] = {{fifo, "FIFO"},
                                                    {link, "FIFO"},
                                                    {socket, "a socket"},
                                                    {folder, "a directory"},
                                                    {"/dev/null", "a character device"}};
  for (const auto& [path, kind] : cases) {
    const auto says = AllOf(HasSubstr(path.string()), HasSubstr(kind), HasSubstr("a regular file is expected"));
    EXPECT_THAT(error_of([&] { map_file(path); }, Code::kInvalidArgument), says);
    EXPECT_THAT(error_of([&] { read_file(path); }, Code::kInvalidArgument), says);
  }
  ::close(fd);
  ::alarm(0);
}

TEST_F(PosixFiles, ANewFileIsOnTheDiskBeforeItHasItsName) {
  const fs::path path = folder / "target";
  NewFile made(path);
  made.write("whole", 5);
  synchronised.clear();
  made.commit();
  EXPECT_THAT(synchronised, ElementsAre(made.temporary().filename().string(), folder.filename().string()));
  // Files that can be made again need not wait for the disk.
  NewFile entry(path, 0600, Durability::kProcess);
  synchronised.clear();
  entry.commit();
  EXPECT_THAT(synchronised, ElementsAre());
}

/// /dev/stdout is a link that root may replace: then no program has a standard output any more.
TEST_F(PosixFiles, ANewFileTakesThePlaceOfNoLinkOfTheSystem) {
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/exe"}) {
    if (!fs::is_symlink(name)) continue;
    EXPECT_THAT(error_of([&] { const NewFile file{fs::path(name)}; }, Code::kInvalidArgument), HasSubstr("has open"));
    EXPECT_TRUE(fs::is_symlink(name));
  }
}

TEST_F(PosixFiles, AFileThatGrowsIsNoWaitForAReader) {
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { GrowingFile(pipe, GrowingFile::Place::kEnd); }, Code::kUnavailable), HasSubstr("pipe"));
  const UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_FALSE(GrowingFile(pipe, GrowingFile::Place::kEnd).is_regular());
}

TEST_F(PosixFiles, ANewFileStaysInTheFolderThatWasOpened) {
  fs::create_directory(folder / "before");
  const UniqueFd opened(::open((folder / "before").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  NewFile made(opened, folder / "before" / "target", 0600, Durability::kMachine);
  made.write("whole", 5);
  fs::rename(folder / "before", folder / "after");
  fs::create_directory(folder / "before");
  EXPECT_FALSE(NewFile::remove_if_abandoned(opened, made.temporary().string())) << "it is being written";
  made.commit();
  EXPECT_EQ(text_of(folder / "after" / "target"), "whole");
  EXPECT_TRUE(fs::is_empty(folder / "before"));
  std::error_code error;
  EXPECT_THAT(list_folder(opened, error), ElementsAre(fs::path("target")));
  { std::ofstream(folder / "after" / "target.0123456789abcdef.part") << "half"; }
  EXPECT_TRUE(NewFile::remove_if_abandoned(opened, "target.0123456789abcdef.part"));
  EXPECT_THAT(error_of([&] { NewFile(UniqueFd(), "target", 0600, Durability::kProcess); }, Code::kInvalidArgument),
              HasSubstr("not open"));
}

TEST_F(PosixFiles, WhatAKilledWriterLeftIsRemovedAndNothingElse) {
  const fs::path path = folder / "target";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    NewFile unfinished(path);
    unfinished.write("half", 4);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(names().size(), 1u);
  // A temporary file of another target, and one that only has a similar name.
  NewFile running(path), other(folder / "target.2");
  std::ofstream(folder / "target.mine.part") << "a user's";
  NewFile::remove_abandoned(path);
  EXPECT_EQ(names().size(), 3u) << "the one that is being written, the other target's, and the user's";
  running.commit();
  other.commit();
  EXPECT_THAT(names(), ElementsAre("target", "target.2", "target.mine.part"));
}

TEST_F(PosixFiles, ListingSurvivesAnyFailedAllocation) {
  for (int i = 0; i < 5; ++i)
    std::ofstream(folder / ("a file whose name needs memory of its own " + std::to_string(i)));
  bool failed = false, succeeded = false;
  for (long allowed = 0; allowed < 200 && !succeeded; ++allowed) {
    try {
      std::error_code error;
      allocations_left = allowed;
      const auto all = list_folder(folder, error);
      allocations_left = -1;
      succeeded = true;
      EXPECT_EQ(all.size(), 5u);
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
      failed = true;
    }
  }
  EXPECT_TRUE(failed);
  EXPECT_TRUE(succeeded);
  std::error_code error;
  EXPECT_TRUE(list_folder(folder / "none", error).empty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  EXPECT_FALSE(list_folder(folder, error).empty());
  EXPECT_FALSE(error);
}

TEST_F(PosixFiles, ANewFileHasItsMode) {
  NewFile made(folder / "target", 0440);
  made.commit();
  struct stat status {};
  ASSERT_EQ(::stat((folder / "target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0440u);
}

TEST(PosixMapFile, PagesThatAreDroppedAreReadAgain) {
  const std::string path = ::testing::TempDir() + "/tenon_pages_" + std::to_string(::getpid());
  std::string bytes(8 << 20, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i / 4096 + i);
  std::ofstream(path, std::ios::binary) << bytes;
  const Tensor mapped = map_file(path);
  std::remove(path.c_str());
  const auto is_whole = [&] { return std::memcmp(mapped.data(), bytes.data(), bytes.size()) == 0; };
  EXPECT_TRUE(is_whole());
  const std::size_t before = resident_bytes();
  drop_pages(mapped);
  EXPECT_LT(resident_bytes() + (7 << 20), before);
  EXPECT_TRUE(is_whole());
  // A part that holds no page, nothing, and memory that is no file.
  drop_pages(
      Tensor({ElementType::kU8, {100}, {}}, HostMemory::borrow(static_cast<char*>(mapped.data()) + 10, 100, true)));
  drop_pages(Tensor());
  Tensor own(ElementType::kU8, {1 << 20});
  std::memset(own.data(), 7, own.size_bytes());
  drop_pages(own);
  EXPECT_EQ(own.data<std::uint8_t>()[500000], 7);
  EXPECT_TRUE(is_whole());
}

}  // namespace posix_file_test
}  // namespace tenon
