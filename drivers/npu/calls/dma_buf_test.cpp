// SPDX-License-Identifier: Apache-2.0
// Imported dma-bufs: the device waits for other devices' fences, and brackets each access. A memfd emulates the
// kernel's dma-buf by the calls below, which override the C library's; the VM's tests have real ones.
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tenon/drivers/npu/testing/client.hpp>

namespace {

/// The file that counts as a dma-buf. The driver's threads read its state.
struct Fake {
  std::atomic<ino_t> inode{0};
  std::atomic<int> starts{0}, ends{0}, refused{0};
  std::atomic<std::uint64_t> flags{0};  ///< Flags of the last start.
  std::atomic<bool> fence{false};       ///< Another device uses it.
} fake;

bool is_fake(int fd) {
  struct stat status {};
  return fake.inode != 0 && ::fstat(fd, &status) == 0 && status.st_ino == fake.inode;
}

/// A separate, non-const variable: the C library declares that poll only writes its entries, and the compiler relies on
/// it.
[[gnu::noinline]] int asked_fd(void* entry) {
  int fd = -1;
  std::memcpy(&fd, static_cast<std::byte*>(entry) + offsetof(pollfd, fd), sizeof fd);
  return fd;
}

}  // namespace

extern "C" int ioctl(int fd, unsigned long request, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (request != DMA_BUF_IOCTL_SYNC || !is_fake(fd))
    return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
  const std::uint64_t flags = static_cast<dma_buf_sync*>(argument)->flags;
  if ((flags & DMA_BUF_SYNC_RW) == 0 || fake.refused > 0) {
    errno = (flags & DMA_BUF_SYNC_RW) == 0 ? EINVAL : EIO;
    return -1;
  }
  if (flags & DMA_BUF_SYNC_END) {
    ++fake.ends;
  } else {
    fake.flags = flags;
    ++fake.starts;
  }
  return 0;
}

extern "C" int poll(pollfd* entries, nfds_t count, int timeout_ms) {
  if (count == 1 && is_fake(asked_fd(entries))) {
    if (!fake.fence) return 1;
    if (timeout_ms > 0) ::usleep(static_cast<useconds_t>(timeout_ms) * 1000);
    return 0;
  }
  return static_cast<int>(::syscall(SYS_poll, entries, count, timeout_ms));
}

namespace tenon::npu::test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kLongNs = 20'000'000'000;

class NpuDmaBuf : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    fd = ::memfd_create("dma-buf", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(fd, kPage), 0);
    struct stat status {};
    ASSERT_EQ(::fstat(fd, &status), 0);
    fake.starts = fake.ends = fake.refused = 0;
    fake.fence = false;
    fake.inode = status.st_ino;
    const std::size_t before = open_descriptors();
    const ze_external_memory_import_fd_t import = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, nullptr,
                                                   ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, fd};
    buffer = allocate_host(kPage, &import);
    ASSERT_EQ(open_descriptors(), before + 1) << "it is kept for its fences, without a second one";
    host = allocate_host(kPage);
    descriptors = before;
    queue = make_queue();
    fence = make_fence(queue);
    list = make_list();
  }
  void TearDown() override {
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    if (fence) {
      EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
    }
    if (queue) {
      EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    }
    EXPECT_EQ(zeMemFree(context, buffer), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeMemFree(context, host), ZE_RESULT_SUCCESS);
    EXPECT_EQ(open_descriptors(), descriptors);
    fake.inode = 0;
    ::close(fd);
    NpuTest::TearDown();
  }
  void record_copy(void* to, const void* from) {
    ASSERT_EQ(zeCommandListReset(list), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListAppendMemoryCopy(list, to, from, 64, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  }
  ze_result_t submit() {
    EXPECT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
    return zeCommandQueueExecuteCommandLists(queue, 1, &list, fence);
  }

  int fd = -1;
  std::size_t descriptors = 0;
  void *buffer = nullptr, *host = nullptr;
  ze_command_queue_handle_t queue = nullptr;
  ze_fence_handle_t fence = nullptr;
  ze_command_list_handle_t list = nullptr;
};

TEST_F(NpuDmaBuf, EachAccessIsBracketedOnceAsItReadsOrWrites) {
  std::memset(host, 7, 64);
  record_copy(buffer, host);
  for (int run = 1; run <= 20; ++run) {  // Later runs are executed as short lists.
    ASSERT_EQ(submit(), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceHostSynchronize(fence, kLongNs), ZE_RESULT_SUCCESS);
    EXPECT_EQ(fake.starts, run);
    EXPECT_EQ(fake.ends, run);
  }
  EXPECT_EQ(fake.flags, DMA_BUF_SYNC_RW) << "bytes beside those that were written must survive";
  record_copy(host, buffer);
  ASSERT_EQ(submit(), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeFenceHostSynchronize(fence, kLongNs), ZE_RESULT_SUCCESS);
  EXPECT_EQ(fake.flags, DMA_BUF_SYNC_READ);
  EXPECT_EQ(fake.ends, 21);
  record_copy(static_cast<std::byte*>(buffer) + 1024, buffer);
  ASSERT_EQ(submit(), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeFenceHostSynchronize(fence, kLongNs), ZE_RESULT_SUCCESS);
  EXPECT_EQ(fake.starts, 22) << "both sides are one dma-buf: one bracket";
  EXPECT_EQ(fake.flags, DMA_BUF_SYNC_RW);
}

TEST_F(NpuDmaBuf, TheDeviceWaitsForAnotherAndTheCallerDoesNot) {
  record_copy(host, buffer);
  // The list is known to be short now, but it still must not block the submitting thread.
  for (int run = 0; run < 20; ++run) {
    ASSERT_EQ(submit(), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceHostSynchronize(fence, kLongNs), ZE_RESULT_SUCCESS);
  }
  fake.starts = 0;
  std::memset(host, 0, 64);
  fake.fence = true;
  ASSERT_EQ(submit(), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceHostSynchronize(fence, 30'000'000), ZE_RESULT_NOT_READY);
  EXPECT_EQ(fake.starts, 0) << "the kernel would wait in the bracket without a limit";
  std::memset(buffer, 9, 64);  // The data that the other device writes.
  fake.fence = false;
  EXPECT_EQ(zeFenceHostSynchronize(fence, kLongNs), ZE_RESULT_SUCCESS);
  EXPECT_EQ(static_cast<unsigned char*>(host)[63], 9) << "it read before the other device had written";
  EXPECT_EQ(fake.starts, 1);
}

TEST_F(NpuDmaBuf, AnAccessThatTheKernelRefusesFailsTheSubmission) {
  std::memset(host, 0, 64);
  std::memset(buffer, 5, 64);
  record_copy(host, buffer);
  fake.refused = 1;
  ASSERT_EQ(submit(), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceHostSynchronize(fence, kLongNs), ZE_RESULT_ERROR_UNKNOWN);
  EXPECT_EQ(static_cast<unsigned char*>(host)[0], 0) << "it ran without the access";
  fake.refused = 0;
  ASSERT_EQ(submit(), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceHostSynchronize(fence, kLongNs), ZE_RESULT_SUCCESS);
}

TEST_F(NpuDmaBuf, AWaitEndsWithItsQueue) {
  record_copy(host, buffer);
  fake.fence = true;
  ASSERT_EQ(submit(), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  queue = nullptr;
  EXPECT_EQ(zeFenceHostSynchronize(fence, kLongNs), ZE_RESULT_ERROR_DEVICE_LOST);
}

}  // namespace
}  // namespace tenon::npu::test
