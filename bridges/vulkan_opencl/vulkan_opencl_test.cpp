// SPDX-License-Identifier: Apache-2.0
// Memory of Vulkan in OpenCL: in place both ways, ordered by points, and refused with reasons.
#include <tenon/frameworks/opencl/testing/opencl.hpp>
#include <tenon/frameworks/vulkan/testing/vulkan.hpp>

#include <chrono>
#include <thread>

#include <tenon/bridges/vulkan_opencl/vulkan_opencl.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>

namespace tenon::vulkan_opencl {
namespace vulkan_opencl_test {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using vulkan::allocate_exported;
using vulkan::bytes_info;
using vulkan::bytes_of;
using vulkan::counted;

/// The OpenCL context of the Vulkan device, if it is one that imports.
class VulkanOpencl : public vulkan::VulkanFixture {
 protected:
  void SetUp() override {
    opencl::contexts();  // A driver keeps descriptors that it opens when OpenCL is first used.
    vulkan::VulkanFixture::SetUp();
    if (IsSkipped()) return;
    for (const Context& each : opencl::contexts())
      if (each.as<opencl::BufferContext>() && same_device(each, context) && opencl::imports(each, FdKind::kVulkanFd))
        opencl = each;
    if (!opencl) GTEST_SKIP() << "no device of OpenCL is " << context->name() << " and imports its memory";
    router->add(opencl);
    router->add(edges());
  }
  MapOptions options(Access access) {
    MapOptions made{access, ZeroCopy::kRequire, &ledger};
    return made;
  }
  Context opencl;
  Ledger ledger;
};

TEST_F(VulkanOpencl, MemoryPassesInPlaceBothWays) {
  const Tensor here = allocate_exported(context, bytes_info(100'000));
  for (std::uint8_t round = 0; round < 3; ++round) {
    vulkan::write(here, counted(100'000, round));
    const Tensor there = router->map(here, opencl, options(Access::kReadWrite));
    EXPECT_EQ(bytes_of(there), counted(100'000, round)) << "OpenCL does not see what Vulkan wrote";
    vulkan::write(there, counted(100'000, static_cast<std::uint8_t>(round + 100)));
    EXPECT_EQ(bytes_of(here), counted(100'000, static_cast<std::uint8_t>(round + 100)))
        << "Vulkan does not see what OpenCL wrote";
    const Tensor back = router->map(there, context, options(Access::kReadWrite));
    EXPECT_EQ(vulkan::buffer(back), vulkan::buffer(here)) << "it comes back as it was";
  }
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(VulkanOpencl, SharingIsProved) {
  const ProofResult proved = prove(*router, context, opencl, 1 << 20, [&](const Requirements& wanted) {
    return context.as<vulkan::BufferContext>()->allocate_exported(wanted, FdKind::kVulkanFd);
  });
  EXPECT_EQ(name(proved.proof), "proved") << proved.reason;
}

TEST_F(VulkanOpencl, OpenclWaitsForVulkan) {
  const Tensor here = allocate_exported(context, bytes_info(4096));
  vulkan::write(here, counted(4096, 0));
  vulkan::HeldWork held(context);
  held.fill(here, 0x32323232);
  vulkan::wrote(here, held.semaphore(), 1);
  const Tensor there = router->map(here, opencl, options(Access::kRead));
  EXPECT_EQ(ledger.total().waits, 0u) << "the host does not wait";
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(5));
    held.let_go();
  });
  EXPECT_EQ(bytes_of(there), std::vector<std::uint8_t>(4096, 0x32)) << "OpenCL read before Vulkan wrote";
  later.join();
}

TEST_F(VulkanOpencl, VulkanWaitsForOpencl) {
  const Tensor here = allocate_exported(context, bytes_info(4096));
  vulkan::write(here, counted(4096, 0));
  cl_int status = CL_SUCCESS;
  const cl_event gate = clCreateUserEvent(opencl::handle(opencl), &status);
  cl_event filled = nullptr;
  {
    const Tensor there = router->map(here, opencl, options(Access::kReadWrite));
    const cl_command_queue queue = opencl::queue(opencl);
    const cl_uchar five = 5;
    const opencl::WaitList taken = opencl::wait_list(there, Access::kReadWrite);
    ASSERT_EQ(clEnqueueBarrierWithWaitList(queue, 1, &gate, nullptr), CL_SUCCESS);
    ASSERT_EQ(clEnqueueFillBuffer(queue, opencl::buffer(there), &five, 1, 0, 4096, taken.size(), taken.data(), &filled),
              CL_SUCCESS);
    clFlush(queue);
    opencl::wrote(there, filled);
  }
  EXPECT_EQ(ledger.total().waits, 0u) << "the host does not wait";
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(5));
    clSetUserEventStatus(gate, CL_COMPLETE);
  });
  EXPECT_EQ(bytes_of(here), std::vector<std::uint8_t>(4096, 5)) << "Vulkan read before OpenCL wrote";
  later.join();
  clReleaseEvent(filled);
  clReleaseEvent(gate);
}

TEST_F(VulkanOpencl, RefusalsSayWhatIsMissing) {
  const Tensor plain = vulkan::allocate(context, vulkan::MemoryType::kDevice, bytes_info(4096));
  EXPECT_THAT(router->explain(describe(plain), opencl, Access::kRead, ZeroCopy::kRequire),
              HasSubstr("allocate it with vulkan::allocate_exported"));
  const Tensor theirs(bytes_info(4096), opencl->allocate([] {
    Requirements wanted;
    wanted.size_bytes = 4096;
    return wanted;
  }()));
  EXPECT_THAT(router->explain(describe(theirs), context, Access::kRead, ZeroCopy::kRequire),
              HasSubstr("OpenCL's own buffers cannot be exported"));
}

TEST(VulkanOpenclElsewhere, AnotherDeviceIsRefused) {
  if (vulkan::contexts().empty() || opencl::contexts().empty()) GTEST_SKIP() << "one of them is missing";
  const Context here = vulkan::contexts().front();
  for (const Context& each : opencl::contexts()) {
    if (!each.as<opencl::BufferContext>() || same_device(each, here)) continue;
    Requirements wanted;
    wanted.size_bytes = 4096;
    wanted.fd = FdKind::kVulkanFd;
    const Tensor exported(bytes_info(4096), here->allocate(wanted));
    Router router;
    router.add(here);
    router.add(each);
    router.add(edges());
    EXPECT_THAT(router.explain(describe(exported), each, Access::kRead, ZeroCopy::kRequire),
                ::testing::AnyOf(HasSubstr("only the device that made"), HasSubstr("lacks cl_khr_external_memory")));
  }
}

}  // namespace vulkan_opencl_test
}  // namespace tenon::vulkan_opencl
