// SPDX-License-Identifier: Apache-2.0
// A request that is given a dma-buf once: each inference brackets its own accesses and waits for the fences of drivers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/dmabuf/testing/dmabuf.hpp>
#include <tenon/frameworks/dmabuf/testing/vgem.hpp>
#include <tenon/runtime/device/device_registry.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>
#include <tenon/tests/device_conformance/allocation_count.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon::testing {
namespace dmabuf_request_test {

using dmabuf::UniqueFd;
using dmabuf::test::Faults;
using std::chrono::milliseconds;

constexpr const char* kStart = "ioctl(DMA_BUF_IOCTL_SYNC start)";
constexpr const char* kEnd = "ioctl(DMA_BUF_IOCTL_SYNC end)";

Tensor row_over(const Ref<Memory>& memory) { return Tensor({element::f32, {1, 4}, {}}, memory); }

void fill(const Ref<Memory>& memory, float value) {
  dmabuf::CpuAccess access(row_over(memory), Access::kWrite);
  std::fill_n(static_cast<float*>(access.data()), 4, value);
  access.end();
}

float first_of(const Ref<Memory>& memory) {
  dmabuf::CpuAccess access(row_over(memory), Access::kRead);
  return *static_cast<float*>(access.data());
}

class DmabufRequest : public ::testing::Test {
 protected:
  DmabufRequest() {
    static const bool registered = (register_device(reference_module()), true);
    (void)registered;
    core.router().add(dmabuf::context());
  }
  Core core;
};

TEST_F(DmabufRequest, BracketsEachInferenceAndNothingForAStandIn) {
  for (const dmabuf::Allocator& allocator : dmabuf::allocators()) {
    SCOPED_TRACE(allocator.name());
    const bool stand_in = allocator.kind == dmabuf::Allocator::Kind::kStandIn;
    const Ref<Memory> in = dmabuf::allocate(allocator, 4096), out = dmabuf::allocate(allocator, 4096);
    auto request = core.compile_model(relu_model(), "REFERENCE").create_infer_request();
    request.set_input_tensor(row_over(in));
    request.set_output_tensor(row_over(out));
    for (const float value : {1.f, 2.f, 3.f}) {
      fill(in, value);
      {
        Faults calls;  // Counts them.
        request.infer();
        EXPECT_EQ(Faults::count(kStart), stand_in ? 0 : 2);
        EXPECT_EQ(Faults::count(kEnd), stand_in ? 0 : 2);
        EXPECT_EQ(Faults::count("mmap"), 0) << "it was mapped once, when it was given";
      }
      EXPECT_EQ(first_of(out), value);
    }
    EXPECT_EQ(request.ledger().total().copied, 0u);
  }
}

TEST_F(DmabufRequest, AllocatesNothingInTheSteadyState) {
  for (const dmabuf::Allocator& allocator : dmabuf::allocators()) {
    SCOPED_TRACE(allocator.name());
    const Ref<Memory> in = dmabuf::allocate(allocator, 4096), out = dmabuf::allocate(allocator, 4096);
    auto request = core.compile_model(relu_model(), "REFERENCE", tiny_relu(true)).create_infer_request();
    request.set_input_tensor(row_over(in));
    request.set_output_tensor(row_over(out));
    for (int i = 0; i < 3; ++i) request.infer();
    const std::int64_t before = own_allocations();
    EXPECT_GT(before, 0) << "it does not count";
    for (int i = 0; i < 10; ++i) request.infer();
    EXPECT_EQ(own_allocations() - before, 0);
  }
}

TEST_F(DmabufRequest, WaitsForADeviceThatBeginsToWriteAfterTheTensorWasSet) {
  if (!dmabuf::vgem::open_card()) GTEST_SKIP() << "no vgem driver on this machine: nothing holds a fence back";
  const dmabuf::vgem::Buffer buffer = dmabuf::vgem::allocate(4096);
  const Ref<Memory> memory = dmabuf::import(UniqueFd::duplicate(buffer.fd.get()), 4096);
  auto request = core.compile_model(relu_model(), "REFERENCE").create_infer_request();
  request.set_input_tensor(row_over(memory));
  request.infer();
  for (int round = 0; round < 2; ++round) {
    const std::uint32_t fence = dmabuf::vgem::begin_write(buffer);
    std::thread device =
        tenon_test::once_this_thread_sleeps([&] { dmabuf::vgem::end_write(buffer, fence); }, milliseconds(100));
    const auto start = Clock::now();
    request.infer();
    EXPECT_GE(Clock::now() - start, milliseconds(80)) << "read while the device wrote";
    device.join();
  }
  EXPECT_EQ(request.ledger().total().waits, 2u) << "each wait is booked";
}

/// The software NPU. Its driver waits for the fences of dma-bufs and brackets its accesses: the client does neither.
class DmabufRequestNpu : public DmabufRequest {
 protected:
  void SetUp() override {
    const auto found = core.get_available_devices();
    if (std::find(found.begin(), found.end(), "NPU") == found.end())
      GTEST_SKIP() << "no NPU: ZE_ENABLE_ALT_DRIVERS names no driver, or TENON_DEVICE_PATH no device";
  }
};

TEST_F(DmabufRequestNpu, TheClientBracketsNothing) {
  for (const dmabuf::Allocator& allocator : dmabuf::allocators()) {
    SCOPED_TRACE(allocator.name());
    const Ref<Memory> in = dmabuf::allocate(allocator, 4096), out = dmabuf::allocate(allocator, 4096);
    auto request = core.compile_model(relu_model(), "NPU").create_infer_request();
    request.set_input_tensor(row_over(in));
    request.set_output_tensor(row_over(out));
    for (const float value : {1.f, 2.f, 3.f}) {
      fill(in, value);
      {
        Faults calls;  // Counts those of this process's dmabuf framework, not the driver's own.
        request.infer();
        EXPECT_EQ(Faults::count(kStart), 0) << "the driver's bracket is the second one";
        EXPECT_EQ(Faults::count(kEnd), 0);
        EXPECT_EQ(Faults::count("mmap"), 0) << "it was imported once";
      }
      EXPECT_EQ(first_of(out), value);
    }
    EXPECT_EQ(request.ledger().total().copied, 0u);
  }
}

TEST_F(DmabufRequestNpu, TheDeviceWaitsForAnotherThatWritesAndStartingDoesNot) {
  if (!dmabuf::vgem::open_card()) GTEST_SKIP() << "no vgem driver on this machine: nothing holds a fence back";
  const dmabuf::vgem::Buffer buffer = dmabuf::vgem::allocate(4096);
  const Ref<Memory> memory = dmabuf::import(UniqueFd::duplicate(buffer.fd.get()), 4096);
  auto request = core.compile_model(relu_model(), "NPU").create_infer_request();
  fill(memory, 1);
  request.set_input_tensor(row_over(memory));
  request.infer();
  for (const float value : {2.f, 3.f}) {
    fill(memory, value);
    const std::uint32_t fence = dmabuf::vgem::begin_write(buffer);
    request.start_async();
    EXPECT_FALSE(request.wait_for(milliseconds(100))) << "it read while another device wrote";
    EXPECT_TRUE(dmabuf::vgem::end_write(buffer, fence)) << "the kernel gave the fence up first";
    request.wait();
    EXPECT_EQ(*request.get_output_tensor().data<float>(), value);
  }
}

}  // namespace dmabuf_request_test
}  // namespace tenon::testing
