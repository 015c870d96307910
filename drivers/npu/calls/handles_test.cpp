// SPDX-License-Identifier: Apache-2.0
// Null, foreign, stale and wrong-kind handles: every call reports them and does nothing else.
#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include <tenon/drivers/npu/testing/client.hpp>

namespace tenon::npu::test {
namespace calls_handles_test {

class NpuHandles : public NpuTest {};

/// Every call that takes a handle first, with otherwise valid arguments.
struct HandleCall {
  const char* name;
  std::function<ze_result_t(void*)> call;
};

template <class Handle>
Handle as(void* handle) {
  return static_cast<Handle>(handle);
}

struct Outputs {
  std::uint32_t count = 0;
  std::uint64_t number = 0, other = 0;
  void* address = nullptr;
  std::size_t size = 0;
  ze_bool_t flag = 0;
  alignas(16) std::byte properties[4096] = {};
};

std::vector<HandleCall> calls_on_driver_and_device(Outputs& out) {
  using Driver = ze_driver_handle_t;
  using Device = ze_device_handle_t;
  return {
      {"zeDriverGetApiVersion",
       [&](void* h) { return zeDriverGetApiVersion(as<Driver>(h), reinterpret_cast<ze_api_version_t*>(&out.count)); }},
      {"zeDriverGetProperties",
       [&](void* h) {
         return zeDriverGetProperties(as<Driver>(h), reinterpret_cast<ze_driver_properties_t*>(out.properties));
       }},
      {"zeDriverGetIpcProperties",
       [&](void* h) {
         return zeDriverGetIpcProperties(as<Driver>(h), reinterpret_cast<ze_driver_ipc_properties_t*>(out.properties));
       }},
      {"zeDriverGetExtensionProperties",
       [&](void* h) { return zeDriverGetExtensionProperties(as<Driver>(h), &out.count, nullptr); }},
      {"zeDriverGetExtensionFunctionAddress",
       [&](void* h) { return zeDriverGetExtensionFunctionAddress(as<Driver>(h), "zeInitDrivers", &out.address); }},
      {"zeDeviceGet", [&](void* h) { return zeDeviceGet(as<Driver>(h), &out.count, nullptr); }},
      {"zeDeviceGetSubDevices", [&](void* h) { return zeDeviceGetSubDevices(as<Device>(h), &out.count, nullptr); }},
      {"zeDeviceGetProperties",
       [&](void* h) {
         return zeDeviceGetProperties(as<Device>(h), reinterpret_cast<ze_device_properties_t*>(out.properties));
       }},
      {"zeDeviceGetComputeProperties",
       [&](void* h) {
         return zeDeviceGetComputeProperties(as<Device>(h),
                                             reinterpret_cast<ze_device_compute_properties_t*>(out.properties));
       }},
      {"zeDeviceGetCommandQueueGroupProperties",
       [&](void* h) { return zeDeviceGetCommandQueueGroupProperties(as<Device>(h), &out.count, nullptr); }},
      {"zeDeviceGetMemoryProperties",
       [&](void* h) { return zeDeviceGetMemoryProperties(as<Device>(h), &out.count, nullptr); }},
      {"zeDeviceGetExternalMemoryProperties",
       [&](void* h) {
         return zeDeviceGetExternalMemoryProperties(
             as<Device>(h), reinterpret_cast<ze_device_external_memory_properties_t*>(out.properties));
       }},
      {"zeDeviceGetStatus", [&](void* h) { return zeDeviceGetStatus(as<Device>(h)); }},
      {"zeDeviceGetGlobalTimestamps",
       [&](void* h) { return zeDeviceGetGlobalTimestamps(as<Device>(h), &out.number, &out.other); }},
      {"zeDevicePciGetPropertiesExt",
       [&](void* h) {
         return zeDevicePciGetPropertiesExt(as<Device>(h), reinterpret_cast<ze_pci_ext_properties_t*>(out.properties));
       }},
  };
}

std::vector<HandleCall> calls_on_objects(Outputs& out) {
  using Context = ze_context_handle_t;
  using Queue = ze_command_queue_handle_t;
  using List = ze_command_list_handle_t;
  using Event = ze_event_handle_t;
  static const ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  static const ze_event_pool_desc_t pool = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, 0, 1};
  static const ze_event_desc_t event = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, 0, 0, 0};
  static const ze_fence_desc_t fence = {ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
  static ze_event_pool_handle_t made_pool;
  static ze_event_handle_t made_event;
  static ze_fence_handle_t made_fence;
  static ze_command_list_handle_t no_list = nullptr;
  static ze_event_handle_t no_event = nullptr;
  return {
      {"zeContextDestroy", [](void* h) { return zeContextDestroy(as<Context>(h)); }},
      {"zeContextGetStatus", [](void* h) { return zeContextGetStatus(as<Context>(h)); }},
      {"zeMemAllocHost", [&](void* h) { return zeMemAllocHost(as<Context>(h), &host, 4096, 0, &out.address); }},
      {"zeMemFree", [&](void* h) { return zeMemFree(as<Context>(h), &out); }},
      {"zeMemGetAllocProperties",
       [&](void* h) {
         return zeMemGetAllocProperties(as<Context>(h), &out,
                                        reinterpret_cast<ze_memory_allocation_properties_t*>(out.properties), nullptr);
       }},
      {"zeMemGetAddressRange",
       [&](void* h) { return zeMemGetAddressRange(as<Context>(h), &out, &out.address, &out.size); }},
      {"zeEventPoolCreate", [](void* h) { return zeEventPoolCreate(as<Context>(h), &pool, 0, nullptr, &made_pool); }},
      {"zeCommandQueueDestroy", [](void* h) { return zeCommandQueueDestroy(as<Queue>(h)); }},
      {"zeCommandQueueExecuteCommandLists",
       [](void* h) { return zeCommandQueueExecuteCommandLists(as<Queue>(h), 1, &no_list, nullptr); }},
      {"zeCommandQueueSynchronize", [](void* h) { return zeCommandQueueSynchronize(as<Queue>(h), 0); }},
      {"zeFenceCreate", [](void* h) { return zeFenceCreate(as<Queue>(h), &fence, &made_fence); }},
      {"zeFenceDestroy", [](void* h) { return zeFenceDestroy(as<ze_fence_handle_t>(h)); }},
      {"zeFenceHostSynchronize", [](void* h) { return zeFenceHostSynchronize(as<ze_fence_handle_t>(h), 0); }},
      {"zeFenceQueryStatus", [](void* h) { return zeFenceQueryStatus(as<ze_fence_handle_t>(h)); }},
      {"zeFenceReset", [](void* h) { return zeFenceReset(as<ze_fence_handle_t>(h)); }},
      {"zeCommandListDestroy", [](void* h) { return zeCommandListDestroy(as<List>(h)); }},
      {"zeCommandListClose", [](void* h) { return zeCommandListClose(as<List>(h)); }},
      {"zeCommandListReset", [](void* h) { return zeCommandListReset(as<List>(h)); }},
      {"zeCommandListAppendBarrier",
       [](void* h) { return zeCommandListAppendBarrier(as<List>(h), nullptr, 0, nullptr); }},
      {"zeCommandListAppendMemoryCopy",
       [&](void* h) { return zeCommandListAppendMemoryCopy(as<List>(h), &out, &out, 1, nullptr, 0, nullptr); }},
      {"zeCommandListAppendMemoryFill",
       [&](void* h) { return zeCommandListAppendMemoryFill(as<List>(h), &out, &out, 1, 1, nullptr, 0, nullptr); }},
      {"zeCommandListAppendWaitOnEvents",
       [](void* h) { return zeCommandListAppendWaitOnEvents(as<List>(h), 1, &no_event); }},
      {"zeCommandListAppendWriteGlobalTimestamp",
       [&](void* h) { return zeCommandListAppendWriteGlobalTimestamp(as<List>(h), &out.number, nullptr, 0, nullptr); }},
      {"zeEventPoolDestroy", [](void* h) { return zeEventPoolDestroy(as<ze_event_pool_handle_t>(h)); }},
      {"zeEventCreate", [](void* h) { return zeEventCreate(as<ze_event_pool_handle_t>(h), &event, &made_event); }},
      {"zeEventDestroy", [](void* h) { return zeEventDestroy(as<Event>(h)); }},
      {"zeEventHostSignal", [](void* h) { return zeEventHostSignal(as<Event>(h)); }},
      {"zeEventHostSynchronize", [](void* h) { return zeEventHostSynchronize(as<Event>(h), 0); }},
      {"zeEventQueryStatus", [](void* h) { return zeEventQueryStatus(as<Event>(h)); }},
      {"zeEventHostReset", [](void* h) { return zeEventHostReset(as<Event>(h)); }},
      {"zeEventQueryKernelTimestamp",
       [&](void* h) {
         return zeEventQueryKernelTimestamp(as<Event>(h),
                                            reinterpret_cast<ze_kernel_timestamp_result_t*>(out.properties));
       }},
  };
}

std::vector<HandleCall> all_calls(Outputs& out) {
  auto calls = calls_on_driver_and_device(out);
  for (auto& call : calls_on_objects(out)) calls.push_back(std::move(call));
  return calls;
}

TEST_F(NpuHandles, NullIsSaidByEveryCall) {
  Outputs out;
  for (const auto& call : all_calls(out))
    EXPECT_EQ(call.call(nullptr), ZE_RESULT_ERROR_INVALID_NULL_HANDLE) << call.name;
}

TEST_F(NpuHandles, AddressesThatAreNoHandlesAreRefusedByEveryCall) {
  Outputs out;
  alignas(64) std::byte own[256] = {};
  for (const auto& call : all_calls(out)) {
    for (void* handle :
         {static_cast<void*>(own), reinterpret_cast<void*>(1), reinterpret_cast<void*>(~std::uintptr_t{0}),
          static_cast<void*>(reinterpret_cast<std::byte*>(context) + 8),
          static_cast<void*>(reinterpret_cast<std::byte*>(context) + (std::size_t{1} << 26))})
      EXPECT_EQ(call.call(handle), ZE_RESULT_ERROR_INVALID_ARGUMENT) << call.name << " of " << handle;
  }
}

TEST_F(NpuHandles, HandlesOfAnotherKindAreRefusedByEveryCall) {
  Outputs out;
  const auto pool = make_pool(2);
  const auto event = make_event(pool, 0);
  const auto queue = make_queue();
  const auto fence = make_fence(queue);
  const auto list = make_list();
  const std::vector<std::pair<std::string, void*>> handles = {
      {"Driver", driver}, {"Device", device},      {"Context", context}, {"EventPool", pool},
      {"Event", event},   {"CommandQueue", queue}, {"Fence", fence},     {"CommandList", list}};
  for (const auto& call : all_calls(out)) {
    const std::string name = call.name;
    std::size_t refused = 0;
    for (const auto& [kind, handle] : handles) {
      // A call's name has its kind after "ze"; a few are named after what they create.
      std::string own = name.substr(2);
      if (own.rfind("Mem", 0) == 0 || own == "EventPoolCreate") own = "Context";
      if (own == "FenceCreate") own = "CommandQueue";
      if (own == "EventCreate") own = "EventPool";
      if (own == "DeviceGet") own = "Driver";
      if (own.rfind("Event", 0) == 0 && own.rfind("EventPool", 0) != 0) own = "Event";
      if (own.rfind(kind, 0) == 0 && !(kind == "Event" && own.rfind("EventPool", 0) == 0)) continue;
      EXPECT_EQ(call.call(handle), ZE_RESULT_ERROR_INVALID_ARGUMENT) << name << " of " << kind;
      ++refused;
    }
    EXPECT_EQ(refused, handles.size() - 1) << name;
  }
  zeFenceDestroy(fence);
  zeCommandListDestroy(list);
  zeCommandQueueDestroy(queue);
  zeEventDestroy(event);
  zeEventPoolDestroy(pool);
}

TEST_F(NpuHandles, DestroyedTwiceSaysSo) {
  const auto pool = make_pool(1);
  const auto event = make_event(pool, 0);
  const auto queue = make_queue();
  const auto fence = make_fence(queue);
  const auto list = make_list();
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeEventQueryStatus(event), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeContextDestroy(context), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeContextDestroy(context), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  context = nullptr;
}

TEST_F(NpuHandles, AStaleHandleStaysStaleWhileThousandsAreMade) {
  const auto pool = make_pool(1);
  const auto stale = make_event(pool, 0);
  ASSERT_EQ(zeEventDestroy(stale), ZE_RESULT_SUCCESS);
  for (int i = 0; i < 5000; ++i) {
    const auto event = make_event(pool, 0);
    ASSERT_NE(event, stale);
    ASSERT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(zeEventHostSignal(stale), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  zeEventPoolDestroy(pool);
}

TEST_F(NpuHandles, ParentsMayGoBeforeTheirChildren) {
  const auto pool = make_pool(1);
  const auto event = make_event(pool, 0);
  const auto queue = make_queue();
  const auto fence = make_fence(queue);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeContextDestroy(context), ZE_RESULT_SUCCESS);
  context = nullptr;
  EXPECT_EQ(zeEventHostSignal(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceQueryStatus(fence), ZE_RESULT_NOT_READY);
  EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
}

/// Threads that create, use and destroy the same few events, each also using the others'.
TEST_F(NpuHandles, ThreadsThatDestroyEachOthersHandlesGetAnswers) {
  constexpr int kThreads = 4, kRounds = 3000;
  const auto pool = make_pool(kThreads);
  std::array<std::atomic<ze_event_handle_t>, kThreads> events{};
  std::atomic<int> made{0}, destroyed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const ze_event_desc_t descriptor = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, static_cast<std::uint32_t>(t), 0, 0};
        ze_event_handle_t event = nullptr;
        if (zeEventCreate(pool, &descriptor, &event) == ZE_RESULT_SUCCESS) {
          ++made;
          events[static_cast<std::size_t>(t)].store(event);
        }
        const auto victim = events[static_cast<std::size_t>((t + i) % kThreads)].load();
        if (!victim) continue;
        zeEventHostSignal(victim);
        zeEventHostSynchronize(victim, 1000);
        if (zeEventDestroy(victim) == ZE_RESULT_SUCCESS) ++destroyed;
      }
    });
  for (auto& thread : threads) thread.join();
  for (auto& event : events)
    if (zeEventDestroy(event.load()) == ZE_RESULT_SUCCESS) ++destroyed;
  EXPECT_EQ(made.load(), destroyed.load());
  EXPECT_GT(made.load(), kThreads);  // The number depends on the scheduler.
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
}

}  // namespace calls_handles_test
}  // namespace tenon::npu::test
