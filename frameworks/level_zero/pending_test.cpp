// SPDX-License-Identifier: Apache-2.0
// Work that is not finished when memory is mapped for, or handed to, a queue of Level Zero.
#include <sys/eventfd.h>

#include <chrono>
#include <list>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/cpu/eventfd.hpp>
#include <tenon/frameworks/cpu/posix/poll.hpp>
#include <tenon/frameworks/level_zero/level_zero.hpp>

#include <tenon/frameworks/level_zero/testing/level_zero.hpp>

namespace tenon::level_zero {
namespace level_zero_pending_test {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::size_t kBytes = 4096;

class LevelZeroPending : public LevelZeroFixture {
 protected:
  void SetUp() override {
    LevelZeroFixture::SetUp();
    if (!context) return;
    const Device& device = level_zero::device(context);
    auto wanted = detail::typed<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    wanted.ordinal = *device.compute_group;
    wanted.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    queue = detail::create<ze_command_queue_handle_t>("zeCommandQueueCreate", "a queue", zeCommandQueueCreate,
                                                      handle(context), device.handle, &wanted);
    immediate =
        detail::create<ze_command_list_handle_t>("zeCommandListCreateImmediate", "a list", zeCommandListCreateImmediate,
                                                 handle(context), device.handle, &wanted);
    memory = allocate(context, UsmType::kHost, bytes_info(kBytes));
    other = allocate(context, UsmType::kHost, bytes_info(kBytes));
    write(memory, std::vector<std::uint8_t>(kBytes, 1));
    write(other, std::vector<std::uint8_t>(kBytes, 0));
    waits_before = Ledger::process().total().waits;
  }
  void TearDown() override {
    memory = other = {};
    EXPECT_TRUE(drain_deferred(default_deadline()));
    events.clear();
    lists.clear();
    immediate.reset();
    queue.reset();
    LevelZeroFixture::TearDown();
  }
  std::uint64_t host_waits() const { return Ledger::process().total().waits - waits_before; }
  ze_command_list_handle_t new_list() {
    auto wanted = detail::typed<ze_command_list_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
    wanted.commandQueueGroupOrdinal = *level_zero::device(context).compute_group;
    lists.push_back(detail::create<ze_command_list_handle_t>("zeCommandListCreate", "a list", zeCommandListCreate,
                                                             handle(context), level_zero::device(context).handle,
                                                             &wanted));
    return lists.back().get();
  }
  /// A user's copy from `memory` to `other`, in his queue.
  void copy(ze_event_handle_t signal, std::uint32_t count = 0, ze_event_handle_t* before = nullptr) {
    ze_command_list_handle_t list = new_list();
    ASSERT_EQ(
        zeCommandListAppendMemoryCopy(list, usm_pointer(other), usm_pointer(memory), kBytes, signal, count, before),
        ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue.get(), 1, &list, nullptr), ZE_RESULT_SUCCESS);
  }
  /// Lives until the memory is gone.
  UserEvent& new_event() {
    make_event(events.emplace_back());
    return events.back();
  }
  static bool is_signalled(const UserEvent& user) { return zeEventQueryStatus(user.event) == ZE_RESULT_SUCCESS; }
  /// The bytes of `other`, as a map of it shows them.
  std::vector<std::uint8_t> copied() {
    const Tensor seen = router->map(other, host_context());
    return {seen.data<std::uint8_t>(), seen.data<std::uint8_t>() + kBytes};
  }

  detail::Handle<ze_command_queue_handle_t> queue;
  detail::Handle<ze_command_list_handle_t> immediate;
  std::vector<detail::Handle<ze_command_list_handle_t>> lists;
  std::list<UserEvent> events;
  Tensor memory, other;
  std::uint64_t waits_before = 0;
};

TEST_F(LevelZeroPending, CommandsWaitForPointsOfOtherApis) {
  const auto producer = make_ref<HostTimeline>("a producer");
  std::size_t handles = 0;
  for (std::uint8_t round = 0; round < 20; ++round) {
    UserEvent& done = new_event();
    const TimelinePoint written = producer->next();
    memory.memory()->hazards().wrote(written);
    const std::uint64_t waits = host_waits();
    WaitList list = wait_list(memory, Access::kRead);
    ASSERT_EQ(list.size(), 1u);
    copy(done.event, list.size(), list.data());
    wrote(other, done.event, list.owner());
    reads(memory, done.event, list.owner());
    EXPECT_FALSE(is_signalled(done)) << "round " << round;
    EXPECT_EQ(host_waits(), waits) << "the host has waited";
    std::memset(usm_pointer(memory), round, kBytes);  // The producer, which the command waits for.
    producer->advance(written.value());
    EXPECT_THAT(copied(), Each(round));
    lists.clear();
    memory.memory()->wait_for(Access::kWrite, default_deadline());
    list = {};
    EXPECT_TRUE(drain_deferred(default_deadline()));
    if (round == 0) handles = detail::Probe::handles;
    EXPECT_EQ(detail::Probe::handles, handles) << "events are made again and again, round " << round;
  }
}

TEST_F(LevelZeroPending, AMapDoesNotWaitForWhatCommandsCanWaitFor) {
  const auto producer = make_ref<HostTimeline>("a producer");
  const Context same = wrap(handle(context), level_zero::device(context).handle);
  router->add(same);
  memory.memory()->hazards().wrote(producer->next());
  MapOptions options;
  options.deadline = Clock::now();
  const Tensor mapped = router->map(memory, same, options);
  EXPECT_EQ(mapped.context(), same);
  EXPECT_FALSE(router->plan(describe(memory), same, Access::kRead, ZeroCopy::kPrefer)->host_wait());
  options.host_ready = true;
  options.deadline = Clock::now();
  EXPECT_THAT(error_of([&] { router->map(memory, same, options); }, Code::kDeadlineExceeded), HasSubstr("a producer"));
  producer->advance(1);
}

TEST_F(LevelZeroPending, StreamsWaitForWhatIsMapped) {
  for (const bool by_queue : {true, false}) {
    SCOPED_TRACE(by_queue ? "queue" : "immediate list");
    const Ref<Stream> users = by_queue ? stream(context, queue.get()) : stream(context, immediate.get());
    const Context same = wrap(handle(context), level_zero::device(context).handle);
    router->add(same);
    const auto producer = make_ref<HostTimeline>("a producer");
    UserEvent& kernel = new_event();
    wrote(memory, kernel.event);  // A user's own event, and a point of another API.
    memory.memory()->hazards().wrote(producer->next(), {0, 1});
    const std::uint64_t waits = host_waits();
    MapOptions options;
    options.stream = users.get();
    options.deadline = Clock::now();
    router->map(memory, same, options);
    if (by_queue)
      copy(nullptr);  // Without a wait list: its queue waits.
    else
      ASSERT_EQ(zeCommandListAppendMemoryCopy(immediate.get(), usm_pointer(other), usm_pointer(memory), kBytes, nullptr,
                                              0, nullptr),
                ZE_RESULT_SUCCESS);
    const TimelinePoint end = users->signal();
    other.memory()->hazards().wrote(end);
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(end.state(), PointState::kPending);
    std::memset(usm_pointer(memory), 40 + by_queue, kBytes);
    producer->advance(1);
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(end.state(), PointState::kPending) << "both must be waited for";
    EXPECT_EQ(host_waits(), waits) << "the host has waited";
    zeEventHostSignal(kernel.event);
    EXPECT_THAT(copied(), Each(40 + by_queue));
    EXPECT_EQ(memory.memory()->pending(Access::kReadWrite).size(), 0u);
    EXPECT_TRUE(drain_deferred(default_deadline())) << "what the barriers need was kept";
  }
}

TEST_F(LevelZeroPending, AStreamsEventsAreUsedAgain) {
  const Ref<Stream> users = stream(context, queue.get());
  const auto producer = make_ref<HostTimeline>("a producer");
  const std::size_t handles = detail::Probe::handles;
  for (std::uint64_t round = 1; round <= 50; ++round) {
    users->wait_for(producer->next());
    const TimelinePoint end = users->signal();
    users->signal();  // This point is not kept.
    producer->advance(round);
    end.wait();
    EXPECT_TRUE(drain_deferred(default_deadline()));
  }
  EXPECT_LE(detail::Probe::handles, handles + 17 + 3) << "one pool with its events, and a list for each barrier";
}

TEST_F(LevelZeroPending, AFailureOfAnotherApiReachesWhoeverMaps) {
  const auto producer = make_ref<HostTimeline>("a producer");
  UserEvent& done = new_event();
  memory.memory()->hazards().wrote(producer->next());
  WaitList list = wait_list(memory, Access::kReadWrite);
  copy(done.event, list.size(), list.data());
  wrote(memory, done.event, list.owner());
  producer->fail(1, std::make_exception_ptr(Error(Code::kDataLoss, "the decoder failed")));
  point(done.event).wait();  // A ze_event carries no failure: the command has run.
  EXPECT_STREQ(error_of([&] { router->map(memory, host_context()); }).what(), "the decoder failed");
  EXPECT_STREQ(error_of([&] { wait_list(memory, Access::kRead); }).what(), "the decoder failed") << "not handed on";
  const Ref<Stream> users = stream(context, queue.get());
  EXPECT_STREQ(error_of([&] { users->wait_for(TimelinePoint(producer, 1)); }).what(), "the decoder failed");
  memory.memory()->hazards().wrote(TimelinePoint::ready());
  EXPECT_NO_THROW(router->map(memory, host_context())) << "written again";
}

TEST_F(LevelZeroPending, EventsOfAListThatGoesTooEarlyAreNotUsedAgain) {
  const auto producer = make_ref<HostTimeline>("a producer");
  UserEvent& done = new_event();
  memory.memory()->hazards().wrote(producer->next());
  ze_event_handle_t dropped = nullptr;
  {
    WaitList list = wait_list(memory, Access::kRead);
    dropped = *list.data();
    copy(done.event, list.size(), list.data());
  }
  std::set<ze_event_handle_t> used;
  const auto use_many = [&] {
    const auto another = make_ref<HostTimeline>("another producer");
    other.memory()->hazards().wrote(another->next());
    std::vector<WaitList> all;
    for (int i = 0; i < 40; ++i) used.insert(*all.emplace_back(wait_list(other, Access::kRead)).data());
    another->advance(1);
    for (WaitList& list : all) ASSERT_EQ(zeEventHostSynchronize(*list.data(), 10'000'000'000), ZE_RESULT_SUCCESS);
  };
  use_many();
  EXPECT_FALSE(is_signalled(done));
  producer->advance(1);
  point(done.event).wait();  // The wait is right all the same.
  EXPECT_TRUE(drain_deferred(default_deadline()));
  use_many();
  EXPECT_LE(used.size(), 48u) << "three pools serve all";
  EXPECT_EQ(used.count(dropped), 0u) << "an event that a command may wait for was reset";
}

TEST_F(LevelZeroPending, EventFdsGateCommandsAndCommandsWriteThem) {
  cpu::UniqueFd gate(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UserEvent& done = new_event();
  memory.memory()->hazards().wrote(cpu::point_of_eventfd(gate.duplicate()));
  WaitList list = wait_list(memory, Access::kRead);
  copy(done.event, list.size(), list.data());
  wrote(other, done.event, list.owner());
  const cpu::UniqueFd end = cpu::eventfd_of(point(done.event));
  EXPECT_FALSE(cpu::poll_until(Clock::now() + milliseconds(5), end.get(), POLLIN));
  ASSERT_EQ(::eventfd_write(gate.get(), 1), 0);
  EXPECT_TRUE(cpu::poll_until(default_deadline(), end.get(), POLLIN));
  EXPECT_TRUE(is_signalled(done));
  EXPECT_EQ(host_waits(), 0u);
  EXPECT_THAT(copied(), Each(1));
}

TEST_F(LevelZeroPending, AFenceGatesCommands) {
  // A ze_fence is nothing that commands can wait for: the host hands it on.
  UserEvent &gate = new_event(), &done = new_event();
  auto wanted = detail::typed<ze_fence_desc_t>(ZE_STRUCTURE_TYPE_FENCE_DESC);
  const auto fence = detail::create<ze_fence_handle_t>("zeFenceCreate", "a fence", zeFenceCreate, queue.get(), &wanted);
  ze_command_list_handle_t list = new_list();
  ASSERT_EQ(zeCommandListAppendWaitOnEvents(list, 1, &gate.event), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue.get(), 1, &list, fence.get()), ZE_RESULT_SUCCESS);
  wrote(memory, fence.get());
  WaitList before = wait_list(memory, Access::kRead);
  ASSERT_EQ(before.size(), 1u);
  ASSERT_EQ(zeCommandListAppendMemoryCopy(immediate.get(), usm_pointer(other), usm_pointer(memory), kBytes, done.event,
                                          before.size(), before.data()),
            ZE_RESULT_SUCCESS);
  wrote(other, done.event, before.owner());
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_FALSE(is_signalled(done));
  zeEventHostSignal(gate.event);
  EXPECT_THAT(copied(), Each(1));
}

TEST_F(LevelZeroPending, EventsOfAnotherZeContextAreRefusedOrRelayed) {
  const Context elsewhere = make_context(level_zero::device(context));
  UserEvent foreign;
  make_event(foreign, elsewhere);
  UserEvent& done = new_event();
  if (usm().native().event_origin.ask(foreign.event, handle(context)) != detail::EventOrigin::Answer::kUnknown) {
    EXPECT_THAT(error_of([&] { wrote(memory, foreign.event); }, Code::kInvalidArgument),
                HasSubstr("another ze_context"));
    EXPECT_THAT(error_of([&] { reads(memory, foreign.event); }, Code::kInvalidArgument),
                HasSubstr("another ze_context"));
  }
  memory.memory()->hazards().wrote(point(foreign.event));
  WaitList list = wait_list(memory, Access::kRead);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_NE(*list.data(), foreign.event) << "commands of this ze_context cannot wait for it";
  copy(done.event, list.size(), list.data());
  wrote(other, done.event, list.owner());
  zeEventHostSignal(foreign.event);
  EXPECT_THAT(copied(), Each(1));
  memory.memory()->wait_for(Access::kRead, default_deadline());
  // One whose ze_context is the same, which the test does not say.
  UserEvent& own = new_event();
  memory.memory()->hazards().wrote(point(own.event));
  WaitList same = wait_list(memory, Access::kRead);
  if (usm().native().event_origin.ask(own.event, handle(context)) == detail::EventOrigin::Answer::kHere) {
    EXPECT_EQ(*same.data(), own.event);
  }
  zeEventHostSignal(own.event);
}

TEST_F(LevelZeroPending, AnEventThatNeverComesIsNamed) {
  UserEvent& never = new_event();
  wrote(memory, never.event);
  MapOptions options;
  options.deadline = Clock::now() + milliseconds(5);
  const Error error = error_of([&] { router->map(memory, host_context(), options); });
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(error.what(), HasSubstr("level_zero.event, which a device's command or the host is to signal"));
  zeEventHostSignal(never.event);
  EXPECT_NO_THROW(router->map(memory, host_context()));
}

TEST_F(LevelZeroPending, APoolThatIsDestroyedWithAPointPendingIsHeardOf) {
  if (drivers().size() > 1) GTEST_SKIP() << "with several drivers the loader's own objects are destroyed: it crashes";
  UserEvent& early = new_event();
  wrote(memory, early.event);
  early.destroy();  // Against the rules. The software driver knows its handles; others may crash.
  const Error error = error_of([&] { router->map(memory, host_context()); });
  EXPECT_FALSE(error.native_api().empty()) << error.what();
  EXPECT_NE(error.code(), Code::kDeadlineExceeded) << error.what();
  memory.memory()->hazards().wrote(TimelinePoint::ready());
  EXPECT_NO_THROW(router->map(memory, host_context())) << "written again";
}

TEST_F(LevelZeroPending, WhatIsNoEventOrFenceOrQueueIsRefused) {
  EXPECT_EQ(error_of([&] { wrote(memory, ze_event_handle_t{}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { reads(memory, ze_fence_handle_t{}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { point(ze_fence_handle_t{}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { wait_list(Tensor(element::u8, {4}), Access::kRead); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { stream(context, ze_command_queue_handle_t{}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { stream(context, ze_command_list_handle_t{}); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { stream(host_context(), queue.get()); }).code(), Code::kInvalidArgument);
  const Context elsewhere = make_context(level_zero::device(context));
  const Ref<Stream> wrong = stream(elsewhere, queue.get());
  const auto producer = make_ref<HostTimeline>("a producer");
  const Error error = error_of([&] { wrong->wait_for(producer->next()); });
  EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
  EXPECT_EQ(error.native_api(), "zeCommandQueueExecuteCommandLists");
  producer->advance(1);
}

TEST_F(LevelZeroPending, EveryCallMayFail) {
  const Ref<Stream> users = stream(context, queue.get());
  for (long n = 1;; ++n) {
    ASSERT_LT(n, 100);
    const auto producer = make_ref<HostTimeline>("a producer");
    memory.memory()->hazards().wrote(producer->next());
    detail::Probe::failed = false;
    detail::Probe::countdown = n;
    try {
      wait_list(memory, Access::kRead);
      users->wait_for(TimelinePoint(producer, 1));
      users->signal();
    } catch (const Error& error) {
      EXPECT_EQ(error.native_code(), detail::kInjected) << error.what();
    }
    detail::Probe::countdown = 0;
    producer->advance(1);
    EXPECT_TRUE(drain_deferred(default_deadline()));
    if (!detail::Probe::failed) break;
  }
  const TimelinePoint end = users->signal();
  end.wait();
}

}  // namespace level_zero_pending_test
}  // namespace tenon::level_zero
