// SPDX-License-Identifier: Apache-2.0
// Each of the driver's allocations fails in turn, in a process of its own, from zeInit to an executed graph: the client is told by a
// result, and goes on.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <new>

#include <gtest/gtest.h>
#include <level_zero/ze_api.h>

#include <tenon/drivers/handles/testing/failing_allocation.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>
#include <tenon/frameworks/level_zero/abi/graph_table.hpp>

namespace tenon::npu::test {
namespace no_memory_test {

namespace abi = level_zero::abi;
using handles::test::Allocations;
using handles::test::counted;

/// Runs a list with the graph on zeroes. @return the first result that is not success.
ze_result_t execute(abi::GraphTable& table, ze_context_handle_t context, ze_device_handle_t device,
                    abi::GraphHandle graph) {
  const ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  const ze_command_queue_desc_t queue_descriptor = {
      ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, nullptr, 0, 0, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
      ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
  const ze_command_list_desc_t list_descriptor = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
  const ze_fence_desc_t fence_descriptor = {ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
  void *x = nullptr, *y = nullptr;
  ze_command_queue_handle_t queue = nullptr;
  ze_command_list_handle_t list = nullptr;
  ze_fence_handle_t fence = nullptr;
  ze_result_t result = zeMemAllocHost(context, &host, 16, 0, &x);
  if (!result) result = zeMemAllocHost(context, &host, 16, 0, &y);
  if (!result) result = table.set_argument_value(graph, 0, x);
  if (!result) result = table.set_argument_value(graph, 1, y);
  if (!result) result = table.graph_initialize(graph);
  if (!result) result = zeCommandQueueCreate(context, device, &queue_descriptor, &queue);
  if (!result) result = zeCommandListCreate(context, device, &list_descriptor, &list);
  if (!result) result = zeFenceCreate(queue, &fence_descriptor, &fence);
  if (!result) result = table.append_graph_execute(list, graph, nullptr, nullptr, 0, nullptr);
  if (!result) result = zeCommandListClose(list);
  if (!result) result = zeCommandQueueExecuteCommandLists(queue, 1, &list, fence);
  if (!result) result = zeFenceHostSynchronize(fence, 20'000'000'000);
  if (fence) zeFenceDestroy(fence);
  if (list) zeCommandListDestroy(list);
  if (queue) zeCommandQueueDestroy(queue);
  if (x) zeMemFree(context, x);
  if (y) zeMemFree(context, y);
  return result;
}

ze_result_t use_driver(const compiler::Bytes& model) {
  std::uint32_t count = 1;
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;
  abi::GraphTable* table = nullptr;
  abi::GraphHandle graph = nullptr;
  const ze_context_desc_t context_descriptor = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  abi::GraphDescriptor2 descriptor;
  descriptor.format = static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite);
  descriptor.input = model.data();
  descriptor.input_size = model.size();
  descriptor.flags = abi::kGraphDisableCaching;
  ze_result_t result = zeInit(0);
  if (!result) result = zeDriverGet(&count, &driver);
  if (!result) result = zeDeviceGet(driver, &count, &device);
  if (!result) result = zeContextCreate(driver, &context_descriptor, &context);
  if (!result)
    result = zeDriverGetExtensionFunctionAddress(driver, abi::kGraphExtension, reinterpret_cast<void**>(&table));
  if (!result) result = table->create_2(context, device, &descriptor, &graph);
  if (!result) result = execute(*table, context, device, graph);
  if (graph) table->destroy(graph);
  if (context) zeContextDestroy(context);
  return result;
}

/// @return the status of a process, as waitpid gives it, in which this allocation of the driver failed; 0: none.
int status_with(long failing, Allocations& allocations, const compiler::Bytes& model) {
  allocations.count = 0;
  allocations.failing = failing;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(use_driver(model) == ZE_RESULT_SUCCESS ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(NpuWithoutMemory, AFailedAllocationIsAResult) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has its own operator new";
#endif
  const compiler::Bytes model = compiler::in_memory(*compiler::small_model());
  void* shared = ::mmap(nullptr, sizeof(Allocations), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const allocations = new (shared) Allocations{"libze_tenon_npu"};
  counted = allocations;
  ASSERT_EQ(status_with(0, *allocations, model), 0) << "with memory";
  const long count = allocations->count;
  ASSERT_GT(count, 100) << "the driver's allocations are not seen";
  // All of what is made once for the process, and samples of compiling, which allocates all the time.
  for (long failing = 1; failing <= count; failing += failing < 600 ? 1 : std::max(count / 100, 1L)) {
    const int status = status_with(failing, *allocations, model);
    EXPECT_TRUE(WIFEXITED(status)) << "allocation " << failing << " of " << count << " ended the client by signal "
                                   << WTERMSIG(status);
  }
  counted = nullptr;
}

}  // namespace no_memory_test
}  // namespace tenon::npu::test
