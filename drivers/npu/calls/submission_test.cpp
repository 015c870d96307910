// SPDX-License-Identifier: Apache-2.0
// Submissions through the loader: failure reports, waiting, freeing, forking, and leaks.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include <tenon/drivers/npu/testing/client.hpp>
#include <tenon/frameworks/level_zero/abi/core.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon::npu::test {
namespace submission_test {

namespace abi = level_zero::abi;
constexpr std::size_t kPage = 4096;
constexpr ze_result_t kFailure = ZE_RESULT_ERROR_INVALID_SIZE;  ///< Result of commands on a shrunk file.

class NpuSubmission : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    data = static_cast<unsigned char*>(allocate_host(kPage));
    pool = make_pool(16);
    // Memory whose file was shrunk: commands on it can be recorded but fail when run.
    fd_ = ::memfd_create("shrunk", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(fd_, kPage), 0);
    ze_external_memory_import_fd_t import = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, nullptr,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, fd_};
    shrunk = allocate_host(kPage, &import);
    ASSERT_EQ(::ftruncate(fd_, 0), 0);
  }
  void TearDown() override {
    EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeMemFree(context, shrunk), ZE_RESULT_SUCCESS);
    ::close(fd_);
    EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
    NpuTest::TearDown();
  }
  /// A closed list that waits for `gate`, if given, then fills the byte of `data` at `place`, or fails.
  ze_command_list_handle_t make_closed(bool fails, ze_event_handle_t gate = nullptr, unsigned char value = 1,
                                       std::size_t place = 0) {
    const auto list = make_list();
    EXPECT_EQ(zeCommandListAppendMemoryFill(list, fails ? shrunk : data + place, &value, 1, 1, nullptr, gate ? 1 : 0,
                                            gate ? &gate : nullptr),
              ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
    return list;
  }
  ze_command_queue_handle_t make_synchronous_queue() {
    ze_command_queue_desc_t descriptor = {};
    descriptor.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    descriptor.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    ze_command_queue_handle_t queue = nullptr;
    EXPECT_EQ(zeCommandQueueCreate(context, device, &descriptor, &queue), ZE_RESULT_SUCCESS);
    return queue;
  }
  static ze_result_t submit(ze_command_queue_handle_t queue, ze_command_list_handle_t list,
                            ze_fence_handle_t fence = nullptr) {
    return zeCommandQueueExecuteCommandLists(queue, 1, &list, fence);
  }

  unsigned char* data = nullptr;
  void* shrunk = nullptr;
  ze_event_pool_handle_t pool = nullptr;

 private:
  int fd_ = -1;
};

TEST_F(NpuSubmission, AFailureIsTheFencesOwnAndIsToldOnce) {
  const auto queue = make_queue();
  const ze_command_list_handle_t lists[] = {make_closed(false), make_closed(true), make_closed(false, nullptr, 1, 1)};
  ze_fence_handle_t fences[3];
  for (int i = 0; i < 3; ++i) {
    fences[i] = make_fence(queue);
    ASSERT_EQ(submit(queue, lists[i], fences[i]), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(zeFenceHostSynchronize(fences[2], 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceHostSynchronize(fences[0], 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceHostSynchronize(fences[1], 10 * kSecond), kFailure);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS) << "the fence has reported it";
  for (const auto fence : fences) EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
  for (const auto list : lists) EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
}

TEST_F(NpuSubmission, WhatNoFenceToldTheQueueTellsOnce) {
  const auto queue = make_queue();
  const auto good = make_closed(false), bad = make_closed(true);
  ASSERT_EQ(submit(queue, bad), ZE_RESULT_SUCCESS);
  ASSERT_EQ(submit(queue, good), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), kFailure);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  // If its fence was not queried, the queue reports the failure; the fence still does when queried later.
  const auto fence = make_fence(queue);
  ASSERT_EQ(submit(queue, bad, fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), kFailure);
  EXPECT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), kFailure);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  for (int i = 0; i < 200; ++i) {  // More than the queue remembers.
    ASSERT_EQ(submit(queue, bad), ZE_RESULT_SUCCESS);
    while (zeCommandListClose(bad) != ZE_RESULT_SUCCESS) std::this_thread::yield();
  }
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), kFailure);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
  for (const auto list : {good, bad}) EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
}

TEST_F(NpuSubmission, ASynchronousQueueTellsEachCallerItsOwn) {
  constexpr int kRounds = 1000;
  const auto queue = make_synchronous_queue();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const bool fails = t == 1;
      const auto list = make_closed(fails, nullptr, 1, t);
      for (int i = 0; i < kRounds; ++i) wrong += submit(queue, list) != (fails ? kFailure : ZE_RESULT_SUCCESS);
      zeCommandListDestroy(list);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS) << "each was reported";
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
}

TEST_F(NpuSubmission, AllWhoWaitMeanwhileHearOfIt) {
  const auto queue = make_queue();
  const auto gate = make_event(pool, 0);
  const auto gated = make_closed(true, gate);
  ASSERT_EQ(submit(queue, gated), ZE_RESULT_SUCCESS);
  std::atomic<long> begun{0};
  std::atomic<int> heard{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    begun = 0;
    threads.emplace_back([&] {
      begun = tenon_test::this_thread();
      heard += zeCommandQueueSynchronize(queue, 60 * kSecond) == kFailure;
    });
    while (begun == 0) std::this_thread::yield();
    tenon_test::await_sleep(begun);  // It is in the call.
  }
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 1'000'000), ZE_RESULT_NOT_READY);
  ASSERT_EQ(zeEventHostSignal(gate), ZE_RESULT_SUCCESS);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(heard.load(), 3);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(gated), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(gate), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
}

class NpuAppendedLists : public NpuSubmission {
 protected:
  void SetUp() override {
    NpuSubmission::SetUp();
    append = call<abi::CommandListImmediateAppendCommandListsExp>("zeCommandListImmediateAppendCommandListsExp");
    synchronize = call<abi::CommandListHostSynchronize>("zeCommandListHostSynchronize");
    done = make_event(pool, 0);
  }
  void TearDown() override {
    EXPECT_EQ(zeEventDestroy(done), ZE_RESULT_SUCCESS);
    NpuSubmission::TearDown();
  }
  abi::CommandListImmediateAppendCommandListsExp append = nullptr;
  abi::CommandListHostSynchronize synchronize = nullptr;
  ze_event_handle_t done = nullptr;
};

TEST_F(NpuAppendedLists, TellThatOneOfThemFailed) {
  ze_command_list_handle_t lists[] = {make_closed(true), make_closed(false)};
  const auto immediate = make_immediate_list();
  ASSERT_EQ(append(immediate, 2, lists, done, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(done, 10 * kSecond), kFailure);
  EXPECT_EQ(synchronize(immediate, 10 * kSecond), kFailure);
  EXPECT_EQ(data[0], 0) << "what follows a failure does not run";
  const auto synchronous = make_immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  EXPECT_EQ(append(synchronous, 2, lists, nullptr, 0, nullptr), kFailure);
  ASSERT_EQ(zeEventHostReset(done), ZE_RESULT_SUCCESS);
  EXPECT_EQ(append(synchronous, 2, lists, done, 0, nullptr), kFailure);
  EXPECT_EQ(zeEventQueryStatus(done), kFailure);
  EXPECT_EQ(append(synchronous, 1, lists + 1, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[0], 1);
  for (const auto each : {immediate, synchronous, lists[0], lists[1]})
    EXPECT_EQ(zeCommandListDestroy(each), ZE_RESULT_SUCCESS);
}

TEST_F(NpuAppendedLists, DoNotRunAfterAWaitThatFailed) {
  auto failed = make_event(pool, 1);
  const unsigned char one = 1;
  const auto other = make_immediate_list();
  ASSERT_EQ(zeCommandListAppendMemoryFill(other, shrunk, &one, 1, 1, failed, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeEventHostSynchronize(failed, 10 * kSecond), kFailure);
  const auto immediate = make_immediate_list();
  auto list = make_closed(false);
  ASSERT_EQ(append(immediate, 1, &list, done, 1, &failed), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(done, 10 * kSecond), kFailure);
  EXPECT_EQ(synchronize(immediate, 10 * kSecond), kFailure);
  EXPECT_EQ(data[0], 0);
  EXPECT_EQ(zeEventDestroy(failed), ZE_RESULT_SUCCESS);
  for (const auto each : {immediate, other, list}) EXPECT_EQ(zeCommandListDestroy(each), ZE_RESULT_SUCCESS);
}

TEST_F(NpuAppendedLists, AreNotSubmittedWhenTheCallIsRefused) {
  const auto immediate = make_immediate_list();
  auto list = make_closed(false);
  auto stale = make_event(pool, 1);
  ASSERT_EQ(zeEventDestroy(stale), ZE_RESULT_SUCCESS);
  EXPECT_EQ(append(immediate, 1, &list, stale, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(append(immediate, 1, &list, done, 1, &stale), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(append(immediate, 1, &list, nullptr, 1, nullptr), ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  EXPECT_EQ(synchronize(immediate, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[0], 0);
  EXPECT_EQ(zeEventHostSynchronize(done, 10 * kSecond), ZE_RESULT_ERROR_INVALID_ARGUMENT) << "waiters get the failure";
  ASSERT_EQ(append(immediate, 1, &list, done, 0, nullptr), ZE_RESULT_SUCCESS) << "the list is still the client's";
  EXPECT_EQ(zeEventHostSynchronize(done, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[0], 1);
  for (const auto each : {immediate, list}) EXPECT_EQ(zeCommandListDestroy(each), ZE_RESULT_SUCCESS);
}

TEST_F(NpuSubmission, WhoWaitsForARefusedCommandGetsItsError) {
  auto event = make_event(pool, 0);
  unsigned char outside[16] = {};
  const auto immediate = make_immediate_list();
  const auto refused = [&](ze_result_t result, ze_result_t told) {
    EXPECT_EQ(result, told);
    EXPECT_EQ(zeEventHostSynchronize(event, UINT64_MAX), told);
    EXPECT_EQ(zeEventHostReset(event), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeEventQueryStatus(event), ZE_RESULT_NOT_READY);
  };
  refused(zeCommandListAppendMemoryCopy(immediate, data, outside, 16, event, 0, nullptr),
          ZE_RESULT_ERROR_INVALID_ARGUMENT);
  refused(zeCommandListAppendMemoryFill(immediate, data, outside, 3, 3, event, 0, nullptr),
          ZE_RESULT_ERROR_INVALID_SIZE);
  refused(zeCommandListAppendMemoryRangesBarrier(immediate, 0, nullptr, nullptr, event, 0, nullptr),
          ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  refused(zeCommandListAppendBarrier(nullptr, event, 0, nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  // On the device too; and a later successful signal counts.
  EXPECT_EQ(zeCommandListAppendMemoryCopy(immediate, data, outside, 16, event, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  const auto behind = make_event(pool, 1);
  ASSERT_EQ(zeCommandListAppendBarrier(immediate, behind, 1, &event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(behind, 10 * kSecond), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  auto gate = make_event(pool, 2);
  ASSERT_EQ(zeCommandListAppendBarrier(immediate, event, 1, &gate), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(event), ZE_RESULT_NOT_READY);
  ASSERT_EQ(zeEventHostSignal(gate), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(event, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListAppendMemoryFill(immediate, data, outside, 3, 3, event, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(zeEventQueryStatus(event), ZE_RESULT_SUCCESS) << "it is signalled";
  EXPECT_EQ(zeCommandListDestroy(immediate), ZE_RESULT_SUCCESS);
  for (const auto each : {event, behind, gate}) EXPECT_EQ(zeEventDestroy(each), ZE_RESULT_SUCCESS);
}

TEST_F(NpuSubmission, ABlockingFreeWaitsForWhatUsesTheMemory) {
  const auto queue = make_queue();
  auto gate = make_event(pool, 0);
  auto* used = static_cast<unsigned char*>(allocate_host(kPage));
  auto* idle = static_cast<unsigned char*>(allocate_host(kPage));
  const unsigned char nine = 9;
  ze_command_list_handle_t lists[] = {make_list(), make_list()};
  ASSERT_EQ(zeCommandListAppendWaitOnEvents(lists[0], 1, &gate), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendMemoryFill(lists[1], used, &nine, 1, 1, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendMemoryCopy(lists[1], data, used, 1, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  for (const auto list : lists) ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 2, lists, nullptr), ZE_RESULT_SUCCESS);
  const ze_memory_free_ext_desc_t blocking = {ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, nullptr,
                                              ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE};
  EXPECT_EQ(zeMemFreeExt(context, &blocking, idle), ZE_RESULT_SUCCESS) << "unused memory is freed at once";
  EXPECT_EQ(zeMemFreeExt(context, &blocking, used + 8), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  std::atomic<bool> is_free = false;
  std::thread thread([&] {
    EXPECT_EQ(zeMemFreeExt(context, &blocking, used), ZE_RESULT_SUCCESS);
    is_free = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(is_free) << "commands that use it have not run";
  ASSERT_EQ(zeEventHostSignal(gate), ZE_RESULT_SUCCESS);
  thread.join();
  EXPECT_EQ(data[0], 9) << "they have run before it returned";
  ASSERT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  for (const auto list : lists) EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(gate), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
}

TEST_F(NpuSubmission, MemoryOfAnotherContextIsCopiedFromOnlyWhereItIsNamed) {
  using CopyFromContext = ze_result_t (*)(ze_command_list_handle_t, void*, ze_context_handle_t, const void*,
                                          std::size_t, ze_event_handle_t, std::uint32_t, ze_event_handle_t*);
  ze_context_handle_t other = nullptr;
  const ze_context_desc_t descriptor = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ASSERT_EQ(zeContextCreate(driver, &descriptor, &other), ZE_RESULT_SUCCESS);
  const ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  void* foreign = nullptr;
  ASSERT_EQ(zeMemAllocHost(other, &host, kPage, 0, &foreign), ZE_RESULT_SUCCESS);
  *static_cast<unsigned char*>(foreign) = 5;
  const auto list = make_immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  const unsigned char one = 1;
  const ze_copy_region_t box = {0, 0, 0, 1, 1, 1};
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, data, foreign, 1, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, foreign, data, 1, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListAppendMemoryCopyRegion(list, data, &box, 1, 1, foreign, &box, 1, 1, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListAppendMemoryFill(list, foreign, &one, 1, 1, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListAppendMemoryPrefetch(list, foreign, 1), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  const CopyFromContext copy = &zeCommandListAppendMemoryCopyFromContext;
  EXPECT_EQ(copy(list, foreign, context, data, 1, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT)
      << "the destination is the list's";
  EXPECT_EQ(copy(list, data, context, foreign, 1, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(list, data, other, foreign, 1, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[0], 5);
  // A queue cannot take lists of another context.
  ze_command_list_desc_t list_descriptor = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
  ze_command_list_handle_t foreign_list = nullptr;
  ASSERT_EQ(zeCommandListCreate(other, device, &list_descriptor, &foreign_list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(foreign_list), ZE_RESULT_SUCCESS);
  const auto queue = make_queue();
  EXPECT_EQ(submit(queue, foreign_list), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  for (const auto each : {list, foreign_list}) EXPECT_EQ(zeCommandListDestroy(each), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(other, foreign), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeContextDestroy(other), ZE_RESULT_SUCCESS);
}

/// Runs `work` in a forked process, killed if it hangs. @return its exit status; 0: success.
int in_forked_process(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(work());
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST_F(NpuSubmission, AForkedProcessIsToldAndNeverHangs) {
  const auto queue = make_queue();
  const auto fence = make_fence(queue);
  const auto list = make_closed(false);
  ASSERT_EQ(submit(queue, list, fence), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
  const auto last_words = call<ze_result_t (*)(ze_driver_handle_t, const char**)>("zeDriverGetLastErrorDescription");
  constexpr ze_result_t kForked = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  EXPECT_EQ(in_forked_process([&] {
              if (submit(queue, list, fence) != kForked) return 1;
              if (zeFenceHostSynchronize(fence, UINT64_MAX) != kForked) return 2;
              if (zeCommandQueueSynchronize(queue, UINT64_MAX) != kForked) return 3;
              const char* text = nullptr;
              if (last_words(driver, &text) != ZE_RESULT_SUCCESS || !std::strstr(text, "forked")) return 4;
              std::uint32_t count = 0;
              if (zeDeviceGet(driver, &count, nullptr) != kForked) return 5;
              if (zeMemFree(context, data) != kForked) return 6;
              if (zeCommandListDestroy(list) != kForked || zeCommandQueueDestroy(queue) != kForked) return 7;
              if (zeDriverGet(&count, nullptr) != kForked) return 8;
              return 0;
            }),
            0);
  // The parent goes on.
  ASSERT_EQ(submit(queue, list, fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
}

bool threads_fall_to(long count) {
  for (int i = 0; i < 6000 && process_number("Threads") > count; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return process_number("Threads") <= count;
}

TEST_F(NpuSubmission, QueuesThatNobodyDestroysLeaveNoThreads) {
  ASSERT_TRUE(threads_fall_to(process_number("Threads")));
  const long before = process_number("Threads");
  std::vector<ze_command_queue_handle_t> forgotten;
  const auto list = make_closed(false);
  for (int i = 0; i < 30; ++i) {
    forgotten.push_back(make_queue());
    ASSERT_EQ(submit(forgotten.back(), list), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandQueueSynchronize(forgotten.back(), 10 * kSecond), ZE_RESULT_SUCCESS);
  }
  EXPECT_TRUE(threads_fall_to(before)) << process_number("Threads") << " threads, and there were " << before;
  for (const auto queue : forgotten) {
    data[0] = 0;
    ASSERT_EQ(submit(queue, list), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
    EXPECT_EQ(data[0], 1) << "a queue without a thread gets another";
    EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
}

/// Creates, uses and destroys all kinds of objects repeatedly; TENON_NPU_SOAK is the count (5000 in ./dev check).
TEST_F(NpuSubmission, CyclesLeaveMemoryDescriptorsAndThreadsAsTheyWere) {
  const char* wanted = std::getenv("TENON_NPU_SOAK");
  const int cycles = wanted ? std::atoi(wanted) : 300;
  const auto append =
      call<abi::CommandListImmediateAppendCommandListsExp>("zeCommandListImmediateAppendCommandListsExp");
  const auto cycle = [&](int number) {
    ze_context_handle_t own = nullptr;
    const ze_context_desc_t descriptor = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    ASSERT_EQ(zeContextCreate(driver, &descriptor, &own), ZE_RESULT_SUCCESS);
    std::swap(own, context);
    const auto queue = make_queue();
    const auto fence = make_fence(queue);
    const auto events = make_pool(2);
    const auto event = make_event(events, 1);
    void* memory = allocate_host(64 * 1024);
    const unsigned char value = static_cast<unsigned char>(number);
    auto list = make_list();
    ASSERT_EQ(zeCommandListAppendMemoryFill(list, memory, &value, 1, 64 * 1024, nullptr, 0, nullptr),
              ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
    ASSERT_EQ(submit(queue, list, fence), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
    ASSERT_EQ(static_cast<unsigned char*>(memory)[64 * 1024 - 1], value);
    const auto immediate = make_immediate_list();
    ASSERT_EQ(append(immediate, 1, &list, event, 0, nullptr), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeEventHostSynchronize(event, 10 * kSecond), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListDestroy(immediate), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeMemFree(context, memory), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeEventPoolDestroy(events), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    std::swap(own, context);
    ASSERT_EQ(zeContextDestroy(own), ZE_RESULT_SUCCESS);
  };
  // Slots are quarantined before reuse: 2^14 of 64 bytes, 9 per cycle.
  const int warm = wanted ? 2000 : 100;
  for (int i = 0; i < warm && !HasFatalFailure(); ++i) cycle(i);
  const long memory = process_number("VmRSS"), threads = process_number("Threads");
  const std::size_t descriptors = open_descriptors(), maps = mappings();
  for (int i = 0; i < cycles && !HasFatalFailure(); ++i) cycle(i);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LE(mappings(), maps + 4);
  EXPECT_TRUE(threads_fall_to(threads)) << process_number("Threads") << " threads, and there were " << threads;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // It delays the reuse of freed memory.
  EXPECT_LT(process_number("VmRSS"), memory + 1024) << "KiB after " << cycles << " cycles";
#else
  EXPECT_GT(memory, 0);
#endif
}

TEST_F(NpuSubmission, OneListRunsAsOftenAsACallNamesIt) {
  constexpr int kOthers = 20;  // More than are kept without an allocation.
  const auto queue = make_queue();
  const auto fence = make_fence(queue);
  auto* words = static_cast<std::uint64_t*>(allocate_host(64));
  const auto forth = make_list(), back = make_list();
  const auto copy = [&](ze_command_list_handle_t list, std::uint64_t* to, const std::uint64_t* from) {
    ASSERT_EQ(zeCommandListAppendMemoryCopy(list, to, from, 8, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  };
  for (int i = 0; i < 3; ++i) copy(forth, words + i + 1, words + i);  // Moves a value by three places.
  copy(back, words, words + 3);
  for (const auto list : {forth, back}) ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  for (const int times : {2, kOthers}) {
    words[0] = 7;
    words[3] = 0;
    std::vector<ze_command_list_handle_t> lists(static_cast<std::size_t>(times), forth);
    lists.push_back(back);
    lists.push_back(forth);
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, static_cast<std::uint32_t>(lists.size()), lists.data(), fence),
              ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
    EXPECT_EQ(words[0], 7u);
    EXPECT_EQ(words[3], 7u);
    ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
    auto once = forth;
    EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &once, nullptr), ZE_RESULT_SUCCESS) << "given back once";
    EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  }
  for (const auto list : {forth, back}) EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, words), ZE_RESULT_SUCCESS);
}

}  // namespace submission_test
}  // namespace tenon::npu::test
