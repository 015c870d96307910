// SPDX-License-Identifier: Apache-2.0
// System management (zes) and metrics (zet), by the tables that the driver exports: the packaged loader has no zesInit.
#include <dlfcn.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include <tenon/drivers/npu/testing/client.hpp>

namespace tenon::npu::test {
namespace tools_test {

constexpr std::size_t kMetrics = 6;

class NpuTools : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    library_ = ::dlopen(std::getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    fill("zesGetDeviceProcAddrTable", &sysman);
    fill("zesGetEngineProcAddrTable", &engines);
    fill("zesGetFrequencyProcAddrTable", &frequencies);
    fill("zesGetMemoryProcAddrTable", &memories);
    fill("zesGetPowerProcAddrTable", &powers);
    fill("zetGetMetricGroupProcAddrTable", &groups);
    fill("zetGetMetricProcAddrTable", &metrics);
    fill("zetGetContextProcAddrTable", &contexts);
    fill("zetGetMetricQueryPoolProcAddrTable", &pools);
    fill("zetGetMetricQueryProcAddrTable", &queries);
    fill("zetGetCommandListProcAddrTable", &lists);
    fill("zetGetMetricStreamerProcAddrTable", &streamers);
    // Older headers have no place for zesInit; the table has one pointer.
    void* init = nullptr;
    const auto get_global = reinterpret_cast<GetTable>(::dlsym(library_, "zesGetGlobalProcAddrTable"));
    ASSERT_EQ(get_global(static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 9)), &init), ZE_RESULT_SUCCESS);
    ASSERT_EQ(reinterpret_cast<ze_result_t (*)(std::uint32_t)>(init)(0), ZE_RESULT_SUCCESS);
    EXPECT_EQ(reinterpret_cast<ze_result_t (*)(std::uint32_t)>(init)(8), ZE_RESULT_ERROR_INVALID_ENUMERATION);
  }
  void TearDown() override {
    if (library_) ::dlclose(library_);
    NpuTest::TearDown();
  }
  using GetTable = ze_result_t (*)(ze_api_version_t, void*);
  template <class Table>
  void fill(const char* name, Table* table) {
    const auto get = reinterpret_cast<GetTable>(::dlsym(library_, name));
    ASSERT_NE(get, nullptr) << name;
    ASSERT_EQ(get(ZE_API_VERSION_CURRENT, table), ZE_RESULT_SUCCESS) << name;
  }
  /// Copies 64 KiB on the device.
  void work(ze_command_list_handle_t list = nullptr) {
    constexpr std::size_t kSize = 1 << 16;
    void* const data = allocate_host(2 * kSize);
    const auto own = list ? list : make_list();
    auto* const bytes = static_cast<std::byte*>(data);
    ASSERT_EQ(zeCommandListAppendMemoryCopy(own, bytes + kSize, bytes, kSize, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
    if (list) return;
    run(own);
    EXPECT_EQ(zeCommandListDestroy(own), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
  }
  void run(ze_command_list_handle_t list) {
    ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
    const auto queue = make_queue();
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  }
  template <class Handle>
  Handle only(ze_result_t(ZE_APICALL* list)(zes_device_handle_t, std::uint32_t*, Handle*)) {
    std::uint32_t count = 0;
    EXPECT_EQ(list(device, &count, nullptr), ZE_RESULT_SUCCESS);
    EXPECT_EQ(count, 1u);
    Handle handle = nullptr;
    EXPECT_EQ(list(device, &count, &handle), ZE_RESULT_SUCCESS);
    return handle;
  }
  zet_metric_group_handle_t group() {
    std::uint32_t count = 1;
    zet_metric_group_handle_t found = nullptr;
    EXPECT_EQ(groups.pfnGet(device, &count, &found), ZE_RESULT_SUCCESS);
    EXPECT_EQ(count, 1u);
    return found;
  }
  std::vector<std::string> names() {
    std::uint32_t count = 0;
    EXPECT_EQ(metrics.pfnGet(group(), &count, nullptr), ZE_RESULT_SUCCESS);
    std::vector<zet_metric_handle_t> all(count);
    EXPECT_EQ(metrics.pfnGet(group(), &count, all.data()), ZE_RESULT_SUCCESS);
    std::vector<std::string> found;
    for (const auto each : all) {
      zet_metric_properties_t properties = {};
      EXPECT_EQ(metrics.pfnGetProperties(each, &properties), ZE_RESULT_SUCCESS);
      EXPECT_EQ(properties.resultType, ZET_VALUE_TYPE_UINT64);
      EXPECT_NE(std::strlen(properties.description), 0u);
      found.push_back(properties.name);
    }
    return found;
  }
  void activate(bool is_active) {
    auto one = group();
    ASSERT_EQ(contexts.pfnActivateMetricGroups(context, device, is_active ? 1 : 0, is_active ? &one : nullptr),
              ZE_RESULT_SUCCESS);
  }

  void* library_ = nullptr;
  zes_device_dditable_t sysman = {};
  zes_engine_dditable_t engines = {};
  zes_frequency_dditable_t frequencies = {};
  zes_memory_dditable_t memories = {};
  zes_power_dditable_t powers = {};
  zet_metric_group_dditable_t groups = {};
  zet_metric_dditable_t metrics = {};
  zet_context_dditable_t contexts = {};
  zet_metric_query_pool_dditable_t pools = {};
  zet_metric_query_dditable_t queries = {};
  zet_command_list_dditable_t lists = {};
  zet_metric_streamer_dditable_t streamers = {};
};

TEST_F(NpuTools, ADeviceSaysItsNamesAndItsProcesses) {
  zes_device_properties_t properties = {};
  ASSERT_EQ(sysman.pfnGetProperties(device, &properties), ZE_RESULT_SUCCESS);
  EXPECT_STREQ(properties.brandName, "NPU");
  EXPECT_STREQ(properties.modelName, properties.core.name);
  EXPECT_STREQ(properties.vendorName, "Tenon") << "a software device does not claim to be hardware";
  EXPECT_EQ(properties.core.type, ZE_DEVICE_TYPE_VPU);
  EXPECT_EQ(sysman.pfnGetProperties(device, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(sysman.pfnGetProperties(nullptr, &properties), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  std::uint32_t count = 1;
  zes_process_state_t process = {};
  ASSERT_EQ(sysman.pfnProcessesGetState(device, &count, &process), ZE_RESULT_SUCCESS);
  EXPECT_EQ(process.processId, static_cast<std::uint32_t>(::getpid()));
  zes_pci_properties_t pci = {};
  ze_pci_ext_properties_t core = {};
  ASSERT_EQ(sysman.pfnPciGetProperties(device, &pci), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeDevicePciGetPropertiesExt(device, &core), ZE_RESULT_SUCCESS);
  EXPECT_EQ(pci.address.domain, core.address.domain);
  EXPECT_EQ(pci.address.bus, core.address.bus);
  count = 7;
  EXPECT_EQ(sysman.pfnEnumFans(device, &count, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(count, 0u) << "an NPU has no fan";
  EXPECT_EQ(sysman.pfnReset(device, 0), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

TEST_F(NpuTools, ActivityAndEnergyGrowWithWorkAndNotWithoutIt) {
  const auto engine = only(sysman.pfnEnumEngineGroups);
  zes_engine_properties_t properties = {};
  ASSERT_EQ(engines.pfnGetProperties(engine, &properties), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties.type, ZES_ENGINE_GROUP_COMPUTE_ALL);
  zes_engine_stats_t before = {}, idle = {}, after = {};
  const auto list = make_list();
  const auto pool = make_pool(1);
  const auto start = make_event(pool, 0);
  auto wait = start;
  ASSERT_EQ(zeCommandListAppendBarrier(list, nullptr, 1, &wait), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  const auto queue = make_queue();
  ASSERT_EQ(engines.pfnGetActivity(engine, &before), ZE_RESULT_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(engines.pfnGetActivity(engine, &idle), ZE_RESULT_SUCCESS);
  EXPECT_EQ(idle.activeTime, before.activeTime);
  EXPECT_GE(idle.timestamp, before.timestamp + 20'000);
  auto submitted = list;
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &submitted, nullptr), ZE_RESULT_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // The device is busy: it waits for an event.
  ASSERT_EQ(zeEventHostSignal(start), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  ASSERT_EQ(engines.pfnGetActivity(engine, &after), ZE_RESULT_SUCCESS);
  EXPECT_GT(after.activeTime - idle.activeTime, 10'000u) << "microseconds";
  EXPECT_LE(after.activeTime - idle.activeTime, after.timestamp - idle.timestamp);
  zes_power_energy_counter_t energy = {};
  ASSERT_EQ(powers.pfnGetEnergyCounter(only(sysman.pfnEnumPowerDomains), &energy), ZE_RESULT_SUCCESS);
  EXPECT_GT(energy.energy, 10'000u * 9) << "microjoules, at 10 W";
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(start), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
}

TEST_F(NpuTools, ClockAndMemoryAreThoseOfTheDevice) {
  const auto domain = only(sysman.pfnEnumFrequencyDomains);
  zes_freq_range_t range = {};
  ASSERT_EQ(frequencies.pfnGetRange(domain, &range), ZE_RESULT_SUCCESS);
  ze_device_properties_t properties = {};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  ASSERT_EQ(zeDeviceGetProperties(device, &properties), ZE_RESULT_SUCCESS);
  EXPECT_DOUBLE_EQ(range.max, properties.coreClockRate / 1e6);
  zes_freq_state_t state = {};
  ASSERT_EQ(frequencies.pfnGetState(domain, &state), ZE_RESULT_SUCCESS);
  EXPECT_EQ(state.actual, 0) << "idle";
  EXPECT_EQ(frequencies.pfnSetRange(domain, &range), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  const auto module = only(sysman.pfnEnumMemoryModules);
  zes_mem_state_t before = {}, after = {};
  ASSERT_EQ(memories.pfnGetState(module, &before), ZE_RESULT_SUCCESS);
  void* const data = allocate_host(1 << 20);
  ASSERT_EQ(memories.pfnGetState(module, &after), ZE_RESULT_SUCCESS);
  EXPECT_EQ(before.free - after.free, 1u << 20);
  EXPECT_EQ(before.size, after.size);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuTools, MetricsHaveTheNamesOfHardwaresCounters) {
  zet_metric_group_properties_t properties = {};
  ASSERT_EQ(groups.pfnGetProperties(group(), &properties), ZE_RESULT_SUCCESS);
  EXPECT_STREQ(properties.name, "NOC");
  EXPECT_EQ(properties.metricCount, kMetrics);
  EXPECT_EQ(names(), (std::vector<std::string>{"NOC_noc", "NOC_DMA_00", "NOC_DMA_01", "L2C_Riscv", "L2C_Shave",
                                               "NOC_timestamp"}));
}

TEST_F(NpuTools, AQueryCountsWhatRunsBetweenItsCommands) {
  activate(true);
  const zet_metric_query_pool_desc_t descriptor = {ZET_STRUCTURE_TYPE_METRIC_QUERY_POOL_DESC, nullptr,
                                                   ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE, 2};
  zet_metric_query_pool_handle_t pool = nullptr;
  ASSERT_EQ(pools.pfnCreate(context, device, group(), &descriptor, &pool), ZE_RESULT_SUCCESS);
  zet_metric_query_handle_t query = nullptr;
  EXPECT_EQ(queries.pfnCreate(pool, 2, &query), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(queries.pfnCreate(pool, 1, &query), ZE_RESULT_SUCCESS);
  std::size_t size = 0;
  ASSERT_EQ(queries.pfnGetData(query, &size, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(size, kMetrics * 8);
  std::vector<std::uint8_t> data(size);
  EXPECT_EQ(queries.pfnGetData(query, &size, data.data()), ZE_RESULT_NOT_READY);
  work();  // Before the query: not counted.
  const auto list = make_list();
  ASSERT_EQ(lists.pfnAppendMetricQueryBegin(list, query), ZE_RESULT_SUCCESS);
  work(list);
  ASSERT_EQ(lists.pfnAppendMetricQueryEnd(list, query, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  run(list);
  ASSERT_EQ(queries.pfnGetData(query, &size, data.data()), ZE_RESULT_SUCCESS);
  std::uint32_t count = 0;
  ASSERT_EQ(groups.pfnCalculateMetricValues(group(), ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES, size, data.data(),
                                            &count, nullptr),
            ZE_RESULT_SUCCESS);
  ASSERT_EQ(count, kMetrics);
  std::vector<zet_typed_value_t> values(count);
  ASSERT_EQ(groups.pfnCalculateMetricValues(group(), ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES, size, data.data(),
                                            &count, values.data()),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(values[0].value.ui64, 1024u) << "transfers of 64 bytes";
  EXPECT_EQ(values[1].value.ui64, 512u);
  EXPECT_EQ(values[3].value.ui64, 2u) << "the query's begin and the copy";
  EXPECT_EQ(values[4].value.ui64, 0u) << "no graph ran";
  EXPECT_EQ(groups.pfnCalculateMetricValues(group(), ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES, size - 1,
                                            data.data(), &count, values.data()),
            ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(queries.pfnReset(query), ZE_RESULT_SUCCESS);
  EXPECT_EQ(queries.pfnGetData(query, &size, data.data()), ZE_RESULT_NOT_READY);
  EXPECT_EQ(queries.pfnDestroy(query), ZE_RESULT_SUCCESS);
  EXPECT_EQ(queries.pfnDestroy(query), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(pools.pfnDestroy(pool), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  activate(false);
}

TEST_F(NpuTools, AStreamerReportsAtItsPeriodAndSignals) {
  zet_metric_streamer_desc_t descriptor = {ZET_STRUCTURE_TYPE_METRIC_STREAMER_DESC, nullptr, 5, 2'000'000};
  zet_metric_streamer_handle_t streamer = nullptr;
  EXPECT_EQ(streamers.pfnOpen(context, device, group(), &descriptor, nullptr, &streamer), ZE_RESULT_ERROR_NOT_AVAILABLE)
      << "its group is not active";
  activate(true);
  const auto pool = make_pool(1);
  const auto event = make_event(pool, 0);
  ASSERT_EQ(streamers.pfnOpen(context, device, group(), &descriptor, event, &streamer), ZE_RESULT_SUCCESS);
  work();
  ASSERT_EQ(zeEventHostSynchronize(event, 10 * kSecond), ZE_RESULT_SUCCESS);
  std::size_t size = 0;
  ASSERT_EQ(streamers.pfnReadData(streamer, UINT32_MAX, &size, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_GE(size, 5 * kMetrics * 8);
  std::vector<std::uint64_t> data(size / 8);
  ASSERT_EQ(streamers.pfnReadData(streamer, UINT32_MAX, &size, reinterpret_cast<std::uint8_t*>(data.data())),
            ZE_RESULT_SUCCESS);
  std::uint64_t transfers = 0;
  for (std::size_t i = 0; i < size / 8; i += kMetrics) {
    transfers += data[i];
    if (i > 0) {
      EXPECT_GT(data[i + kMetrics - 1], data[i - 1]) << "time";
    }
  }
  EXPECT_EQ(transfers, 1024u);
  std::size_t rest = 1;
  std::uint8_t none = 0;
  EXPECT_EQ(streamers.pfnReadData(streamer, 1, &rest, &none), ZE_RESULT_SUCCESS);
  EXPECT_EQ(rest, 0u) << "only whole reports";
  EXPECT_EQ(streamers.pfnClose(streamer), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
  activate(false);
}

TEST_F(NpuTools, AStreamerThatWasLateReportsEachPeriodAllTheSame) {
  constexpr std::uint32_t kPeriod = 2'000'000, kAwayMs = 300;
  zet_metric_streamer_desc_t descriptor = {ZET_STRUCTURE_TYPE_METRIC_STREAMER_DESC, nullptr,
                                           kAwayMs * 1'000'000 / kPeriod, kPeriod};
  zet_metric_streamer_handle_t streamer = nullptr;
  activate(true);
  const auto pool = make_pool(1);
  const auto event = make_event(pool, 0);
  // Another process wakes this one again and again: the first time may be before it stands still.
  const std::string own = std::to_string(::getpid());
  const std::string wake = "for i in $(seq 20); do sleep 0.3; kill -CONT " + own + " || exit; done >/dev/null 2>&1 &";
  ASSERT_EQ(streamers.pfnOpen(context, device, group(), &descriptor, event, &streamer), ZE_RESULT_SUCCESS);
  ASSERT_EQ(std::system(wake.c_str()), 0);
  const auto began = std::chrono::steady_clock::now();
  ASSERT_EQ(::raise(SIGSTOP), 0);
  const auto away = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - began);
  ASSERT_EQ(zeEventHostSynchronize(event, 30 * kSecond), ZE_RESULT_SUCCESS);
  const auto periods = static_cast<std::size_t>(away.count()) / kPeriod;
  std::size_t size = 0;
  for (const auto until = began + std::chrono::seconds(30);
       size < periods * kMetrics * 8 && std::chrono::steady_clock::now() < until; std::this_thread::yield()) {
    ASSERT_EQ(streamers.pfnReadData(streamer, UINT32_MAX, &(size = 0), nullptr), ZE_RESULT_SUCCESS);
  }
  std::vector<std::uint64_t> data(size / 8);
  ASSERT_EQ(streamers.pfnReadData(streamer, UINT32_MAX, &size, reinterpret_cast<std::uint8_t*>(data.data())),
            ZE_RESULT_SUCCESS);
  for (std::size_t i = kMetrics; i < data.size(); i += kMetrics)
    ASSERT_EQ(data[i + kMetrics - 1] - data[i - 1], kPeriod) << "report " << i / kMetrics;
  EXPECT_EQ(streamers.pfnClose(streamer), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
  activate(false);
}

}  // namespace tools_test
}  // namespace tenon::npu::test
