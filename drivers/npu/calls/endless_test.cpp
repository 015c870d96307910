// SPDX-License-Identifier: Apache-2.0
// Graphs that would run for ever: cancelled, or abandoned by destroying their queue.
#include <atomic>
#include <chrono>
#include <thread>

#include <tenon/drivers/npu/testing/graph_client.hpp>
#include <tenon/frameworks/level_zero/abi/cancel.hpp>
#include <tenon/tests/support/turns_model.hpp>

namespace tenon::npu::test {
namespace endless_test {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class NpuEndless : public NpuGraph {
 protected:
  void SetUp() override {
    NpuGraph::SetUp();
    const Made made = make_ir(compiler::in_memory(*turns_model()));
    ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
    graph = made.graph;
    trips = static_cast<std::int64_t*>(allocate_host(64));
    x = static_cast<float*>(allocate_host(64));
    y = static_cast<float*>(allocate_host(64));
    void* const values[] = {trips, x, y};
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_EQ(graphs->set_argument_value(graph, i, values[i]), ZE_RESULT_SUCCESS);
    ASSERT_EQ(graphs->graph_initialize(graph), ZE_RESULT_SUCCESS);
    list = make_list();
    ASSERT_EQ(graphs->append_graph_execute(list, graph, nullptr, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
    queue = make_queue();
    fence = make_fence(queue);
    *trips = std::int64_t{1} << 60;
  }
  void TearDown() override {
    if (queue) {
      EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    }
    EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
    for (void* data : {static_cast<void*>(trips), static_cast<void*>(x), static_cast<void*>(y)})
      EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
    NpuGraph::TearDown();
  }
  void start() {
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceHostSynchronize(fence, 50'000'000), ZE_RESULT_NOT_READY);
  }

  abi::GraphHandle graph = nullptr;
  ze_command_queue_handle_t queue = nullptr;
  ze_fence_handle_t fence = nullptr;
  ze_command_list_handle_t list = nullptr;
  std::int64_t* trips = nullptr;
  float *x = nullptr, *y = nullptr;
};

TEST_F(NpuEndless, AListIsCancelledAndRunsAgain) {
  abi::CancelTable* table = nullptr;
  ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, abi::kCancelExtension, reinterpret_cast<void**>(&table)),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(table->cancel(nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  EXPECT_EQ(table->cancel(list), ZE_RESULT_SUCCESS) << "no effect on a list that is not submitted";
  for (int round = 0; round < 3; ++round) {
    start();
    const auto begin = steady_clock::now();
    EXPECT_EQ(table->cancel(list), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_ERROR_NOT_AVAILABLE);
    EXPECT_LT(steady_clock::now() - begin, milliseconds(9000));
    EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS) << "the fence has reported it";
    ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
    *trips = 3;
    x[2] = 4;
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
    EXPECT_EQ(y[2], 7);
    ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
    *trips = std::int64_t{1} << 60;
  }
}

// A waiting thread runs short lists. A list that was short may become endless, and the wait must still end at its
// deadline.
TEST_F(NpuEndless, AWaiterDoesNotRunWhatMayBecomeEndless) {
  abi::CancelTable* table = nullptr;
  ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, abi::kCancelExtension, reinterpret_cast<void**>(&table)),
            ZE_RESULT_SUCCESS);
  *trips = 1;
  // Until the list counts as short, so that the queue's thread leaves it to the waiting thread.
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
  }
  *trips = std::int64_t{1} << 60;
  std::atomic<bool> is_back = false;
  std::thread rescue([&] {  // Ends the run, so that the test ends even if the waiting thread executes it.
    const auto end = steady_clock::now() + milliseconds(30000);
    while (!is_back && steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(table->cancel(list), ZE_RESULT_SUCCESS);
  });
  const auto begin = steady_clock::now();
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceHostSynchronize(fence, 50'000'000), ZE_RESULT_NOT_READY);
  EXPECT_LT(steady_clock::now() - begin, milliseconds(25000));
  is_back = true;
  rescue.join();
  EXPECT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_ERROR_NOT_AVAILABLE);
}

TEST_F(NpuEndless, AListThatWaitsIsCancelledToo) {
  abi::CancelTable* table = nullptr;
  ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, abi::kCancelExtension, reinterpret_cast<void**>(&table)),
            ZE_RESULT_SUCCESS);
  const auto pool = make_pool(2);
  auto never = make_event(pool, 0), behind = make_event(pool, 1);
  auto waiting = make_list();
  ASSERT_EQ(zeCommandListAppendBarrier(waiting, behind, 1, &never), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(waiting), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &waiting, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(table->cancel(waiting), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventHostSynchronize(behind, 10 * kSecond), ZE_RESULT_ERROR_NOT_AVAILABLE);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_ERROR_NOT_AVAILABLE);
  EXPECT_EQ(zeCommandListDestroy(waiting), ZE_RESULT_SUCCESS);
  for (const auto event : {never, behind}) EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
}

TEST_F(NpuEndless, AQueueThatGoesEndsWhatComputesAfterAWhile) {
  start();
  const auto begin = steady_clock::now();
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  queue = nullptr;
  const auto taken = steady_clock::now() - begin;
  EXPECT_EQ(zeFenceHostSynchronize(fence, 0), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_GE(taken, milliseconds(1900)) << "work has time to end by itself";
  EXPECT_LT(taken, milliseconds(60000));
}

TEST_F(NpuEndless, ABlockingFreeWaitsForAGraphsArguments) {
  abi::CancelTable* table = nullptr;
  ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, abi::kCancelExtension, reinterpret_cast<void**>(&table)),
            ZE_RESULT_SUCCESS);
  start();
  const ze_memory_free_ext_desc_t blocking = {ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, nullptr,
                                              ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE};
  void* const other = allocate_host(64);
  EXPECT_EQ(zeMemFreeExt(context, &blocking, other), ZE_RESULT_SUCCESS) << "not used by the graph: freed at once";
  std::atomic<bool> is_free = false;
  std::thread thread([&] {
    EXPECT_EQ(zeMemFreeExt(context, &blocking, y), ZE_RESULT_SUCCESS);
    is_free = true;
  });
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_FALSE(is_free);
  EXPECT_EQ(table->cancel(list), ZE_RESULT_SUCCESS);
  thread.join();
  y = static_cast<float*>(allocate_host(64));  // For TearDown.
}

}  // namespace endless_test
}  // namespace tenon::npu::test
