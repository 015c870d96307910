// SPDX-License-Identifier: Apache-2.0
// Properties that the driver and its devices report; this test's TENON_NPU_PLATFORM is "4000,4000,3720".
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <vector>

#include <tenon/drivers/npu/testing/client.hpp>
#include <tenon/frameworks/level_zero/abi/context_npu.hpp>
#include <tenon/frameworks/level_zero/abi/core.hpp>
#include <tenon/frameworks/level_zero/abi/driver_npu.hpp>
#include <tenon/frameworks/level_zero/abi/mutable_list.hpp>

namespace tenon::npu::test {
namespace calls_device_test {

namespace abi = level_zero::abi;

class NpuDevices : public NpuTest {
 protected:
  ze_device_properties_t properties(ze_device_handle_t of, void* next = nullptr) {
    ze_device_properties_t found = {};
    found.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    found.pNext = next;
    EXPECT_EQ(zeDeviceGetProperties(of, &found), ZE_RESULT_SUCCESS);
    return found;
  }
};

TEST_F(NpuDevices, EachIsTheNpuItsPlatformSays) {
  ASSERT_EQ(devices.size(), 3u);
  const std::uint32_t ids[] = {0x643E, 0x643E, 0x7D1D}, tiles[] = {6, 6, 2};
  std::set<std::string> uuids;
  std::set<std::uint32_t> buses;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto found = properties(devices[i]);
    EXPECT_EQ(found.type, ZE_DEVICE_TYPE_VPU);
    EXPECT_EQ(found.vendorId, 0x8086u);
    EXPECT_EQ(found.deviceId, ids[i]);
    EXPECT_EQ(found.numSlices, tiles[i]);
    EXPECT_GT(found.maxMemAllocSize, 0u);
    EXPECT_EQ(found.timerResolution, 1u);
    uuids.emplace(reinterpret_cast<const char*>(found.uuid.id), sizeof found.uuid.id);
    ze_pci_ext_properties_t pci = {};
    EXPECT_EQ(zeDevicePciGetPropertiesExt(devices[i], &pci), ZE_RESULT_SUCCESS);
    EXPECT_NE(pci.address.device, 0u);
    buses.insert(pci.address.bus);
  }
  EXPECT_EQ(uuids.size(), 3u);
  EXPECT_EQ(buses.size(), 3u);
  const auto first = properties(devices[0]);
  EXPECT_EQ(std::memcmp(first.uuid.id, abi::kNpuDeviceUuid, sizeof first.uuid.id), 0);
}

TEST_F(NpuDevices, OperationsPerSecondAreMeasured) {
  // Devices with equally many threads are equally fast, whatever their tiles: the value is measured, not tabulated.
  const auto of = [&](ze_device_handle_t each) {
    const auto found = properties(each);
    return 1e-9 * found.coreClockRate * found.numSlices * found.physicalEUSimdWidth;
  };
  EXPECT_GT(of(devices[0]), 0.5);
  EXPECT_LT(of(devices[0]), 1e6);
  EXPECT_NEAR(of(devices[0]) / of(devices[1]), 1.0, 1e-6);
}

TEST_F(NpuDevices, MemoryIsTheMachinesOrLess) {
  std::uint32_t count = 1;
  ze_device_memory_properties_t memory = {};
  ASSERT_EQ(zeDeviceGetMemoryProperties(device, &count, &memory), ZE_RESULT_SUCCESS);
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  file >> name >> kib;
  EXPECT_GT(memory.totalSize, std::uint64_t{1} << 20);
  EXPECT_LE(memory.totalSize, kib * 1024);
}

TEST_F(NpuDevices, CountsBeyondOrBelowWhatIsThereAreKeptTo) {
  std::uint32_t count = 100;
  std::vector<ze_device_handle_t> some(100);
  EXPECT_EQ(zeDeviceGet(driver, &count, some.data()), ZE_RESULT_SUCCESS);
  EXPECT_EQ(count, 3u);
  count = 2;
  some.assign(3, nullptr);
  EXPECT_EQ(zeDeviceGet(driver, &count, some.data()), ZE_RESULT_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(some[1], devices[1]);
  EXPECT_EQ(some[2], nullptr);
  EXPECT_EQ(zeDeviceGet(driver, nullptr, some.data()), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  count = 0;
  EXPECT_EQ(zeDeviceGetSubDevices(device, &count, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(count, 0u);
}

TEST_F(NpuDevices, ThePackagedLoaderIsToldOfNoExtensionThatItCannotServe) {
  std::uint32_t count = 0;
  ASSERT_EQ(zeDriverGetExtensionProperties(driver, &count, nullptr), ZE_RESULT_SUCCESS);
  std::vector<ze_driver_extension_properties_t> found(count);
  ASSERT_EQ(zeDriverGetExtensionProperties(driver, &count, found.data()), ZE_RESULT_SUCCESS);
  std::set<std::string> names;
  for (const auto& each : found) names.insert(each.name);
  EXPECT_EQ(names.count("ZE_extension_context_npu"), 1u);
  EXPECT_EQ(names.count("ZE_extension_command_queue_npu"), 1u);
  EXPECT_EQ(names.count("ZE_extension_driver_npu"), 1u);
  EXPECT_EQ(names.count("ZE_extension_external_memmap_sysmem"), 1u);
  // Tables of 1.4 have no mutable lists; clients with that loader get the calls by name.
  const bool is_old = ZE_API_VERSION_CURRENT <= ZE_API_VERSION_1_4;
  EXPECT_EQ(names.count("ZE_experimental_mutable_command_list"), is_old ? 0u : 1u);
  void* address = nullptr;
  EXPECT_EQ(zeDriverGetExtensionFunctionAddress(driver, "zeCommandListUpdateMutableCommandsExp", &address),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeDriverGetExtensionFunctionAddress(driver, "zeNothing", &address), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  EXPECT_EQ(zeDriverGetExtensionFunctionAddress(driver, nullptr, &address), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

/// Run with TENON_NPU_WITHOUT=mutable,timestamps: omitted extensions are unreachable by table and by name.
TEST_F(NpuDevices, WhatIsLeftOutIsNotThereByNameEither) {
  const char* without = std::getenv("TENON_NPU_WITHOUT");
  if (!without) GTEST_SKIP() << "nothing is left out";
  for (const char* name : {"zeCommandListGetNextCommandIdExp", "zeCommandListUpdateMutableCommandsExp",
                           "zeCommandListUpdateMutableCommandSignalEventExp",
                           "zeCommandListUpdateMutableCommandWaitEventsExp", "zeEventQueryKernelTimestampsExt"}) {
    void* address = nullptr;
    EXPECT_EQ(zeDriverGetExtensionFunctionAddress(driver, name, &address), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE) << name;
  }
  void* address = nullptr;
  EXPECT_EQ(zeDriverGetExtensionFunctionAddress(driver, "zeCommandListHostSynchronize", &address), ZE_RESULT_SUCCESS);
  abi::MutableListProperties lists;
  properties(device, &lists);
  EXPECT_EQ(lists.command_flags, 0u);
}

TEST_F(NpuDevices, AQueueTakesNoListOfAnotherDevice) {
  ze_command_queue_handle_t queue = make_queue();
  ze_device_handle_t first = device;
  device = devices[1];
  ze_command_list_handle_t list = make_list();
  device = first;
  ze_command_list_handle_t own = make_list();
  EXPECT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListClose(own), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ze_command_list_handle_t both[] = {own, list};
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 2, both, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &own, nullptr), ZE_RESULT_SUCCESS) << "it was given back";
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 5 * kSecond), ZE_RESULT_SUCCESS);
  for (ze_command_list_handle_t each : both) EXPECT_EQ(zeCommandListDestroy(each), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
}

TEST_F(NpuDevices, MutableListsAreAPropertyOfTheDevice) {
  abi::MutableListProperties lists;
  properties(device, &lists);
  EXPECT_EQ(lists.command_flags, abi::kMutableGraphArguments | abi::kMutableGraphArgumentDeprecated)
      << "exactly what hardware's driver announces";
}

/// Also in an environment of its own, with TENON_NPU_SYSTEM_MEMORY=1.
TEST_F(NpuDevices, SystemMemoryIsCopiedOnlyWhereTheDeviceSeesIt) {
  const bool sees = std::getenv("TENON_NPU_SYSTEM_MEMORY") != nullptr;
  ze_device_memory_access_properties_t access = {};
  ASSERT_EQ(zeDeviceGetMemoryAccessProperties(device, &access), ZE_RESULT_SUCCESS);
  EXPECT_EQ((access.sharedSystemAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0, sees);
  const std::vector<int> from(1000, 7);
  std::vector<int> to(1000);
  const auto list = make_list();
  const auto queue = make_queue();
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, to.data(), from.data(), 4000, nullptr, 0, nullptr),
            sees ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, reinterpret_cast<void*>(8), from.data(), 4000, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT)
      << "nothing is mapped there";
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  auto submitted = list;
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &submitted, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueSynchronize(queue, 30 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(to == from, sees);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
}

/// In an environment of its own: TENON_NPU_AS_HARDWARE=1, TENON_NPU_API_VERSION=1.17.
TEST_F(NpuDevices, AsHardwareItHasHardwaresNamesAndExportsDmaBufs) {
  ze_api_version_t version = {};
  ASSERT_EQ(zeDriverGetApiVersion(driver, &version), ZE_RESULT_SUCCESS);
  if (!std::getenv("TENON_NPU_AS_HARDWARE")) {
    EXPECT_EQ(version, static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 13)));
    EXPECT_EQ(std::string(properties(device).name).rfind("Tenon(TM) software NPU", 0), 0u);
    return;
  }
  EXPECT_EQ(version, static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 17)));
  EXPECT_STREQ(properties(device).name, "Intel(R) AI Boost");
  ze_device_external_memory_properties_t external = {};
  ASSERT_EQ(zeDeviceGetExternalMemoryProperties(device, &external), ZE_RESULT_SUCCESS);
  EXPECT_TRUE(external.memoryAllocationExportTypes & ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF);
  const ze_external_memory_export_desc_t wish = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, nullptr,
                                                 ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF};
  auto* const data = static_cast<unsigned char*>(allocate_host(5000, &wish));
  data[4999] = 6;
  ze_external_memory_export_fd_t exported = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD, nullptr,
                                             ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, -1};
  ze_memory_allocation_properties_t found = {};
  found.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  found.pNext = &exported;
  ASSERT_EQ(zeMemGetAllocProperties(context, data, &found, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(::lseek(exported.fd, 0, SEEK_END), 8192) << "whole pages, as a dma-buf has";
  unsigned char last = 0;
  EXPECT_EQ(::pread(exported.fd, &last, 1, 4999), 1);
  EXPECT_EQ(last, 6);
  ::close(exported.fd);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuDevices, TheDevicesVersionIsItsPlatform) {
  for (const auto each : devices) {
    abi::DeviceIpVersion version;
    properties(each, &version);
    EXPECT_EQ(version.version, properties(each).deviceId == 0x7D1D ? 3720u : 4000u);
  }
}

TEST_F(NpuDevices, TheLastErrorIsExplained) {
  const auto last_error = call<abi::DriverGetLastErrorDescription>("zeDriverGetLastErrorDescription");
  const ze_host_mem_alloc_desc_t descriptor = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  void* data = nullptr;
  ASSERT_NE(zeMemAllocHost(context, &descriptor, 64, 3, &data), ZE_RESULT_SUCCESS);
  const char* text = nullptr;
  ASSERT_EQ(last_error(driver, &text), ZE_RESULT_SUCCESS);
  EXPECT_STREQ(text, "alignments are powers of two");
}

TEST_F(NpuDevices, TheContextExtensionTakesWhatItKnows) {
  abi::ContextNpuTable* table = nullptr;
  ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, abi::kContextNpuExtension, reinterpret_cast<void**>(&table)),
            ZE_RESULT_SUCCESS);
  abi::ContextNpuProperties wishes;
  EXPECT_EQ(table->set_properties(context, &wishes), ZE_RESULT_SUCCESS);
  wishes.options = 0x10;
  EXPECT_EQ(table->set_properties(context, &wishes), ZE_RESULT_ERROR_INVALID_ENUMERATION);
  EXPECT_EQ(table->set_properties(nullptr, &wishes), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  EXPECT_EQ(table->release_memory(context), ZE_RESULT_SUCCESS);
  abi::DriverNpuTable* driver_table = nullptr;
  ASSERT_EQ(
      zeDriverGetExtensionFunctionAddress(driver, abi::kDriverNpuExtension, reinterpret_cast<void**>(&driver_table)),
      ZE_RESULT_SUCCESS);
  void* again = nullptr;
  abi::DriverNpuExtension wanted;
  wanted.name = abi::kContextNpuExtension;
  wanted.version = abi::kContextNpuVersion;
  wanted.table = &again;
  EXPECT_EQ(driver_table->get_extension(driver, &wanted), ZE_RESULT_SUCCESS);
  EXPECT_EQ(again, table);
}

}  // namespace calls_device_test
}  // namespace tenon::npu::test
