// SPDX-License-Identifier: Apache-2.0
// Fences: sync files imported and exported, waits with deadlines, and work that failed.
#include <fcntl.h>
#include <unistd.h>

#include <tenon/frameworks/dmabuf/testing/dmabuf.hpp>

#include <cstring>
#include <thread>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/pool.hpp>

#include <tenon/frameworks/dmabuf/testing/vgem.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace sync_test {

using namespace tenon;
using namespace tenon::dmabuf::test;
using dmabuf::UniqueFd;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

class SyncFile : public NothingLeaks {
 protected:
  static Error refusal_of(int number) {
    UniqueFd fd(number);
    Error error = error_of([&] { dmabuf::import_sync_file(std::move(fd)); });
    EXPECT_EQ(fd.get(), number) << "a failed import took the descriptor";
    if (number < 0 || ::fcntl(number, F_GETFD) < 0) (void)fd.release();
    return error;
  }
};

TEST_F(SyncFile, ImportRefusesWhatIsNone) {
  EXPECT_THAT(refusal_of(-1).what(), HasSubstr("not open"));
  EXPECT_EQ(refusal_of(::open("/dev/null", O_RDONLY | O_CLOEXEC)).code(), Code::kInvalidArgument);
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  UniqueFd other_end(pipe[1]);
  EXPECT_THAT(refusal_of(pipe[0]).what(), HasSubstr("not a sync file"));
  const Ref<Memory> memory = dmabuf::allocate(4096);
  EXPECT_EQ(refusal_of(UniqueFd::duplicate(memory->borrow_fd()).release()).native_api(), "ioctl(SYNC_IOC_FILE_INFO)");
}

TEST_F(SyncFile, OfAStandInIsNothingToWaitFor) {
  const Ref<Memory> memory = dmabuf::allocate({dmabuf::Allocator::Kind::kStandIn, {}}, 4096);
  EXPECT_EQ(dmabuf::export_sync_file(memory->borrow_fd(), Access::kReadWrite), TimelinePoint::ready());
  EXPECT_EQ(error_of([] { dmabuf::export_sync_file(-1, Access::kRead); }).code(), Code::kInvalidArgument);
  EXPECT_NO_THROW(dmabuf::attach_sync_file(memory->borrow_fd(), TimelinePoint::ready(), Access::kWrite));
}

TEST_F(SyncFile, AttachTakesOnlyFencesOfTheKernel) {
  const Ref<Memory> memory = dmabuf::allocate(4096);
  auto timeline = make_ref<HostTimeline>();
  const Error error =
      error_of([&] { dmabuf::attach_sync_file(memory->borrow_fd(), timeline->next(), Access::kWrite); });
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_THAT(error.what(), HasSubstr("'host'"));
}

TEST_F(SyncFile, MergeTakesOnlySyncFiles) {
  auto timeline = make_ref<HostTimeline>("a camera");
  const TimelinePoint first = timeline->next(), second = timeline->next();
  const Error error = error_of([&] { dmabuf::merge_sync_files(first, second); });
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.what(), HasSubstr("a camera"));
  EXPECT_EQ(dmabuf::merge_sync_files({}, first), first);
}

TEST_F(SyncFile, OfAnIdleDmabufIsReached) {
  if (real_allocators().empty()) GTEST_SKIP() << "no dma-bufs on this machine: stand-ins have no fences";
  for (const dmabuf::Allocator& allocator : real_allocators()) {
    const Ref<Memory> memory = dmabuf::allocate(allocator, 4096);
    const TimelinePoint point = dmabuf::export_sync_file(memory->borrow_fd(), Access::kReadWrite);
    ASSERT_TRUE(point.timeline()) << allocator.name();
    EXPECT_EQ(point.state(), PointState::kReached);
    EXPECT_NO_THROW(point.wait(Clock::now() + milliseconds(100)));
    EXPECT_NO_THROW(dmabuf::attach_sync_file(memory->borrow_fd(), point, Access::kWrite));
    const Ref<Memory> stand_in = dmabuf::allocate({dmabuf::Allocator::Kind::kStandIn, {}}, 4096);
    EXPECT_THAT(error_of([&] { dmabuf::attach_sync_file(stand_in->borrow_fd(), point, Access::kWrite); }).what(),
                HasSubstr("stand-in"));
  }
}

TEST_F(SyncFile, RepeatsInterruptedCallsAndNamesThoseThatFail) {
  if (real_allocators().empty()) GTEST_SKIP() << "no dma-bufs on this machine: stand-ins have no fences";
  const Ref<Memory> memory = dmabuf::allocate(4096);
  constexpr const char* kExport = "ioctl(DMA_BUF_IOCTL_EXPORT_SYNC_FILE)";
  Faults faults;
  Faults::give(kExport, EINTR, 3);
  EXPECT_EQ(dmabuf::export_sync_file(memory->borrow_fd(), Access::kRead).state(), PointState::kReached);
  for (const char* call : {kExport, "ioctl(SYNC_IOC_FILE_INFO)"}) {
    const std::size_t before = open_descriptors();
    Faults::give(call, EIO);
    const Error error = error_of([&] { dmabuf::export_sync_file(memory->borrow_fd(), Access::kRead); });
    EXPECT_EQ(error.native_api(), call);
    EXPECT_EQ(open_descriptors(), before) << "the sync file leaked";
  }
  const TimelinePoint point = dmabuf::export_sync_file(memory->borrow_fd(), Access::kRead);
  Faults::give("ioctl(DMA_BUF_IOCTL_IMPORT_SYNC_FILE)", EIO);
  EXPECT_EQ(error_of([&] { dmabuf::attach_sync_file(memory->borrow_fd(), point, Access::kWrite); }).code(),
            Code::kInternal);
}

TEST_F(SyncFile, StatusOfTheKernelIsTheStateOfThePoint) {
  EXPECT_EQ(dmabuf::SyncFileTimeline::state_of(1), PointState::kReached);
  EXPECT_EQ(dmabuf::SyncFileTimeline::state_of(0), PointState::kPending);
  EXPECT_EQ(dmabuf::SyncFileTimeline::state_of(-EIO), PointState::kFailed);
}

/// A device that works on a buffer as long as the test wants: a fence of the vgem driver.
class BusyDmabuf : public SyncFile {
 protected:
  void SetUp() override {
    if (!dmabuf::vgem::open_card()) GTEST_SKIP() << "no vgem driver on this machine: nothing holds a fence back";
    buffer = dmabuf::vgem::allocate(4096);
    memory = dmabuf::import(UniqueFd::duplicate(buffer.fd.get()), 4096);
    fence = dmabuf::vgem::begin_write(buffer);
    router.add(host_context());
    router.add(dmabuf::context());
  }
  void TearDown() override {
    if (fence) dmabuf::vgem::end_write(buffer, fence);
    memory = {};
    buffer = {};
    SyncFile::TearDown();
  }
  Tensor tensor() const { return Tensor({element::u8, {4096}, {}}, memory); }

  dmabuf::vgem::Buffer buffer;
  Ref<Memory> memory;
  std::uint32_t fence = 0;
  Router router;
};

TEST_F(BusyDmabuf, PointIsPendingThenReached) {
  const TimelinePoint point = dmabuf::export_sync_file(memory->borrow_fd(), Access::kRead);
  EXPECT_EQ(point.state(), PointState::kPending);
  EXPECT_TRUE(point.needs_wait());
  const auto start = Clock::now();
  const Error late = error_of([&] { point.wait(start + milliseconds(50)); });
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
  EXPECT_GE(Clock::now() - start, milliseconds(50)) << "gave up early";
  ASSERT_TRUE(dmabuf::vgem::end_write(buffer, std::exchange(fence, 0)));
  EXPECT_NO_THROW(point.wait(Clock::now() + milliseconds(30000)));
  EXPECT_EQ(point.state(), PointState::kReached);
}

TEST_F(BusyDmabuf, MapWaitsForTheDeviceAndBooksIt) {
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  options.deadline = Clock::now() + milliseconds(50);
  EXPECT_EQ(error_of([&] { router.map(tensor(), host_context(), options); }).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(ledger.total().waits, 1u) << "the host waited, though in vain";
  EXPECT_EQ(error_of([&] { dmabuf::CpuAccess(tensor(), Access::kRead, Clock::now() + milliseconds(20)); }).code(),
            Code::kDeadlineExceeded);
  std::thread device = tenon_test::once_this_thread_sleeps(
      [&] { dmabuf::vgem::end_write(buffer, std::exchange(fence, 0)); }, milliseconds(100));
  options.deadline = Clock::now() + milliseconds(30000);
  const auto start = Clock::now();
  const Tensor mapped = router.map(tensor(), host_context(), options);
  EXPECT_GE(Clock::now() - start, milliseconds(80)) << "did not wait";
  device.join();
  EXPECT_EQ(ledger.total().waits, 2u);
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(BusyDmabuf, FencesThatAreNotedReachTheDmabufsThatAreHandedOut) {
  const TimelinePoint fence_of_a_device = dmabuf::export_sync_file(memory->borrow_fd(), Access::kRead);
  const auto pending = [](int fd, Access access) {
    return dmabuf::export_sync_file(fd, access).state() == PointState::kPending;
  };
  const auto bytes = [](const Ref<Memory>& of) { return Tensor({element::u8, {4096}, {}}, of); };
  const FrameInfo grey{kGray8, 64, 64};
  const std::vector<dmabuf::FramePlane> planes{{0, 0, 64}};
  const auto other = [] { return dmabuf::allocate(real_allocators().front(), 4096); };

  const Ref<Memory> imported = other();
  const std::vector<dmabuf::FrameObject> objects{{imported->borrow_fd(), 0}};
  const Frame frame = dmabuf::import_frame(grey, objects, planes, fence_of_a_device);
  EXPECT_TRUE(pending(imported->borrow_fd(), Access::kRead)) << "import_frame";

  const Ref<Memory> exported = other();
  exported->hazards().wrote(fence_of_a_device);
  EXPECT_FALSE(pending(exported->borrow_fd(), Access::kRead));
  const auto descriptor = dmabuf::export_frame(Frame(grey, {Tensor({element::u8, {64, 64}, {}}, exported)}));
  EXPECT_TRUE(pending(exported->borrow_fd(), Access::kRead)) << "export_frame";
  EXPECT_EQ(descriptor.acquire, fence_of_a_device);

  const Ref<Memory> read = other();
  read->hazards().read_until(fence_of_a_device);
  const UniqueFd fd = dmabuf::export_fd(bytes(read));
  EXPECT_FALSE(pending(fd.get(), Access::kRead)) << "a reader keeps no reader waiting";
  EXPECT_TRUE(pending(fd.get(), Access::kWrite)) << "export_fd";

  Requirements wanted;
  wanted.size_bytes = 4096;
  wanted.fd = FdKind::kMemfd;
  const std::vector<Ref<Memory>> unfinished{cpu::allocate_memory(wanted),
                                            other()};  // Freed once the fence is signalled.
  MapOptions options;
  for (const Ref<Memory>& of : unfinished) {  // A standing view is mapped without a call: the map itself waits.
    router.map(bytes(of), dmabuf::context(), Access::kRead);
    of->hazards().wrote(fence_of_a_device);
    options.deadline = Clock::now() + milliseconds(5);
    EXPECT_EQ(error_of([&] { router.map(bytes(of), dmabuf::context(), options); }).code(), Code::kDeadlineExceeded);
  }
  ASSERT_TRUE(dmabuf::vgem::end_write(buffer, std::exchange(fence, 0)));
}

TEST_F(BusyDmabuf, FencesOfSeveralObjectsAreMergedIntoOne) {
  const dmabuf::vgem::Buffer second = dmabuf::vgem::allocate(4096);
  std::uint32_t second_fence = dmabuf::vgem::begin_write(second);
  const TimelinePoint a = dmabuf::export_sync_file(memory->borrow_fd(), Access::kRead);
  const TimelinePoint b = dmabuf::export_sync_file(second.fd.get(), Access::kRead);
  const TimelinePoint both = dmabuf::merge_sync_files(a, b);
  EXPECT_EQ(dmabuf::merge_sync_files(a, a), a);
  EXPECT_EQ(dmabuf::merge_sync_files(TimelinePoint::ready(), a), a);

  const Ref<Memory> luma = dmabuf::allocate(real_allocators().front(), 4096);
  const Ref<Memory> chroma = dmabuf::allocate(real_allocators().front(), 4096);
  const std::vector<dmabuf::FrameObject> objects{{luma->borrow_fd(), 0}, {chroma->borrow_fd(), 0}};
  const std::vector<dmabuf::FramePlane> planes{{0, 0, 64}, {1, 0, 64}};
  const Frame frame = dmabuf::import_frame({kNv12, 64, 64}, objects, planes);
  frame.plane(0).memory()->hazards().wrote(a);
  frame.plane(1).memory()->hazards().wrote(b);
  const TimelinePoint acquire = dmabuf::export_frame(frame).acquire;
  EXPECT_EQ(acquire.state(), PointState::kPending);
  ASSERT_TRUE(dmabuf::vgem::end_write(buffer, std::exchange(fence, 0)));
  EXPECT_EQ(acquire.state(), PointState::kPending) << "one of two is not all";
  EXPECT_EQ(both.state(), PointState::kPending);
  ASSERT_TRUE(dmabuf::vgem::end_write(second, std::exchange(second_fence, 0)));
  EXPECT_NO_THROW(acquire.wait(Clock::now() + milliseconds(30000)));
  EXPECT_NO_THROW(both.wait(Clock::now() + milliseconds(30000)));
}

/// Hazards with points of the kernel instead of a HostTimeline's.
TEST_F(BusyDmabuf, HazardsTakeSyncFilesAsWritersAndReaders) {
  const TimelinePoint point = dmabuf::export_sync_file(memory->borrow_fd(), Access::kRead);
  const Ref<Memory> host = HostMemory::allocate(4096, 64);
  host->hazards().read_until(point);
  EXPECT_NO_THROW(host->wait_for(Access::kRead, Clock::now()));
  EXPECT_EQ(error_of([&] { host->wait_for(Access::kWrite, Clock::now() + milliseconds(5)); }).code(),
            Code::kDeadlineExceeded);
  host->hazards().wrote(point);
  EXPECT_EQ(error_of([&] { host->wait_for(Access::kRead, Clock::now() + milliseconds(5)); }).code(),
            Code::kDeadlineExceeded);
  EXPECT_TRUE(host->hazards().busy());
  std::thread device =
      tenon_test::once_this_thread_sleeps([&] { dmabuf::vgem::end_write(buffer, std::exchange(fence, 0)); });
  Ledger ledger;
  host->wait_for(Access::kReadWrite, Clock::now() + milliseconds(30000), &ledger);
  device.join();
  EXPECT_EQ(point.state(), PointState::kReached);
  EXPECT_EQ(ledger.total().waits, 1u);
  EXPECT_FALSE(host->hazards().busy());
}

TEST_F(BusyDmabuf, FenceFdOwnershipHoldsAnotherBufferBack) {
  const Ref<Memory> other = dmabuf::allocate(real_allocators().front(), 4096);
  const TimelinePoint point = dmabuf::export_sync_file(memory->borrow_fd(), Access::kRead);
  dmabuf::attach_sync_file(other->borrow_fd(), point, Access::kWrite);
  const TimelinePoint there = dmabuf::export_sync_file(other->borrow_fd(), Access::kRead);
  EXPECT_EQ(there.state(), PointState::kPending);
  ASSERT_TRUE(dmabuf::vgem::end_write(buffer, std::exchange(fence, 0)));
  EXPECT_NO_THROW(there.wait(Clock::now() + milliseconds(30000)));
}

}  // namespace sync_test
