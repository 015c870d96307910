// SPDX-License-Identifier: Apache-2.0
// Shareable memory: seals, descriptors, imports that must be refused, a second process.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tenon/frameworks/cpu/shared_memory.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <tenon/core/tensor.hpp>

#include <tenon/tests/support/error_of.hpp>

namespace shared_memory_test {

using namespace tenon;
using cpu::SharedMemory;
using cpu::UniqueFd;
using ::testing::HasSubstr;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}
/// A refused import leaves the descriptor open; the caller still owns it.
Error refusal_of(int number, std::size_t size = 0) {
  UniqueFd fd(number);
  const std::size_t before = open_descriptors();
  Error error = error_of([&] { SharedMemory::import(std::move(fd), size); });
  EXPECT_EQ(fd.get(), number) << "a failed import took the descriptor";
  EXPECT_EQ(open_descriptors(), before);
  return error;
}

TEST(SharedMemory, IsZeroedRoundedToPagesAndSealed) {
  const Ref<SharedMemory> memory = SharedMemory::allocate(5000);
  EXPECT_EQ(memory->size_bytes(), 8192u);
  EXPECT_EQ(static_cast<char*>(memory->host())[8191], 0);
  EXPECT_EQ(memory->fd_kind(), FdKind::kMemfd);
  EXPECT_EQ(memory->identity().kind, MemoryIdentity::Kind::kInode);
  EXPECT_EQ(memory->context(), host_context());
  EXPECT_NE(::ftruncate(memory->borrow_fd(), 0), 0) << "someone with the descriptor could pull the pages away";
  EXPECT_EQ(::fcntl(memory->borrow_fd(), F_GET_SEALS) & F_SEAL_WRITE, 0);
}

TEST(SharedMemory, ExportAndImportAreTheSameBytes) {
  const std::size_t before = open_descriptors();
  {
    const Ref<SharedMemory> memory = SharedMemory::allocate(4096);
    UniqueFd fd = memory->export_fd();
    EXPECT_NE(fd.get(), memory->borrow_fd());
    const Ref<SharedMemory> again = SharedMemory::import(std::move(fd), 4096);
    EXPECT_FALSE(fd) << "a successful import owns the descriptor";
    EXPECT_NE(again->host(), memory->host());
    EXPECT_EQ(again->identity(), memory->identity()) << "the same inode is the same allocation";
    static_cast<char*>(memory->host())[4095] = 42;
    EXPECT_EQ(static_cast<char*>(again->host())[4095], 42);
    static_cast<char*>(again->host())[0] = 43;
    EXPECT_EQ(static_cast<char*>(memory->host())[0], 43);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(SharedMemory, IsSeenByAnotherProcess) {
  const Ref<SharedMemory> memory = SharedMemory::allocate(4096);
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<char*>(memory->host())[100] = 77;
    ::_exit(0);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(static_cast<char*>(memory->host())[100], 77);
}

TEST(SharedMemory, OutlivesItsOwnerThroughATensor) {
  Ref<SharedMemory> memory = SharedMemory::allocate(4096);
  const Tensor tensor({element::f32, {1024}, {}}, memory);
  memory = {};
  tensor.data<float>()[1023] = 1;
  EXPECT_EQ(tensor.data<float>()[1023], 1);
}

TEST(SharedMemoryImport, RefusesAClosedDescriptor) {
  UniqueFd none;
  EXPECT_THAT(error_of([&] { SharedMemory::import(std::move(none)); }).what(), HasSubstr("not open"));
}

TEST(SharedMemoryImport, RefusesWhatIsNotMemory) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  UniqueFd other_end(pipe[1]);
  EXPECT_THAT(refusal_of(pipe[0]).what(), HasSubstr("pipe"));
  EXPECT_THAT(refusal_of(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)).what(), HasSubstr("socket"));
  EXPECT_THAT(refusal_of(::open("/", O_RDONLY | O_CLOEXEC)).what(), HasSubstr("directory"));
  EXPECT_THAT(refusal_of(::open("/dev/null", O_RDWR | O_CLOEXEC)).what(), HasSubstr("character device"));
}

TEST(SharedMemoryImport, RefusesFilesThatCanShrinkUnderTheMapping) {
  const auto path = std::filesystem::temp_directory_path() / ("tenon_shared_memory_test." + std::to_string(::getpid()));
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::ftruncate(file, 4096), 0);
  const Error on_disk = refusal_of(file);
  std::filesystem::remove(path);
  EXPECT_EQ(on_disk.code(), Code::kInvalidArgument);  // The message is "a file on disk", or "not sealed" on tmpfs.
  const int unsealed = ::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(unsealed, 4096), 0);
  EXPECT_THAT(refusal_of(unsealed).what(), HasSubstr("F_SEAL_SHRINK"));
}

TEST(SharedMemoryImport, RefusesWhatIsTooSmallAndSaysHowMuchThereIs) {
  const Ref<SharedMemory> memory = SharedMemory::allocate(4096);
  const Error error = refusal_of(memory->export_fd().release(), 8192);
  EXPECT_EQ(error.code(), Code::kOutOfRange);
  EXPECT_THAT(error.what(), HasSubstr("4096"));
  EXPECT_THAT(error.what(), HasSubstr("8192"));
  const int empty = ::memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::fcntl(empty, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(refusal_of(empty).code(), Code::kOutOfRange);
}

TEST(SharedMemoryImport, OfASealedOrReadOnlyMemfdCannotBeWritten) {
  int sealed = ::memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(sealed, 4096), 0);
  ASSERT_EQ(::fcntl(sealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
  EXPECT_TRUE(SharedMemory::import(UniqueFd(sealed))->read_only());
  const Ref<SharedMemory> memory = SharedMemory::allocate(4096);
  const int reader = ::open(("/proc/self/fd/" + std::to_string(memory->borrow_fd())).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  const Ref<SharedMemory> read_only = SharedMemory::import(UniqueFd(reader));
  EXPECT_FALSE(Tensor({element::u8, {16}, {}}, read_only).is_writable());
}

TEST(SharedMemory, NamesTheCallWhenDescriptorsAreUsedUp) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{static_cast<rlim_t>(::open("/dev/null", O_RDONLY | O_CLOEXEC)), limit.rlim_max};
  ::close(static_cast<int>(none.rlim_cur));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Error error = error_of([] { SharedMemory::allocate(4096); });
  ::setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(error.code(), Code::kResourceExhausted);
  EXPECT_EQ(error.native_api(), "memfd_create");
  EXPECT_EQ(error.native_code(), EMFILE);
}

TEST(SharedMemory, NamesTheCallAndLeaksNothingWhenItCannotBeMapped) {
  const std::size_t before = open_descriptors();
  const Error error = error_of([] { SharedMemory::allocate(std::size_t{1} << 60); });
  EXPECT_EQ(error.code(), Code::kResourceExhausted);
  EXPECT_TRUE(error.native_api() == "ftruncate" || error.native_api() == "mmap") << error.what();
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(error_of([] { SharedMemory::allocate(0); }).code(), Code::kInvalidArgument);
}

}  // namespace shared_memory_test
