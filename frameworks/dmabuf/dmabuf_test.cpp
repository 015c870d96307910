// SPDX-License-Identifier: Apache-2.0
// Dma-bufs and stand-ins: allocation, import and its refusals, bracketed CPU access, sharing a memfd.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tenon/frameworks/dmabuf/testing/dmabuf.hpp>

#include <atomic>
#include <thread>

#include <sys/socket.h>
#include <sys/wait.h>

#if __has_include(<linux/dma-buf.h>)
#include <linux/dma-buf.h>
#endif
#if __has_include(<linux/dma-heap.h>)
#include <linux/dma-heap.h>
#endif
#if __has_include(<linux/udmabuf.h>)
#include <linux/udmabuf.h>
#endif
#if __has_include(<linux/sync_file.h>)
#include <linux/sync_file.h>
#endif

#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>

#include <tenon/tests/support/in_threads.hpp>

namespace dmabuf_dmabuf_test {

using namespace tenon;
using namespace tenon::dmabuf::test;
using dmabuf::Allocator;
using dmabuf::CpuAccess;
using dmabuf::DmabufMemory;
using dmabuf::UniqueFd;
using ::testing::HasSubstr;

constexpr const char* kStart = "ioctl(DMA_BUF_IOCTL_SYNC start)";
constexpr const char* kEnd = "ioctl(DMA_BUF_IOCTL_SYNC end)";

TEST(DmabufAbi, IsTheKernelHeaders) {
#ifdef DMA_BUF_IOCTL_SYNC
  EXPECT_EQ(dmabuf::native::kIoctlSync, static_cast<unsigned long>(DMA_BUF_IOCTL_SYNC));
  EXPECT_EQ(dmabuf::native::kSyncWrite, static_cast<std::uint64_t>(DMA_BUF_SYNC_WRITE));
  EXPECT_EQ(dmabuf::native::kSyncEnd, static_cast<std::uint64_t>(DMA_BUF_SYNC_END));
#endif
#ifdef DMA_BUF_IOCTL_EXPORT_SYNC_FILE
  EXPECT_EQ(dmabuf::native::kIoctlExportSyncFile, static_cast<unsigned long>(DMA_BUF_IOCTL_EXPORT_SYNC_FILE));
  EXPECT_EQ(dmabuf::native::kIoctlImportSyncFile, static_cast<unsigned long>(DMA_BUF_IOCTL_IMPORT_SYNC_FILE));
#endif
#ifdef DMA_HEAP_IOCTL_ALLOC
  EXPECT_EQ(dmabuf::native::kIoctlHeapAllocate, static_cast<unsigned long>(DMA_HEAP_IOCTL_ALLOC));
#endif
#ifdef UDMABUF_CREATE
  EXPECT_EQ(dmabuf::native::kIoctlUdmabufCreate, static_cast<unsigned long>(UDMABUF_CREATE));
#endif
#ifdef SYNC_IOC_FILE_INFO
  EXPECT_EQ(dmabuf::native::kIoctlSyncFileInfo, static_cast<unsigned long>(SYNC_IOC_FILE_INFO));
  EXPECT_EQ(dmabuf::native::kIoctlSyncMerge, static_cast<unsigned long>(SYNC_IOC_MERGE));
#endif
}

using DmabufAllocation = NothingLeaks;

TEST_F(DmabufAllocation, IsZeroedInWholePagesAndKnownByInode) {
  for (const Allocator& allocator : dmabuf::allocators()) {
    SCOPED_TRACE(allocator.name());
    const Ref<Memory> memory = dmabuf::allocate(allocator, 5000);
    EXPECT_EQ(memory->size_bytes(), 8192u);
    EXPECT_EQ(memory->kind(), dmabuf::kDmabufMemory);
    EXPECT_EQ(memory->identity().kind, MemoryIdentity::Kind::kInode);
    EXPECT_EQ(memory->fd_kind(), allocator.kind == Allocator::Kind::kStandIn ? FdKind::kMemfd : FdKind::kDmabuf);
    EXPECT_FALSE(memory->read_only());
    EXPECT_EQ(memory->host(), nullptr) << "the CPU must go through a bracket";
    EXPECT_NE(::fcntl(memory->borrow_fd(), F_GETFD) & FD_CLOEXEC, 0);
    CpuAccess access(Tensor({element::u8, {8192}, {}}, memory), Access::kRead);
    const auto* bytes = static_cast<const std::uint8_t*>(access.data());
    EXPECT_EQ(std::count(bytes, bytes + 8192, 0), 8192);
    EXPECT_FALSE(memory->identity() == dmabuf::allocate(allocator, 5000)->identity());
  }
}

TEST_F(DmabufAllocation, StandInIsLabelled) {
  EXPECT_EQ(dmabuf::allocators().back().kind, Allocator::Kind::kStandIn);
  const bool real = !real_allocators().empty();
  EXPECT_EQ(dmabuf::context()->name(), real ? "dmabuf" : "dmabuf (memfd stand-in)");
  const Tensor stand_in({element::u8, {16}, {}}, dmabuf::allocate({Allocator::Kind::kStandIn, {}}, 16));
  EXPECT_TRUE(dmabuf::is_stand_in(stand_in));
  for (const Allocator& allocator : real_allocators())
    EXPECT_FALSE(dmabuf::is_stand_in(Tensor({element::u8, {16}, {}}, dmabuf::allocate(allocator, 16))))
        << allocator.name();
}

TEST_F(DmabufAllocation, OfADmabufIsUnavailableWhereThereIsOnlyTheStandIn) {
  Requirements wanted;
  wanted.size_bytes = 4096;
  wanted.fd = FdKind::kDmabuf;
  if (!real_allocators().empty()) {
    EXPECT_EQ(dmabuf::context()->allocate(wanted)->fd_kind(), FdKind::kDmabuf);
    return;
  }
  const Error error = error_of([&] { dmabuf::context()->allocate(wanted); });
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.what(), HasSubstr("/dev/udmabuf"));
  EXPECT_THAT(error.what(), HasSubstr("/dev/dma_heap"));
}

TEST_F(DmabufAllocation, RefusesAbsurdSizesAndAlignments) {
  for (const Allocator& allocator : dmabuf::allocators()) {
    EXPECT_EQ(error_of([&] { dmabuf::allocate(allocator, 0); }).code(), Code::kInvalidArgument);
    EXPECT_EQ(error_of([&] { dmabuf::allocate(allocator, std::size_t{1} << 63); }).code(), Code::kInvalidArgument);
    // The stand-in's file may be that large while untouched; a mapping may not.
    const Error huge = error_of([&] {
      const Ref<Memory> memory = dmabuf::allocate(allocator, std::size_t{1} << 61);
      CpuAccess(Tensor({element::u8, {1}, {}}, memory), Access::kRead);
    });
    EXPECT_TRUE(huge.code() == Code::kResourceExhausted || !huge.native_api().empty()) << huge.what();
  }
  Requirements wanted;
  wanted.size_bytes = 1;
  wanted.alignment = 1 << 20;
  EXPECT_EQ(error_of([&] { dmabuf::context()->allocate(wanted); }).code(), Code::kUnimplemented);
  const Error missing = error_of([] { dmabuf::allocate({Allocator::Kind::kHeap, "/dev/dma_heap/no such heap"}, 1); });
  EXPECT_EQ(missing.code(), Code::kUnavailable);
  EXPECT_THAT(missing.what(), HasSubstr("no such heap"));
}

TEST_F(DmabufAllocation, IsMappedOnlyWhenHostAccessIsAskedFor) {
  Requirements wanted;
  wanted.size_bytes = 4096;
  wanted.host_access = true;
  const Ref<Memory> memory = dmabuf::context()->allocate(wanted);
  ASSERT_NE(memory->host(), nullptr);
  const Tensor tensor({element::u8, {4096}, {}}, memory);
  CpuAccess access(tensor, Access::kReadWrite);
  static_cast<std::uint8_t*>(memory->host())[4095] = 9;
  EXPECT_EQ(static_cast<std::uint8_t*>(access.data())[4095], 9);
}

class DmabufImport : public NothingLeaks {
 protected:
  /// A refused import leaves the descriptor open; the caller still owns it.
  static Error refusal_of(int number, std::size_t size = 0) {
    UniqueFd fd(number);
    const std::size_t before = open_descriptors();
    Error error = error_of([&] { dmabuf::import(std::move(fd), size); });
    EXPECT_EQ(fd.get(), number) << "a failed import took the descriptor";
    EXPECT_EQ(open_descriptors(), before);
    return error;
  }
};

TEST_F(DmabufImport, SharesWithItsExportAndHasTheSameIdentity) {
  for (const Allocator& allocator : dmabuf::allocators()) {
    SCOPED_TRACE(allocator.name());
    const Ref<Memory> memory = dmabuf::allocate(allocator, 4096);
    const Tensor tensor({element::u8, {4096}, {}}, memory);
    UniqueFd fd = dmabuf::export_fd(tensor);
    EXPECT_NE(fd.get(), memory->borrow_fd());
    const Ref<DmabufMemory> again = dmabuf::import(std::move(fd), 4096);
    EXPECT_FALSE(fd) << "a successful import owns the descriptor";
    EXPECT_EQ(again->identity(), memory->identity());
    EXPECT_EQ(again->fd_kind(), memory->fd_kind());
    std::vector<std::byte> bytes(4096, std::byte{0x5a}), seen(4096);
    dmabuf::context()->write(tensor, bytes);
    dmabuf::context()->read(Tensor({element::u8, {4096}, {}}, again), seen);
    EXPECT_EQ(seen, bytes);
  }
}

TEST_F(DmabufImport, IsSeenByAnotherProcess) {
  const Tensor tensor({element::u8, {4096}, {}}, dmabuf::allocate(4096));
  const pid_t child = ::fork();
  if (child == 0) {
    CpuAccess access(tensor, Access::kReadWrite);
    static_cast<std::uint8_t*>(access.data())[100] = 77;
    access.end();
    ::_exit(0);
  }
  ASSERT_GT(child, 0);
  ::waitpid(child, nullptr, 0);
  CpuAccess access(tensor, Access::kRead);
  EXPECT_EQ(static_cast<std::uint8_t*>(access.data())[100], 77);
}

TEST_F(DmabufImport, RefusesClosedDescriptors) {
  UniqueFd none;
  EXPECT_THAT(error_of([&] { dmabuf::import(std::move(none)); }).what(), HasSubstr("not open"));
  const int closed = ::dup(0);
  ::close(closed);
  UniqueFd gone(closed);
  const Error error = error_of([&] { dmabuf::import(std::move(gone)); });
  EXPECT_EQ(gone.release(), closed);
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.what(), HasSubstr(std::to_string(closed)));
}

TEST_F(DmabufImport, RefusesWhatIsNotMemory) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  UniqueFd other_end(pipe[1]);
  EXPECT_THAT(refusal_of(pipe[0]).what(), HasSubstr("a pipe"));
  EXPECT_THAT(refusal_of(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)).what(), HasSubstr("a socket"));
  EXPECT_THAT(refusal_of(::open("/", O_RDONLY | O_CLOEXEC)).what(), HasSubstr("a directory"));
  EXPECT_THAT(refusal_of(::open("/dev/null", O_RDWR | O_CLOEXEC)).what(), HasSubstr("a character device"));
  EXPECT_EQ(refusal_of(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal_of(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)).code(), Code::kInvalidArgument);
}

TEST_F(DmabufImport, RefusesMemfdsThatCanShrink) {
  const int unsealed = ::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(unsealed, 4096), 0);
  EXPECT_THAT(refusal_of(unsealed).what(), HasSubstr("F_SEAL_SHRINK"));
}

TEST_F(DmabufImport, RefusesWhatIsTooSmallAndSaysHowMuchThereIs) {
  for (const Allocator& allocator : dmabuf::allocators()) {
    const Ref<Memory> memory = dmabuf::allocate(allocator, 4096);
    const Error error = refusal_of(UniqueFd::duplicate(memory->borrow_fd()).release(), 8192);
    EXPECT_EQ(error.code(), Code::kOutOfRange);
    EXPECT_THAT(error.what(), HasSubstr("4096"));
    EXPECT_THAT(error.what(), HasSubstr("8192"));
  }
}

TEST_F(DmabufImport, OfAReadOnlyMemfdCannotBeWritten) {
  const int sealed = ::memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(sealed, 4096), 0);
  ASSERT_EQ(::fcntl(sealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
  const Tensor tensor({element::u8, {16}, {}}, dmabuf::import(UniqueFd(sealed)));
  EXPECT_FALSE(tensor.is_writable());
  EXPECT_EQ(error_of([&] { CpuAccess(tensor, Access::kReadWrite); }).code(), Code::kPermissionDenied);
  Router router;
  router.add(dmabuf::context());
  EXPECT_EQ(error_of([&] { router.map(tensor, host_context(), Access::kReadWrite); }).code(), Code::kPermissionDenied);
  EXPECT_EQ(router.map(tensor, host_context(), Access::kRead).data<std::uint8_t>()[15], 0);
}

TEST_F(DmabufImport, EachCallThatFailsIsNamedAndLeavesTheDescriptor) {
  const Ref<Memory> memory = dmabuf::allocate(4096);
  for (const char* call : {"fstat", "ioctl(DMA_BUF_IOCTL_SYNC)"}) {
    Faults faults;
    Faults::give(call, EIO);
    const Error error = refusal_of(UniqueFd::duplicate(memory->borrow_fd()).release());
    EXPECT_EQ(error.native_api(), call);
    EXPECT_EQ(error.native_code(), EIO);
  }
}

TEST_F(DmabufImport, CacheGivesOneMemoryPerDmabufWhateverTheNumber) {
  const Ref<Memory> a = dmabuf::allocate(4096), b = dmabuf::allocate(4096), c = dmabuf::allocate(4096);
  dmabuf::ImportCache cache(2);
  const Ref<Memory> first = cache.import(a->borrow_fd());
  const UniqueFd other_number = UniqueFd::duplicate(a->borrow_fd());
  EXPECT_EQ(cache.import(other_number.get()), first);
  UniqueFd reused = UniqueFd::duplicate(a->borrow_fd());
  const int number = reused.get();
  EXPECT_EQ(cache.import(number), first);
  reused.reset();
  UniqueFd same_number(::fcntl(b->borrow_fd(), F_DUPFD_CLOEXEC, number));
  ASSERT_EQ(same_number.get(), number);
  EXPECT_EQ(cache.import(number)->identity(), b->identity()) << "the number was believed";
  cache.import(c->borrow_fd());
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_NE(cache.import(a->borrow_fd()), first) << "the one asked for longest ago goes first";
  EXPECT_EQ(error_of([&] { cache.import(-1); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(cache.size(), 2u);
}

/// Every kind of memory that this machine can make, with brackets counted.
class DmabufCpuAccess : public NothingLeaks {
 protected:
  Router router;
  void SetUp() override {
    router.add(host_context());
    router.add(dmabuf::context());
  }
  static Tensor make(const Allocator& allocator) {
    return Tensor({element::u8, {4096}, {}}, dmabuf::allocate(allocator, 4096));
  }
};

TEST_F(DmabufCpuAccess, IsBracketedOncePerMapAndMappedOnce) {
  for (const Allocator& allocator : dmabuf::allocators()) {
    SCOPED_TRACE(allocator.name());
    const int brackets = allocator.kind == Allocator::Kind::kStandIn ? 0 : 1;
    const Tensor tensor = make(allocator);
    Faults faults;
    const void* host = nullptr;
    for (int round = 1; round <= 5; ++round) {
      Tensor mapped = router.map(tensor, host_context(), Access::kReadWrite);
      if (!host) host = mapped.data();
      EXPECT_EQ(mapped.data(), host);
      EXPECT_EQ(Faults::count(kStart), brackets * round);
      EXPECT_EQ(Faults::count(kEnd), brackets * (round - 1)) << "the access ended under the tensor";
      const Tensor copy = mapped;
      mapped = {};
      EXPECT_EQ(Faults::count(kEnd), brackets * (round - 1)) << "the access ended under a copy";
    }
    EXPECT_EQ(Faults::count(kEnd), 5 * brackets);
    EXPECT_EQ(Faults::count("mmap"), 1);
  }
}

TEST_F(DmabufCpuAccess, OfAFrameIsOneBracketForAllPlanes) {
  for (const Allocator& allocator : dmabuf::allocators()) {
    SCOPED_TRACE(allocator.name());
    const FrameInfo info{kNv12, 64, 48};
    const Frame frame = Frame::over(info, dmabuf::allocate(allocator, Frame::size_bytes_for(info, {})), {});
    Faults faults;
    Frame mapped = router.map(frame, host_context(), Access::kReadWrite);
    const int brackets = allocator.kind == Allocator::Kind::kStandIn ? 0 : 1;
    EXPECT_EQ(Faults::count(kStart), brackets);
    EXPECT_EQ(static_cast<std::byte*>(mapped.plane(1).data()) - static_cast<std::byte*>(mapped.plane(0).data()),
              64 * 48);
    Tensor chroma = mapped.plane(1);
    mapped = {};
    EXPECT_EQ(Faults::count(kEnd), 0);
    chroma = {};
    EXPECT_EQ(Faults::count(kEnd), brackets);
  }
}

TEST_F(DmabufCpuAccess, IsBracketedThroughOtherFrameworksViewsOfTheMapping) {
  // A framework that wraps host memory leaves a standing view; over a dma-buf that must not skip the bracket.
  struct Wrapping final : ContextImpl {
    struct Wrap final : Edge {
      std::string_view name() const override { return "cpu->wrapping"; }
      MemoryKind from() const override { return kCpuMemory; }
      MemoryKind to() const override { return MemoryKind("wrapping"); }
      Step step(const Description& from, const Context& to, Access) const override {
        Reached reached{from, false, 1, 0};
        reached.result.context = to;
        reached.result.kind = this->to();
        return reached;
      }
      Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
        const View* view = source.memory()->find_view(*to, this->to(), options.access);
        if (!view) {
          auto made = std::make_unique<View>(to, this->to(), Access::kReadWrite, source.view()->host());
          made->set_standing(id());
          view = &source.memory()->add_view(std::move(made));
        }
        return source.through(view);
      }
    };
    std::string_view name() const override { return "wrapping"; }
    MemoryKind kind() const override { return MemoryKind("wrapping"); }
    std::span<const Edge* const> edges() const override {
      static const Wrap edge;
      static const Edge* const edges[] = {&edge};
      return edges;
    }
  };
  const Context wrapping{make_ref<Wrapping>()};
  router.add(wrapping);
  for (const Allocator& allocator : dmabuf::allocators()) {
    SCOPED_TRACE(allocator.name());
    const Tensor tensor = make(allocator);
    Faults faults;
    for (int round = 0; round < 4; ++round) EXPECT_EQ(router.map(tensor, wrapping, Access::kRead).context(), wrapping);
    EXPECT_EQ(Faults::count(kStart), allocator.kind == Allocator::Kind::kStandIn ? 0 : 4);
    EXPECT_EQ(Faults::count(kEnd), Faults::count(kStart));
  }
}

TEST_F(DmabufCpuAccess, RepeatsCallsThatASignalInterrupted) {
  if (real_allocators().empty()) GTEST_SKIP() << "no dma-bufs on this machine: only stand-ins, which need no bracket";
  const Tensor tensor = make(real_allocators().front());
  for (int error : {EINTR, EAGAIN}) {
    for (const char* call : {kStart, kEnd, "poll"}) {
      Faults faults;
      Faults::give(call, error, 3);
      { const Tensor mapped = router.map(tensor, host_context(), Access::kReadWrite); }
      EXPECT_GE(Faults::count(call), 4) << call;
      EXPECT_EQ(Faults::count(kStart) - Faults::count(kEnd), std::string(call) == kStart ? 3
                                                             : std::string(call) == kEnd ? -3
                                                                                         : 0);
    }
  }
  EXPECT_TRUE(tensor.memory()->pending(Access::kReadWrite).empty());
}

TEST_F(DmabufCpuAccess, GivesUpAtTheDeadlineWhenTheKernelNeverStopsAsking) {
  if (real_allocators().empty()) GTEST_SKIP() << "no dma-bufs on this machine: only stand-ins, which need no bracket";
  const Tensor tensor = make(real_allocators().front());
  Faults faults;
  Faults::give(kStart, EAGAIN, 1 << 30);
  MapOptions options;
  options.deadline = Clock::now() + std::chrono::milliseconds(20);
  EXPECT_EQ(error_of([&] { router.map(tensor, host_context(), options); }).code(), Code::kDeadlineExceeded);
}

TEST_F(DmabufCpuAccess, TellsTheNextWhoWaitsWhenItsEndFailed) {
  if (real_allocators().empty()) GTEST_SKIP() << "no dma-bufs on this machine: only stand-ins, which need no bracket";
  const Tensor tensor = make(real_allocators().front());
  {
    Faults faults;
    Faults::give(kEnd, EIO);
    { const Tensor mapped = router.map(tensor, host_context(), Access::kReadWrite); }
    const Error error = error_of([&] { router.map(tensor, host_context(), Access::kRead); });
    EXPECT_EQ(error.code(), Code::kDataLoss);
    EXPECT_EQ(error.native_code(), EIO);
  }
  tensor.memory()->hazards().wrote(TimelinePoint::ready());  // Written again.
  EXPECT_NO_THROW(router.map(tensor, host_context(), Access::kRead));
  Faults faults;
  Faults::give(kEnd, EIO);
  CpuAccess access(tensor, Access::kReadWrite);
  EXPECT_EQ(error_of([&] { access.end(); }).code(), Code::kDataLoss);
  EXPECT_EQ(error_of([&] { access.tensor(); }).code(), Code::kFailedPrecondition);
  EXPECT_NO_THROW(access.end());
}

TEST_F(DmabufCpuAccess, KeepsThePoolSlotUntilItEnds) {
  cpu::Pool pool(dmabuf::context()->requirements(), 1, [](const Requirements&) { return dmabuf::allocate(4096); });
  for (int round = 0; round < 3; ++round) {
    Tensor tensor = pool.acquire_tensor({element::u8, {4096}, {}});
    Tensor mapped = router.map(tensor, host_context(), Access::kReadWrite);
    tensor = {};
    EXPECT_FALSE(pool.try_acquire()) << "the buffer went back while the CPU writes it";
    Tensor back = router.map(mapped, dmabuf::context(), Access::kRead);
    EXPECT_EQ(back.kind(), dmabuf::kDmabufMemory);
    mapped = {};
    EXPECT_FALSE(pool.try_acquire());
    back = {};
    EXPECT_TRUE(pool.try_acquire());
  }
}

TEST_F(DmabufCpuAccess, EndsWhenTheTensorGoesBackToItsContext) {
  if (real_allocators().empty()) GTEST_SKIP() << "no dma-bufs on this machine: only stand-ins, which need no bracket";
  const Tensor tensor = make(real_allocators().front());
  Faults faults;
  Tensor mapped = router.map(tensor, host_context(), Access::kReadWrite);
  const Tensor back = router.map(mapped, dmabuf::context(), Access::kRead);
  EXPECT_EQ(Faults::count(kEnd), 0);
  mapped = {};
  EXPECT_EQ(Faults::count(kEnd), 1) << "a device's tensor holds the access of the CPU";
  EXPECT_EQ(dmabuf::fd(back), dmabuf::fd(tensor));
}

TEST_F(DmabufCpuAccess, FromManyThreadsEndsAsOftenAsItBegan) {
  const Tensor tensor = make(dmabuf::allocators().front());
  std::atomic<int> wrong{0};
  tenon::testing::in_threads(8, [&](int t) {
    for (int i = 0; i < 200; ++i) {
      const Tensor mapped = router.map(tensor, host_context(), Access::kReadWrite);
      std::atomic_ref<std::uint8_t> byte(mapped.data<std::uint8_t>()[t]);
      byte = static_cast<std::uint8_t>(i);
      if (byte != static_cast<std::uint8_t>(i)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(tensor.memory().get()->ref_count(), 1u) << "a lease still holds the memory";
}

using CpuToDmabuf = DmabufCpuAccess;

TEST_F(CpuToDmabuf, SharesAMemfdAndSaysWhenItIsNoDmabuf) {
  const Tensor host({element::u8, {4096}, {}}, cpu::SharedMemory::allocate(4096));
  MapOptions options;
  options.access = Access::kReadWrite;
  options.policy = ZeroCopy::kRequire;
  const Tensor mapped = router.map(host, dmabuf::context(), options);
  EXPECT_EQ(mapped.memory(), host.memory());
  EXPECT_EQ(dmabuf::is_stand_in(mapped), !dmabuf::detail::has_udmabuf());
  EXPECT_EQ(dmabuf::detail::is_dmabuf(dmabuf::fd(mapped)), dmabuf::detail::has_udmabuf());
  const std::vector<std::byte> bytes(4096, std::byte{0x3c});
  dmabuf::context()->write(mapped, bytes);
  EXPECT_EQ(host.data<std::uint8_t>()[4095], 0x3c);
  host.data<std::uint8_t>()[0] = 0x11;
  std::vector<std::byte> seen(4096);
  dmabuf::context()->read(mapped, seen);
  EXPECT_EQ(seen[0], std::byte{0x11});
  EXPECT_EQ(router.map(host, dmabuf::context(), options).view(), mapped.view()) << "made a second time";
}

TEST_F(CpuToDmabuf, CopiesPlainMemoryAndRefusesThatUnderRequire) {
  const Tensor host(element::f32, {33, 7});
  for (std::size_t i = 0; i < 33 * 7; ++i) host.data<float>()[i] = static_cast<float>(i);
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const Tensor mapped = router.map(host, dmabuf::context(), options);
  EXPECT_EQ(ledger.total().copied, host.size_bytes());
  const Tensor back = router.map(mapped, host_context(), Access::kRead);
  EXPECT_EQ(back.data<float>()[33 * 7 - 1], 33 * 7 - 1);
  options.policy = ZeroCopy::kRequire;
  EXPECT_EQ(error_of([&] { router.map(host, dmabuf::context(), options); }).code(), Code::kFailedPrecondition);
}

TEST_F(CpuToDmabuf, OfAMemfdThatIsNotWholePagesGoesByACopyWhereUdmabufWantsPages) {
  const int memfd = ::memfd_create("odd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(memfd, 5000), 0);
  ASSERT_EQ(::fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const Tensor host({element::u8, {5000}, {}}, cpu::SharedMemory::import(UniqueFd(memfd)));
  host.data<std::uint8_t>()[4999] = 5;
  const Tensor mapped = router.map(host, dmabuf::context(), Access::kRead);
  EXPECT_EQ(mapped.memory() == host.memory(), !dmabuf::detail::has_udmabuf());
  std::vector<std::byte> seen(5000);
  dmabuf::context()->read(mapped, seen);
  EXPECT_EQ(seen[4999], std::byte{5});
}

TEST_F(CpuToDmabuf, SaysWhyUdmabufRefuses) {
  if (!dmabuf::detail::has_udmabuf()) GTEST_SKIP() << "no /dev/udmabuf on this machine";
  const int sealed = ::memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(sealed, 4096), 0);
  ASSERT_EQ(::fcntl(sealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
  const Tensor host({element::u8, {4096}, {}}, cpu::SharedMemory::import(UniqueFd(sealed)));
  const Error error = error_of([&] { router.map(host, dmabuf::context(), Access::kRead); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_EQ(error.native_api(), "ioctl(UDMABUF_CREATE)");
  EXPECT_THAT(error.what(), HasSubstr("sealed"));
}

TEST(DmabufTensor, OfAnotherFrameworkHasNoDescriptor) {
  EXPECT_THAT(error_of([] { dmabuf::fd(Tensor(element::u8, {4})); }).what(), HasSubstr("not a dma-buf"));
  EXPECT_EQ(error_of([] { dmabuf::fd(Tensor()); }).code(), Code::kInvalidArgument);
}

}  // namespace dmabuf_dmabuf_test
