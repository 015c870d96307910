// SPDX-License-Identifier: Apache-2.0
// Kernels that are still running when their memory is mapped, handed to another queue, or dropped.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/host.hpp>

#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/frameworks/opencl/testing/opencl.hpp>
#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::opencl {
namespace opencl_pending_test {

using std::chrono::milliseconds;
using ::testing::Each;

class PendingTest : public OpenclFixture {
 protected:
  Tensor allocated(std::size_t size, std::uint8_t value) {
    Requirements wanted;
    wanted.size_bytes = size;
    wanted.alignment = 4096;
    Tensor made({element::u8, {size}, {}}, context->allocate(wanted));
    context->write(made, std::vector<std::byte>(size, std::byte{value}));
    return made;
  }
  static Tensor on_host(std::size_t size, std::uint8_t value) {
    Tensor made({element::u8, {size}, {}}, HostMemory::allocate(size, 4096));
    std::memset(made.data(), value, size);
    return made;
  }
  bool shares_host() const { return coherency(context) != Coherency::kCopied; }
  /// The host's where the device shares it, else the device's.
  Tensor shared(std::size_t size, std::uint8_t value) {
    return shares_host() ? on_host(size, value) : allocated(size, value);
  }
  /// Opens `gate` after a moment.
  static std::thread opening(cl_event gate) {
    return std::thread([gate] {
      std::this_thread::sleep_for(milliseconds(20));
      clSetUserEventStatus(gate, CL_COMPLETE);
    });
  }
  Released<cl_command_queue> another_queue() {
    return Released<cl_command_queue>(new_queue(handle(context), device(context).id));
  }
  Released<cl_event> add_one_in(cl_command_queue in, const Tensor& tensor, std::size_t offset, std::size_t size,
                                const cl_event* after, cl_uint after_count) {
    const Released<cl_kernel> kernel(add_kernel());
    const cl_mem memory = buffer(tensor);
    const cl_ulong from = offset;
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof memory, &memory), CL_SUCCESS);
    EXPECT_EQ(clSetKernelArg(kernel, 1, sizeof from, &from), CL_SUCCESS);
    cl_event event = nullptr;
    EXPECT_EQ(clEnqueueNDRangeKernel(in, kernel, 1, nullptr, &size, nullptr, after_count, after, &event), CL_SUCCESS);
    clFlush(in);
    return Released<cl_event>(event);
  }
};

TEST_F(PendingTest, EveryMapToTheHostSeesWhatTheKernelWrote) {
  for (const Tensor& home : {shared(4096, 1), allocated(4096, 1)}) {
    for (int round = 0; round < 5; ++round) {
      const Tensor mapped = router.map(home, context, Access::kReadWrite);
      const auto gate = user_event();
      wrote(mapped, add_one(buffer(mapped), 0, 4096, {gate}));
      std::thread opener = opening(gate);
      const Tensor host = router.map(mapped, host_context());
      EXPECT_EQ(host.data<std::uint8_t>()[4095], 2 + round) << home.context()->name() << ", round " << round;
      opener.join();
      const auto again = user_event();
      reads(mapped, again);  // A reader does not keep others from reading.
      EXPECT_EQ(router.map(home, host_context()).data<std::uint8_t>()[0], 2 + round);
      clSetUserEventStatus(again, CL_COMPLETE);
    }
  }
}

TEST_F(PendingTest, TwoQueuesThatWriteHalvesAreBothWaitedFor) {
  const Tensor memory = allocated(4096, 1);
  const auto second_queue = another_queue();
  const auto gate = user_event();
  const auto slow = add_one(buffer(memory), 0, 2048, {gate});
  wrote(memory.slice({0}, {2048}), slow);
  wrote(memory.slice({2048}, {4096}), add_one_in(second_queue, memory, 2048, 2048, nullptr, 0));
  clFlush(queue(context));
  std::thread opener = opening(gate);
  const Tensor host = router.map(memory, host_context());
  EXPECT_EQ(host.data<std::uint8_t>()[0], 2);
  EXPECT_EQ(host.data<std::uint8_t>()[4095], 2);
  opener.join();
}

TEST_F(PendingTest, ABufferThatIsWrappedTwiceIsWaitedForThroughBoth) {
  const auto mine = user_buffer(4096);
  const TensorInfo info{element::u8, {4096}, {}};
  const Tensor first = wrap(context, mine, info), second = wrap(context, mine, info);
  context->write(first, std::vector<std::byte>(4096, std::byte{1}));
  const auto gate = user_event();
  wrote(first, add_one(mine, 0, 4096, {gate}));
  clFlush(queue(context));
  std::thread opener = opening(gate);
  EXPECT_THAT(bytes_of(second), Each(2));
  opener.join();
}

TEST_F(PendingTest, AnotherQueueWaitsInsteadOfTheHost) {
  const Tensor memory = allocated(4096, 1);
  const auto second_queue = another_queue();
  const auto gate = user_event();
  wrote(memory, add_one(buffer(memory), 0, 4096, {gate}));
  reads(memory, gate);
  const std::uint64_t waits = Ledger::process().total().waits;
  const WaitList list = wait_list(memory, Access::kReadWrite);
  EXPECT_EQ(list.size(), 2u) << "the writer and the reader";
  wrote(memory, add_one_in(second_queue, memory, 0, 4096, list.data(), list.size()));
  EXPECT_EQ(Ledger::process().total().waits, waits) << "the host has waited";
  clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_THAT(bytes_of(memory), Each(3));
}

TEST_F(PendingTest, AStreamWaitsForWhatIsMapped) {
  const Tensor memory = shared(4096, 1);
  const Context other = wrap(handle(context), another_queue());
  router.add(other);
  const auto gate = user_event();
  const Tensor mapped = router.map(memory, context, Access::kReadWrite);
  wrote(mapped, add_one(buffer(mapped), 0, 4096, {gate}));
  const Ref<Stream> its_queue = stream(other);
  MapOptions options;
  options.access = Access::kReadWrite;
  options.stream = its_queue.get();
  options.deadline = Clock::now();
  const Tensor there = router.map(memory, other, options);
  add_one_in(queue(other), there, 0, 4096, nullptr, 0);  // Without a wait list: its queue waits.
  there.memory()->hazards().wrote(its_queue->signal());
  clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(router.map(memory, host_context()).data<std::uint8_t>()[77], 3);
}

TEST_F(PendingTest, CommandsWaitForPointsOfOtherApis) {
  if (!shares_host()) GTEST_SKIP() << "the producer is the host, with which this device shares no memory";
  const Tensor memory = on_host(4096, 1);
  const auto producer = make_ref<HostTimeline>("a producer");
  for (std::uint8_t round = 0; round < 20; ++round) {
    const TimelinePoint written = producer->next();
    memory.memory()->hazards().wrote(written);
    MapOptions options;
    options.access = Access::kReadWrite;
    options.deadline = Clock::now();
    const Tensor mapped = router.map(memory, context, options);
    const WaitList list = wait_list(mapped, Access::kReadWrite);
    ASSERT_EQ(list.size(), 1u);
    wrote(mapped, add_one_in(queue(context), mapped, 0, 4096, list.data(), list.size()));
    std::memset(memory.data(), round, 4096);  // The producer, which the kernel waits for.
    producer->advance(written.value());
    EXPECT_EQ(router.map(memory, host_context()).data<std::uint8_t>()[99], round + 1);
  }
}

TEST_F(PendingTest, AFailureOfAnotherApiReachesWhoeverMaps) {
  const Tensor memory = shared(4096, 1);
  const Tensor mapped = router.map(memory, context, Access::kReadWrite);
  const auto producer = make_ref<HostTimeline>("a producer");
  memory.memory()->hazards().wrote(producer->next());
  const WaitList list = wait_list(mapped, Access::kReadWrite);
  const auto event = add_one_in(queue(context), mapped, 0, 4096, list.data(), list.size());
  wrote(mapped, event);
  producer->fail(1, std::make_exception_ptr(Error(Code::kDataLoss, "the decoder failed")));
  const Error heard = error_of([&] { router.map(memory, host_context()); });
  EXPECT_STREQ(heard.what(), "the decoder failed") << "the first cause";
  // PoCL fails the command; Intel's CPU runtime runs it all the same, so what it says is not asked.
  while (point(event).state() == PointState::kPending) std::this_thread::sleep_for(milliseconds(1));
  wrote(mapped, add_one(buffer(mapped), 0, 4096));
  EXPECT_NO_THROW(router.map(memory, host_context())) << "written again";
}

TEST_F(PendingTest, MemoryThatAKernelStillWritesIsNotFreed) {
  if (!shares_host()) GTEST_SKIP() << "this device shares no host memory";
  std::atomic<bool> freed{false};
  const auto gate = user_event();
  std::vector<std::byte> bytes(8192 + 4096);
  auto* const page =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(bytes.data()) + 4095) / 4096 * 4096);
  {
    const Tensor home({element::u8, {8192}, {}}, HostMemory::borrow(page, 8192, false, [&] { freed = true; }));
    const Tensor mapped = router.map(home, context, Access::kReadWrite);
    wrote(mapped, add_one(buffer(mapped), 0, 8192, {gate}));
    clFlush(queue(context));
  }
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_FALSE(freed) << "the kernel has not even begun";
  clSetUserEventStatus(gate, CL_COMPLETE);
  for (int i = 0; i < 60000 && !freed; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(freed);
  EXPECT_EQ(page[8191], std::byte{1});
}

/// A context tests whether the device shares its memory. A command that is under way when that fails writes no memory that was freed: the
/// layer of the tests has a driver whose copies are late.
TEST_F(PendingTest, AContextThatFailsLeavesNoCommandOverFreedMemory) {
  constexpr std::size_t kPage = 4096, kBytes = 4 * kPage;
  const cl_device_id id = device(context).id;
  bool fails = true;
  for (int call = 1; fails; ++call) {
    detail::Probe::failed = false;
    detail::Probe::countdown = call;
    try {
      make_context(id);
    } catch (const Error&) {
    }
    detail::Probe::countdown = 0;
    fails = detail::Probe::failed;
    // What was freed is found again, and watched until all copies have run.
    std::vector<std::unique_ptr<detail::HostBlock>> found;
    for (int i = 0; i < 8; ++i) {
      found.push_back(std::make_unique<detail::HostBlock>(kBytes, 2 * kPage));
      std::memset(found.back()->data(), 0x5a, kBytes);
    }
    std::this_thread::sleep_for(milliseconds(10));
    for (const auto& block : found)
      ASSERT_TRUE(std::all_of(block->data(), block->data() + kBytes, [](std::byte b) { return b == std::byte{0x5a}; }))
          << "after call " << call << " failed";
  }
}

/// The layer of the tests ends the process if an event is left that is never set.
TEST_F(PendingTest, WhicheverCallFailsEveryUserEventIsSet) {
  const Tensor tensor = allocated(4096, 1);
  const Ref<HostTimeline> host = make_ref<HostTimeline>();
  const auto work = [&] {
    const TimelinePoint later = host->next();
    tensor.memory()->hazards().wrote(later);
    struct Reached {
      HostTimeline& timeline;
      std::uint64_t value;
      ~Reached() { timeline.advance(value); }
    } const reached{*host, later.value()};
    return wait_list(tensor, Access::kReadWrite).size();
  };
  testing::fail_each_call<detail::Probe>("CL_OUT_OF_RESOURCES", work, [](cl_uint size) { EXPECT_EQ(size, 1u); });
  EXPECT_TRUE(drain_deferred(default_deadline()));
}

}  // namespace opencl_pending_test
}  // namespace tenon::opencl
