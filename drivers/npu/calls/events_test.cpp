// SPDX-License-Identifier: Apache-2.0
// Events and fences through the loader: states, times, deadlines, places in a pool, and events that commands are given anew.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include <tenon/drivers/npu/testing/client.hpp>
#include <tenon/drivers/npu/testing/queue.hpp>
#include <tenon/frameworks/level_zero/abi/mutable_list.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon::npu::test {
namespace events_test {

namespace abi = level_zero::abi;
using Clock = std::chrono::steady_clock;
using NpuEvents = QueueTest;

TEST_F(NpuEvents, TimestampsLieWithinTheirMemory) {
  ze_event_handle_t events[] = {make_event(pool, 0), make_event(pool, 1)};
  constexpr std::size_t kSize = sizeof(ze_kernel_timestamp_result_t);
  auto* memory = static_cast<char*>(allocate_host(4096));
  const auto list = make_list();
  const auto query = [&](std::uint32_t count, std::size_t at, const std::size_t* offsets = nullptr) {
    return zeCommandListAppendQueryKernelTimestamps(list, count, events, memory + at, offsets, nullptr, 0, nullptr);
  };
  EXPECT_EQ(query(1, 4096 - kSize), ZE_RESULT_SUCCESS);
  EXPECT_EQ(query(1, 4096 - kSize + 8), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(query(2, 4096 - 2 * kSize), ZE_RESULT_SUCCESS);
  EXPECT_EQ(query(2, 4096 - kSize), ZE_RESULT_ERROR_INVALID_SIZE);
  const std::size_t good[] = {4096 - kSize, 0}, late[] = {0, 4096 - kSize + 8}, past[] = {0, 5000};
  EXPECT_EQ(query(2, 0, good), ZE_RESULT_SUCCESS);
  EXPECT_EQ(query(2, 0, late), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(query(2, 0, past), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  for (const auto event : events) EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, memory), ZE_RESULT_SUCCESS);
}

TEST_F(NpuEvents, EventsAreSignalledAwaitedResetAndTimed) {
  auto first = make_event(pool, 0), second = make_event(pool, 1);
  auto* stamps = static_cast<std::uint64_t*>(allocate_host(4096));
  const auto list = make_list();
  ASSERT_EQ(zeCommandListAppendWriteGlobalTimestamp(list, stamps, nullptr, 1, &first), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendBarrier(list, second, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendEventReset(list, first), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendQueryKernelTimestamps(list, 1, &second, stamps + 8, nullptr, nullptr, 0, nullptr),
            ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(submit(list, fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(second, 2'000'000), ZE_RESULT_NOT_READY);
  ze_kernel_timestamp_result_t when = {};
  EXPECT_EQ(zeEventQueryKernelTimestamp(second, &when), ZE_RESULT_NOT_READY);
  std::uint64_t host = 0, before = 0, after = 0;
  ASSERT_EQ(zeDeviceGetGlobalTimestamps(device, &host, &before), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventHostSignal(first), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventHostSynchronize(second, 10 * kSecond), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeDeviceGetGlobalTimestamps(device, &host, &after), ZE_RESULT_SUCCESS);
  EXPECT_GE(stamps[0], before);
  EXPECT_LE(stamps[0], after);
  EXPECT_EQ(zeEventQueryStatus(first), ZE_RESULT_NOT_READY);
  ASSERT_EQ(zeEventQueryKernelTimestamp(second, &when), ZE_RESULT_SUCCESS);
  EXPECT_GE(when.global.kernelStart, stamps[0]);
  EXPECT_LE(when.global.kernelStart, when.global.kernelEnd);
  EXPECT_LE(when.global.kernelEnd, after);
  EXPECT_EQ(std::memcmp(stamps + 8, &when, sizeof when), 0);
  ASSERT_EQ(zeEventHostReset(second), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(second), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeEventDestroy(first), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(second), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, stamps), ZE_RESULT_SUCCESS);
}

TEST_F(NpuEvents, PlacesOfAPoolAreTakenOnce) {
  const auto event = make_event(pool, 3);
  ze_event_desc_t descriptor = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 3, 0, 0};
  ze_event_handle_t other = nullptr;
  EXPECT_EQ(zeEventCreate(pool, &descriptor, &other), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  descriptor.index = 16;
  EXPECT_EQ(zeEventCreate(pool, &descriptor, &other), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  descriptor.index = 3;
  EXPECT_EQ(zeEventCreate(pool, &descriptor, &other), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(other), ZE_RESULT_SUCCESS);
}

TEST_F(NpuEvents, APlaceIsFreeOnceItsEventIsDestroyedWhateverStillHoldsTheEvent) {
  auto start = make_event(pool, 0);
  const auto signalled = make_event(pool, 3);
  const auto list = make_list();
  ASSERT_EQ(zeCommandListAppendBarrier(list, signalled, 1, &start), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  auto submitted = list;
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &submitted, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(signalled), ZE_RESULT_SUCCESS);
  const auto other = make_event(pool, 3);  // Says so if the place is taken.
  EXPECT_EQ(zeEventHostSignal(start), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 30 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(other), ZE_RESULT_NOT_READY) << "the command signals the event that it was given";
  for (const auto event : {start, other}) EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
}

TEST_F(NpuEvents, DeadlinesAreKept) {
  const auto event = make_event(pool, 0);
  for (const std::uint64_t timeout_ns : {std::uint64_t{0}, std::uint64_t{1'000}, std::uint64_t{20'000'000}}) {
    const auto begin = Clock::now();
    EXPECT_EQ(zeEventHostSynchronize(event, timeout_ns), ZE_RESULT_NOT_READY);
    EXPECT_EQ(zeFenceHostSynchronize(fence, timeout_ns), ZE_RESULT_NOT_READY);
    const auto taken = std::chrono::nanoseconds(Clock::now() - begin).count();
    EXPECT_GE(taken, static_cast<std::int64_t>(2 * timeout_ns));
    EXPECT_LT(taken, static_cast<std::int64_t>(2 * timeout_ns + 60 * kSecond));
  }
  EXPECT_EQ(zeCommandQueueSynchronize(queue, UINT64_MAX), ZE_RESULT_SUCCESS);  // Nothing was submitted.
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
}

TEST_F(NpuEvents, AFenceThatIsResetForgetsItsSubmission) {
  auto event = make_event(pool, 0);
  const auto list = make_list();
  ASSERT_EQ(zeCommandListAppendWaitOnEvents(list, 1, &event), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(submit(list, fence), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventHostSignal(event), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceQueryStatus(fence), ZE_RESULT_NOT_READY);
  ASSERT_EQ(submit(list, fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
  const auto signalled = make_fence(queue, ZE_FENCE_FLAG_SIGNALED);
  EXPECT_EQ(zeFenceQueryStatus(signalled), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceDestroy(signalled), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
}

TEST_F(NpuEvents, AQueueThatGoesEndsWhatWaitsForEvents) {
  auto event = make_event(pool, 0), behind = make_event(pool, 1);
  const auto list = make_list();
  ASSERT_EQ(zeCommandListAppendWaitOnEvents(list, 1, &event), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendSignalEvent(list, behind), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(submit(list, fence), ZE_RESULT_SUCCESS);
  std::atomic<long> begun = 0;
  std::thread waiter([&] {
    begun = tenon_test::this_thread();
    EXPECT_EQ(zeCommandQueueSynchronize(queue, 60 * kSecond), ZE_RESULT_ERROR_DEVICE_LOST);
  });
  while (begun == 0) std::this_thread::yield();
  tenon_test::await_sleep(begun);  // It is in the call.
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  waiter.join();
  queue = nullptr;
  EXPECT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_EQ(zeEventHostSynchronize(behind, 10 * kSecond), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(behind), ZE_RESULT_SUCCESS);
}

TEST_F(NpuEvents, EventsOfMutableCommandsCanBeChanged) {
  const auto next_id = call<abi::CommandListGetNextCommandIdExp>("zeCommandListGetNextCommandIdExp");
  const auto set_signal =
      call<abi::CommandListUpdateMutableCommandSignalEventExp>("zeCommandListUpdateMutableCommandSignalEventExp");
  const auto set_waits =
      call<abi::CommandListUpdateMutableCommandWaitEventsExp>("zeCommandListUpdateMutableCommandWaitEventsExp");
  auto first = make_event(pool, 0), second = make_event(pool, 1), third = make_event(pool, 2);
  const abi::MutableListDescriptor is_mutable;
  const auto list = make_list(&is_mutable);
  std::uint64_t id = 0;
  abi::MutableCommandId wish;
  wish.flags = abi::kMutableSignalEvent | abi::kMutableWaitEvents;
  ASSERT_EQ(next_id(list, &wish, &id), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendBarrier(list, first, 1, &third), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(set_signal(list, id, second), ZE_RESULT_SUCCESS);
  EXPECT_EQ(set_signal(list, id + 1, second), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(set_signal(list, 0, second), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(set_waits(list, id, 0, nullptr), ZE_RESULT_ERROR_INVALID_SIZE);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(submit(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(set_signal(list, id, first), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  ASSERT_EQ(zeEventHostSignal(third), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(first), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeEventQueryStatus(second), ZE_RESULT_SUCCESS);
  // Only the kinds of change that were requested with its id.
  for (const std::uint32_t flag : {abi::kMutableSignalEvent, abi::kMutableWaitEvents}) {
    const auto other = make_list(&is_mutable);
    wish.flags = flag;
    ASSERT_EQ(next_id(other, &wish, &id), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListAppendBarrier(other, first, 1, &third), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListClose(other), ZE_RESULT_SUCCESS);
    const bool is_signal = flag == abi::kMutableSignalEvent;
    EXPECT_EQ(set_signal(other, id, second), is_signal ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(set_waits(other, id, 1, &second), is_signal ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListDestroy(other), ZE_RESULT_SUCCESS);
  }
  const auto plain = make_list();
  EXPECT_EQ(next_id(plain, &wish, &id), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  wish.flags = abi::kMutableKernelArguments;
  EXPECT_EQ(next_id(plain, &wish, &id), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  for (const auto each : {list, plain}) EXPECT_EQ(zeCommandListDestroy(each), ZE_RESULT_SUCCESS);
  for (const auto each : {first, second, third}) EXPECT_EQ(zeEventDestroy(each), ZE_RESULT_SUCCESS);
}

}  // namespace events_test
}  // namespace tenon::npu::test
