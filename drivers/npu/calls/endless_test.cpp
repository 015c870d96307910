// SPDX-License-Identifier: Apache-2.0
// Graphs that would run for ever: cancelled, or abandoned by destroying their queue.
#include <atomic>
#include <chrono>
#include <thread>

#include <tenon/drivers/npu/testing/client.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>
#include <tenon/frameworks/level_zero/abi/cancel.hpp>
#include <tenon/frameworks/level_zero/abi/graph_table.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::npu::test {
namespace {

namespace abi = level_zero::abi;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// y = x + 1 + 1 ..., `trips` times, in a loop.
std::shared_ptr<Model> turns_model() {
  using op::v0::Constant;
  using op::v0::Parameter;
  auto trips = std::make_shared<Parameter>(element::i64, PartialShape{1});
  auto x = std::make_shared<Parameter>(element::f32, PartialShape{1, 4});
  auto state = std::make_shared<Parameter>(element::f32, PartialShape{1, 4});
  auto next = std::make_shared<op::v1::Add>(state, Constant::create(element::f32, Shape{1}, {1}));
  const auto yes = [] { return Constant::create(element::boolean, Shape{}, {1}); };
  auto loop = std::make_shared<op::v5::Loop>(trips->output(0), yes()->output(0));
  loop->set_function(std::make_shared<Model>(OutputVector{yes()->output(0), next->output(0)}, ParameterVector{state}));
  loop->set_special_body_ports({-1, 0});
  loop->set_merged_input(state, x->output(0), next->output(0));
  return std::make_shared<Model>(OutputVector{loop->get_iter_value(next->output(0))}, ParameterVector{trips, x},
                                 "turns");
}

class NpuEndless : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, abi::kGraphExtension, reinterpret_cast<void**>(&graphs)),
              ZE_RESULT_SUCCESS);
    const auto ir = compiler::in_memory(*turns_model());
    abi::GraphDescriptor2 descriptor;
    descriptor.format = static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite);
    descriptor.input = reinterpret_cast<const std::uint8_t*>(ir.data());
    descriptor.input_size = ir.size();
    descriptor.flags = abi::kGraphDisableCaching;
    ASSERT_EQ(graphs->create_2(context, device, &descriptor, &graph), ZE_RESULT_SUCCESS);
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
    NpuTest::TearDown();
  }
  void start() {
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeFenceHostSynchronize(fence, 50'000'000), ZE_RESULT_NOT_READY);
  }

  abi::GraphTable* graphs = nullptr;
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
    EXPECT_LT(steady_clock::now() - begin, milliseconds(2000));
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
  EXPECT_LT(taken, milliseconds(10000));
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

}  // namespace
}  // namespace tenon::npu::test
