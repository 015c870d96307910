// SPDX-License-Identifier: Apache-2.0
// Unfinished work on a memory: which uses wait for it, which get its failures, and what stays alive until its end.
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/tests/support/asleep.hpp>

#include <tenon/core/testing/allocation_count.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace hazards_test {

using namespace tenon;
using namespace std::chrono_literals;

std::exception_ptr failure(const char* what) { return std::make_exception_ptr(Error(Code::kDataLoss, what)); }

/// True if `access` would have to wait now.
bool must_wait(const Memory& memory, Access access) {
  try {
    memory.wait_for(access, Clock::now());
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDeadlineExceeded) << error.what();
    return true;
  }
}

std::string failure_of(const Memory& memory, Access access) {
  try {
    memory.wait_for(access, default_deadline());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// A point of a timeline of its own, so that nothing orders it.
struct Work {
  Ref<HostTimeline> timeline = make_ref<HostTimeline>("a device");
  TimelinePoint point = timeline->next();
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work() { finish(); }  // Otherwise the memory would never be freed.
  void finish() const { timeline->advance(1); }
  void fail(const char* what) const { timeline->fail(1, failure(what)); }
};

class HazardsTest : public ::testing::Test {
 protected:
  Tensor whole{element::u8, {64}};
  const Memory& memory = *whole.memory();
  Hazards& hazards = memory.hazards();
};

TEST_F(HazardsTest, BelongToTheMemoryNotToTheView) {
  const Tensor part = whole.slice({32}, {64});
  const Work write;
  hazards.wrote(write.point);
  EXPECT_TRUE(must_wait(*part.memory(), Access::kRead));
  write.finish();
  EXPECT_FALSE(must_wait(*part.memory(), Access::kRead));
  const Work read;
  part.memory()->hazards().read_until(read.point);
  EXPECT_FALSE(must_wait(memory, Access::kRead));
  EXPECT_TRUE(must_wait(memory, Access::kWrite));
  read.finish();
  EXPECT_FALSE(must_wait(memory, Access::kReadWrite));
  EXPECT_FALSE(hazards.has_points()) << "what is finished is forgotten";
}

TEST_F(HazardsTest, TwoWritersThatNothingOrdersAreBothWaitedFor) {
  const Work first, second;
  hazards.wrote(first.point, {0, 32, true});
  hazards.wrote(second.point, {32, 64, true});
  second.finish();
  EXPECT_TRUE(must_wait(memory, Access::kRead)) << "the first half is not written yet";
  first.finish();
  EXPECT_FALSE(must_wait(memory, Access::kRead));
}

TEST_F(HazardsTest, AWriterDoesNotEndTheReadsBeforeIt) {
  const Work read, write;
  hazards.read_until(read.point);
  hazards.wrote(write.point);
  write.finish();
  EXPECT_FALSE(must_wait(memory, Access::kRead));
  EXPECT_TRUE(must_wait(memory, Access::kWrite)) << "the reader is not done";
  read.finish();
  EXPECT_FALSE(must_wait(memory, Access::kWrite));
}

TEST_F(HazardsTest, LaterPointsOfOneTimelineStandForEarlierOnes) {
  const auto timeline = make_ref<HostTimeline>();
  for (int i = 0; i < 100; ++i) hazards.wrote(timeline->next());
  EXPECT_EQ(hazards.pending(Access::kRead).size(), 1u);
  for (int i = 0; i < 100; ++i) hazards.read_until(timeline->next());
  EXPECT_EQ(hazards.pending(Access::kWrite).size(), 2u);
  timeline->advance(200);
  EXPECT_FALSE(must_wait(memory, Access::kReadWrite));
}

TEST_F(HazardsTest, EveryReaderHearsTheFirstFailureUntilTheBytesAreWrittenAgain) {
  const Work first, second;
  hazards.wrote(first.point);
  hazards.wrote(second.point);
  first.fail("the kernel failed");
  second.fail("another failed");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(failure_of(memory, Access::kRead), "the kernel failed");
    EXPECT_EQ(failure_of(memory, Access::kReadWrite), "the kernel failed");
    EXPECT_EQ(failure_of(memory, Access::kWrite), "") << "a write does not depend on earlier contents";
  }
  hazards.wrote(TimelinePoint::ready(), {0, 32, true});
  EXPECT_EQ(failure_of(memory, Access::kRead), "the kernel failed") << "half of it is still undefined";
  hazards.wrote(TimelinePoint::ready(), {0, 64, false});
  EXPECT_EQ(failure_of(memory, Access::kRead), "the kernel failed") << "a write with gaps leaves some of it";
  hazards.wrote(TimelinePoint::ready());
  EXPECT_EQ(failure_of(memory, Access::kRead), "");
}

TEST_F(HazardsTest, TheSameStridedTensorWrittenAgainIsUsableAgain) {
  const WrittenBytes plane{4, 60, false};
  const Work broken;
  hazards.wrote(broken.point, plane);
  broken.fail("the decoder failed");
  EXPECT_NE(failure_of(memory, Access::kRead), "");
  hazards.wrote(TimelinePoint::ready(), plane);
  EXPECT_EQ(failure_of(memory, Access::kRead), "");
}

TEST_F(HazardsTest, AReadersFailureConcernsNobody) {
  const Work read;
  hazards.read_until(read.point);
  read.fail("the encoder failed");
  EXPECT_EQ(failure_of(memory, Access::kReadWrite), "");
}

TEST_F(HazardsTest, AListThatIsFullForgetsNothing) {
  std::vector<Work> writes(50), reads(50);
  for (const Work& write : writes) hazards.wrote(write.point);
  for (const Work& read : reads) hazards.read_until(read.point);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    EXPECT_TRUE(must_wait(memory, Access::kRead)) << i;
    if (i != 3) writes[i].finish();
  }
  writes[3].fail("the fourth failed");
  EXPECT_EQ(failure_of(memory, Access::kRead), "the fourth failed");
  for (const Work& read : reads) {
    EXPECT_TRUE(must_wait(memory, Access::kWrite));
    read.finish();
  }
  EXPECT_FALSE(must_wait(memory, Access::kWrite));
}

/// A producer that stays ahead of its device: work is pending all the time, and the oldest ends as new work is noted.
TEST_F(HazardsTest, WorkThatStaysPendingIsNotedWithoutAllocations) {
  constexpr std::size_t kAhead = 40;
  std::vector<Work> writes(400);
  std::size_t next = 0;
  const auto note = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, ++next) {
      if (next >= kAhead) writes[next - kAhead].finish();
      hazards.wrote(writes[next].point);
    }
  };
  note(200);
  const std::size_t before = tenon_test::allocations_of_this_thread();
  note(200);
  EXPECT_EQ(tenon_test::allocations_of_this_thread() - before, 0u);
  EXPECT_TRUE(must_wait(memory, Access::kRead));
}

/// Host memory under a handle that other contexts can wrap too.
class WrappedMemory final : public Memory {
 public:
  WrappedMemory(MemoryKind kind, MemoryIdentity::Kind identity, std::uint64_t handle)
      : Memory(host_context(), kind, properties(identity, handle)) {}

 private:
  static Properties properties(MemoryIdentity::Kind identity, std::uint64_t handle) {
    Properties made;
    made.size_bytes = 64;
    made.identity = {identity, 0, handle};
    return made;
  }
};

TEST(SharedHazards, OneAllocationThatIsWrappedTwiceHasOneState) {
  constexpr MemoryKind kOne{"test.one"}, kOther{"test.other"};
  using Kind = MemoryIdentity::Kind;
  const auto first = make_ref<WrappedMemory>(kOne, Kind::kHandle, 77),
             again = make_ref<WrappedMemory>(kOne, Kind::kHandle, 77),
             next = make_ref<WrappedMemory>(kOne, Kind::kHandle, 78),
             foreign = make_ref<WrappedMemory>(kOther, Kind::kHandle, 77);
  const Work write;
  first->hazards().wrote(write.point);
  EXPECT_TRUE(must_wait(*again, Access::kRead)) << "the same handle";
  EXPECT_FALSE(must_wait(*next, Access::kRead));
  EXPECT_FALSE(must_wait(*foreign, Access::kRead)) << "a handle of another API";
  const auto later = make_ref<WrappedMemory>(kOne, Kind::kHandle, 77);
  EXPECT_TRUE(must_wait(*later, Access::kRead)) << "wrapped while it is written";
  write.finish();
  EXPECT_FALSE(must_wait(*again, Access::kRead));
  const auto by_fd = make_ref<WrappedMemory>(kOne, Kind::kInode, 5),
             by_other = make_ref<WrappedMemory>(kOther, Kind::kInode, 5);
  EXPECT_EQ(&by_fd->hazards(), &by_other->hazards()) << "one descriptor, imported by two contexts";
}

TEST(SharedHazards, WhatRunsOnMemoryThatIsGoneIsKnownToWhoeverWrapsItAgain) {
  constexpr MemoryKind kOne{"test.one"};
  const Work write;
  make_ref<WrappedMemory>(kOne, MemoryIdentity::Kind::kHandle, 79)->hazards().wrote(write.point);
  {
    const auto again = make_ref<WrappedMemory>(kOne, MemoryIdentity::Kind::kHandle, 79);
    EXPECT_TRUE(must_wait(*again, Access::kRead));
  }
  write.finish();
  EXPECT_TRUE(drain_deferred(default_deadline()));
  const auto after = make_ref<WrappedMemory>(kOne, MemoryIdentity::Kind::kHandle, 79);
  EXPECT_FALSE(after->has_hazards()) << "nothing of the earlier one is left";
}

TEST_F(HazardsTest, WorkThatWasOrderedAtItsStartWaitsForNoOtherSuchWork) {
  class Inferences final : public HostTimeline {
   public:
    bool is_ordered_at_start() const override { return true; }
  };
  std::vector<Ref<Inferences>> requests;
  for (int i = 0; i < 20; ++i) {  // More than a list holds.
    requests.push_back(make_ref<Inferences>());
    hazards.begin(Access::kRead, requests.back()->next());
  }
  const Work kernel;
  hazards.read_until(kernel.point);
  EXPECT_TRUE(must_wait(memory, Access::kWrite));
  {
    const OrderedWork ordered;
    EXPECT_TRUE(must_wait(memory, Access::kWrite)) << "the kernel is no such work";
    kernel.finish();
    EXPECT_FALSE(must_wait(memory, Access::kWrite)) << "it would wait for those that wait for it";
  }
  EXPECT_TRUE(must_wait(memory, Access::kWrite));
  for (const auto& request : requests) request->advance(1);
  EXPECT_FALSE(must_wait(memory, Access::kWrite));
}

TEST_F(HazardsTest, CopiesWaitForBothSides) {
  Tensor target(element::u8, {64});
  const Work write, read;
  hazards.wrote(write.point);
  target.memory()->hazards().read_until(read.point);
  std::memset(target.data(), 0, 64);
  std::atomic<bool> copied{false};
  std::thread copying([&] {
    whole.copy_to(target);
    copied = true;
  });
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(copied);
  std::memset(whole.data(), 7, 64);
  write.finish();
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(copied) << "a reader still uses the target";
  read.finish();
  copying.join();
  EXPECT_EQ(static_cast<const unsigned char*>(target.data())[63], 7);
}

TEST(DeferredEnd, MemoryIsReleasedWhenItsReadersAreDone) {
  std::atomic<int> released{0};
  std::array<char, 64> bytes{};
  const Work read, write;
  {
    const Ref<HostMemory> memory = HostMemory::borrow(bytes.data(), bytes.size(), false, [&] { ++released; });
    memory->hazards().read_until(read.point);
    memory->hazards().wrote(write.point);
  }
  std::this_thread::sleep_for(3ms);
  EXPECT_EQ(released, 0);
  write.fail("a failed writer is done, too");
  std::this_thread::sleep_for(3ms);
  EXPECT_EQ(released, 0);
  read.finish();
  for (int i = 0; i < 60000 && released == 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(released, 1);
}

TEST(DeferredEnd, MemoryWithoutWorkIsReleasedAtOnce) {
  int released = 0;
  std::array<char, 64> bytes{};
  const Work done;
  {
    const Ref<HostMemory> memory = HostMemory::borrow(bytes.data(), bytes.size(), false, [&] { ++released; });
    memory->hazards().wrote(done.point);
    done.finish();
  }
  EXPECT_EQ(released, 1);
}

constexpr MemoryKind kLibrary{"test.library"}, kDevice{"test.device"};

class LibraryEdge final : public HostEdge {
 public:
  explicit LibraryEdge(MemoryKind to) : to_(to) {}
  std::string_view name() const override { return "cpu->test"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return to_; }

 private:
  MemoryKind to_;
};

class TestContext final : public ContextImpl {
 public:
  TestContext(MemoryKind kind, bool waits) : kind_(kind), waits_(waits) {}
  std::string_view name() const override { return kind_.name(); }
  MemoryKind kind() const override { return kind_; }
  bool can_wait_for(const Timeline&) const override { return waits_; }

 private:
  MemoryKind kind_;
  bool waits_;
};

class TestStream final : public Stream {
 public:
  explicit TestStream(bool takes) : takes_(takes) {}
  std::string_view name() const override { return "test"; }
  bool wait_for(const TimelinePoint& point) override {
    points.push_back(point);
    return takes_;
  }
  TimelinePoint signal() override { return {}; }
  std::vector<TimelinePoint> points;

 private:
  bool takes_;
};

class SettledMap : public HazardsTest {
 protected:
  SettledMap() {
    const std::array<const Edge*, 2> edges{&to_library, &to_device};
    router.add(edges);
  }
  MapOptions at_once() const {
    MapOptions options;
    options.deadline = Clock::now();
    return options;
  }
  const LibraryEdge to_library{kLibrary}, to_device{kDevice};
  const Context library{make_ref<TestContext>(kLibrary, false)}, device{make_ref<TestContext>(kDevice, true)};
  Router router;
};

TEST_F(SettledMap, EveryMapToTheHostWaitsAlsoOneOfAStandingView) {
  for (int round = 0; round < 3; ++round) {
    const Work write;
    hazards.wrote(write.point);
    EXPECT_THROW(router.map(whole, library, at_once()), Error) << round;
    EXPECT_THROW(to_library.map(whole, library, at_once()), Error) << "a chain built by hand, round " << round;
    EXPECT_THROW(router.map(whole, host_context(), at_once()), Error) << "where it is already, round " << round;
    write.finish();
    EXPECT_EQ(router.map(whole, library, at_once()).memory(), whole.memory());
    EXPECT_GE(memory.find_view(*library, kLibrary, Access::kRead)->standing_edge(), 0);
  }
}

TEST_F(SettledMap, AMapForWritingOnlyMakesFailedMemoryUsableAgain) {
  const Work write;
  hazards.wrote(write.point);
  write.fail("the kernel failed");
  EXPECT_NO_THROW(router.map(whole.slice({0}, {32}), library, Access::kWrite));
  EXPECT_THROW(router.map(whole, library, Access::kRead), Error) << "half of it is still undefined";
  EXPECT_NO_THROW(router.map(whole, library, Access::kWrite));
  EXPECT_NO_THROW(router.map(whole, library, Access::kRead));
}

TEST_F(SettledMap, FramesWaitToo) {
  const Frame frame = Frame::allocate({kNv12, 16, 16});
  for (int round = 0; round < 2; ++round) {
    const Work write;
    frame.plane(1).memory()->hazards().wrote(write.point);
    EXPECT_THROW(router.map(frame, library, at_once()), Error) << round;
    write.finish();
    EXPECT_NO_THROW(router.map(frame, library, at_once()));
  }
}

TEST_F(SettledMap, ADeviceThatCanWaitGetsTheMemoryAtOnce) {
  const Work write;
  hazards.wrote(write.point);
  EXPECT_NO_THROW(router.map(whole, device, at_once()));
  MapOptions ready = at_once();
  ready.host_ready = true;
  EXPECT_THROW(router.map(whole, device, ready), Error);
  write.fail("the kernel failed");
  EXPECT_THROW(router.map(whole, device, at_once()), Error) << "a failure that is known is told at once";
}

TEST_F(SettledMap, AStreamTakesThePointsItCan) {
  const Work write, read;
  hazards.wrote(write.point);
  hazards.read_until(read.point);
  TestStream takes(true), refuses(false);
  takes.add_ref(), refuses.add_ref();  // Not from the heap.
  MapOptions options = at_once();
  options.access = Access::kReadWrite;
  options.stream = &takes;
  EXPECT_NO_THROW(router.map(whole, library, options));
  EXPECT_EQ(takes.points, (std::vector{write.point, read.point}));
  options.stream = &refuses;
  EXPECT_THROW(router.map(whole, library, options), Error);
}

TEST_F(SettledMap, WaitsAreBookedWhereTheMapIsBooked) {
  const Work write;
  hazards.wrote(write.point);
  std::thread writer = tenon_test::once_this_thread_sleeps([&] { write.finish(); }, 10ms);
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const std::uint64_t before = Ledger::process().total().waits;
  router.map(whole, library, options);
  writer.join();
  EXPECT_EQ(ledger.total().waits, 1u);
  EXPECT_GE(ledger.total().wait_ns, 1'000'000u);
  EXPECT_EQ(Ledger::process().total().waits, before);
}

}  // namespace hazards_test
