// SPDX-License-Identifier: Apache-2.0
// Memory for other processes: seals, descriptors, and the way of memory that has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/ipc/ipc.hpp>

namespace tenon::ipc {
namespace memory_test {

using ::testing::HasSubstr;

UniqueFd memfd(std::size_t size, int seals) {
  UniqueFd made(::memfd_create("tenon-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(made.get(), static_cast<off_t>(size)), 0);
  if (seals) {
    EXPECT_EQ(::fcntl(made.get(), F_ADD_SEALS, seals), 0);
  }
  return made;
}

Code code_of_import(UniqueFd fd, std::size_t size, std::string* message = nullptr) {
  const int number = fd.get();
  try {
    (void)IpcMemory::import(context(), std::move(fd), size);
  } catch (const Error& error) {
    EXPECT_EQ(fd.get(), number) << "a failed import must leave the descriptor to the caller";
    if (message) *message = error.what();
    return error.code();
  }
  return Code::kOk;
}

TEST(IpcMemory, CannotBeShrunkUnderAReader) {
  const Ref<IpcMemory> memory = IpcMemory::allocate(context(), 8192);
  EXPECT_NE(::ftruncate(memory->borrow_fd(), 0), 0) << "the next read would be a SIGBUS";
  std::string message;
  EXPECT_EQ(code_of_import(memfd(4096, 0), 4096, &message), Code::kInvalidArgument);
  EXPECT_THAT(message, HasSubstr("F_SEAL_SHRINK"));
  EXPECT_EQ(code_of_import(memfd(4096, F_SEAL_SHRINK), 4096), Code::kOk);
}

TEST(IpcMemory, RefusesWhatIsNoMemory) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  EXPECT_EQ(code_of_import(UniqueFd(ends[1]), 16), Code::kInvalidArgument);
  EXPECT_EQ(code_of_import(UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), 16), Code::kInvalidArgument);
  EXPECT_EQ(code_of_import(UniqueFd(), 16), Code::kInvalidArgument);
  EXPECT_EQ(code_of_import(memfd(4096, F_SEAL_SHRINK), 4097), Code::kOutOfRange);
  EXPECT_EQ(code_of_import(memfd(0, F_SEAL_SHRINK), 0), Code::kOutOfRange);
}

TEST(IpcMemory, IsSealedAgainstWritingByReaders) {
  const Tensor tensor({element::u8, {4096}, {}}, context()->allocate([] {
    Requirements wanted;
    wanted.size_bytes = 4096;
    return wanted;
  }()));
  seal_for_readers(tensor);
  seal_for_readers(tensor);  // Again: nothing to do.
  const Ref<IpcMemory> reader = IpcMemory::import(context(), UniqueFd::duplicate(fd(tensor)), 4096);
  EXPECT_TRUE(reader->read_only());
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd(tensor), 0), MAP_FAILED);
  static_cast<char*>(tensor.data())[7] = 'x';  // The producer's own mapping stays writable, and readers see it.
  EXPECT_EQ(static_cast<const char*>(reader->host())[7], 'x');
  EXPECT_FALSE(Tensor({element::u8, {16}, {}}, Ref<Memory>(reader)).is_writable());
}

TEST(IpcMemory, IsReachedInPlaceFromMemoryWithADescriptor) {
  Router router;
  router.add(context());
  router.add(dmabuf::context());
  router.add(host_context());
  Ledger ledger;
  MapOptions require;
  require.ledger = &ledger;
  require.policy = ZeroCopy::kRequire;
  const Tensor shared({element::u8, {1000}, {}}, cpu::SharedMemory::allocate(4096));
  const Tensor buffer({element::u8, {1000}, {}}, dmabuf::allocate(4096));
  for (const Tensor& tensor : {shared, buffer}) {
    const Tensor mapped = router.map(tensor, context(), require);
    EXPECT_EQ(mapped.memory(), tensor.memory());
    EXPECT_EQ(fd(mapped), tensor.memory()->borrow_fd());
  }
  EXPECT_EQ(ledger.total().copied, 0u);
  const Tensor plain(element::u8, {1000});
  try {
    (void)router.map(plain, context(), require);
    FAIL() << "it has no descriptor";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_THAT(error.what(), HasSubstr("cpu->ipc"));
  }
  require.policy = ZeroCopy::kPrefer;
  EXPECT_NE(router.map(plain, context(), require).memory(), plain.memory());
  EXPECT_EQ(ledger.total().copied, 1000u);
  EXPECT_THROW((void)fd(plain), Error);
}

}  // namespace memory_test
}  // namespace tenon::ipc
