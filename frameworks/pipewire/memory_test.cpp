// SPDX-License-Identifier: Apache-2.0
// Memory of buffers: seals, descriptors, and the way of memory that has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/pipewire/context.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::pipewire {
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

TEST(PipeWireMemory, CannotBeShrunkUnderAReader) {
  const Ref<PipeWireMemory> memory = PipeWireMemory::allocate(context(), 8192);
  EXPECT_NE(::ftruncate(memory->borrow_fd(), 0), 0) << "the next read would be a SIGBUS";
  UniqueFd unsealed = memfd(4096, 0);
  const int number = unsealed.get();
  EXPECT_THAT(
      error_of([&] { (void)PipeWireMemory::import(context(), std::move(unsealed), 4096); }, Code::kInvalidArgument),
      HasSubstr("F_SEAL_SHRINK"));
  EXPECT_EQ(unsealed.get(), number) << "a failed import leaves the descriptor to the caller";
  EXPECT_EQ(PipeWireMemory::import(context(), std::move(unsealed), 4096, 0, true, true)->size_bytes(), 4096u)
      << "a peer that is trusted";
  UniqueFd small = memfd(4096, 0);
  error_of([&] { (void)PipeWireMemory::import(context(), std::move(small), 4097, 0, true, true); }, Code::kOutOfRange);
}

TEST(PipeWireMemory, OfAPeerIsReadOnly) {
  const Ref<PipeWireMemory> memory = PipeWireMemory::allocate(context(), 4096);
  const auto peers = PipeWireMemory::import(context(), UniqueFd::duplicate(memory->borrow_fd()), 4096, 0, true);
  EXPECT_TRUE(peers->read_only());
  EXPECT_FALSE(Tensor({element::u8, {16}, {}}, Ref<Memory>(peers)).is_writable());
  static_cast<char*>(memory->host())[7] = 'x';
  EXPECT_EQ(static_cast<const char*>(peers->host())[7], 'x') << "one memory";
  Router router;
  router.add(context());
  router.add(dmabuf::context());
  MapOptions writing;
  writing.access = Access::kReadWrite;
  writing.policy = ZeroCopy::kRequire;
  EXPECT_THAT(error_of([&] {
                (void)router.map(Tensor({element::u8, {16}, {}}, Ref<Memory>(peers)), dmabuf::context(), writing);
              }).what(),
              HasSubstr("read-only"));
}

TEST(PipeWireMemory, IsReachedInPlaceFromMemoryWithADescriptor) {
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
  EXPECT_THAT(error_of([&] { (void)router.map(plain, context(), require); }, Code::kFailedPrecondition),
              HasSubstr("cpu->pipewire"));
  error_of([&] { (void)fd(plain); }, Code::kInvalidArgument);
}

}  // namespace memory_test
}  // namespace tenon::pipewire
