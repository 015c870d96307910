// SPDX-License-Identifier: Apache-2.0
// Memory of graphs: valid arguments and their origins, accounting, and release.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <tenon/drivers/npu/testing/graph_client.hpp>

namespace tenon::npu::test {
namespace graph_memory_test {

TEST_F(NpuGraph, AnInputsFileThatIsShrunkIsAnErrorUntilItGrowsBack) {
  const abi::GraphHandle graph = small();
  const int fd = ::memfd_create("client", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(fd, 4096), 0);
  const ze_external_memory_import_fd_t import = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, nullptr,
                                                 ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, fd};
  auto* x = static_cast<float*>(allocate_host(4096, &import));
  auto* y = static_cast<float*>(allocate_host(16));
  EXPECT_EQ(graphs->set_argument_value(graph, 0, x), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->set_argument_value(graph, 1, y), ZE_RESULT_SUCCESS);
  EXPECT_EQ(execute(graph), ZE_RESULT_SUCCESS);
  ASSERT_EQ(::ftruncate(fd, 0), 0);
  EXPECT_EQ(execute(graph), ZE_RESULT_ERROR_INVALID_SIZE);
  ASSERT_EQ(::ftruncate(fd, 4096), 0);
  x[0] = 6;
  EXPECT_EQ(execute(graph), ZE_RESULT_SUCCESS);
  EXPECT_EQ(y[0], 7);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, x), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, y), ZE_RESULT_SUCCESS);
  ::close(fd);
}

TEST_F(NpuGraph, RefusesArgumentsThatAreNoMemoryOfItsOwn) {
  const abi::GraphHandle graph = small();
  float on_stack[4];
  EXPECT_EQ(graphs->set_argument_value(graph, 0, on_stack), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(graphs->set_argument_value(graph, 0, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  auto* page = static_cast<char*>(allocate_host(4096));
  EXPECT_EQ(graphs->set_argument_value(graph, 0, page + 4096 - 8), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(graphs->set_argument_value(graph, 9, page), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(graphs->set_argument_value(graph, 0, page), ZE_RESULT_SUCCESS);
  EXPECT_EQ(execute(graph), ZE_RESULT_ERROR_UNINITIALIZED) << "argument 1 is not set";
  EXPECT_EQ(zeMemFree(context, page), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, TakesStridesInnermostFirst) {
  const Made made = make_ir(compiler::in_memory(*compiler::small_model(PartialShape{2, 3})), kStridesForX);
  ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
  auto* x = static_cast<float*>(allocate_host(64));
  auto* y = static_cast<float*>(allocate_host(64));
  for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i), y[i] = -1;
  abi::ArgumentTensor tensor;
  abi::ArgumentStrides strides;
  tensor.data = x;
  tensor.next = &strides;
  strides.strides[0] = 1;
  strides.strides[1] = 5;
  ASSERT_EQ(graphs->set_argument_value_2(made.graph, 0, &tensor), ZE_RESULT_SUCCESS);
  ASSERT_EQ(graphs->set_argument_value(made.graph, 1, y), ZE_RESULT_SUCCESS);
  ASSERT_EQ(execute(made.graph), ZE_RESULT_SUCCESS);
  for (int row = 0; row < 2; ++row)
    for (int k = 0; k < 3; ++k) EXPECT_EQ(y[3 * row + k], static_cast<float>(5 * row + k + 1));
  EXPECT_EQ(y[6], -1) << "the output is packed";
  // Columns further apart than rows: only one axis order fits.
  strides.strides[0] = 4;
  strides.strides[1] = 1;
  ASSERT_EQ(graphs->set_argument_value_2(made.graph, 0, &tensor), ZE_RESULT_SUCCESS);
  ASSERT_EQ(execute(made.graph), ZE_RESULT_SUCCESS);
  for (int row = 0; row < 2; ++row)
    for (int k = 0; k < 3; ++k) EXPECT_EQ(y[3 * row + k], static_cast<float>(row + 4 * k + 1));
  // Set again without strides, it is packed again.
  ASSERT_EQ(graphs->set_argument_value(made.graph, 0, x), ZE_RESULT_SUCCESS);
  ASSERT_EQ(execute(made.graph), ZE_RESULT_SUCCESS);
  EXPECT_EQ(y[3], 4);
  strides.strides[1] = 5000;
  EXPECT_EQ(graphs->set_argument_value_2(made.graph, 0, &tensor), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  // The last row ends with the memory.
  auto* page = static_cast<float*>(allocate_host(4096));
  tensor.data = page;
  strides.strides[0] = 1;
  strides.strides[1] = 1024 - 3;
  EXPECT_EQ(graphs->set_argument_value_2(made.graph, 0, &tensor), ZE_RESULT_SUCCESS);
  strides.strides[1] = 1024 - 2;
  EXPECT_EQ(graphs->set_argument_value_2(made.graph, 0, &tensor), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeMemFree(context, page), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, x), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, y), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, RefusesStridesOfArgumentsThatAnnounceNone) {
  const Made made = make_ir(compiler::in_memory(*compiler::small_model(PartialShape{2, 3})), kStridesForX);
  ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
  void* const memory = allocate_host(64);
  abi::ArgumentTensor tensor;
  abi::ArgumentStrides strides;
  tensor.data = memory;
  tensor.next = &strides;
  strides.strides[0] = 1;
  strides.strides[1] = 5;
  EXPECT_EQ(graphs->set_argument_value_2(made.graph, 0, &tensor), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->set_argument_value_2(made.graph, 1, &tensor), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  strides.strides[1] = 3;
  EXPECT_EQ(graphs->set_argument_value_2(made.graph, 1, &tensor), ZE_RESULT_SUCCESS) << "as it lies anyway";
  EXPECT_EQ(zeMemFree(context, memory), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, KeepsStridesWhenItWasMadeForChangingShapes) {
  const Made made = make_ir(compiler::in_memory(*compiler::small_model(PartialShape{2, 3})), kStridesForX,
                            abi::kGraphDisableCaching | abi::kGraphOptimizeForDynamicShapes);
  ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
  auto* x = static_cast<float*>(allocate_host(64));
  auto* y = static_cast<float*>(allocate_host(64));
  for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
  abi::ArgumentTensor tensor;
  abi::ArgumentStrides strides;
  tensor.data = y;  // Moved elsewhere first; the strides stay.
  tensor.next = &strides;
  strides.strides[0] = 1;
  strides.strides[1] = 5;
  ASSERT_EQ(graphs->set_argument_value_2(made.graph, 0, &tensor), ZE_RESULT_SUCCESS);
  ASSERT_EQ(graphs->set_argument_value(made.graph, 0, x), ZE_RESULT_SUCCESS);
  ASSERT_EQ(graphs->set_argument_value(made.graph, 1, y), ZE_RESULT_SUCCESS);
  ASSERT_EQ(execute(made.graph), ZE_RESULT_SUCCESS);
  EXPECT_EQ(y[3], 6) << "row 1 begins five elements on";
  EXPECT_EQ(zeMemFree(context, x), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, y), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, MemoryIsAccountedAndEvictGivesItBack) {
  const std::uint64_t before = used();
  // A 1 MiB intermediate between two products: working memory beside the arguments.
  const Made made =
      make_ir(compiler::in_memory(*compiler::product_model(1 << 18)), "--config INFERENCE_PRECISION_HINT=\"f32\"");
  ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
  const std::uint64_t with_binary = used();
  EXPECT_GE(with_binary, before + binary_of(made.graph).size());
  auto* const x = static_cast<float*>(allocate_host(16));
  auto* const y = static_cast<float*>(allocate_host(16));
  ASSERT_EQ(graphs->set_argument_value(made.graph, 0, x), ZE_RESULT_SUCCESS);
  ASSERT_EQ(graphs->set_argument_value(made.graph, 1, y), ZE_RESULT_SUCCESS);
  ze_command_queue_handle_t queue = make_queue();
  ze_command_list_handle_t list = make_list();
  ASSERT_EQ(graphs->append_graph_execute(list, made.graph, nullptr, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  const std::uint64_t recorded = used();
  const auto run = [&](float value) {
    x[0] = value;
    EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueSynchronize(queue, 20 * kSecond), ZE_RESULT_SUCCESS);
    EXPECT_EQ(y[0], value * (1 << 18));
  };
  run(2);
  const std::uint64_t working = used();
  EXPECT_GE(working, recorded + (1u << 20)) << "what a run works in counts";
  EXPECT_EQ(graphs->evict(made.graph), ZE_RESULT_SUCCESS);
  EXPECT_LE(used(), recorded) << "and goes with the plan";
  run(3);
  EXPECT_EQ(used(), working);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, x), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, y), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
  EXPECT_EQ(used(), before);
}

TEST_F(NpuGraph, KeepsNoMemoryThatItsClientFreed) {
  const abi::GraphHandle graph = small();
  constexpr std::size_t kSize = std::size_t{8} << 20;
  const std::uint64_t before = used();
  void* const x = allocate_host(kSize);
  void* const y = allocate_host(16);
  ASSERT_EQ(graphs->set_argument_value(graph, 0, x), ZE_RESULT_SUCCESS);
  ASSERT_EQ(graphs->set_argument_value(graph, 1, y), ZE_RESULT_SUCCESS);
  EXPECT_GE(used(), before + kSize);
  EXPECT_EQ(zeMemFree(context, x), ZE_RESULT_SUCCESS);
  EXPECT_LT(used(), before + kSize) << "the graph's argument holds nothing";
  EXPECT_EQ(execute(graph), ZE_RESULT_ERROR_INVALID_ARGUMENT) << "argument 0 is no more";
  EXPECT_EQ(zeMemFree(context, y), ZE_RESULT_SUCCESS);
  EXPECT_EQ(used(), before);
  expect_it_computes(graph);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, RefusesMemoryAndListsOfAnotherContext) {
  const abi::GraphHandle graph = small();
  ze_context_handle_t other = nullptr;
  const ze_context_desc_t descriptor = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ASSERT_EQ(zeContextCreate(driver, &descriptor, &other), ZE_RESULT_SUCCESS);
  void* const own = allocate_host(4096);
  std::swap(context, other);
  void* const foreign = allocate_host(4096);
  ze_command_list_handle_t list = make_list();
  std::swap(context, other);
  EXPECT_EQ(graphs->set_argument_value(graph, 0, foreign), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(graphs->set_argument_value(graph, 0, own), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->set_argument_value(graph, 1, static_cast<char*>(own) + 64), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->append_graph_initialize(list, graph, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(graphs->append_graph_execute(list, graph, nullptr, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(execute(graph), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, own), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(other, foreign), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeContextDestroy(other), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
}

/// Run with TENON_NPU_PLATFORM=4000,4000.
TEST_F(NpuGraph, IsExecutedByItsOwnDeviceAlone) {
  if (devices.size() < 2) GTEST_SKIP() << "one NPU is here";
  const abi::GraphHandle graph = small();
  void* const memory = allocate_host(4096);
  for (const std::uint32_t index : {0u, 1u})
    ASSERT_EQ(graphs->set_argument_value(graph, index, memory), ZE_RESULT_SUCCESS);
  device = devices[1];
  ze_command_list_handle_t list = make_list();
  device = devices[0];
  EXPECT_EQ(graphs->append_graph_initialize(list, graph, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(graphs->append_graph_execute(list, graph, nullptr, nullptr, 0, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(execute(graph), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, memory), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, EvictingLeavesListsThatAreBeingRecordedAlone) {
  const abi::GraphHandle graph = small();
  expect_it_computes(graph);
  void* const memory = allocate_host(16);
  for (const std::uint32_t index : {0u, 1u})
    EXPECT_EQ(graphs->set_argument_value(graph, index, memory), ZE_RESULT_SUCCESS);
  std::atomic<bool> done{false};
  std::thread evicting([&] {
    while (!done) EXPECT_EQ(graphs->evict(graph), ZE_RESULT_SUCCESS);
  });
  for (int i = 0; i < 3000; ++i) {
    ze_command_list_handle_t list = make_list();
    EXPECT_EQ(graphs->graph_initialize(graph), ZE_RESULT_SUCCESS);
    ASSERT_EQ(graphs->append_graph_execute(list, graph, nullptr, nullptr, 0, nullptr), ZE_RESULT_SUCCESS) << i;
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  }
  done = true;
  evicting.join();
  zeMemFree(context, memory);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
}

}  // namespace graph_memory_test
}  // namespace tenon::npu::test
