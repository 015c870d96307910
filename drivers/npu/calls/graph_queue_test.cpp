// SPDX-License-Identifier: Apache-2.0
// Graphs in command lists, through the loader: executed, changed in place, freed while running, on many queues.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include <tenon/drivers/npu/testing/client.hpp>
#include <tenon/frameworks/level_zero/abi/command_queue_npu.hpp>
#include <tenon/frameworks/level_zero/abi/graph_table.hpp>
#include <tenon/frameworks/level_zero/abi/mutable_list.hpp>

namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

// The driver's calls of operator new end here too, since it does not define its own.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* data = std::malloc(size ? size : 1)) return data;
  throw std::bad_alloc();
}
// Not inlined: the compiler would warn about free() for memory from operator new.
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }

namespace tenon::npu::test {
namespace graph_queue_test {

namespace abi = level_zero::abi;
constexpr std::size_t kRows = 2, kColumns = 4, kCount = kRows * kColumns;

/// max(in, 0) of f32 [2, 4], as a client serialises a model for the driver's compiler.
std::string relu_model() {
  const std::string dims = "<dim>2</dim><dim>4</dim>";
  const std::string xml =
      "<?xml version=\"1.0\"?><net name=\"relu\" version=\"11\"><layers>"
      "<layer id=\"0\" name=\"in\" type=\"Parameter\" version=\"opset1\"><data shape=\"2,4\" element_type=\"f32\"/>"
      "<output><port id=\"0\" precision=\"FP32\" names=\"in\">" +
      dims +
      "</port></output></layer>"
      "<layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input><port id=\"0\" precision=\"FP32\">" +
      dims + "</port></input><output><port id=\"1\" precision=\"FP32\" names=\"out\">" + dims +
      "</port></output></layer>"
      "<layer id=\"2\" name=\"result\" type=\"Result\" version=\"opset1\"><input><port id=\"0\" precision=\"FP32\">" +
      dims +
      "</port></input></layer></layers><edges>"
      "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
      "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>";
  std::string bytes;
  const auto append = [&bytes](auto number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof number); };
  append(std::uint16_t{1});
  append(std::uint16_t{0});
  append(std::uint32_t{2});
  append(std::uint64_t{xml.size()});
  bytes += xml;
  append(std::uint64_t{0});
  return bytes;
}

class NpuGraphQueue : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, abi::kGraphExtension, reinterpret_cast<void**>(&table)),
              ZE_RESULT_SUCCESS);
    queue = make_queue();
    fence = make_fence(queue);
    input = floats(kCount);
    output = floats(kCount);
    graph = make_graph();
    ASSERT_NE(graph, nullptr);
    ASSERT_EQ(table->set_argument_value(graph, 0, input), ZE_RESULT_SUCCESS);
    ASSERT_EQ(table->set_argument_value(graph, 1, output), ZE_RESULT_SUCCESS);
    ASSERT_EQ(table->graph_initialize(graph), ZE_RESULT_SUCCESS);
  }
  void TearDown() override {
    if (graph) {
      EXPECT_EQ(table->destroy(graph), ZE_RESULT_SUCCESS);
    }
    EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    NpuTest::TearDown();
  }
  float* floats(std::size_t count) { return static_cast<float*>(allocate_host(count * sizeof(float))); }
  abi::GraphHandle make_graph() {
    const std::string bytes = relu_model();
    abi::GraphDescriptor2 descriptor;
    descriptor.format = static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite);
    descriptor.input_size = bytes.size();
    descriptor.input = reinterpret_cast<const std::uint8_t*>(bytes.data());
    descriptor.build_flags =
        "--inputs_precisions=\"0:FP32\" --inputs_layouts=\"0:NC\" --outputs_precisions=\"0:FP32\" "
        "--outputs_layouts=\"0:NC\" --config NPU_ENABLE_STRIDES_FOR=\"in\"";
    abi::GraphHandle made = nullptr;
    EXPECT_EQ(table->create_2(context, device, &descriptor, &made), ZE_RESULT_SUCCESS) << log();
    return made;
  }
  std::string log() {
    std::uint32_t size = 0;
    if (table->build_log_get_string(nullptr, &size, nullptr) != ZE_RESULT_SUCCESS) return {};
    std::string text(size, '\0');
    table->build_log_get_string(nullptr, &size, text.data());
    return text;
  }
  /// A closed list that executes the graph; its only command has id 1.
  ze_command_list_handle_t make_graph_list() {
    const abi::MutableListDescriptor is_mutable;
    const auto list = make_list(&is_mutable);
    const auto next_id = call<abi::CommandListGetNextCommandIdExp>("zeCommandListGetNextCommandIdExp");
    abi::MutableCommandId wish;
    wish.flags = abi::kMutableGraphArguments;
    std::uint64_t id = 0;
    EXPECT_EQ(next_id(list, &wish, &id), ZE_RESULT_SUCCESS);
    EXPECT_EQ(id, 1u);
    EXPECT_EQ(table->append_graph_execute(list, graph, nullptr, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
    return list;
  }
  ze_result_t change(ze_command_list_handle_t list, std::uint32_t index, const void* value,
                     const void* next = nullptr) {
    const auto update = call<abi::CommandListUpdateMutableCommandsExp>("zeCommandListUpdateMutableCommandsExp");
    abi::MutableGraphArgument argument;
    argument.next = next;
    argument.command_id = 1;
    argument.index = index;
    argument.value = value;
    abi::MutableCommands changes;
    changes.next = &argument;
    return update(list, &changes);
  }
  ze_result_t run(ze_command_list_handle_t list) {
    if (const ze_result_t result = zeCommandQueueExecuteCommandLists(queue, 1, &list, fence)) return result;
    const ze_result_t result = zeFenceHostSynchronize(fence, 60 * kSecond);
    zeFenceReset(fence);
    return result;
  }

  abi::GraphTable* table = nullptr;
  ze_command_queue_handle_t queue = nullptr;
  ze_fence_handle_t fence = nullptr;
  float *input = nullptr, *output = nullptr;
  abi::GraphHandle graph = nullptr;
};

TEST_F(NpuGraphQueue, ArgumentsOfAClosedListAreChangedInPlace) {
  const auto list = make_graph_list();
  for (std::size_t i = 0; i < kCount; ++i) input[i] = static_cast<float>(i) - 3;
  ASSERT_EQ(run(list), ZE_RESULT_SUCCESS);
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_EQ(output[i], i > 3 ? static_cast<float>(i) - 3 : 0);
  auto *other_input = floats(kCount), *other_output = floats(kCount);
  other_input[5] = 8;
  ASSERT_EQ(change(list, 0, other_input), ZE_RESULT_SUCCESS);
  ASSERT_EQ(change(list, 1, other_output), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(run(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(other_output[5], 8);
  EXPECT_EQ(other_output[4], 0);
  EXPECT_EQ(output[4], 1);  // Unchanged.
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraphQueue, StridesFollowTheArgumentTheyAreOf) {
  const auto list = make_graph_list();
  auto* wide = floats(2 * 8);
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < 8; ++column) wide[row * 8 + column] = static_cast<float>(10 * row + column);
  abi::ArgumentStrides strides;
  strides.strides[0] = 1;  // Innermost first, as OpenVINO writes them.
  strides.strides[1] = 8;
  ASSERT_EQ(change(list, 0, wide, &strides), ZE_RESULT_SUCCESS);
  ASSERT_EQ(run(list), ZE_RESULT_SUCCESS);
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < kColumns; ++column)
      EXPECT_EQ(output[row * kColumns + column], static_cast<float>(10 * row + column));
  strides.strides[1] = 13;  // Ends beyond the memory.
  auto* exact = static_cast<float*>(allocate_host(4096));
  EXPECT_EQ(change(list, 0, exact + 1024 - 12, &strides), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraphQueue, ArgumentsThatCannotBeAreRefusedAndChangeNothing) {
  const auto list = make_graph_list();
  float local[kCount] = {};
  EXPECT_EQ(change(list, 0, local), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(change(list, 0, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(change(list, 2, input), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(change(list, 0xffffffff, input), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  input[0] = 2;
  ASSERT_EQ(run(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(output[0], 2);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(table->set_argument_value(graph, 0, local), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table->set_argument_value(graph, 7, input), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(NpuGraphQueue, GraphsWithoutArgumentsOrWithoutAHandleAreNotRecorded) {
  const auto list = make_list();
  const auto bare = make_graph();
  EXPECT_EQ(table->append_graph_execute(list, bare, nullptr, nullptr, 0, nullptr), ZE_RESULT_ERROR_UNINITIALIZED);
  EXPECT_EQ(table->append_graph_execute(list, nullptr, nullptr, nullptr, 0, nullptr), ZE_RESULT_ERROR_UNINITIALIZED);
  EXPECT_EQ(table->append_graph_execute(nullptr, graph, nullptr, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  EXPECT_EQ(table->append_graph_execute(list, reinterpret_cast<abi::GraphHandle>(list), nullptr, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table->destroy(bare), ZE_RESULT_SUCCESS);
  EXPECT_EQ(table->destroy(bare), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table->append_graph_execute(list, bare, nullptr, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table->append_graph_initialize(list, bare, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraphQueue, AListOutlivesItsGraphAndItsMemory) {
  const auto list = make_graph_list();
  input[1] = 4;
  EXPECT_EQ(table->destroy(graph), ZE_RESULT_SUCCESS);
  graph = nullptr;
  EXPECT_EQ(zeMemFree(context, input), ZE_RESULT_SUCCESS);
  ASSERT_EQ(run(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(output[1], 4);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraphQueue, ArgumentsOfARunningListAreNotChanged) {
  const auto pool = make_pool(1);
  auto event = make_event(pool, 0);
  auto gate = make_list();
  ASSERT_EQ(zeCommandListAppendWaitOnEvents(gate, 1, &event), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(gate), ZE_RESULT_SUCCESS);
  auto list = make_graph_list();
  ze_command_list_handle_t both[] = {gate, list};
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 2, both, fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(change(list, 0, input), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  ASSERT_EQ(zeEventHostSignal(event), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeFenceHostSynchronize(fence, 60 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(change(list, 0, input), ZE_RESULT_SUCCESS);
  for (const auto each : both) EXPECT_EQ(zeCommandListDestroy(each), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraphQueue, TheSteadyStateAllocatesNothing) {
  constexpr std::size_t kRounds = 200;
  const auto allocated_by = [&](ze_command_list_handle_t list) {
    for (std::size_t i = 0; i < kRounds; ++i) EXPECT_EQ(run(list), ZE_RESULT_SUCCESS);
    const std::size_t before = allocations.load();
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (std::size_t i = 0; i < kRounds && result == ZE_RESULT_SUCCESS; ++i) result = run(list);
    const std::size_t after = allocations.load();
    EXPECT_EQ(result, ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    return after - before;
  };
  const auto pool = make_pool(1);
  const auto event = make_event(pool, 0);
  const auto copies = make_list();
  ASSERT_EQ(zeCommandListAppendMemoryCopy(copies, output, input, 16, event, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListAppendBarrier(copies, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(copies), ZE_RESULT_SUCCESS);
  EXPECT_EQ(allocated_by(copies), 0u);
  constexpr std::size_t kOfOneDnn = 4;  // Allocated by oneDNN to execute one primitive; the graph has one.
  EXPECT_LE(allocated_by(make_graph_list()), kRounds * kOfOneDnn);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraphQueue, QueuesOfAllPrioritiesComputeSideBySide) {
  constexpr int kThreads = 6, kRounds = 100;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  abi::CommandQueueNpuTable* queues = nullptr;
  ASSERT_EQ(
      zeDriverGetExtensionFunctionAddress(driver, abi::kCommandQueueNpuExtension, reinterpret_cast<void**>(&queues)),
      ZE_RESULT_SUCCESS);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const ze_command_queue_priority_t priorities[] = {ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
                                                        ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW,
                                                        ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH};
      abi::CommandQueueNpuDescriptor turbo;
      turbo.turbo = t % 2;
      const auto own_queue = make_queue(priorities[t % 3], &turbo);
      const auto own_fence = make_fence(own_queue);
      if (t == 5) {
        EXPECT_EQ(queues->set_workload_type(own_queue, abi::WorkloadType::kBackground), ZE_RESULT_SUCCESS);
      }
      auto *from = floats(kCount), *to = floats(kCount);
      auto list = make_graph_list();
      EXPECT_EQ(change(list, 0, from), ZE_RESULT_SUCCESS);
      EXPECT_EQ(change(list, 1, to), ZE_RESULT_SUCCESS);
      for (int i = 1; i <= kRounds; ++i) {
        from[7] = static_cast<float>(i * kThreads + t);
        if (zeCommandQueueExecuteCommandLists(own_queue, 1, &list, own_fence) != ZE_RESULT_SUCCESS ||
            zeFenceHostSynchronize(own_fence, 60 * kSecond) != ZE_RESULT_SUCCESS || to[7] != from[7])
          ++wrong;
        zeFenceReset(own_fence);
      }
      zeCommandListDestroy(list);
      zeFenceDestroy(own_fence);
      zeCommandQueueDestroy(own_queue);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace graph_queue_test
}  // namespace tenon::npu::test
