// SPDX-License-Identifier: Apache-2.0
// Memory between processes (zeMem*Ipc*), and memory that clients map into reserved ranges (zeVirtualMem*).
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include <tenon/drivers/npu/testing/client.hpp>

namespace tenon::npu::test {
namespace virtual_memory_test {

constexpr std::size_t kPage = 4096;

class NpuVirtualMemory : public NpuTest {
 protected:
  void* allocate_device(std::size_t size) {
    const ze_device_mem_alloc_desc_t descriptor = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    void* data = nullptr;
    EXPECT_EQ(zeMemAllocDevice(context, &descriptor, size, 0, device, &data), ZE_RESULT_SUCCESS);
    return data;
  }
  ze_physical_mem_handle_t make_physical(std::size_t size, ze_result_t expected = ZE_RESULT_SUCCESS) {
    ze_physical_mem_desc_t descriptor = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, nullptr, 0, size};
    ze_physical_mem_handle_t memory = nullptr;
    EXPECT_EQ(zePhysicalMemCreate(context, device, &descriptor, &memory), expected);
    return memory;
  }
  std::byte* reserve(std::size_t size) {
    void* data = nullptr;
    EXPECT_EQ(zeVirtualMemReserve(context, nullptr, size, &data), ZE_RESULT_SUCCESS);
    return static_cast<std::byte*>(data);
  }
  /// Fills a range on the device. @return the result of appending or running.
  ze_result_t fill(void* data, std::size_t size, unsigned char value) {
    auto list = make_list();
    const auto queue = make_queue();
    ze_result_t result = zeCommandListAppendMemoryFill(list, data, &value, 1, size, nullptr, 0, nullptr);
    if (result == ZE_RESULT_SUCCESS) result = zeCommandListClose(list);
    if (result == ZE_RESULT_SUCCESS) result = zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr);
    if (result == ZE_RESULT_SUCCESS) result = zeCommandQueueSynchronize(queue, 10 * kSecond);
    EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    return result;
  }
};

TEST_F(NpuVirtualMemory, AHandleOpensTheSameMemory) {
  auto* const data = static_cast<unsigned char*>(allocate_device(2 * kPage + 100));
  std::memset(data, 7, 2 * kPage + 100);
  ze_ipc_mem_handle_t handle = {};
  ASSERT_EQ(zeMemGetIpcHandle(context, data + 10, &handle), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[2 * kPage + 99], 7) << "sharing moves it to a file, at the same address";
  void* opened = nullptr;
  ASSERT_EQ(zeMemOpenIpcHandle(context, device, handle, 0, &opened), ZE_RESULT_SUCCESS);
  auto* const same = static_cast<unsigned char*>(opened);
  EXPECT_NE(same, data + 10);
  same[0] = 8;
  EXPECT_EQ(data[10], 8);
  EXPECT_EQ(fill(data, kPage, 9), ZE_RESULT_SUCCESS);
  EXPECT_EQ(same[100], 9);
  EXPECT_EQ(zeMemCloseIpcHandle(context, opened), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemCloseIpcHandle(context, opened), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeMemCloseIpcHandle(context, data), ZE_RESULT_ERROR_INVALID_ARGUMENT) << "never opened";
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemOpenIpcHandle(context, device, handle, 0, &opened), ZE_RESULT_ERROR_INVALID_ARGUMENT)
      << "the memory is gone";
}

TEST_F(NpuVirtualMemory, AnotherProcessOpensTheMemory) {
  auto* const data = static_cast<unsigned char*>(allocate_device(kPage));
  ze_ipc_mem_handle_t handle = {};
  ASSERT_EQ(zeMemGetIpcHandle(context, data, &handle), ZE_RESULT_SUCCESS);
  // The child is this program again: a fork does not take the device along.
  std::string bytes;
  for (const char each : handle.data) {
    const char* const digits = "0123456789abcdef";
    bytes += digits[static_cast<unsigned char>(each) >> 4];
    bytes += digits[static_cast<unsigned char>(each) & 15];
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TENON_NPU_TEST_HANDLE", bytes.c_str(), 1);
    ::execl("/proc/self/exe", "child", "--gtest_filter=NpuVirtualMemory.WritesIntoTheMemoryOfAHandle", nullptr);
    ::_exit(127);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(data[5], 42);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

/// The child of the test above.
TEST_F(NpuVirtualMemory, WritesIntoTheMemoryOfAHandle) {
  const char* const text = std::getenv("TENON_NPU_TEST_HANDLE");
  if (!text) GTEST_SKIP() << "a part of AnotherProcessOpensTheMemory";
  ze_ipc_mem_handle_t handle = {};
  for (std::size_t i = 0; i < sizeof handle.data; ++i)
    handle.data[i] = static_cast<char>(std::stoul(std::string(text + 2 * i, 2), nullptr, 16));
  void* opened = nullptr;
  ASSERT_EQ(zeMemOpenIpcHandle(context, device, handle, 0, &opened), ZE_RESULT_SUCCESS);
  EXPECT_EQ(fill(static_cast<unsigned char*>(opened) + 5, 1, 42), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemCloseIpcHandle(context, opened), ZE_RESULT_SUCCESS);
}

TEST_F(NpuVirtualMemory, AHandleBeginsWithADescriptorThatASocketMayBring) {
  auto* const data = static_cast<unsigned char*>(allocate_device(kPage));
  ze_ipc_mem_handle_t handle = {};
  ASSERT_EQ(zeMemGetIpcHandle(context, data, &handle), ZE_RESULT_SUCCESS);
  int fd = -1;
  std::memcpy(&fd, handle.data, sizeof fd);
  const int brought = ::dup(fd);
  ASSERT_GE(brought, 0) << std::strerror(errno);
  std::memcpy(handle.data, &brought, sizeof brought);
  std::memset(handle.data + sizeof brought, 0, sizeof(pid_t));  // The process that made it is gone.
  void* opened = nullptr;
  ASSERT_EQ(zeMemOpenIpcHandle(context, device, handle, 0, &opened), ZE_RESULT_SUCCESS);
  static_cast<unsigned char*>(opened)[3] = 8;
  EXPECT_EQ(data[3], 8);
  EXPECT_EQ(zeMemCloseIpcHandle(context, opened), ZE_RESULT_SUCCESS);
  ::close(brought);
  EXPECT_EQ(zeMemOpenIpcHandle(context, device, handle, 0, &opened), ZE_RESULT_ERROR_INVALID_ARGUMENT)
      << "it is closed";
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuVirtualMemory, WrongHandlesAreRefused) {
  ze_ipc_mem_handle_t handle = {};
  void* opened = nullptr;
  int local = 0;
  EXPECT_EQ(zeMemOpenIpcHandle(context, device, handle, 0, &opened), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  std::memset(handle.data, 0xff, sizeof handle.data);
  EXPECT_EQ(zeMemOpenIpcHandle(context, device, handle, 0, &opened), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeMemGetIpcHandle(context, &local, &handle), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeMemGetIpcHandle(context, nullptr, &handle), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  void* const data = allocate_device(kPage);
  ASSERT_EQ(zeMemGetIpcHandle(context, data, &handle), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemOpenIpcHandle(context, device, handle, 8, &opened), ZE_RESULT_ERROR_INVALID_ENUMERATION);
  EXPECT_EQ(zeMemOpenIpcHandle(context, nullptr, handle, 0, &opened), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
  ze_driver_ipc_properties_t properties = {};
  ASSERT_EQ(zeDriverGetIpcProperties(driver, &properties), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties.flags, std::uint32_t{ZE_IPC_PROPERTY_FLAG_MEMORY});
}

TEST_F(NpuVirtualMemory, PagesAreMappedIntoAReservedRange) {
  std::size_t page = 0;
  ASSERT_EQ(zeVirtualMemQueryPageSize(context, device, 5, &page), ZE_RESULT_SUCCESS);
  ASSERT_EQ(page, kPage);
  std::byte* const range = reserve(4 * kPage);
  const auto memory = make_physical(2 * kPage);
  EXPECT_EQ(fill(range, 1, 1), ZE_RESULT_ERROR_INVALID_ARGUMENT) << "nothing is mapped there yet";
  ASSERT_EQ(zeVirtualMemMap(context, range, 2 * kPage, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE),
            ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeVirtualMemMap(context, range + 2 * kPage, kPage, memory, kPage, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(fill(range + kPage, kPage, 5), ZE_RESULT_SUCCESS);
  EXPECT_EQ(range[2 * kPage], std::byte{5}) << "the second page is mapped twice";
  EXPECT_EQ(zeVirtualMemMap(context, range, kPage, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE),
            ZE_RESULT_ERROR_INVALID_ARGUMENT)
      << "mapped already";
  EXPECT_EQ(zeVirtualMemMap(context, range + 3 * kPage, 2 * kPage, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE),
            ZE_RESULT_ERROR_INVALID_ARGUMENT)
      << "beyond the range";
  EXPECT_EQ(zeVirtualMemMap(context, range + 3 * kPage, kPage, memory, 2 * kPage, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE),
            ZE_RESULT_ERROR_INVALID_ARGUMENT)
      << "beyond the memory";
  EXPECT_EQ(zeMemFree(context, range), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeVirtualMemFree(context, range, 4 * kPage), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(zePhysicalMemDestroy(context, memory), ZE_RESULT_SUCCESS) << "the mappings keep the pages";
  EXPECT_EQ(fill(range, kPage, 6), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeVirtualMemUnmap(context, range, kPage), ZE_RESULT_ERROR_INVALID_ARGUMENT) << "half a mapping";
  EXPECT_EQ(zeVirtualMemUnmap(context, range, 2 * kPage), ZE_RESULT_SUCCESS);
  EXPECT_EQ(fill(range, kPage, 7), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeVirtualMemUnmap(context, range + 2 * kPage, kPage), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeVirtualMemFree(context, range, kPage), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeVirtualMemFree(context, range, 4 * kPage), ZE_RESULT_SUCCESS);
}

TEST_F(NpuVirtualMemory, WhatIsMadeInaccessibleIsAnErrorOfTheCommandAndNoSignal) {
  std::byte* const range = reserve(kPage);
  const auto memory = make_physical(kPage);
  ASSERT_EQ(zeVirtualMemMap(context, range, kPage, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE), ZE_RESULT_SUCCESS);
  auto list = make_list();
  const unsigned char one = 1;
  ASSERT_EQ(zeCommandListAppendMemoryFill(list, range, &one, 1, kPage, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  const auto queue = make_queue();
  for (const auto access :
       {ZE_MEMORY_ACCESS_ATTRIBUTE_NONE, ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE}) {
    ASSERT_EQ(zeVirtualMemSetAccessAttribute(context, range, kPage, access), ZE_RESULT_SUCCESS);
    ze_memory_access_attribute_t found = ZE_MEMORY_ACCESS_ATTRIBUTE_FORCE_UINT32;
    std::size_t size = 0;
    ASSERT_EQ(zeVirtualMemGetAccessAttribute(context, range, kPage, &found, &size), ZE_RESULT_SUCCESS);
    EXPECT_EQ(found, access);
    EXPECT_EQ(size, kPage);
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond),
              access == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(range[0], std::byte{1});
  EXPECT_EQ(zeVirtualMemSetAccessAttribute(context, range, kPage, static_cast<ze_memory_access_attribute_t>(9)),
            ZE_RESULT_ERROR_INVALID_ENUMERATION);
  EXPECT_EQ(zeVirtualMemUnmap(context, range, kPage), ZE_RESULT_SUCCESS) << "the list names it, and does not run";
  ASSERT_EQ(zeVirtualMemMap(context, range, kPage, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE), ZE_RESULT_SUCCESS);
  range[0] = std::byte{7};
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_ERROR_INVALID_ARGUMENT)
      << "it named another mapping";
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(range[0], std::byte{7}) << "the list that is gone does not take the mapping along";
  EXPECT_EQ(zeVirtualMemUnmap(context, range, kPage), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeVirtualMemFree(context, range, kPage), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zePhysicalMemDestroy(context, memory), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zePhysicalMemDestroy(context, memory), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(NpuVirtualMemory, PagesOfTheHostNeedNoDevice) {
  constexpr ze_physical_mem_flags_t kOnHost = 2;  // Newer than Debian 12's header.
  ze_physical_mem_desc_t descriptor = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, nullptr, 0, kPage};
  ze_physical_mem_handle_t memory = nullptr;
  EXPECT_EQ(zePhysicalMemCreate(context, nullptr, &descriptor, &memory), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  descriptor.flags = kOnHost;
  ASSERT_EQ(zePhysicalMemCreate(context, nullptr, &descriptor, &memory), ZE_RESULT_SUCCESS);
  std::byte* const range = reserve(kPage);
  ASSERT_EQ(zeVirtualMemMap(context, range, kPage, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE), ZE_RESULT_SUCCESS);
  EXPECT_EQ(fill(range, kPage, 3), ZE_RESULT_SUCCESS);
  EXPECT_EQ(range[5], std::byte{3});
  EXPECT_EQ(properties_of(range).type, ZE_MEMORY_TYPE_HOST);
  EXPECT_EQ(zeVirtualMemUnmap(context, range, kPage), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeVirtualMemFree(context, range, kPage), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zePhysicalMemDestroy(context, memory), ZE_RESULT_SUCCESS);
}

/// A list whose second command, behind an event, fills the page: it runs until set() or the end.
class NpuRunningCommand : public NpuVirtualMemory {
 protected:
  void start_filling(void* data, unsigned char value) {
    pool_ = make_pool(1);
    event_ = make_event(pool_, 0);
    list_ = make_list();
    queue_ = make_queue();
    ASSERT_EQ(zeCommandListAppendMemoryFill(list_, data, &value, 1, kPage, nullptr, 1, &event_), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListClose(list_), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue_, 1, &list_, nullptr), ZE_RESULT_SUCCESS);
    // Until a thread has taken it: before, it is only submitted.
    ASSERT_EQ(zeCommandQueueSynchronize(queue_, kSecond / 5), ZE_RESULT_NOT_READY);
  }
  void finish_filling() {
    ASSERT_EQ(zeEventHostSignal(event_), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueSynchronize(queue_, 10 * kSecond), ZE_RESULT_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(zeCommandQueueDestroy(queue_), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListDestroy(list_), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeEventDestroy(event_), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeEventPoolDestroy(pool_), ZE_RESULT_SUCCESS);
    NpuVirtualMemory::TearDown();
  }
  ze_event_handle_t event_ = nullptr;

 private:
  ze_event_pool_handle_t pool_ = nullptr;
  ze_command_list_handle_t list_ = nullptr;
  ze_command_queue_handle_t queue_ = nullptr;
};

TEST_F(NpuRunningCommand, KeepsTheAccessOfItsMemory) {
  std::byte* const range = reserve(2 * kPage);
  const auto memory = make_physical(2 * kPage);
  constexpr auto kWrite = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
  ASSERT_EQ(zeVirtualMemMap(context, range, kPage, memory, 0, kWrite), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeVirtualMemMap(context, range + kPage, kPage, memory, kPage, kWrite), ZE_RESULT_SUCCESS);
  start_filling(range, 3);
  for (const auto access : {ZE_MEMORY_ACCESS_ATTRIBUTE_NONE, ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY})
    EXPECT_EQ(zeVirtualMemSetAccessAttribute(context, range, kPage, access), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(zeVirtualMemUnmap(context, range, kPage), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  EXPECT_EQ(zeVirtualMemSetAccessAttribute(context, range + kPage, kPage, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE),
            ZE_RESULT_SUCCESS)
      << "no command uses the other page";
  finish_filling();
  EXPECT_EQ(range[0], std::byte{3});
  EXPECT_EQ(zeVirtualMemSetAccessAttribute(context, range, kPage, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zePhysicalMemDestroy(context, memory), ZE_RESULT_SUCCESS);
}

TEST_F(NpuRunningCommand, EndsBeforeItsMemoryIsShared) {
  auto* const data = static_cast<unsigned char*>(allocate_device(kPage));
  start_filling(data, 4);
  ze_ipc_mem_handle_t handle = {};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(zeEventHostSignal(event_), ZE_RESULT_SUCCESS);
  });
  EXPECT_EQ(zeMemGetIpcHandle(context, data, &handle), ZE_RESULT_SUCCESS);
  other.join();
  void* opened = nullptr;
  ASSERT_EQ(zeMemOpenIpcHandle(context, device, handle, 0, &opened), ZE_RESULT_SUCCESS);
  EXPECT_EQ(static_cast<unsigned char*>(opened)[kPage - 1], 4) << "what the command wrote came along";
  EXPECT_EQ(zeMemCloseIpcHandle(context, opened), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuRunningCommand, ThatWaitsForEverKeepsItsMemoryFromBeingShared) {
  auto* const data = static_cast<unsigned char*>(allocate_device(kPage));
  start_filling(data, 5);
  ze_ipc_mem_handle_t handle = {};
  EXPECT_EQ(zeMemGetIpcHandle(context, data, &handle), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  finish_filling();
  EXPECT_EQ(zeMemGetIpcHandle(context, data, &handle), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuVirtualMemory, SizesThatAreNoPagesAreRefused) {
  void* data = nullptr;
  EXPECT_EQ(zeVirtualMemReserve(context, nullptr, kPage + 1, &data), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  EXPECT_EQ(zeVirtualMemReserve(context, nullptr, kPage, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  make_physical(100, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  make_physical(std::size_t{1} << 60, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  EXPECT_EQ(zeVirtualMemFree(context, &data, kPage), ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
}

}  // namespace virtual_memory_test
}  // namespace tenon::npu::test
