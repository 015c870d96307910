// SPDX-License-Identifier: Apache-2.0
// Work in streams as points: maps, kernels and other APIs wait for it, in streams where they can.
#include <tenon/frameworks/cuda/testing/cuda.hpp>

#include <chrono>
#include <thread>

#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cuda/allocator.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon::cuda {
namespace cuda_pending_test {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

MapOptions until(Clock::duration left, Access access = Access::kRead) {
  MapOptions options;
  options.access = access;
  options.deadline = Clock::now() + left;
  return options;
}

class CudaPending : public CudaFixture {
 protected:
  void SetUp() override {
    CudaFixture::SetUp();
    if (IsSkipped()) return;
    held = std::make_unique<HeldStream>(context);
    tensor = allocate(context, MemoryType::kDevice, bytes_info(4096));
    source = allocate(context, MemoryType::kHost, bytes_info(4096));
    write(tensor, counted(4096, 0));
    write(source, counted(4096, 50));
  }
  void TearDown() override {
    tensor = source = {};
    held.reset();
    CudaFixture::TearDown();
  }
  /// A copy into the tensor that starts when the stream is let go.
  void write_late() {
    held->hold();
    held->copy(pointer(tensor), pointer(source), 4096);
    wrote(tensor, held->get());
  }
  void drop_idle() {
    drain_deferred(default_deadline());
    context.as<CudaContext>()->native().drop_idle();
  }
  std::unique_ptr<HeldStream> held;
  Tensor tensor, source;
};

TEST_F(CudaPending, WhoReadsWaitsForTheStreamThatWrites) {
  write_late();
  EXPECT_THAT(error_of([&] { router->map(tensor, host_context(), until(milliseconds(5))); }, Code::kDeadlineExceeded),
              HasSubstr("cuEventQuery"));
  std::thread later = tenon_test::once_this_thread_sleeps([&] { held->let_go(); });
  Ledger ledger;
  MapOptions options = until(std::chrono::seconds(10));
  options.ledger = &ledger;
  EXPECT_EQ(bytes_of(router->map(tensor, host_context(), options)), counted(4096, 50));
  EXPECT_EQ(ledger.total().waits, 1u);
  later.join();
}

TEST_F(CudaPending, MapsIntoCudaDoNotWait) {
  write_late();
  Ledger ledger;
  MapOptions options = until(milliseconds(0));
  options.ledger = &ledger;
  const Context same = cuda::wrap(handle(context));
  const Tensor mapped = router->map(tensor, same, options);
  EXPECT_EQ(ledger.total().waits, 0u);
  held->let_go();
  EXPECT_EQ(bytes_of(mapped), counted(4096, 50));
}

TEST_F(CudaPending, AStreamWaitsForAnotherStream) {
  write_late();
  HeldStream reader(context);
  const Tensor target = allocate(context, MemoryType::kHost, bytes_info(4096));
  write(target, counted(4096, 99));
  order(tensor, Access::kRead, reader.get());
  reader.copy(pointer(target), pointer(tensor), 4096);
  wrote(target, reader.get());
  reads(tensor, reader.get());
  std::this_thread::sleep_for(milliseconds(3));
  EXPECT_NE(target.data<std::uint8_t>()[0], 50) << "the reader did not wait";
  held->let_go();
  EXPECT_EQ(bytes_of(router->map(target, host_context())), counted(4096, 50));
}

TEST_F(CudaPending, AStreamWaitsForAnotherApi) {
  const auto producer = make_ref<HostTimeline>("another API");
  const TimelinePoint done = producer->next();
  tensor.memory()->hazards().wrote(done, written_bytes(tensor));
  HeldStream reader(context);
  const Tensor target = allocate(context, MemoryType::kHost, bytes_info(4096));
  write(target, counted(4096, 99));
  MapOptions options = until(milliseconds(0));
  options.stream = nullptr;
  const Ref<Stream> as_stream = stream(context, reader.get());
  options.stream = as_stream.get();
  const Context same = cuda::wrap(handle(context));
  const Tensor mapped = router->map(tensor, same, options);
  reader.copy(pointer(target), pointer(mapped), 4096);
  const TimelinePoint copied = as_stream->signal();
  std::this_thread::sleep_for(milliseconds(3));
  EXPECT_EQ(copied.state(), PointState::kPending) << "the stream did not wait";
  producer->advance(done.value());
  copied.wait();
  EXPECT_EQ(bytes_of(target), counted(4096, 0));
}

TEST_F(CudaPending, MoreWaitsThanWordsAreWaitedForByTheHost) {
  HeldStream reader(context);
  reader.hold();
  std::vector<Ref<HostTimeline>> producers;
  const Ref<Stream> as_stream = stream(context, reader.get());
  std::size_t taken = 0;
  for (; taken < 400; ++taken) {
    producers.push_back(make_ref<HostTimeline>("another API"));
    if (!as_stream->wait_for(producers.back()->next())) break;
  }
  EXPECT_EQ(taken, detail::WordShelf::kWords);
  for (const auto& producer : producers) producer->advance(1);
  reader.let_go();
  as_stream->signal().wait();
  EXPECT_TRUE(drain_deferred(default_deadline()));
  const auto producer = make_ref<HostTimeline>("another API");
  EXPECT_TRUE(as_stream->wait_for(producer->next())) << "words come back";
  producer->advance(1);
  as_stream->signal().wait();
}

TEST_F(CudaPending, AFailedProducerIsHeard) {
  const auto producer = make_ref<HostTimeline>("another API");
  const TimelinePoint done = producer->next();
  tensor.memory()->hazards().wrote(done, written_bytes(tensor));
  producer->fail(done.value(), std::make_exception_ptr(Error(Code::kDataLoss, "the producer failed")));
  EXPECT_THAT(error_of([&] { order(tensor, Access::kRead, held->get()); }, Code::kDataLoss),
              HasSubstr("the producer failed"));
}

TEST_F(CudaPending, MemoryIsFreedWhenNothingRunsOnIt) {
  drop_idle();
  const std::size_t before = client::Probe::handles;
  {
    const Tensor used = allocate(context, MemoryType::kDevice, bytes_info(4096));
    held->hold();
    held->copy(pointer(used), pointer(source), 4096);
    wrote(used, held->get());
  }
  EXPECT_FALSE(drain_deferred(Clock::now() + milliseconds(2))) << "freed while a stream writes it";
  held->let_go();
  EXPECT_TRUE(drain_deferred(default_deadline()));
  drop_idle();
  EXPECT_EQ(client::Probe::handles, before);
}

TEST_F(CudaPending, AUsersEventIsAPoint) {
  abi::Event event = nullptr;
  const client::Current current(handle(context));
  ASSERT_EQ(client::driver().cuEventCreate(&event, abi::kEventDisableTiming), abi::kSuccess);
  held->hold();
  ASSERT_EQ(client::driver().cuEventRecord(event, held->get()), abi::kSuccess);
  const TimelinePoint reached = point(context, event);
  EXPECT_EQ(reached.state(), PointState::kPending);
  reads(tensor, event);
  EXPECT_EQ(tensor.memory()->pending(Access::kWrite).size(), 1u);
  held->let_go();
  reached.wait();
  EXPECT_EQ(tensor.memory()->pending(Access::kWrite).size(), 0u);
  client::driver().cuEventDestroy(event);
  EXPECT_EQ(reached.state(), PointState::kReached) << "a reached point needs its event no more";
  EXPECT_THAT(error_of([&] { point(context, nullptr); }, Code::kInvalidArgument), HasSubstr("null CUevent"));
}

TEST_F(CudaPending, ThePluggableAllocatorGivesOutExportedMemory) {
  if (!device(context).exports_fd) GTEST_SKIP() << "the device exports none";
  void* const data = pluggable_malloc(1000, 0, nullptr);
  ASSERT_NE(data, nullptr);
  {
    const Tensor made = wrap(context, data, bytes_info(1000));
    EXPECT_TRUE(made.memory()->fd_kind() == FdKind::kCudaFd);
    held->hold();
    held->copy(pointer(made), pointer(source), 1000);
  }
  pluggable_free(data, 1000, 0, held->get());
  EXPECT_FALSE(drain_deferred(Clock::now() + milliseconds(2))) << "freed while a stream writes it";
  held->let_go();
  EXPECT_TRUE(drain_deferred(default_deadline()));
  pluggable_free(data, 1000, 0, held->get());
  EXPECT_EQ(pluggable_malloc(1000, 99, nullptr), nullptr);
  contexts()[0].as<CudaContext>()->native().drop_idle();
}

TEST_F(CudaPending, StreamsOfOtherContextsAreRefused) {
  if (contexts().size() < 2) GTEST_SKIP() << "the driver has one device";
  const HeldStream other(contexts()[1]);
  EXPECT_THAT(error_of([&] { wrote(tensor, other.get()); }, Code::kInvalidArgument), HasSubstr("another CUcontext"));
  EXPECT_THAT(error_of([&] { order(tensor, Access::kRead, other.get()); }, Code::kInvalidArgument),
              HasSubstr("another CUcontext"));
}

}  // namespace cuda_pending_test
}  // namespace tenon::cuda
