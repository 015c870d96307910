// SPDX-License-Identifier: Apache-2.0
// Queues and lists through the loader: order, states, and rule-breaking clients.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <tenon/drivers/npu/testing/client.hpp>
#include <tenon/drivers/npu/testing/queue.hpp>
#include <tenon/frameworks/level_zero/abi/command_queue_npu.hpp>
#include <tenon/frameworks/level_zero/abi/core.hpp>

namespace tenon::npu::test {
namespace queue_test {

namespace abi = level_zero::abi;
using Clock = std::chrono::steady_clock;
using NpuQueue = QueueTest;

TEST_F(NpuQueue, CommandsRunInTheirOrder) {
  constexpr std::size_t kSize = 1 << 16;
  auto* a = static_cast<unsigned char*>(allocate_host(kSize));
  auto* b = static_cast<unsigned char*>(allocate_host(kSize));
  const auto list = make_list();
  const unsigned char one = 1;
  const std::uint32_t pattern = 0x04030201;
  EXPECT_EQ(zeCommandListAppendMemoryFill(list, a, &one, 1, kSize, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListAppendBarrier(list, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, b, a, kSize, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListAppendMemoryFill(list, a, &pattern, 4, kSize, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    std::memset(b, 0, kSize);
    ASSERT_EQ(submit(list, fence), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
    EXPECT_EQ(b[0], 1);
    EXPECT_EQ(b[kSize - 1], 1);
    EXPECT_EQ(a[kSize - 1], 4);
    EXPECT_EQ(a[kSize - 4], 1);
    ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceQueryStatus(fence), ZE_RESULT_NOT_READY);
    ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);  // OpenVINO does so before every submission.
  }
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, a), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, b), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, ShortListsDoNotOvertakeWhatWaits) {
  const auto event = make_event(pool, 0);
  auto long_list = make_list(), short_list = make_list();
  auto waited = event;
  ASSERT_EQ(zeCommandListAppendBarrier(long_list, nullptr, 1, &waited), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendBarrier(short_list, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(long_list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(short_list), ZE_RESULT_SUCCESS);
  for (int round = 0; round < 20; ++round) {
    // On its own it is measured as short.
    ASSERT_EQ(submit(short_list, fence), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
    ASSERT_EQ(submit(long_list), ZE_RESULT_SUCCESS);
    ASSERT_EQ(submit(short_list, fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceQueryStatus(fence), ZE_RESULT_NOT_READY) << "round " << round;
    ASSERT_EQ(zeEventHostSignal(event), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeEventHostReset(event), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(zeCommandListDestroy(long_list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(short_list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, WhatNobodyWaitsForRunsToo) {
  // After many waits the queue's thread leaves short lists to waiting callers. A list for which no caller waits must
  // still run.
  auto* counted = static_cast<unsigned char*>(allocate_host(64));
  const auto list = make_list();
  const unsigned char one = 1;
  ASSERT_EQ(zeCommandListAppendMemoryFill(list, counted, &one, 1, 64, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  for (const int waits : {0, 1, 100, 2000}) {
    for (int i = 0; i < waits; ++i) {
      ASSERT_EQ(submit(list, fence), ZE_RESULT_SUCCESS);
      ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
      ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
    }
    counted[0] = 0;
    ASSERT_EQ(submit(list, fence), ZE_RESULT_SUCCESS);
    const auto end = Clock::now() + std::chrono::seconds(60);
    while (zeFenceQueryStatus(fence) == ZE_RESULT_NOT_READY && Clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(zeFenceQueryStatus(fence), ZE_RESULT_SUCCESS) << "after " << waits << " waits";
    EXPECT_EQ(counted[0], 1);
    ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, counted), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, ThreadsThatWaitOnOneInOrderQueueKeepItsOrder) {
  // Each submission overwrites the previous number; the last one must stay, whichever thread runs it.
  constexpr int kThreads = 4, kRounds = 500;
  ze_command_queue_desc_t descriptor = {};
  descriptor.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  descriptor.flags = abi::kQueueInOrder;
  descriptor.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_queue_handle_t in_order = nullptr;
  ASSERT_EQ(zeCommandQueueCreate(context, device, &descriptor, &in_order), ZE_RESULT_SUCCESS);
  auto* last = static_cast<std::uint32_t*>(allocate_host(64));
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const auto own_fence = make_fence(in_order);
      ze_command_list_handle_t lists[2] = {make_list(), make_list()};
      for (std::uint32_t i = 0; i < 2; ++i) {
        const std::uint32_t value = 2 * t + i;
        failures += zeCommandListAppendMemoryFill(lists[i], last + 1 + t, &value, 4, 4, nullptr, 0, nullptr) != 0;
        failures += zeCommandListClose(lists[i]) != 0;
      }
      for (int round = 0; round < kRounds; ++round) {
        failures += zeCommandQueueExecuteCommandLists(in_order, 1, lists, nullptr) != ZE_RESULT_SUCCESS;
        failures += zeCommandQueueExecuteCommandLists(in_order, 1, lists + 1, own_fence) != ZE_RESULT_SUCCESS;
        failures += zeFenceHostSynchronize(own_fence, 10 * kSecond) != ZE_RESULT_SUCCESS;
        failures += last[1 + t] != 2 * t + 1;
        failures += zeFenceReset(own_fence) != ZE_RESULT_SUCCESS;
      }
      for (const auto list : lists) failures += zeCommandListDestroy(list) != 0;
      failures += zeFenceDestroy(own_fence) != 0;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
  EXPECT_EQ(zeCommandQueueSynchronize(in_order, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(in_order), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, last), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, ListsThatAreNotClosedOrAreTakenAreRefused) {
  const auto event = make_event(pool, 0);
  auto list = make_list();
  EXPECT_EQ(submit(list), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(zeCommandListAppendWaitOnEvents(list, 1, const_cast<ze_event_handle_t*>(&event)), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListAppendBarrier(list, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(submit(list, fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(submit(list), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(zeCommandListReset(list), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(zeCommandListClose(list), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  const auto other = make_list();
  ASSERT_EQ(zeCommandListClose(other), ZE_RESULT_SUCCESS);
  EXPECT_EQ(submit(other, fence), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(zeFenceHostSynchronize(fence, 1'000'000), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 1'000'000), ZE_RESULT_NOT_READY);
  ASSERT_EQ(zeEventHostSignal(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListReset(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(submit(list), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(other), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, SubmissionsWithNothingOrStrangersAreRefused) {
  ze_command_list_handle_t list = make_list();
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 0, &list, nullptr), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, nullptr, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  ze_command_list_handle_t with_null[] = {list, nullptr};
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 2, with_null, nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  EXPECT_EQ(submit(list), ZE_RESULT_SUCCESS);
  const auto other_queue = make_queue();
  const auto other_fence = make_fence(other_queue);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(submit(list, other_fence), ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  const ze_context_desc_t descriptor = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ze_context_handle_t other_context = nullptr;
  ASSERT_EQ(zeContextCreate(driver, &descriptor, &other_context), ZE_RESULT_SUCCESS);
  std::swap(context, other_context);
  ze_command_list_handle_t foreign = make_list();
  std::swap(context, other_context);
  ASSERT_EQ(zeCommandListClose(foreign), ZE_RESULT_SUCCESS);
  EXPECT_EQ(submit(foreign), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListDestroy(foreign), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeContextDestroy(other_context), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceDestroy(other_fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(other_queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, DescriptorsThatMakeNoSenseAreRefused) {
  ze_command_queue_handle_t made = nullptr;
  ze_command_queue_desc_t descriptor = {};
  descriptor.ordinal = 1;
  EXPECT_EQ(zeCommandQueueCreate(context, device, &descriptor, &made), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  descriptor.ordinal = 0;
  descriptor.index = 64;
  EXPECT_EQ(zeCommandQueueCreate(context, device, &descriptor, &made), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  descriptor.index = 63;
  descriptor.priority = static_cast<ze_command_queue_priority_t>(3);
  EXPECT_EQ(zeCommandQueueCreate(context, device, &descriptor, &made), ZE_RESULT_ERROR_INVALID_ENUMERATION);
  descriptor.priority = ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH;
  descriptor.mode = static_cast<ze_command_queue_mode_t>(9);
  EXPECT_EQ(zeCommandQueueCreate(context, device, &descriptor, &made), ZE_RESULT_ERROR_INVALID_ENUMERATION);
  descriptor.mode = ZE_COMMAND_QUEUE_MODE_DEFAULT;
  abi::CommandQueueNpuDescriptor2 options;
  options.options = 0x80;
  descriptor.pNext = &options;
  EXPECT_EQ(zeCommandQueueCreate(context, device, &descriptor, &made), ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION);
  options.next = reinterpret_cast<void*>(0xcdcdcdcdcdcdcdc8);  // OpenVINO 2024.6 leaves it uninitialised.
  options.options = abi::kCommandQueueTurbo | abi::kCommandQueueDeviceSync;
  EXPECT_EQ(zeCommandQueueCreate(context, device, &descriptor, &made), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(made), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueCreate(context, device, nullptr, &made), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(zeCommandQueueCreate(context, device, &descriptor, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

TEST_F(NpuQueue, CommandsOnForeignOrOverlappingMemoryAreRefused) {
  const auto list = make_list();
  auto* data = static_cast<std::byte*>(allocate_host(4096));
  std::byte local[64];
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, data, local, 64, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, local, data, 64, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, data, data + 8, 64, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, data, data + 2048, 2049, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, data + 4000, data, 97, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, data + 1, data, SIZE_MAX, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, nullptr, data, 1, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  const std::uint64_t pattern = 0;
  EXPECT_EQ(zeCommandListAppendMemoryFill(list, data, &pattern, 3, 6, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(zeCommandListAppendMemoryFill(list, data, &pattern, 256, 256, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(zeCommandListAppendMemoryFill(list, data, &pattern, 8, 4104, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListAppendWriteGlobalTimestamp(list, reinterpret_cast<std::uint64_t*>(local), nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListAppendBarrier(list, nullptr, 1, nullptr), ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, MemoryThatIsFreedUnderAListIsStillThereForIt) {
  auto* from = static_cast<unsigned char*>(allocate_host(4096));
  auto* to = static_cast<unsigned char*>(allocate_host(4096));
  from[0] = 77;
  const auto list = make_list();
  ASSERT_EQ(zeCommandListAppendMemoryCopy(list, to, from, 4096, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeMemFree(context, from), ZE_RESULT_SUCCESS);
  ASSERT_EQ(submit(list, fence), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(to[0], 77);
  ASSERT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeMemFree(context, to), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, EverythingMayBeDestroyedWhileItRuns) {
  auto* a = static_cast<std::byte*>(allocate_host(1 << 22));
  auto* b = static_cast<std::byte*>(allocate_host(1 << 22));
  for (int round = 0; round < 50; ++round) {
    const auto own_queue = make_queue();
    const auto own_fence = make_fence(own_queue);
    const auto event = make_event(pool, 2);
    auto list = make_list();
    ASSERT_EQ(zeCommandListAppendMemoryCopy(list, a, b, 1 << 22, event, 0, nullptr), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(own_queue, 1, &list, own_fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceDestroy(own_fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueDestroy(own_queue), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(zeMemFree(context, a), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, b), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, ImmediateListsRunAtOnce) {
  const auto synchronize = call<abi::CommandListHostSynchronize>("zeCommandListHostSynchronize");
  auto* data = static_cast<unsigned char*>(allocate_host(4096));
  const unsigned char three = 3, four = 4;
  const auto list = make_immediate_list();
  ASSERT_EQ(zeCommandListAppendMemoryFill(list, data, &three, 1, 4096, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(synchronize(list, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[4095], 3);
  EXPECT_EQ(zeCommandListClose(list), ZE_RESULT_ERROR_UNINITIALIZED);  // As on hardware.
  EXPECT_EQ(submit(list), ZE_RESULT_ERROR_UNINITIALIZED);
  const auto synchronous = make_immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ASSERT_EQ(zeCommandListAppendMemoryFill(synchronous, data, &four, 1, 4096, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[4095], 4);
  const auto recorded = make_list();
  EXPECT_EQ(synchronize(recorded, 0), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  for (const auto each : {list, synchronous, recorded}) EXPECT_EQ(zeCommandListDestroy(each), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, ImmediateListsRunRecordedOnes) {
  const auto append_lists =
      call<abi::CommandListImmediateAppendCommandListsExp>("zeCommandListImmediateAppendCommandListsExp");
  const auto synchronize = call<abi::CommandListHostSynchronize>("zeCommandListHostSynchronize");
  auto start = make_event(pool, 0), done = make_event(pool, 1);
  auto* data = static_cast<unsigned char*>(allocate_host(4096));
  const unsigned char one = 1, two = 2;
  ze_command_list_handle_t lists[] = {make_list(), make_list()};
  ASSERT_EQ(zeCommandListAppendMemoryFill(lists[0], data, &one, 1, 4096, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendMemoryFill(lists[1], data + 1, &two, 1, 1, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  const auto immediate = make_immediate_list();
  EXPECT_EQ(append_lists(immediate, 2, lists, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);  // Not closed.
  for (const auto each : lists) ASSERT_EQ(zeCommandListClose(each), ZE_RESULT_SUCCESS);
  EXPECT_EQ(append_lists(lists[0], 1, lists + 1, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(append_lists(immediate, 2, lists, done, 1, &start), ZE_RESULT_SUCCESS);
  EXPECT_EQ(append_lists(immediate, 2, lists, nullptr, 0, nullptr), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(data[0], 0);
  ASSERT_EQ(zeEventHostSignal(start), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventHostSynchronize(done, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[0], 1);
  EXPECT_EQ(data[1], 2);
  EXPECT_EQ(synchronize(immediate, 10 * kSecond), ZE_RESULT_SUCCESS);
  for (const auto each : {immediate, lists[0], lists[1]}) EXPECT_EQ(zeCommandListDestroy(each), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(start), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(done), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, TheLastPatternOfAFillMayBeCutOff) {
  auto* data = static_cast<unsigned char*>(allocate_host(16));
  const auto list = make_list();
  const std::uint32_t pattern = 0x04030201;
  ASSERT_EQ(zeCommandListAppendMemoryFill(list, data + 1, &pattern, 4, 11, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(submit(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  const unsigned char expected[16] = {0, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 0, 0, 0, 0};
  EXPECT_EQ(std::memcmp(data, expected, sizeof expected), 0);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuQueue, ManyThreadsOnManyQueuesAllGetTheirCopies) {
  constexpr int kThreads = 6, kRounds = 200;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const ze_command_queue_priority_t priorities[] = {ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
                                                        ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW,
                                                        ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH};
      const auto own_queue = make_queue(priorities[t % 3]);
      const auto own_fence = make_fence(own_queue);
      auto* from = static_cast<std::uint32_t*>(allocate_host(4096));
      auto* to = static_cast<std::uint32_t*>(allocate_host(4096));
      auto list = make_list();
      EXPECT_EQ(zeCommandListAppendMemoryCopy(list, to, from, 4096, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
      EXPECT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
      for (std::uint32_t i = 0; i < kRounds; ++i) {
        from[1023] = i * kThreads + static_cast<std::uint32_t>(t);
        if (zeCommandQueueExecuteCommandLists(own_queue, 1, &list, own_fence) != ZE_RESULT_SUCCESS ||
            zeFenceHostSynchronize(own_fence, 60 * kSecond) != ZE_RESULT_SUCCESS || to[1023] != from[1023])
          ++wrong;
        zeFenceReset(own_fence);
      }
      zeCommandListDestroy(list);
      zeFenceDestroy(own_fence);
      zeCommandQueueDestroy(own_queue);
      zeMemFree(context, from);
      zeMemFree(context, to);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(NpuQueue, NothingIsLeftBehind) {
  const auto round = [&] {
    const auto own_queue = make_queue();
    const auto own_fence = make_fence(own_queue);
    void* data = allocate_host(1 << 16);
    auto list = make_list();
    const char zero = 0;
    zeCommandListAppendMemoryFill(list, data, &zero, 1, 1 << 16, nullptr, 0, nullptr);
    zeCommandListClose(list);
    zeCommandQueueExecuteCommandLists(own_queue, 1, &list, own_fence);
    zeFenceHostSynchronize(own_fence, 10 * kSecond);
    zeMemFree(context, data);
    zeCommandListDestroy(list);
    zeFenceDestroy(own_fence);
    zeCommandQueueDestroy(own_queue);
  };
  for (int i = 0; i < 100; ++i) round();
  const long memory = process_number("VmRSS"), threads = process_number("Threads");
  const std::size_t descriptors = open_descriptors(), maps = mappings();
  for (int i = 0; i < 500; ++i) round();
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LE(mappings(), maps + 4);
  // The system counts a thread for a moment after it was joined.
  for (int i = 0; i < 6000 && process_number("Threads") > threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(process_number("Threads"), threads);
#if !defined(__SANITIZE_ADDRESS__)                    // It delays the reuse of freed memory.
  EXPECT_LT(process_number("VmRSS"), memory + 2048);  // In KiB, including slots in quarantine.
#else
  EXPECT_GT(memory, 0);
#endif
}

}  // namespace queue_test
}  // namespace tenon::npu::test
