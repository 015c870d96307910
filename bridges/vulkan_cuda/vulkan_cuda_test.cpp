// SPDX-License-Identifier: Apache-2.0
// Memory of Vulkan in CUDA and of CUDA in Vulkan: in place, ordered by points, and refused with reasons.
#include <tenon/frameworks/vulkan/testing/vulkan.hpp>

#include <chrono>
#include <thread>

#include <tenon/bridges/vulkan_cuda/vulkan_cuda.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/frameworks/cuda/client.hpp>
#include <tenon/frameworks/cuda/contexts.hpp>
#include <tenon/frameworks/cuda/testing/cuda.hpp>

#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::vulkan_cuda {
namespace vulkan_cuda_test {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using vulkan::bytes_info;
using vulkan::bytes_of;
using vulkan::counted;

/// The CUDA context of the Vulkan device.
class VulkanCuda : public vulkan::VulkanFixture {
 protected:
  void SetUp() override {
    cuda::contexts();  // A driver keeps descriptors that it opens when CUDA is first used.
    vulkan::VulkanFixture::SetUp();
    if (IsSkipped()) return;
    for (const Context& each : cuda::contexts())
      if (same_device(each, context)) cuda = each;
    if (!cuda) GTEST_SKIP() << "no device of CUDA is " << context->name();
    router->add(cuda);
    router->add(edges());
    drain_deferred(default_deadline());
    cuda.as<cuda::CudaContext>()->native().drop_idle();
    before_ = cuda::client::Probe::handles;
  }
  void TearDown() override {
    const Context kept = cuda;
    cuda = {};
    vulkan::VulkanFixture::TearDown();
    if (!kept) return;
    kept.as<cuda::CudaContext>()->native().drop_idle();
    EXPECT_EQ(cuda::client::Probe::handles, before_) << "CUDA's handles were left behind";
  }
  MapOptions options(Access access) { return {access, ZeroCopy::kRequire, &ledger}; }
  Tensor exported(std::size_t size) { return vulkan::allocate_exported(context, bytes_info(size)); }

  Context cuda;
  Ledger ledger;

 private:
  std::size_t before_ = 0;
};

TEST_F(VulkanCuda, VulkansMemoryIsUsedByCudaInPlace) {
  const Tensor here = exported(100'000);
  vulkan::write(here, counted(100'000, 1));
  const Tensor there = router->map(here, cuda, options(Access::kReadWrite));
  EXPECT_NE(cuda::pointer(there), 0u);
  EXPECT_EQ(bytes_of(there), counted(100'000, 1));
  vulkan::write(there, counted(100'000, 9));
  EXPECT_EQ(bytes_of(here), counted(100'000, 9));
  EXPECT_EQ(cuda::pointer(router->map(here, cuda, options(Access::kRead))), cuda::pointer(there)) << "imported once";
  EXPECT_EQ(vulkan::buffer(router->map(there, context, options(Access::kReadWrite))), vulkan::buffer(here));
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(VulkanCuda, CudasMemoryIsUsedByVulkanInPlace) {
  if (!cuda::device(cuda).exports_fd) GTEST_SKIP() << "CUDA exports none";
  const Tensor here = cuda::allocate_exported(cuda, bytes_info(100'000));
  vulkan::write(here, counted(100'000, 1));
  const Tensor there = router->map(here, context, options(Access::kReadWrite));
  EXPECT_EQ(bytes_of(there), counted(100'000, 1));
  vulkan::write(there, counted(100'000, 9));
  EXPECT_EQ(bytes_of(here), counted(100'000, 9));
  EXPECT_EQ(cuda::pointer(router->map(there, cuda, options(Access::kReadWrite))), cuda::pointer(here));
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(VulkanCuda, SharingIsProved) {
  const ProofResult out = prove(*router, context, cuda, 1 << 20, [&](const Requirements& wanted) {
    return context.as<vulkan::BufferContext>()->allocate_exported(wanted, FdKind::kVulkanFd);
  });
  EXPECT_EQ(name(out.proof), "proved") << out.reason;
  if (!cuda::device(cuda).exports_fd) return;
  const ProofResult in = prove(*router, cuda, context, 1 << 20, [&](const Requirements& wanted) {
    return cuda.as<cuda::CudaContext>()->allocate_exported(wanted);
  });
  EXPECT_EQ(name(in.proof), "proved") << in.reason;
}

TEST_F(VulkanCuda, AStreamWaitsForVulkan) {
  const Tensor here = exported(4096), target = cuda::allocate(cuda, cuda::MemoryType::kHost, bytes_info(4096));
  vulkan::write(here, counted(4096, 0));
  vulkan::HeldWork held(context);
  held.fill(here, 0x32323232);
  vulkan::wrote(here, held.semaphore(), 1);
  const Tensor there = router->map(here, cuda, options(Access::kRead));
  EXPECT_EQ(ledger.total().waits, 0u) << "the host does not wait";
  cuda::HeldStream reader(cuda);
  cuda::order(there, Access::kRead, reader.get());
  reader.copy(cuda::pointer(target), cuda::pointer(there), 4096);
  const TimelinePoint copied = cuda::stream(cuda, reader.get())->signal();
  std::this_thread::sleep_for(milliseconds(3));
  EXPECT_EQ(copied.state(), PointState::kPending) << "it did not wait";
  held.let_go();
  copied.wait();
  EXPECT_EQ(bytes_of(target), std::vector<std::uint8_t>(4096, 0x32));
}

TEST_F(VulkanCuda, ASubmissionWaitsForAStream) {
  const Tensor here = exported(4096), source = cuda::allocate(cuda, cuda::MemoryType::kHost, bytes_info(4096));
  vulkan::write(source, counted(4096, 50));
  const Tensor there = router->map(here, cuda, options(Access::kReadWrite));
  cuda::HeldStream held(cuda);
  held.hold();
  held.copy(cuda::pointer(there), cuda::pointer(source), 4096);
  cuda::wrote(there, held.get());
  vulkan::HeldWork work(context);
  const Tensor half = here.slice({0}, {2048});
  work.fill(half, 0x32323232, vulkan::waits(here, Access::kReadWrite));
  vulkan::wrote(half, work.semaphore(), 1);
  work.let_go();
  std::this_thread::sleep_for(milliseconds(3));
  EXPECT_EQ(vulkan::point(context, work.semaphore(), 1).state(), PointState::kPending) << "it did not wait";
  held.let_go();
  std::vector<std::uint8_t> expected = counted(4096, 50);
  std::fill_n(expected.begin(), 2048, std::uint8_t{0x32});
  EXPECT_EQ(bytes_of(here), expected);
}

TEST_F(VulkanCuda, RefusalsSayWhatIsMissing) {
  const Tensor plain = vulkan::allocate(context, vulkan::MemoryType::kDevice, bytes_info(4096));
  EXPECT_THAT(router->explain(describe(plain), cuda, Access::kRead, ZeroCopy::kRequire),
              HasSubstr("allocate it with vulkan::allocate_exported"));
  const Tensor theirs = cuda::allocate(cuda, cuda::MemoryType::kDevice, bytes_info(4096));
  EXPECT_THAT(router->explain(describe(theirs), context, Access::kRead, ZeroCopy::kRequire),
              HasSubstr("allocate it with cuda::allocate_exported"));
  if (cuda::contexts().size() < 2) return;
  const Context other = cuda::contexts()[0] == cuda ? cuda::contexts()[1] : cuda::contexts()[0];
  router->add(other);
  const Tensor here = exported(4096);
  EXPECT_THAT(router->explain(describe(here), other, Access::kRead, ZeroCopy::kRequire),
              HasSubstr("is another device"));
}

TEST_F(VulkanCuda, EveryFailingCallIsAnErrorAndLeavesNothing) {
  const auto work = [&] {
    Router routes;
    routes.add(edges());
    const Tensor here = exported(4096);
    vulkan::write(here, counted(4096, 1));
    const std::vector<std::uint8_t> bytes = bytes_of(routes.map(here, cuda));
    drain_deferred(default_deadline());
    return bytes;
  };
  const auto expect_right = [](const auto& bytes) { EXPECT_EQ(bytes, counted(4096, 1)); };
  testing::fail_each_call<vulkan::client::Probe>("VK_ERROR_OUT_OF_DEVICE_MEMORY", work, expect_right);
  testing::fail_each_call<cuda::client::Probe>("CUDA_ERROR_OUT_OF_MEMORY", work, expect_right);
}

}  // namespace vulkan_cuda_test
}  // namespace tenon::vulkan_cuda
