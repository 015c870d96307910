// SPDX-License-Identifier: Apache-2.0
// Cost of a submission through the loader: a list and a wait for its fence, at once and after pauses. A waiting caller
// runs a short list itself; a 1 MiB fill runs in the queue's thread, whose wake-up cost depends on the turbo.
#include <chrono>
#include <cstdlib>

#include <benchmark/benchmark.h>
#include <level_zero/ze_api.h>

#include <tenon/frameworks/level_zero/abi/command_queue_npu.hpp>

namespace {

namespace abi = tenon::level_zero::abi;

struct Client {
  Client(bool turbo, std::size_t filled) {
    ::setenv("ZE_ENABLE_ALT_DRIVERS", TENON_NPU_DRIVER, 0);
    zeInit(0);
    std::uint32_t count = 1;
    ze_driver_handle_t driver = nullptr;
    zeDriverGet(&count, &driver);
    ze_device_handle_t device = nullptr;
    zeDeviceGet(driver, &count, &device);
    const ze_context_desc_t context_descriptor = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    zeContextCreate(driver, &context_descriptor, &context);
    abi::CommandQueueNpuDescriptor options;
    options.turbo = turbo;
    ze_command_queue_desc_t queue_descriptor = {};
    queue_descriptor.pNext = &options;
    queue_descriptor.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    zeCommandQueueCreate(context, device, &queue_descriptor, &queue);
    const ze_fence_desc_t fence_descriptor = {ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
    zeFenceCreate(queue, &fence_descriptor, &fence);
    const ze_command_list_desc_t list_descriptor = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
    zeCommandListCreate(context, device, &list_descriptor, &list);
    if (filled > 0) {
      const ze_host_mem_alloc_desc_t memory_descriptor = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
      zeMemAllocHost(context, &memory_descriptor, filled, 64, &memory);
      const unsigned char one = 1;
      zeCommandListAppendMemoryFill(list, memory, &one, 1, filled, nullptr, 0, nullptr);
    }
    zeCommandListClose(list);
  }
  ~Client() {
    zeCommandListDestroy(list);
    zeFenceDestroy(fence);
    zeCommandQueueDestroy(queue);
    if (memory) zeMemFree(context, memory);
    zeContextDestroy(context);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool submit_and_wait() {
    return zeCommandQueueExecuteCommandLists(queue, 1, &list, fence) == ZE_RESULT_SUCCESS &&
           zeFenceHostSynchronize(fence, UINT64_MAX) == ZE_RESULT_SUCCESS && zeFenceReset(fence) == ZE_RESULT_SUCCESS;
  }

  ze_context_handle_t context = nullptr;
  ze_command_queue_handle_t queue = nullptr;
  ze_fence_handle_t fence = nullptr;
  ze_command_list_handle_t list = nullptr;
  void* memory = nullptr;
};

/// Arguments: bytes to fill, pause before each submission in microseconds, turbo.
void submit_list(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  Client client(state.range(2) != 0, static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    const auto ready = Clock::now() + std::chrono::microseconds(state.range(1));
    while (Clock::now() < ready) {
    }
    const auto begin = Clock::now();
    if (!client.submit_and_wait()) {
      state.SkipWithError("the driver refused the submission");
      break;
    }
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
  }
}

BENCHMARK(submit_list)
    ->Name("Npu/submit_list")
    ->ArgNames({"filled", "pause_us", "turbo"})
    ->ArgsProduct({{0, 1 << 20}, {0, 20, 500}, {0, 1}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
