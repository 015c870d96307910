// SPDX-License-Identifier: Apache-2.0
// Memory through the loader: allocations, imports by descriptor and by address, exports, and refusals.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstring>

#include <tenon/drivers/npu/testing/client.hpp>
#include <tenon/frameworks/level_zero/abi/context_npu.hpp>
#include <tenon/frameworks/level_zero/abi/system_memory.hpp>

namespace tenon::npu::test {
namespace memory_test {

namespace abi = level_zero::abi;
constexpr std::size_t kPage = 4096;

class NpuMemory : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    descriptors_ = open_descriptors();
    mappings_ = mappings();
  }
  void TearDown() override {
    NpuTest::TearDown();
    EXPECT_EQ(open_descriptors(), descriptors_);
    EXPECT_LE(mappings(), mappings_ + 16);  // The C library keeps some mappings.
  }
  void* import_fd(int fd, std::size_t size, ze_result_t expected = ZE_RESULT_SUCCESS,
                  ze_external_memory_type_flags_t flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF) {
    const ze_external_memory_import_fd_t import = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD, nullptr, flags, fd};
    return allocate_host(size, &import, expected);
  }
  void* import_user(void* data, std::size_t size, ze_result_t expected = ZE_RESULT_SUCCESS) {
    abi::ExternalSystemMemory import;
    import.data = data;
    import.size = size;
    return allocate_host(size, &import, expected);
  }
  static int make_memfd(std::size_t size) {
    const int fd = ::memfd_create("client", MFD_CLOEXEC);
    EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(size)), 0);
    return fd;
  }

 private:
  std::size_t descriptors_ = 0, mappings_ = 0;
};

TEST_F(NpuMemory, EachKindSaysWhatItIs) {
  const ze_device_mem_alloc_desc_t device_descriptor = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
  const ze_host_mem_alloc_desc_t host_descriptor = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  void *host = allocate_host(100), *on_device = nullptr, *shared = nullptr;
  ASSERT_EQ(zeMemAllocDevice(context, &device_descriptor, 5000, 64, device, &on_device), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeMemAllocShared(context, &device_descriptor, &host_descriptor, 1, 0, device, &shared), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties_of(host).type, ZE_MEMORY_TYPE_HOST);
  EXPECT_EQ(properties_of(on_device).type, ZE_MEMORY_TYPE_DEVICE);
  EXPECT_EQ(properties_of(shared).type, ZE_MEMORY_TYPE_SHARED);
  EXPECT_NE(properties_of(host).id, 0u);
  EXPECT_NE(properties_of(host).id, properties_of(on_device).id);
  ze_memory_allocation_properties_t properties = {};
  ze_device_handle_t where = nullptr;
  EXPECT_EQ(zeMemGetAllocProperties(context, static_cast<std::byte*>(on_device) + 4999, &properties, &where),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(where, device);
  EXPECT_EQ(properties.type, ZE_MEMORY_TYPE_DEVICE);
  void* base = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(zeMemGetAddressRange(context, static_cast<std::byte*>(on_device) + 17, &base, &size), ZE_RESULT_SUCCESS);
  EXPECT_EQ(base, on_device);
  EXPECT_EQ(size, 5000u);
  for (void* data : {host, on_device, shared}) {
    std::memset(data, 1, 1);
    EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(properties_of(data).type, ZE_MEMORY_TYPE_UNKNOWN);
  }
}

TEST_F(NpuMemory, ForeignAddressesAreUnknownAndHaveNoId) {
  int local = 0;
  EXPECT_EQ(properties_of(&local).type, ZE_MEMORY_TYPE_UNKNOWN);
  EXPECT_EQ(properties_of(&local).id, 0u);
  EXPECT_EQ(zeMemFree(context, &local), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  void* base = nullptr;
  EXPECT_EQ(zeMemGetAddressRange(context, &local, &base, nullptr), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(NpuMemory, MemoryOfOneContextIsNotAnothers) {
  const ze_context_desc_t descriptor = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ze_context_handle_t other = nullptr;
  ASSERT_EQ(zeContextCreate(driver, &descriptor, &other), ZE_RESULT_SUCCESS);
  void* data = allocate_host(kPage);
  EXPECT_EQ(zeMemFree(other, data), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ze_memory_allocation_properties_t properties = {};
  EXPECT_EQ(zeMemGetAllocProperties(other, data, &properties, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties.type, ZE_MEMORY_TYPE_UNKNOWN);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeContextDestroy(other), ZE_RESULT_SUCCESS);
}

TEST_F(NpuMemory, AContextTakesWhatWasNotFreedWithIt) {
  const std::size_t before = mappings();
  for (int i = 0; i < 50; ++i) allocate_host(kPage);
  EXPECT_GT(mappings(), before + 25);
  EXPECT_EQ(zeContextDestroy(context), ZE_RESULT_SUCCESS);
  context = nullptr;
  EXPECT_LE(mappings(), before + 2);
}

TEST_F(NpuMemory, SizesAndAlignmentsThatCannotBeAreRefused) {
  const ze_host_mem_alloc_desc_t descriptor = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  void* data = nullptr;
  EXPECT_EQ(zeMemAllocHost(context, &descriptor, 0, 0, &data), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  EXPECT_EQ(zeMemAllocHost(context, &descriptor, SIZE_MAX, 0, &data), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  EXPECT_EQ(zeMemAllocHost(context, &descriptor, SIZE_MAX - 4095, 0, &data), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  EXPECT_EQ(zeMemAllocHost(context, &descriptor, 64, 3, &data), ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  EXPECT_EQ(zeMemAllocHost(context, &descriptor, 64, std::size_t{1} << 63, &data),
            ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  EXPECT_EQ(zeMemAllocHost(context, &descriptor, 64, 0, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(zeMemAllocHost(context, nullptr, 64, 0, &data), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(data, nullptr);
  for (std::size_t alignment = 1; alignment <= (std::size_t{1} << 21); alignment *= 8) {
    ASSERT_EQ(zeMemAllocHost(context, &descriptor, 100, alignment, &data), ZE_RESULT_SUCCESS);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0u);
    EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
  }
}

TEST_F(NpuMemory, MoreThanTheMachineHasIsRefusedBeforeItIsTouched) {
  std::uint32_t count = 1;
  ze_device_memory_properties_t memory = {};
  memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
  ASSERT_EQ(zeDeviceGetMemoryProperties(device, &count, &memory), ZE_RESULT_SUCCESS);
  ASSERT_GT(memory.totalSize, 0u);
  void* first = allocate_host(memory.totalSize / 2);
  void* second = allocate_host(memory.totalSize / 4);
  allocate_host(memory.totalSize / 2, nullptr, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  EXPECT_EQ(zeMemFree(context, first), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, second), ZE_RESULT_SUCCESS);
}

TEST_F(NpuMemory, ADescriptorsMemoryIsTheSameMemory) {
  const int fd = make_memfd(2 * kPage);
  void* mine = ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  auto* imported = static_cast<unsigned char*>(import_fd(fd, 2 * kPage));
  ASSERT_NE(imported, nullptr);
  ::close(fd);  // The client closes its own; the import stays valid.
  static_cast<unsigned char*>(mine)[kPage] = 42;
  EXPECT_EQ(imported[kPage], 42);
  imported[1] = 7;
  EXPECT_EQ(static_cast<unsigned char*>(mine)[1], 7);
  EXPECT_NE(properties_of(imported).id, 0u);
  EXPECT_EQ(zeMemFree(context, imported), ZE_RESULT_SUCCESS);
  EXPECT_EQ(static_cast<unsigned char*>(mine)[1], 7);
  ::munmap(mine, 2 * kPage);
}

TEST_F(NpuMemory, AFileThatItsOwnerShrinksIsAnErrorOfTheCommandAndNoSignal) {
  const int fd = make_memfd(4 * kPage);
  auto* imported = static_cast<unsigned char*>(import_fd(fd, 4 * kPage));
  auto* own = static_cast<unsigned char*>(allocate_host(4 * kPage));
  const auto queue = make_queue();
  const unsigned char one = 1;
  const auto run = [&](auto append) {
    const auto list = make_list();
    EXPECT_EQ(append(list), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
    auto submitted = list;
    EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &submitted, nullptr), ZE_RESULT_SUCCESS);
    const ze_result_t result = zeCommandQueueSynchronize(queue, 10 * kSecond);
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    return result;
  };
  const auto read = [&](auto list) {
    return zeCommandListAppendMemoryCopy(list, own, imported, 4 * kPage, nullptr, 0, nullptr);
  };
  const auto write = [&](auto list) {
    return zeCommandListAppendMemoryCopy(list, imported, own, 4 * kPage, nullptr, 0, nullptr);
  };
  const auto fill = [&](auto list) {
    return zeCommandListAppendMemoryFill(list, imported, &one, 1, 4 * kPage, nullptr, 0, nullptr);
  };
  const auto stamp = [&](auto list) {
    return zeCommandListAppendWriteGlobalTimestamp(list, reinterpret_cast<std::uint64_t*>(imported + 3 * kPage),
                                                   nullptr, 0, nullptr);
  };
  ASSERT_EQ(run(fill), ZE_RESULT_SUCCESS);
  ASSERT_EQ(::ftruncate(fd, kPage), 0);
  EXPECT_EQ(run(read), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(run(write), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(run(fill), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(run(stamp), ZE_RESULT_ERROR_INVALID_SIZE);
  ASSERT_EQ(::ftruncate(fd, 4 * kPage), 0);
  EXPECT_EQ(run(read), ZE_RESULT_SUCCESS);
  EXPECT_EQ(own[0], 1);
  EXPECT_EQ(own[2 * kPage], 0) << "what was cut off is gone";
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, own), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, imported), ZE_RESULT_SUCCESS);
  ::close(fd);
}

TEST_F(NpuMemory, OnlyWhatMayShrinkIsWatched) {
  const int fd = ::memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(fd, kPage), 0);
  ASSERT_EQ(::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const std::size_t before = open_descriptors();
  void* sealed = import_fd(fd, kPage);
  EXPECT_EQ(open_descriptors(), before);
  const int open_one = make_memfd(kPage);
  void* watched = import_fd(open_one, kPage);
  EXPECT_EQ(open_descriptors(), before + 2);
  EXPECT_EQ(zeMemFree(context, sealed), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, watched), ZE_RESULT_SUCCESS);
  EXPECT_EQ(open_descriptors(), before + 1);
  ::close(fd);
  ::close(open_one);
}

TEST_F(NpuMemory, DescriptorsThatAreNoMemoryAreRefused) {
  const int fd = make_memfd(kPage);
  import_fd(fd, kPage + 1, ZE_RESULT_ERROR_INVALID_SIZE);
  import_fd(fd, 100 * kPage, ZE_RESULT_ERROR_INVALID_SIZE);
  import_fd(-1, kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  import_fd(1 << 20, kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  import_fd(fd, kPage, ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D12_HEAP);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  import_fd(ends[0], kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  import_fd(ends[0], kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ::close(ends[0]);
  ::close(ends[1]);
  for (const char* path : {"/dev/null", "/dev/zero", "/"}) {
    const int other = ::open(path, O_RDONLY | O_CLOEXEC);
    import_fd(other, kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    ::close(other);
  }
  const int path_only = ::open("/proc/self/exe", O_PATH | O_CLOEXEC);
  import_fd(path_only, kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ::close(path_only);
  ::close(fd);
}

TEST_F(NpuMemory, AReadOnlyDescriptorCanBeReadAndNotWritten) {
  const int fd = make_memfd(kPage);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int read_only = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* input = import_fd(read_only, kPage);
  void* output = allocate_host(kPage);
  const auto list = make_list();
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, output, input, kPage, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListAppendMemoryCopy(list, input, output, kPage, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, input), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, output), ZE_RESULT_SUCCESS);
  ::close(read_only);
  ::close(fd);
}

TEST_F(NpuMemory, UserMemoryIsTakenWhereItLies) {
  void* mine = ::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(import_user(mine, 2 * kPage), mine);
  EXPECT_NE(properties_of(mine).id, 0u);
  // Beyond its end the address is unknown, wherever the driver's own memory lies.
  void* own = allocate_host(kPage);
  EXPECT_EQ(properties_of(static_cast<std::byte*>(mine) + 2 * kPage).id, 0u);
  import_user(mine, kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  import_user(static_cast<std::byte*>(mine) + kPage, 2 * kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(import_user(static_cast<std::byte*>(mine) + 2 * kPage, 2 * kPage),
            static_cast<std::byte*>(mine) + 2 * kPage);
  EXPECT_EQ(zeMemFree(context, mine), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, static_cast<std::byte*>(mine) + 2 * kPage), ZE_RESULT_SUCCESS);
  static_cast<char*>(mine)[0] = 1;  // Still the client's memory.
  EXPECT_EQ(import_user(mine, 4 * kPage), mine);
  EXPECT_EQ(zeMemFree(context, mine), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, own), ZE_RESULT_SUCCESS);
  ::munmap(mine, 4 * kPage);
}

TEST_F(NpuMemory, TheSameUserMemoryGoesIntoSeveralContexts) {
  void* mine = ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const ze_context_desc_t descriptor = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ze_context_handle_t other = nullptr;
  ASSERT_EQ(zeContextCreate(driver, &descriptor, &other), ZE_RESULT_SUCCESS);
  EXPECT_EQ(import_user(mine, 2 * kPage), mine);
  std::swap(context, other);
  EXPECT_EQ(import_user(mine, kPage), mine);
  import_user(mine, 2 * kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  const auto id = properties_of(mine).id;
  void* own = allocate_host(kPage);
  std::swap(context, other);
  EXPECT_NE(properties_of(mine).id, id);
  import_user(own, kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);  // The driver's own memory is not the client's to import.
  EXPECT_EQ(zeMemFree(context, mine), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties_of(mine).id, 0u);
  EXPECT_EQ(zeMemFree(other, mine), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(other, own), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeContextDestroy(other), ZE_RESULT_SUCCESS);
  ::munmap(mine, 2 * kPage);
}

TEST_F(NpuMemory, UserMemoryNeedsNoWholePages) {
  std::vector<std::byte> mine(kPage + 100, std::byte{7});
  std::byte* const begin = mine.data() + 1;
  ASSERT_EQ(import_user(begin, kPage + 3), begin);
  import_user(begin + 8, 16, ZE_RESULT_ERROR_INVALID_ARGUMENT);  // Part of what was imported.
  const auto list = make_list();
  const unsigned char nine = 9;
  EXPECT_EQ(zeCommandListAppendMemoryFill(list, begin, &nine, 1, kPage + 4, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT)
      << "one byte behind the import";
  ASSERT_EQ(zeCommandListAppendMemoryFill(list, begin, &nine, 1, kPage + 3, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  const auto queue = make_queue();
  auto submitted = list;
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &submitted, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(mine.front(), std::byte{7});
  EXPECT_EQ(begin[kPage + 2], std::byte{9});
  EXPECT_EQ(begin[kPage + 3], std::byte{7});
  EXPECT_EQ(zeMemFree(context, begin), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
}

TEST_F(NpuMemory, UserMemoryThatIsNotMappedIsRefused) {
  auto* mine =
      static_cast<std::byte*>(::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  import_user(nullptr, kPage, ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  ASSERT_EQ(::mprotect(mine + kPage, kPage, PROT_NONE), 0);
  import_user(mine, 3 * kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(::munmap(mine + 2 * kPage, kPage), 0);
  import_user(mine + 2 * kPage, kPage, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  abi::ExternalSystemMemory smaller;
  smaller.data = mine;
  smaller.size = kPage;
  allocate_host(2 * kPage, &smaller, ZE_RESULT_ERROR_INVALID_SIZE);
  ::munmap(mine, 2 * kPage);
  ::munmap(mine + 3 * kPage, kPage);
}

TEST_F(NpuMemory, ExportedMemoryIsTheSameMemoryAndKeepsItsSize) {
  const ze_external_memory_export_desc_t wish = {ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC, nullptr,
                                                 ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD};
  auto* data = static_cast<unsigned char*>(allocate_host(3 * kPage, &wish));
  ze_external_memory_export_fd_t exported = {};
  exported.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD;
  exported.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD;
  ze_memory_allocation_properties_t properties = {};
  properties.pNext = &exported;
  ASSERT_EQ(zeMemGetAllocProperties(context, data, &properties, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_GE(exported.fd, 0);
  EXPECT_NE(::ftruncate(exported.fd, 0), 0);  // Shrinking it under the device is refused.
  auto* seen =
      static_cast<unsigned char*>(::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, exported.fd, 0));
  data[kPage] = 9;
  EXPECT_EQ(seen[kPage], 9);
  auto* again = static_cast<unsigned char*>(import_fd(exported.fd, 3 * kPage));
  again[0] = 5;
  EXPECT_EQ(data[0], 5);
  EXPECT_EQ(zeMemFree(context, again), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
  EXPECT_EQ(seen[0], 5);
  ::munmap(seen, 3 * kPage);
  ::close(exported.fd);
}

TEST_F(NpuMemory, MemoryThatWasNotMadeForItIsNotExported) {
  void* data = allocate_host(kPage);
  ze_external_memory_export_fd_t exported = {};
  exported.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD;
  exported.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
  exported.fd = 5;
  ze_memory_allocation_properties_t properties = {};
  properties.pNext = &exported;
  EXPECT_EQ(zeMemGetAllocProperties(context, data, &properties, nullptr), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  EXPECT_EQ(exported.fd, -1);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuMemory, UnknownLinksOfAChainAreIgnoredAndEndlessChainsRefused) {
  struct Link {
    ze_structure_type_t stype;
    const void* next;
  };
  Link second = {static_cast<ze_structure_type_t>(0x7ffffff0), nullptr};
  Link first = {static_cast<ze_structure_type_t>(0x7ffffff1), &second};
  void* data = allocate_host(kPage, &first);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
  second.next = &first;
  allocate_host(kPage, &first, ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

}  // namespace memory_test
}  // namespace tenon::npu::test
