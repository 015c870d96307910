// SPDX-License-Identifier: Apache-2.0
// For the driver's tests: a client that uses nothing but the loader's library.
#pragma once

#include <dirent.h>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <level_zero/ze_api.h>

namespace tenon::npu::test {

inline constexpr std::uint64_t kSecond = 1'000'000'000;

/// Number of open descriptors of this process.
inline std::size_t open_descriptors() {
  std::size_t count = 0;
  if (DIR* folder = ::opendir("/proc/self/fd")) {
    while (::readdir(folder)) ++count;
    ::closedir(folder);
  }
  return count;
}

/// A number from /proc/self/status, such as "VmRSS" in KiB or "Threads".
inline long process_number(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name + ":", 0) == 0) return std::stol(line.substr(name.size() + 1));
  return -1;
}

/// Number of mappings of this process.
inline std::size_t mappings() {
  std::ifstream file("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

/// Provides the driver, its first device and a new context.
class NpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(zeInit(0), ZE_RESULT_SUCCESS) << "is ZE_ENABLE_ALT_DRIVERS set to the path of libze_tenon_npu.so?";
    std::uint32_t count = 1;
    ASSERT_EQ(zeDriverGet(&count, &driver), ZE_RESULT_SUCCESS);
    count = 0;
    ASSERT_EQ(zeDeviceGet(driver, &count, nullptr), ZE_RESULT_SUCCESS);
    devices.resize(count);
    ASSERT_EQ(zeDeviceGet(driver, &count, devices.data()), ZE_RESULT_SUCCESS);
    ASSERT_FALSE(devices.empty());
    device = devices[0];
    const ze_context_desc_t descriptor = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    ASSERT_EQ(zeContextCreate(driver, &descriptor, &context), ZE_RESULT_SUCCESS);
  }
  void TearDown() override {
    if (context) {
      EXPECT_EQ(zeContextDestroy(context), ZE_RESULT_SUCCESS);
    }
  }

  /// Gets a call for which the packaged loader has no entry.
  template <class Function>
  Function call(const char* name) {
    void* address = nullptr;
    EXPECT_EQ(zeDriverGetExtensionFunctionAddress(driver, name, &address), ZE_RESULT_SUCCESS) << name;
    return reinterpret_cast<Function>(address);
  }
  ze_command_queue_handle_t make_queue(ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
                                       const void* next = nullptr) {
    ze_command_queue_desc_t descriptor = {};
    descriptor.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    descriptor.pNext = next;
    descriptor.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    descriptor.priority = priority;
    ze_command_queue_handle_t queue = nullptr;
    EXPECT_EQ(zeCommandQueueCreate(context, device, &descriptor, &queue), ZE_RESULT_SUCCESS);
    return queue;
  }
  ze_command_list_handle_t make_list(const void* next = nullptr) {
    const ze_command_list_desc_t descriptor = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, next, 0, 0};
    ze_command_list_handle_t list = nullptr;
    EXPECT_EQ(zeCommandListCreate(context, device, &descriptor, &list), ZE_RESULT_SUCCESS);
    return list;
  }
  ze_command_list_handle_t make_immediate_list(ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS) {
    ze_command_queue_desc_t descriptor = {};
    descriptor.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    descriptor.mode = mode;
    ze_command_list_handle_t list = nullptr;
    EXPECT_EQ(zeCommandListCreateImmediate(context, device, &descriptor, &list), ZE_RESULT_SUCCESS);
    return list;
  }
  ze_fence_handle_t make_fence(ze_command_queue_handle_t queue, ze_fence_flags_t flags = 0) {
    const ze_fence_desc_t descriptor = {ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, flags};
    ze_fence_handle_t fence = nullptr;
    EXPECT_EQ(zeFenceCreate(queue, &descriptor, &fence), ZE_RESULT_SUCCESS);
    return fence;
  }
  ze_event_pool_handle_t make_pool(std::uint32_t count,
                                   ze_event_pool_flags_t flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE |
                                                                 ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) {
    const ze_event_pool_desc_t descriptor = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, flags, count};
    ze_event_pool_handle_t pool = nullptr;
    EXPECT_EQ(zeEventPoolCreate(context, &descriptor, 1, &device, &pool), ZE_RESULT_SUCCESS);
    return pool;
  }
  ze_event_handle_t make_event(ze_event_pool_handle_t pool, std::uint32_t index) {
    const ze_event_desc_t descriptor = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, index, ZE_EVENT_SCOPE_FLAG_HOST,
                                        ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event = nullptr;
    EXPECT_EQ(zeEventCreate(pool, &descriptor, &event), ZE_RESULT_SUCCESS);
    return event;
  }
  void* allocate_host(std::size_t size, const void* next = nullptr, ze_result_t expected = ZE_RESULT_SUCCESS) {
    const ze_host_mem_alloc_desc_t descriptor = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, next, 0};
    void* data = nullptr;
    EXPECT_EQ(zeMemAllocHost(context, &descriptor, size, 0, &data), expected);
    return data;
  }
  ze_memory_allocation_properties_t properties_of(const void* data) {
    ze_memory_allocation_properties_t properties = {};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    EXPECT_EQ(zeMemGetAllocProperties(context, data, &properties, nullptr), ZE_RESULT_SUCCESS);
    return properties;
  }

  ze_driver_handle_t driver = nullptr;
  std::vector<ze_device_handle_t> devices;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;
};

}  // namespace tenon::npu::test
