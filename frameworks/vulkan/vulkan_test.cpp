// SPDX-License-Identifier: Apache-2.0
// Buffers of Vulkan: the host's side, imports and exports, wrong arguments and failing calls.
#include <tenon/frameworks/vulkan/testing/vulkan.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include <tenon/core/proof.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>

#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::vulkan {
namespace vulkan_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Vulkan : public VulkanFixture {};

TEST_F(Vulkan, NamesTheDeviceAsOthersDo) {
  EXPECT_THAT(std::string(context->name()), ::testing::StartsWith("vulkan:"));
  EXPECT_THAT(std::string(images(context)->name()), ::testing::StartsWith("vulkan.image:"));
  EXPECT_EQ(images(context), images(context)) << "one context of images for all";
  EXPECT_TRUE(same_device(context, make())) << "two VkDevices, one piece of hardware";
  EXPECT_TRUE(device(context).is_cpu() ? context->device().has(kHostCpu) : context->device().has(kDeviceUuid));
  EXPECT_EQ(handles(context).device, handles(images(context)).device);
}

TEST_F(Vulkan, HostVisibleMemoryIsSharedWithTheHost) {
  const Tensor visible = allocate(context, MemoryType::kHost, bytes_info(4096));
  ASSERT_TRUE(visible.is_host_addressable());
  Ledger ledger;
  const Tensor here = router->map(visible, host_context(), MapOptions{Access::kReadWrite, ZeroCopy::kRequire, &ledger});
  std::memset(here.data(), 7, 4096);
  EXPECT_EQ(bytes_of(visible), std::vector<std::uint8_t>(4096, 7)) << "the queue reads elsewhere";
  write(visible, counted(4096, 3));
  EXPECT_EQ(std::memcmp(here.data(), counted(4096, 3).data(), 4096), 0) << "the queue writes elsewhere";
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(Vulkan, DeviceMemoryIsCopiedByTheQueueAndBooked) {
  const Tensor there = allocate(context, MemoryType::kDevice, bytes_info(1000));
  EXPECT_FALSE(there.is_host_addressable());
  write(there, counted(1000, 1));
  Ledger ledger;
  const Tensor here = router->map(there, host_context(), MapOptions{Access::kRead, ZeroCopy::kPrefer, &ledger});
  EXPECT_EQ(std::memcmp(here.data(), counted(1000, 1).data(), 1000), 0);
  EXPECT_EQ(ledger.total().copied, 1000u);
  EXPECT_EQ(ledger.total().transferred, device(context).host_unified() ? 0u : 1000u);
}

TEST_F(Vulkan, WholePagesAreImportedInPlace) {
  if (device(context).host_alignment == 0) GTEST_SKIP() << "no VK_EXT_external_memory_host";
  const Tensor here(bytes_info(8192), cpu::SharedMemory::allocate(8192));
  Ledger ledger;
  const MapOptions options{Access::kReadWrite, ZeroCopy::kRequire, &ledger};
  const Tensor there = router->map(here, context, options);
  write(there, counted(8192, 3));
  EXPECT_EQ(std::memcmp(here.data(), counted(8192, 3).data(), 8192), 0) << "the queue wrote elsewhere";
  std::memset(here.data(), 9, 8192);
  EXPECT_EQ(bytes_of(there), std::vector<std::uint8_t>(8192, 9)) << "the queue reads elsewhere";
  EXPECT_EQ(buffer(router->map(here, context, options)), buffer(there)) << "imported once";
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(Vulkan, MemoryThatIsNoWholePageIsCopied) {
  Tensor here(element::u8, {1000});
  std::memset(here.data(), 4, 1000);
  EXPECT_THAT(router->explain(describe(here), context), HasSubstr("Vulkan imports whole pages of"));
  Ledger ledger;
  const Tensor there = router->map(here, context, MapOptions{Access::kRead, ZeroCopy::kPrefer, &ledger});
  EXPECT_EQ(bytes_of(there), std::vector<std::uint8_t>(1000, 4));
  EXPECT_EQ(ledger.total().copied, 1000u);
}

TEST_F(Vulkan, RegionsAreCopiedRowByRow) {
  const Tensor whole = allocate(context, MemoryType::kDevice, {element::u8, {5, 16, 64}, {}});
  write(whole, counted(5 * 16 * 64, 0));
  const Tensor region = whole.slice({1, 3, 8}, {4, 9, 40});
  std::vector<std::uint8_t> expected;
  for (std::size_t z = 1; z < 4; ++z)
    for (std::size_t y = 3; y < 9; ++y)
      for (std::size_t x = 8; x < 40; ++x) expected.push_back(static_cast<std::uint8_t>((z * 16 + y) * 64 + x));
  EXPECT_EQ(bytes_of(region), expected);
  for (std::uint8_t& byte : expected) byte = static_cast<std::uint8_t>(byte ^ 0xff);
  write(region, expected);
  EXPECT_EQ(bytes_of(region), expected);
  EXPECT_EQ(bytes_of(whole.slice({0, 0, 0}, {1, 16, 64})), counted(16 * 64, 0)) << "a neighbour was written";
}

TEST_F(Vulkan, AllocatesWhatIsWanted) {
  Requirements wanted;
  wanted.size_bytes = 1000;
  EXPECT_EQ(context->allocate(wanted)->host() != nullptr, device(context).host_unified());
  wanted.host_access = true;
  wanted.alignment = 4096;
  const Ref<Memory> memory = context->allocate(wanted);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->host()) % 4096, 0u);
  EXPECT_EQ(memory->size_bytes() % 4096, 0u);
  wanted.fd = FdKind::kVulkanFd;
  EXPECT_THAT(error_of([&] { context->allocate(wanted); }, Code::kUnimplemented), HasSubstr("exported"));
  wanted.host_access = false;
  wanted.fd = FdKind::kCudaFd;
  EXPECT_THAT(error_of([&] { context->allocate(wanted); }, Code::kUnimplemented), HasSubstr("not as a CUDA fd"));
  wanted.fd = FdKind::kNone;
  wanted.alignment = 1 << 20;
  EXPECT_THAT(error_of([&] { context->allocate(wanted); }, Code::kUnimplemented), HasSubstr("1048576 were asked for"));
  wanted.alignment = 64;
  wanted.fd = FdKind::kDmabuf;
  if (!has_dmabufs()) {
    EXPECT_THAT(error_of([&] { context->allocate(wanted); }, Code::kUnimplemented),
                HasSubstr("VK_EXT_external_memory_dma_buf"));
  }
}

TEST_F(Vulkan, ExportedMemoryPassesToAnotherVkDeviceInPlace) {
  if (!has(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) GTEST_SKIP() << "no VK_KHR_external_memory_fd";
  const Context other = make_context();
  router->add(other);
  const Tensor plain = allocate(context, MemoryType::kDevice, bytes_info(100'000));
  EXPECT_THAT(router->explain(describe(plain), other), HasSubstr("vulkan::allocate_exported"));
  const Tensor here = allocate_exported(context, bytes_info(100'000));
  EXPECT_TRUE(here.memory()->fd_kind() == FdKind::kVulkanFd);
  write(here, counted(100'000, 1));
  Ledger ledger;
  MapOptions options{Access::kReadWrite, ZeroCopy::kRequire, &ledger};
  const Tensor there = router->map(here, other, options);
  EXPECT_NE(buffer(there), buffer(here));
  EXPECT_EQ(bytes_of(there), counted(100'000, 1));
  write(there, counted(100'000, 9));
  EXPECT_EQ(bytes_of(here), counted(100'000, 9));
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(Vulkan, DescriptorsAreExportedAndImported) {
  if (!has(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) GTEST_SKIP() << "no VK_KHR_external_memory_fd";
  Tensor imported;
  {
    const Tensor own = allocate_exported(context, bytes_info(5000));
    write(own, counted(5000, 2));
    const UniqueFd fd = export_fd(own);
    EXPECT_EQ(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_NE(fd.get(), own.memory()->borrow_fd()) << "the caller closes its own";
    imported = import_fd(context, fd.get(), FdKind::kVulkanFd, own.memory()->size_bytes(), bytes_info(5000));
  }
  EXPECT_EQ(bytes_of(imported), counted(5000, 2)) << "the import keeps the memory";
  EXPECT_THAT(error_of([&] { import_fd(context, 0, FdKind::kNone, 1, bytes_info(1)); }, Code::kUnimplemented),
              HasSubstr("neither an opaque one nor a dma-buf"));
  EXPECT_THAT(
      error_of([&] { import_fd(context, imported.memory()->borrow_fd(), FdKind::kVulkanFd, 10, bytes_info(11)); },
               Code::kOutOfRange),
      HasSubstr("needs 11 bytes"));
  EXPECT_THAT(error_of([&] { import_fd(context, -1, FdKind::kVulkanFd, 10, bytes_info(10)); }, Code::kInvalidArgument),
              HasSubstr("not open"));
  const Tensor plain = allocate(context, MemoryType::kDevice, bytes_info(10));
  EXPECT_THAT(error_of([&] { export_fd(plain); }, Code::kFailedPrecondition), HasSubstr("vulkan::allocate_exported"));
}

TEST_F(Vulkan, ImportsLeaveThePositionOfTheDescriptor) {
  if (!has(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) GTEST_SKIP() << "no VK_KHR_external_memory_fd";
  const Tensor own = allocate_exported(context, bytes_info(5000));
  const UniqueFd fd = export_fd(own);
  const off_t before = ::lseek(fd.get(), 0, SEEK_CUR);
  const Tensor imported = import_fd(context, fd.get(), FdKind::kVulkanFd, own.memory()->size_bytes(), bytes_info(5000));
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_CUR), before) << "imports at once would read past each other";
}

TEST_F(Vulkan, DmabufsPassBothWaysInPlace) {
  if (!has_dmabufs()) GTEST_SKIP() << context.as<BufferContext>()->native().dmabuf_obstacle(false);
  router->add(dmabuf::context());
  Ledger ledger;
  const MapOptions options{Access::kReadWrite, ZeroCopy::kRequire, &ledger};
  const Tensor own = allocate_exported(context, bytes_info(8192), FdKind::kDmabuf);
  write(own, counted(8192, 1));
  const Tensor as_dmabuf = router->map(own, dmabuf::context(), options);
  try {
    EXPECT_EQ(bytes_of(as_dmabuf), counted(8192, 1));
    write(as_dmabuf, counted(8192, 5));
    EXPECT_EQ(bytes_of(own), counted(8192, 5));
  } catch (const Error& error) {
    // Drivers of GPUs with memory of their own may forbid the host's mapping; other devices still import it.
    EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
  }
  const Context other = make_context();
  const Tensor there = router->map(as_dmabuf, other, options);
  EXPECT_EQ(bytes_of(there), bytes_of(own));
  write(there, counted(8192, 6));
  EXPECT_EQ(bytes_of(own), counted(8192, 6)) << "another VkDevice has other memory";
  const Tensor theirs(bytes_info(8192), dmabuf::allocate(8192));
  const auto* native = &context.as<BufferContext>()->native();
  if (const_cast<detail::Native*>(native)->dmabuf_obstacle(theirs.memory()->fd_kind() != FdKind::kDmabuf).empty()) {
    const Tensor seen = router->map(theirs, context, options);
    write(seen, counted(8192, 7));
    EXPECT_EQ(bytes_of(theirs), counted(8192, 7));
  }
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(Vulkan, AForgedImportOfDmabufsIsNoticed) {
  const char* words = std::getenv("TENON_VULKAN_LAYER");
  if (!words || std::string(words).find("elsewhere") == std::string::npos) GTEST_SKIP() << "for the layer that forges";
  const Tensor theirs(bytes_info(8192), dmabuf::allocate(8192));
  EXPECT_THAT(router->explain(describe(theirs), context), HasSubstr("an alias test"));
}

TEST_F(Vulkan, SharingIsProved) {
  const ProofResult out = prove(*router, context, host_context(), 1 << 20, [&](const Requirements& wanted) {
    return context.as<BufferContext>()->allocate(wanted, MemoryType::kHost);
  });
  EXPECT_EQ(name(out.proof), "proved") << out.reason;
  if (device(context).host_alignment == 0) return;
  const auto pages = [](const Requirements& wanted) -> Ref<Memory> {
    return cpu::SharedMemory::allocate((wanted.size_bytes + 4095) / 4096 * 4096);
  };
  const ProofResult in = prove(*router, host_context(), context, 1 << 20, pages);
  EXPECT_EQ(name(in.proof), "proved") << in.reason;
}

TEST_F(Vulkan, WrongArgumentsAreNamed) {
  EXPECT_THAT(error_of([&] { buffer(Tensor(element::u8, {4})); }, Code::kInvalidArgument), HasSubstr("map it to"));
  EXPECT_THAT(error_of([&] { handles(host_context()); }, Code::kInvalidArgument), HasSubstr("not a context of vulkan"));
  EXPECT_THAT(error_of([&] { make_context(99); }, Code::kInvalidArgument), HasSubstr("no device 99"));
  EXPECT_THAT(error_of([&] { allocate(images(context), MemoryType::kHost, bytes_info(1)); }, Code::kInvalidArgument),
              HasSubstr("vulkan's buffers"));
  EXPECT_THAT(error_of(
                  [&] {
                    allocate(context, MemoryType::kDevice, {element::f64, {SIZE_MAX / 16, 16}, {}});
                  },
                  Code::kInvalidArgument),
              HasSubstr("63 bits"));
  if (under_validation()) return;  // What follows is no valid use: Vulkan itself is to refuse it.
  const Error huge = error_of([&] { allocate(context, MemoryType::kDevice, bytes_info(std::size_t{1} << 46)); });
  EXPECT_EQ(huge.code(), Code::kResourceExhausted);
  EXPECT_THAT(huge.what(), HasSubstr("70368744177664 bytes"));
}

TEST_F(Vulkan, EveryFailingCallIsAnErrorAndLeavesNothing) {
  const Tensor here(bytes_info(8192), cpu::SharedMemory::allocate(8192));
  std::memset(here.data(), 6, 8192);
  const bool exports = has(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME), pages = device(context).host_alignment != 0;
  const auto work = [&] {
    const Context own = make();
    const Tensor made =
        exports ? allocate_exported(own, bytes_info(8192)) : allocate(own, MemoryType::kDevice, bytes_info(8192));
    write(made, counted(8192, 2));
    const Router routes;  // A router remembers contexts.
    if (pages) {
      const Tensor seen = routes.map(cpu::wrap(here.data(), bytes_info(8192)), own, Access::kRead);
      EXPECT_EQ(bytes_of(seen)[0], 6);
    }
    const Tensor picture = allocate_image(images(own), element::u8, {8, 64}, Tiling::kLinear);
    write(picture, counted(512, 1));
    const std::vector<std::uint8_t> bytes = bytes_of(made);
    // A copy that failed on the way may still be under way: its end gives staging memory back.
    drain_deferred(default_deadline());
    return bytes;
  };
  testing::fail_each_call<client::Probe>("VK_ERROR_OUT_OF_DEVICE_MEMORY", work,
                                         [](const auto& bytes) { EXPECT_EQ(bytes, counted(8192, 2)); });
}

TEST(VulkanWithoutALoader, SaysWhatIsMissing) {
  if (!contexts().empty()) GTEST_SKIP() << "there is a device";
  EXPECT_THAT(why_none(), AllOf(HasSubstr("vulkan: "), HasSubstr("Debian")));
}

}  // namespace vulkan_test
}  // namespace tenon::vulkan
