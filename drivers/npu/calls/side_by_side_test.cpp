// SPDX-License-Identifier: Apache-2.0
// Which submissions a queue runs concurrently and which in order. The tests use graphs that run until they are
// cancelled.
#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/drivers/npu/testing/graph_client.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/frameworks/level_zero/abi/cancel.hpp>
#include <tenon/frameworks/level_zero/abi/command_queue_npu.hpp>
#include <tenon/frameworks/level_zero/abi/core.hpp>
#include <tenon/tests/support/turns_model.hpp>

namespace tenon::npu::test {
namespace {

constexpr std::int64_t kEndless = std::int64_t{1} << 60;
constexpr std::uint64_t kMoment = 100'000'000;  ///< Long enough to observe events that must not happen.

class NpuSideBySide : public NpuGraph {
 protected:
  /// A list that runs the graph, which takes one of the device's tiles, or fills a byte.
  struct Job {
    ze_command_list_handle_t list = nullptr;
    ze_fence_handle_t fence = nullptr;
    std::int64_t* trips = nullptr;
    float *x = nullptr, *y = nullptr;
  };
  void SetUp() override {
    NpuGraph::SetUp();
    ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, abi::kCancelExtension, reinterpret_cast<void**>(&cancels)),
              ZE_RESULT_SUCCESS);
    const Made made = make_ir(compiler::in_memory(*turns_model()), "--config NPU_TILES=\"1\"");
    ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
    graph = made.graph;
    pool = make_pool(32);
  }
  void TearDown() override {
    for (Job& job : jobs) {
      EXPECT_EQ(zeFenceDestroy(job.fence), ZE_RESULT_SUCCESS);
      EXPECT_EQ(zeCommandListDestroy(job.list), ZE_RESULT_SUCCESS);
      for (void* data : {static_cast<void*>(job.trips), static_cast<void*>(job.x), static_cast<void*>(job.y)})
        if (data) {
          EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
        }
    }
    if (queue) {
      EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    }
    EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
    EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
    NpuGraph::TearDown();
  }
  static bool has_two_cpus() { return engine::Workers::available_cpus() > 1; }
  /// A job of `queue`. @param signal, gate  may be null.
  Job make_job(std::int64_t trips, ze_event_handle_t signal = nullptr, ze_event_handle_t gate = nullptr) {
    Job job;
    job.trips = static_cast<std::int64_t*>(allocate_host(64));
    job.x = static_cast<float*>(allocate_host(64));
    job.y = static_cast<float*>(allocate_host(64));
    *job.trips = trips;
    void* const values[] = {job.trips, job.x, job.y};
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(graphs->set_argument_value(graph, i, values[i]), ZE_RESULT_SUCCESS);
    job.list = make_list();
    EXPECT_EQ(graphs->append_graph_execute(job.list, graph, nullptr, signal, gate ? 1 : 0, gate ? &gate : nullptr),
              ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListClose(job.list), ZE_RESULT_SUCCESS);
    job.fence = make_fence(queue);
    jobs.push_back(job);
    return job;
  }
  ze_result_t submit(const Job& job) {
    ze_command_list_handle_t list = job.list;
    return zeCommandQueueExecuteCommandLists(queue, 1, &list, job.fence);
  }
  static ze_result_t wait(const Job& job, std::uint64_t timeout_ns = 20 * kSecond) {
    return zeFenceHostSynchronize(job.fence, timeout_ns);
  }
  /// The fence reports the cancellation.
  void expect_cancelled(const Job& job) {
    EXPECT_EQ(cancels->cancel(job.list), ZE_RESULT_SUCCESS);
    EXPECT_EQ(wait(job), ZE_RESULT_ERROR_NOT_AVAILABLE);
  }
  ze_command_queue_handle_t make_queue_with(ze_command_queue_flags_t flags, std::uint32_t options,
                                            ze_command_queue_mode_t mode, ze_result_t expected = ZE_RESULT_SUCCESS) {
    abi::CommandQueueNpuDescriptor2 more;
    more.options = options;
    ze_command_queue_desc_t descriptor = {};
    descriptor.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    descriptor.pNext = &more;
    descriptor.flags = flags;
    descriptor.mode = mode;
    ze_command_queue_handle_t made = nullptr;
    EXPECT_EQ(zeCommandQueueCreate(context, device, &descriptor, &made), expected);
    return made;
  }

  abi::CancelTable* cancels = nullptr;
  abi::GraphHandle graph = nullptr;
  ze_event_pool_handle_t pool = nullptr;
  ze_command_queue_handle_t queue = nullptr;
  std::vector<Job> jobs;
};

TEST_F(NpuSideBySide, AnInferenceEndsWhileAnEarlierOneOfItsQueueRuns) {
  if (!has_two_cpus()) GTEST_SKIP() << "one CPU: one graph at a time";
  queue = make_queue();
  const Job endless = make_job(kEndless);
  ASSERT_EQ(submit(endless), ZE_RESULT_SUCCESS);
  for (int i = 0; i < 20; ++i) {
    const Job job = make_job(10);
    ASSERT_EQ(submit(job), ZE_RESULT_SUCCESS);
    ASSERT_EQ(wait(job), ZE_RESULT_SUCCESS) << i;
  }
  EXPECT_EQ(wait(endless, 0), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, kMoment), ZE_RESULT_NOT_READY) << "the first has not ended";
  expect_cancelled(endless);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 20 * kSecond), ZE_RESULT_SUCCESS) << "its fence has told it";
}

TEST_F(NpuSideBySide, EightRequestsOverlapOnTheDevicesClock) {
  if (!has_two_cpus()) GTEST_SKIP() << "one CPU: one graph at a time";
  constexpr std::size_t kJobs = 8;
  queue = make_queue();
  std::vector<ze_event_handle_t> events;
  std::vector<Job> all;
  for (std::size_t i = 0; i < kJobs; ++i) {
    events.push_back(make_event(pool, static_cast<std::uint32_t>(i)));
    all.push_back(make_job(100'000, events.back()));
  }
  for (const Job& job : all) ASSERT_EQ(submit(job), ZE_RESULT_SUCCESS);
  for (const Job& job : all) ASSERT_EQ(wait(job), ZE_RESULT_SUCCESS);
  std::vector<ze_kernel_timestamp_data_t> times;
  for (const auto event : events) {
    ze_kernel_timestamp_result_t result;
    ASSERT_EQ(zeEventQueryKernelTimestamp(event, &result), ZE_RESULT_SUCCESS);
    times.push_back(result.global);
    EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  }
  std::size_t overlapping = 0;
  for (std::size_t i = 0; i < kJobs; ++i)
    overlapping += std::any_of(times.begin(), times.end(), [&mine = times[i]](const auto& other) {
      return &other != &mine && other.kernelStart < mine.kernelEnd && mine.kernelStart < other.kernelEnd;
    });
  EXPECT_GE(overlapping, kJobs / 2);
}

TEST_F(NpuSideBySide, QueuesThatPromiseOrderKeepIt) {
  struct Options {
    ze_command_queue_flags_t flags;
    std::uint32_t npu;
  };
  for (const Options options : {Options{abi::kQueueInOrder, 0}, Options{0, abi::kCommandQueueDeviceSync}}) {
    queue = make_queue_with(options.flags, options.npu, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    const Job endless = make_job(kEndless), next = make_job(1);
    ASSERT_EQ(submit(endless), ZE_RESULT_SUCCESS);
    ASSERT_EQ(submit(next), ZE_RESULT_SUCCESS);
    EXPECT_EQ(wait(next, kMoment), ZE_RESULT_NOT_READY) << options.npu;
    expect_cancelled(endless);
    EXPECT_EQ(wait(next), ZE_RESULT_SUCCESS) << "the failure is the first one's own";
    EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  }
  queue = nullptr;
  make_queue_with(0, abi::kCommandQueueDeviceSync, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
                  ZE_RESULT_ERROR_INVALID_ENUMERATION);
}

TEST_F(NpuSideBySide, ListsOfOneCallAndCommandsOfOneListRunInOrder) {
  queue = make_queue();
  const Job endless = make_job(kEndless), second = make_job(3);
  ze_command_list_handle_t lists[] = {endless.list, second.list};
  second.y[0] = -1;
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 2, lists, second.fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(wait(second, kMoment), ZE_RESULT_NOT_READY);
  EXPECT_EQ(second.y[0], -1);
  EXPECT_EQ(zeCommandListClose(second.list), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(cancels->cancel(endless.list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(wait(second), ZE_RESULT_ERROR_NOT_AVAILABLE) << "what follows a failure does not run";
  EXPECT_EQ(second.y[0], -1);
  // An immediate list: each command after the one before.
  const auto immediate = make_immediate_list();
  const auto done = make_event(pool, 0);
  auto gate = make_event(pool, 1);
  const unsigned char byte = 7;
  auto* data = static_cast<unsigned char*>(allocate_host(64));
  ASSERT_EQ(zeCommandListAppendWaitOnEvents(immediate, 1, &gate), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendMemoryFill(immediate, data, &byte, 1, 1, done, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(done, kMoment), ZE_RESULT_NOT_READY);
  ASSERT_EQ(zeEventHostSignal(gate), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(done, 20 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[0], 7);
  EXPECT_EQ(zeCommandListDestroy(immediate), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
  for (const auto event : {done, gate}) EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
}

TEST_F(NpuSideBySide, ABarrierOrdersWhatTheQueueRunsBeforeAndAfterIt) {
  queue = make_queue();
  const Job endless = make_job(kEndless);
  const Job after = make_job(1);
  Job barrier;
  barrier.list = make_list();
  ASSERT_EQ(zeCommandListAppendBarrier(barrier.list, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(barrier.list), ZE_RESULT_SUCCESS);
  barrier.fence = make_fence(queue);
  jobs.push_back(barrier);
  for (int round = 0; round < 2; ++round) {
    for (const Job* job : {&endless, static_cast<const Job*>(&barrier), &after})
      ASSERT_EQ(submit(*job), ZE_RESULT_SUCCESS);
    EXPECT_EQ(wait(barrier, kMoment), ZE_RESULT_NOT_READY);
    EXPECT_EQ(wait(after, 0), ZE_RESULT_NOT_READY);
    expect_cancelled(endless);
    EXPECT_EQ(wait(barrier), ZE_RESULT_SUCCESS);
    EXPECT_EQ(wait(after), ZE_RESULT_SUCCESS);
    for (const Job* job : {&endless, static_cast<const Job*>(&barrier), &after}) zeFenceReset(job->fence);
  }
}

TEST_F(NpuSideBySide, AListThatWaitsForAnEventHoldsUpNoOther) {
  queue = make_queue();
  auto gate = make_event(pool, 0);
  const Job first = make_job(1, nullptr, gate), second = make_job(1, gate);
  ASSERT_EQ(submit(first), ZE_RESULT_SUCCESS);
  EXPECT_EQ(wait(first, kMoment), ZE_RESULT_NOT_READY);
  ASSERT_EQ(submit(second), ZE_RESULT_SUCCESS);
  EXPECT_EQ(wait(first), ZE_RESULT_SUCCESS) << "the second signals what it waits for";
  EXPECT_EQ(wait(second), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(gate), ZE_RESULT_SUCCESS);
}

TEST_F(NpuSideBySide, DestroyingAQueueEndsAllThatItRuns) {
  queue = make_queue();
  auto gate = make_event(pool, 0);
  const Job one = make_job(kEndless), other = make_job(kEndless), gated = make_job(1, nullptr, gate);
  for (const Job* job : {&one, &other, &gated}) ASSERT_EQ(submit(*job), ZE_RESULT_SUCCESS);
  EXPECT_EQ(wait(one, kMoment), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  queue = nullptr;
  for (const Job* job : {&one, &other, &gated}) EXPECT_EQ(wait(*job), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_EQ(zeEventDestroy(gate), ZE_RESULT_SUCCESS);
}

TEST_F(NpuSideBySide, ManyThreadsShareOneQueueAndEachGetsItsOwn) {
  constexpr int kThreads = 6, kRounds = 150;
  queue = make_queue();
  std::vector<Job> all;
  for (int t = 0; t < kThreads; ++t) all.push_back(make_job(1));
  std::vector<int> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const Job& job = all[static_cast<std::size_t>(t)];
      int& mine = wrong[static_cast<std::size_t>(t)];
      for (int round = 0; round < kRounds; ++round) {
        const bool is_cancelled = (round + t) % 5 == 0;
        *job.trips = is_cancelled ? kEndless : round % 7;
        mine += submit(job) != ZE_RESULT_SUCCESS;
        if (is_cancelled) mine += cancels->cancel(job.list) != ZE_RESULT_SUCCESS;
        const ze_result_t expected = is_cancelled ? ZE_RESULT_ERROR_NOT_AVAILABLE : ZE_RESULT_SUCCESS;
        if (round % 3 == 0) zeCommandQueueSynchronize(queue, 1000);
        mine += wait(job) != expected;
        mine += zeFenceReset(job.fence) != ZE_RESULT_SUCCESS;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads));
}

}  // namespace
}  // namespace tenon::npu::test
