// SPDX-License-Identifier: Apache-2.0
// Tests of injected failures and the trace; ctest sets the environment that configures them.
#include <dlfcn.h>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <level_zero/ze_ddi.h>

#include <tenon/drivers/npu/testing/client.hpp>
#include <tenon/frameworks/level_zero/abi/cancel.hpp>
#include <tenon/frameworks/level_zero/abi/command_queue_npu.hpp>
#include <tenon/frameworks/level_zero/abi/context_npu.hpp>
#include <tenon/frameworks/level_zero/abi/driver_npu.hpp>
#include <tenon/frameworks/level_zero/abi/graph_table.hpp>

namespace tenon::npu::test {
namespace instrument_test {

namespace abi = level_zero::abi;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

class NpuInstrument : public NpuTest {
 protected:
  void SetUp() override {
    if (setting("TENON_NPU_FAIL").empty() && setting("TENON_NPU_TRACE").empty()) GTEST_SKIP() << "neither is on";
    if (!fails_everywhere()) NpuTest::SetUp();
  }
  static bool fails_everywhere() { return setting("TENON_NPU_FAIL").find("0x7000beef") != std::string::npos; }
  void TearDown() override {
    if (context) NpuTest::TearDown();
  }
};

/// With rules for all but zeInit and zeDriver*: each entry of each table fails as told, for any arguments.
TEST_F(NpuInstrument, EveryEntryOfEveryTableCanBeMadeToFail) {
  if (!fails_everywhere()) GTEST_SKIP() << "not in this environment";
  using Any = ze_result_t (*)(long, long, long, long, long, long, long, long, long, long, long, long);
  constexpr auto kPlanned = static_cast<ze_result_t>(0x7000beef);
  const auto expect_planned = [&](const void* call, const std::string& what) {
    ASSERT_TRUE(call) << what;
    EXPECT_EQ(reinterpret_cast<Any>(const_cast<void*>(call))(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), kPlanned) << what;
  };
  void* library = ::dlopen(setting("ZE_ENABLE_ALT_DRIVERS").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << ::dlerror();
  // Not by the loader: newer ones ask the devices for their properties when they start.
  const auto table_of = [&]<typename Table>(const char* name, Table& table) {
    const auto get = reinterpret_cast<ze_result_t (*)(ze_api_version_t, void*)>(::dlsym(library, name));
    return get ? get(ZE_API_VERSION_CURRENT, &table) : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  };
  ze_global_dditable_t global{};
  ze_driver_dditable_t calls{};
  ASSERT_EQ(table_of("zeGetGlobalProcAddrTable", global), ZE_RESULT_SUCCESS);
  ASSERT_EQ(table_of("zeGetDriverProcAddrTable", calls), ZE_RESULT_SUCCESS);
  ASSERT_EQ(global.pfnInit(0), ZE_RESULT_SUCCESS);
  std::uint32_t drivers = 1;
  ASSERT_EQ(calls.pfnGet(&drivers, &driver), ZE_RESULT_SUCCESS);
  const auto newest = static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 13));
  std::size_t count = 0;
  for (const char* name :
       {"Device", "Context", "CommandQueue", "CommandList", "CommandListExp", "Mem", "MemExp", "Fence", "EventPool",
        "Event", "EventExp", "Module", "Kernel", "Image", "ImageExp", "Sampler", "PhysicalMem", "VirtualMem"}) {
    const std::string symbol = std::string("zeGet") + name + "ProcAddrTable";
    const auto get = reinterpret_cast<ze_result_t (*)(ze_api_version_t, void*)>(::dlsym(library, symbol.c_str()));
    ASSERT_TRUE(get) << symbol;
    std::array<const void*, 64> places{};
    ASSERT_EQ(get(newest, places.data()), ZE_RESULT_SUCCESS);
    for (std::size_t i = 0; i < places.size() && places[i]; ++i, ++count)
      expect_planned(places[i], symbol + " " + std::to_string(i));
  }
  EXPECT_GT(count, 140u);
  const auto check_table = [&](const char* extension, std::size_t entries) {
    void* table = nullptr;
    ASSERT_EQ(calls.pfnGetExtensionFunctionAddress(driver, extension, &table), ZE_RESULT_SUCCESS) << extension;
    for (std::size_t i = 0; i < entries; ++i)
      expect_planned(static_cast<const void* const*>(table)[i], std::string(extension) + " " + std::to_string(i));
  };
  check_table(abi::kGraphExtension, sizeof(abi::GraphTable) / sizeof(void*));
  check_table(abi::kProfilingExtension, sizeof(abi::ProfilingTable) / sizeof(void*));
  check_table(abi::kCommandQueueNpuExtension, sizeof(abi::CommandQueueNpuTable) / sizeof(void*));
  check_table(abi::kContextNpuExtension, sizeof(abi::ContextNpuTable) / sizeof(void*));
  check_table(abi::kDriverNpuExtension, sizeof(abi::DriverNpuTable) / sizeof(void*));
  check_table(abi::kCancelExtension, sizeof(abi::CancelTable) / sizeof(void*));
  for (const char* name : {"zeCommandListHostSynchronize", "zeCommandListGetNextCommandIdExp"}) {
    void* address = nullptr;
    ASSERT_EQ(calls.pfnGetExtensionFunctionAddress(driver, name, &address), ZE_RESULT_SUCCESS) << name;
    expect_planned(address, name);
  }
  ::dlclose(library);
}

/// TENON_NPU_FAIL=zeFenceCreate:2=..,zeEventPool*:2+=..,execution:2=ZE_RESULT_ERROR_DEVICE_LOST
TEST_F(NpuInstrument, TheNthCallFailsAndItsNeighboursDoNot) {
  if (setting("TENON_NPU_FAIL").find("zeFenceCreate:2=") == std::string::npos)
    GTEST_SKIP() << "not in this environment";
  const auto last_words = call<ze_result_t (*)(ze_driver_handle_t, const char**)>("zeDriverGetLastErrorDescription");
  const auto queue = make_queue();
  const ze_fence_desc_t descriptor = {ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
  ze_fence_handle_t fences[3] = {};
  EXPECT_EQ(zeFenceCreate(queue, &descriptor, &fences[0]), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceCreate(queue, &descriptor, &fences[1]), ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  EXPECT_FALSE(fences[1]) << "a call that fails on purpose does nothing";
  const char* text = nullptr;
  ASSERT_EQ(last_words(driver, &text), ZE_RESULT_SUCCESS);
  EXPECT_THAT(text, HasSubstr("call 2 of zeFenceCreate"));
  EXPECT_EQ(zeFenceCreate(queue, &descriptor, &fences[2]), ZE_RESULT_SUCCESS);
  const ze_event_pool_desc_t pool = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, 0, 1};
  ze_event_pool_handle_t pools[2] = {};
  EXPECT_EQ(zeEventPoolCreate(context, &pool, 0, nullptr, &pools[0]), ZE_RESULT_SUCCESS);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(zeEventPoolCreate(context, &pool, 0, nullptr, &pools[1]), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  EXPECT_EQ(zeEventPoolDestroy(pools[0]), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY) << "the rule is for zeEventPool*";
  // The second list that the device executes fails: its fence reports that, and none of its work is done.
  auto* data = static_cast<unsigned char*>(allocate_host(64));
  auto list = make_list();
  const unsigned char one = 1;
  ASSERT_EQ(zeCommandListAppendMemoryFill(list, data, &one, 1, 64, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  for (const ze_result_t expected : {ZE_RESULT_SUCCESS, ZE_RESULT_ERROR_DEVICE_LOST, ZE_RESULT_SUCCESS}) {
    data[0] = 0;
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, fences[0]), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceHostSynchronize(fences[0], 10 * kSecond), expected);
    EXPECT_EQ(data[0], expected == ZE_RESULT_SUCCESS ? 1 : 0);
    ASSERT_EQ(zeFenceReset(fences[0]), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  for (const auto fence : {fences[0], fences[2]}) EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuInstrument, TheTraceHasEveryCallAndEveryExecution) {
  const std::string path = setting("TENON_NPU_TRACE");
  if (path.empty()) GTEST_SKIP() << "not in this environment";
  const bool is_json = path.ends_with(".json");
  const auto queue = make_queue();
  const auto fence = make_fence(queue);
  auto* data = static_cast<unsigned char*>(allocate_host(64));
  auto list = make_list();
  const unsigned char one = 1;
  ASSERT_EQ(zeCommandListAppendMemoryFill(list, data, &one, 1, 64, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_SUCCESS);
  void* address = nullptr;
  EXPECT_EQ(zeDriverGetExtensionFunctionAddress(driver, "ZE_no_such \"thing\"", &address),
            ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  EXPECT_NE(zeModuleCreate(context, device, nullptr, nullptr, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
  // The trace is complete at once, however the process ends.
  std::ifstream file(path);
  std::stringstream read;
  read << file.rdbuf();
  const std::string trace = read.str();
  if (is_json) {
    EXPECT_EQ(trace.substr(0, 3), "[\n{");
    EXPECT_EQ(trace.substr(trace.size() - 4), "}\n]\n");
    EXPECT_THAT(trace, ContainsRegex("\"name\":\"zeFenceCreate\",\"cat\":\"call\",\"ph\":\"X\",\"ts\":[0-9.]+,\"dur\":"
                                     "[0-9.]+,\"pid\":[0-9]+,\"tid\":[0-9]+,\"args\":\\{\"arguments\":\"queue#[0-9]+, "
                                     "0x[0-9a-f]+, 0x[0-9a-f]+ -> fence#[0-9]+\",\"result\":\"ZE_RESULT_SUCCESS\""));
    EXPECT_THAT(trace, ContainsRegex("\"name\":\"list#[0-9]+\",\"cat\":\"execution\""));
    EXPECT_THAT(trace, ContainsRegex("\"name\":\"fill\",\"cat\":\"command\""));
    EXPECT_THAT(trace, ContainsRegex("\"name\":\"thread_name\",\"ph\":\"M\".*\"name\":\"NPU, queue#[0-9]+\""));
    EXPECT_THAT(trace, HasSubstr("'ZE_no_such \\\"thing\\\"'"));
  } else {
    EXPECT_THAT(trace, ContainsRegex("us\\] thread [0-9]+: zeFenceCreate\\(queue#[0-9]+, 0x[0-9a-f]+, 0x[0-9a-f]+\\) "
                                     "-> fence#[0-9]+ = ZE_RESULT_SUCCESS, [0-9.]+ us"));
    EXPECT_THAT(trace, ContainsRegex("us\\] NPU, queue#[0-9]+: list#[0-9]+\\(\\) = ZE_RESULT_SUCCESS"));
    EXPECT_THAT(trace,
                ContainsRegex("zeCommandQueueExecuteCommandLists\\(queue#[0-9]+, 1, 0x[0-9a-f]+, fence#[0-9]+\\) "
                              "-> list#[0-9]+ = ZE_RESULT_SUCCESS"));
    EXPECT_THAT(trace, HasSubstr("'ZE_no_such \"thing\"'"));
  }
  EXPECT_THAT(trace, HasSubstr("zeModuleCreate"));
  EXPECT_THAT(trace, HasSubstr("ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"));
}

}  // namespace instrument_test
}  // namespace tenon::npu::test
