// SPDX-License-Identifier: Apache-2.0
// Timeline semaphores as points: maps, submissions and other APIs wait for each other; semaphores and sync files by descriptor.
#include <tenon/frameworks/vulkan/testing/vulkan.hpp>

#include <chrono>
#include <thread>

#include <tenon/core/timeline.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon::vulkan {
namespace sync_test {

using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;

MapOptions until(Clock::duration left) {
  MapOptions options;
  options.deadline = Clock::now() + left;
  return options;
}

class VulkanPending : public VulkanFixture {
 protected:
  void SetUp() override {
    VulkanFixture::SetUp();
    if (IsSkipped()) return;
    held = std::make_unique<HeldWork>(context);
    tensor = allocate(context, MemoryType::kDevice, bytes_info(4096));
    write(tensor, counted(4096, 0));
  }
  void TearDown() override {
    tensor = {};
    held.reset();
    VulkanFixture::TearDown();
  }
  /// Fills the tensor when it is let go.
  void write_late() {
    held->fill(tensor, 0x32323232);
    wrote(tensor, held->semaphore(), 1);
  }
  std::unique_ptr<HeldWork> held;
  Tensor tensor;
  const std::vector<std::uint8_t> filled = std::vector<std::uint8_t>(4096, 0x32);
};

TEST_F(VulkanPending, AMapWaitsForTheSubmissionThatWrites) {
  write_late();
  EXPECT_THAT(error_of([&] { router->map(tensor, host_context(), until(milliseconds(5))); }, Code::kDeadlineExceeded),
              HasSubstr("vkWaitSemaphores"));
  std::thread later = tenon_test::once_this_thread_sleeps([&] { held->let_go(); });
  Ledger ledger;
  MapOptions options = until(std::chrono::seconds(10));
  options.ledger = &ledger;
  EXPECT_EQ(bytes_of(router->map(tensor, host_context(), options)), filled);
  EXPECT_EQ(ledger.total().waits, 1u);
  later.join();
}

/// A driver need not survive that a semaphore is asked for its value which is gone.
TEST_F(VulkanPending, ASemaphoreMayGoWhenItsPointWasSeenAsReached) {
  write_late();
  held->let_go();
  EXPECT_EQ(bytes_of(tensor), filled);
  held.reset();
  EXPECT_EQ(bytes_of(tensor), filled);
}

TEST_F(VulkanPending, MapsIntoVulkanDoNotWait) {
  write_late();
  Ledger ledger;
  MapOptions options = until(milliseconds(0));
  options.ledger = &ledger;
  const Tensor mapped = router->map(tensor, vulkan::wrap(handles(context)), options);
  EXPECT_EQ(ledger.total().waits, 0u);
  held->let_go();
  EXPECT_EQ(bytes_of(mapped), filled);
}

TEST_F(VulkanPending, ASubmissionWaitsForAnotherAndForAnotherApi) {
  const auto producer = make_ref<HostTimeline>("another API");
  const TimelinePoint done = producer->next();
  tensor.memory()->hazards().wrote(done, written_bytes(tensor));
  WaitList list = waits(tensor, Access::kReadWrite);
  EXPECT_EQ(list.size(), 1u);
  held->fill(tensor, 0x32323232, std::move(list));
  wrote(tensor, held->semaphore(), 1);
  held->let_go();
  std::this_thread::sleep_for(milliseconds(3));
  EXPECT_EQ(point(context, held->semaphore(), 1).state(), PointState::kPending) << "it did not wait for the other API";
  WaitList both = waits(tensor, Access::kReadWrite);
  EXPECT_EQ(both.size(), 2u);
  producer->advance(done.value());
  point(context, held->semaphore(), 1).wait();
  EXPECT_EQ(bytes_of(tensor), filled);
  EXPECT_EQ(waits(tensor, Access::kReadWrite).size(), 0u);
  std::move(both).until(TimelinePoint::ready());
}

TEST_F(VulkanPending, TheQueueIsAStream) {
  const auto producer = make_ref<HostTimeline>("another API");
  const TimelinePoint done = producer->next();
  const Ref<Stream> queue = stream(context);
  EXPECT_TRUE(queue->wait_for(done));
  const TimelinePoint after = queue->signal();
  std::this_thread::sleep_for(milliseconds(3));
  EXPECT_EQ(after.state(), PointState::kPending) << "the queue did not wait";
  producer->advance(done.value());
  after.wait();
  EXPECT_TRUE(queue->wait_for(TimelinePoint::ready()));
}

TEST_F(VulkanPending, AFailedProducerIsHeard) {
  const auto producer = make_ref<HostTimeline>("another API");
  const TimelinePoint done = producer->next();
  tensor.memory()->hazards().wrote(done, written_bytes(tensor));
  producer->fail(done.value(), std::make_exception_ptr(Error(Code::kDataLoss, "the producer failed")));
  EXPECT_THAT(error_of([&] { waits(tensor, Access::kRead); }, Code::kDataLoss), HasSubstr("the producer failed"));
}

TEST_F(VulkanPending, MemoryIsFreedWhenNothingRunsOnIt) {
  drain_deferred(default_deadline());
  const std::size_t before = client::Probe::handles;
  {
    const Tensor used = allocate(context, MemoryType::kDevice, bytes_info(4096));
    held->fill(used, 1);
    wrote(used, held->semaphore(), 1);
  }
  EXPECT_FALSE(drain_deferred(Clock::now() + milliseconds(2))) << "freed while a submission writes it";
  held->let_go();
  EXPECT_TRUE(drain_deferred(default_deadline()));
  EXPECT_EQ(client::Probe::handles, before);
}

TEST_F(VulkanPending, ReadersAreWaitedForByWriters) {
  held->fill(tensor, 5);  // Stands for a reader.
  reads(tensor, held->semaphore(), 1);
  EXPECT_EQ(tensor.memory()->pending(Access::kRead).size(), 0u);
  EXPECT_EQ(tensor.memory()->pending(Access::kWrite).size(), 1u);
  held->let_go();
  point(context, held->semaphore(), 1).wait();
  EXPECT_EQ(tensor.memory()->pending(Access::kWrite).size(), 0u);
  EXPECT_THAT(error_of([&] { point(context, VK_NULL_HANDLE, 1); }, Code::kInvalidArgument),
              HasSubstr("null VkSemaphore"));
  EXPECT_THAT(error_of([&] { wrote(Tensor(element::u8, {4}), held->semaphore(), 1); }, Code::kInvalidArgument),
              HasSubstr("not a context of vulkan"));
  EXPECT_THAT(error_of([&] { wrote(Tensor(), held->semaphore(), 1); }, Code::kInvalidArgument),
              HasSubstr("a null context"));
}

TEST_F(VulkanPending, ATimelineIsSharedByItsDescriptor) {
  if (!detail::shares_timelines(context.as<BufferContext>()->native(), true)) {
    EXPECT_THAT(error_of([&] { Semaphore::make(context); }, Code::kUnimplemented),
                HasSubstr("VK_KHR_external_semaphore_fd"));
    GTEST_SKIP() << "no timelines by descriptor";
  }
  const Semaphore own = Semaphore::make(context, 3);
  const Context other = make_context();
  const Semaphore theirs = Semaphore::import(other, own.export_fd());
  EXPECT_EQ(theirs.point(3).state(), PointState::kReached);
  EXPECT_EQ(theirs.point(4).state(), PointState::kPending);
  own.signal(4);
  theirs.point(4).wait();
  own.wait(7);
  const TimelinePoint after = stream(context)->signal();
  std::this_thread::sleep_for(milliseconds(2));
  EXPECT_EQ(after.state(), PointState::kPending);
  theirs.signal(7);
  after.wait();
  EXPECT_THAT(error_of([&] { Semaphore::import(context, UniqueFd()); }, Code::kInvalidArgument),
              HasSubstr("no descriptor"));
}

TEST_F(VulkanPending, SyncFilesPassBothWays) {
  if (!detail::shares_sync_files(context.as<BufferContext>()->native(), true)) {
    EXPECT_THAT(error_of([&] { export_sync_file(context); }, Code::kUnimplemented),
                AnyOf(HasSubstr("VK_KHR_external_semaphore_fd"), HasSubstr("exports no sync files")));
    EXPECT_THAT(error_of([&] { wait_for_sync_file(context, UniqueFd()); }, Code::kUnimplemented),
                HasSubstr("imports no sync files"));
    GTEST_SKIP() << "no sync files";
  }
  write(tensor, counted(4096, 1));
  UniqueFd file = export_sync_file(context);
  wait_for_sync_file(context, std::move(file));
  stream(context)->signal().wait();
}

}  // namespace sync_test
}  // namespace tenon::vulkan
