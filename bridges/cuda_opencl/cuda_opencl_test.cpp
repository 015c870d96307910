// SPDX-License-Identifier: Apache-2.0
// CUDA memory in OpenCL and back: what is shared, what is copied, which work waits. On an NVIDIA device, or on CUDA's
// stand-in with PoCL behind a layer.
#include <tenon/bridges/cuda_opencl/cuda_opencl.hpp>

#include <tenon/frameworks/cuda/testing/cuda.hpp>
#include <tenon/frameworks/opencl/client.hpp>

#include <chrono>
#include <cstdio>
#include <thread>

#include <tenon/core/proof.hpp>

#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::cuda_opencl {
namespace cuda_opencl_test {

using cuda::bytes_info;
using cuda::bytes_of;
using cuda::counted;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CudaOpencl : public cuda::CudaFixture {
 protected:
  void SetUp() override {
    // A driver opens descriptors that it keeps when OpenCL is first used, and when the first cl_context is made.
    static const bool is_set_up = [] {
      for (cl_device_id id : opencl::client::all_devices()) opencl::make_context(id);
      return true;
    }();
    (void)is_set_up;
    cuda::CudaFixture::SetUp();
    if (IsSkipped()) return;
    handles_before_ = opencl::client::Probe::handles;
    std::string found;
    for (cl_device_id id : opencl::client::all_devices()) {
      const Context made = opencl::make_context(id);
      if (!same_device(made, context)) {
        found += " " + std::string(made->name());
        continue;
      }
      opencl = made;
      break;
    }
    if (!opencl) GTEST_SKIP() << "no OpenCL device is " << context->name() << "; there are:" << found;
    if (!opencl::device(opencl).has("cl_khr_external_memory_opaque_fd"))
      GTEST_SKIP() << opencl->name() << " imports no memory: no cl_khr_external_memory_opaque_fd";
    router->add(opencl);
    router->add(edges());
  }
  void TearDown() override {
    opencl::client::Probe::countdown = 0;
    const bool was_there = static_cast<bool>(opencl);
    opencl = {};
    cuda::CudaFixture::TearDown();
    if (was_there) {
      EXPECT_EQ(opencl::client::Probe::handles.load(), handles_before_) << "OpenCL's handles were left behind";
    }
  }
  MapOptions options(Access access, ZeroCopy policy = ZeroCopy::kRequire) {
    return MapOptions{access, policy, &ledger};
  }
  Context opencl;
  Ledger ledger;

 private:
  std::size_t handles_before_ = 0;
};

TEST_F(CudaOpencl, ExportedMemoryIsSharedBothWays) {
  const Tensor there = exported(100'000);
  for (std::uint8_t round = 0; round < 3; ++round) {
    const Tensor seen = router->map(there, opencl, options(Access::kReadWrite));
    EXPECT_EQ(seen.memory(), there.memory());
    cuda::write(there, counted(100'000, round));
    EXPECT_EQ(bytes_of(seen), counted(100'000, round)) << "OpenCL does not see what CUDA wrote";
    cuda::write(seen, counted(100'000, static_cast<std::uint8_t>(round + 100)));
    EXPECT_EQ(bytes_of(there), counted(100'000, static_cast<std::uint8_t>(round + 100)))
        << "CUDA does not see what OpenCL wrote";
    const Tensor back = router->map(seen, context, options(Access::kReadWrite));
    EXPECT_EQ(cuda::pointer(back), cuda::pointer(there));
  }
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_EQ(there.memory()->view_count(), 1u);
}

TEST_F(CudaOpencl, PartsKeepTheirOffset) {
  const Tensor whole = cuda::allocate_exported(context, {element::u8, {16, 64}, {}});
  cuda::write(whole, counted(16 * 64, 0));
  const Tensor rows = router->map(whole.slice({3, 0}, {5, 64}), opencl, options(Access::kRead));
  EXPECT_EQ(bytes_of(rows), counted(128, 3 * 64));
}

TEST_F(CudaOpencl, ProvedByAlias) {
  const ProofResult proof = prove(*router, context, opencl, 1 << 20, [&](const Requirements& wanted) {
    return context.as<cuda::CudaContext>()->allocate_exported(wanted);
  });
  EXPECT_EQ(name(proof.proof), "proved") << proof.reason;
  std::printf("[ measured ] map of 1 MiB: first %.0f ns, repeated %.0f ns\n", proof.first_ns, proof.repeat_ns);
}

TEST_F(CudaOpencl, MemoryOfCudaMallocIsCopiedOnceOnTheDevice) {
  const Tensor there = cuda::allocate(context, cuda::MemoryType::kDevice, bytes_info(5000));
  cuda::write(there, counted(5000, 7));
  EXPECT_THAT(router->explain(describe(there), opencl, Access::kRead, ZeroCopy::kRequire),
              AllOf(HasSubstr("cudaMalloc"), HasSubstr("cuda::allocate_exported")));
  const auto route = router->plan(describe(there), opencl);
  ASSERT_EQ(route->hops().size(), 1u) << route->explain();
  EXPECT_EQ(route->hops()[0].edge->name(), "cuda->opencl.buffer (copy on the device)");
  const Tensor seen = router->map(there, opencl, options(Access::kRead, ZeroCopy::kPrefer));
  EXPECT_EQ(bytes_of(seen), counted(5000, 7));
  EXPECT_EQ(ledger.total().copied, 5000u);
  EXPECT_EQ(ledger.total().transferred, 0u) << "it went over the host";
}

TEST_F(CudaOpencl, OpenclsBuffersAreCopiedOnceOnTheDevice) {
  Requirements wanted;
  wanted.size_bytes = 4096;
  const Tensor there({element::u8, {64, 64}, {}}, opencl->allocate(wanted));
  cuda::write(there, counted(4096, 3));
  const Tensor region = there.slice({8, 0}, {16, 32});
  const Tensor seen = router->map(region, context, options(Access::kRead, ZeroCopy::kPrefer));
  EXPECT_EQ(bytes_of(seen), bytes_of(region));
  EXPECT_EQ(ledger.total().copied, 8u * 32);
  EXPECT_EQ(ledger.total().transferred, 0u);
  EXPECT_THAT(router->explain(describe(there), context, Access::kRead, ZeroCopy::kRequire),
              HasSubstr("OpenCL's own buffers cannot be exported"));
}

TEST_F(CudaOpencl, ContextsOverOneClContextShareOneImport) {
  const Context other = opencl::wrap(opencl::handle(opencl), nullptr);
  const Tensor there = exported(4096);
  const Tensor one = router->map(there, opencl, options(Access::kReadWrite));
  const Tensor two = router->map(there, other, options(Access::kReadWrite));
  EXPECT_EQ(opencl::buffer(one), opencl::buffer(two));
}

TEST_F(CudaOpencl, OpenclWaitsForAStreamAndTheHostDoesNot) {
  const Tensor there = exported(4096), source = cuda::allocate(context, cuda::MemoryType::kHost, bytes_info(4096));
  cuda::write(there, counted(4096, 0));
  cuda::write(source, counted(4096, 50));
  cuda::HeldStream held(context);
  held.hold();
  held.copy(cuda::pointer(there), cuda::pointer(source), 4096);
  cuda::wrote(there, held.get());
  const Tensor seen = router->map(there, opencl, options(Access::kRead));
  EXPECT_EQ(ledger.total().waits, 0u);
  // A command of OpenCL on the buffer: it must not run before CUDA's.
  const auto& native = opencl.as<opencl::FacetContext>()->native();
  const auto scratch = opencl::client::make_buffer(native, CL_MEM_READ_WRITE, 4096, nullptr, "a test's buffer");
  const opencl::WaitList waits = opencl::wait_list(seen, Access::kRead);
  EXPECT_EQ(waits.size(), 1u);
  cl_event copied = nullptr;
  ASSERT_EQ(clEnqueueCopyBuffer(native.queue.get(), opencl::buffer(seen), scratch.get(), 0, 0, 4096, waits.size(),
                                waits.data(), &copied),
            CL_SUCCESS);
  opencl::reads(seen, copied);
  clFlush(native.queue.get());
  const TimelinePoint done = opencl::point(copied);
  clReleaseEvent(copied);
  std::this_thread::sleep_for(milliseconds(3));
  EXPECT_EQ(done.state(), PointState::kPending) << "it did not wait";
  held.let_go();
  done.wait();
  std::vector<std::uint8_t> bytes(4096);
  ASSERT_EQ(clEnqueueReadBuffer(native.queue.get(), scratch.get(), CL_TRUE, 0, 4096, bytes.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(bytes, counted(4096, 50));
}

TEST_F(CudaOpencl, AStreamWaitsForOpenclAndTheHostDoesNot) {
  const Tensor there = exported(4096), target = cuda::allocate(context, cuda::MemoryType::kHost, bytes_info(4096));
  cuda::write(there, counted(4096, 0));
  cuda::write(target, counted(4096, 99));
  const Tensor seen = router->map(there, opencl, options(Access::kReadWrite));
  const auto& native = opencl.as<opencl::FacetContext>()->native();
  cl_int status = CL_SUCCESS;
  cl_event gate = clCreateUserEvent(opencl::handle(opencl), &status);
  const cl_uint five = 5;
  cl_event filled = nullptr;
  ASSERT_EQ(clEnqueueFillBuffer(native.queue.get(), opencl::buffer(seen), &five, 1, 0, 4096, 1, &gate, &filled),
            CL_SUCCESS);
  clFlush(native.queue.get());
  opencl::wrote(seen, filled);
  cuda::HeldStream reader(context);
  cuda::order(there, Access::kRead, reader.get());
  reader.copy(cuda::pointer(target), cuda::pointer(there), 4096);
  const TimelinePoint copied = cuda::stream(context, reader.get())->signal();
  std::this_thread::sleep_for(milliseconds(3));
  EXPECT_EQ(copied.state(), PointState::kPending) << "it did not wait";
  const auto begin = Clock::now();
  clSetUserEventStatus(gate, CL_COMPLETE);
  copied.wait();
  std::printf("[ measured ] from OpenCL's gate to the end of CUDA's copy behind it: %.0f us\n",
              std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  EXPECT_EQ(bytes_of(target), std::vector<std::uint8_t>(4096, 5));
  clReleaseEvent(gate);
  clReleaseEvent(filled);
}

TEST_F(CudaOpencl, EveryFailingCallIsAnErrorAndLeavesNothing) {
  const Tensor plain = cuda::allocate(context, cuda::MemoryType::kDevice, bytes_info(4096));
  cuda::write(plain, counted(4096, 9));
  const auto work = [&] {
    Router routes;
    routes.add(edges());
    const Tensor there = exported(4096);
    cuda::write(there, counted(4096, 1));
    EXPECT_EQ(bytes_of(routes.map(plain, opencl)), counted(4096, 9));
    return bytes_of(routes.map(there, opencl));
  };
  const auto expect_right = [](const auto& bytes) { EXPECT_EQ(bytes, counted(4096, 1)); };
  testing::fail_each_call<opencl::client::Probe>("CL_OUT_OF_RESOURCES", work, expect_right);
  testing::fail_each_call<cuda::client::Probe>("CUDA_ERROR_OUT_OF_MEMORY", work, expect_right);
}

TEST_F(CudaOpencl, MemoryOfAnotherDeviceIsRefused) {
  if (cuda::contexts().size() < 2) GTEST_SKIP() << "the driver has one device";
  const Tensor there = cuda::allocate_exported(cuda::contexts()[1], bytes_info(4096));
  EXPECT_THAT(router->explain(describe(there), opencl), HasSubstr("is another device"));
}

}  // namespace cuda_opencl_test
}  // namespace tenon::cuda_opencl
