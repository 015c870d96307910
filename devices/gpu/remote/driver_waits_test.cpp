// SPDX-License-Identifier: Apache-2.0
// Waits in the driver end when their events do, and at their deadlines.
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include <tenon/devices/gpu/remote/driver_waits.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon::gpu_testing {
namespace driver_waits_test {

using gpu_device::DriverWaits;
using intel_gpu::ocl::ClContext;
using std::chrono::milliseconds;
namespace client = opencl::client;

class GpuDriverWaits : public Gpu {
 protected:
  Ref<opencl::EventTimeline> user_event() {
    cl_int status = CL_SUCCESS;
    client::Handle<cl_event> event(clCreateUserEvent(app.context, &status));
    EXPECT_EQ(status, CL_SUCCESS);
    return opencl::EventTimeline::over(std::move(event));
  }
  /// Whether so many threads wait for nothing in the end.
  bool become_idle(std::size_t count) {
    const Deadline deadline = Clock::now() + std::chrono::seconds(30);
    while (waits.idle() < count && Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
    return waits.idle() >= count;
  }
  /// Copies of 4 MB arrive.
  void copy() {
    ClContext context(core, app.context);
    const Shape shape{1 << 20};
    Tensor host(element::f32, shape), back(element::f32, shape);
    std::iota(host.data<float>(), host.data<float>() + host.element_count(), 1.0f);
    RemoteTensor first = context.create_tensor(element::f32, shape),
                 second = context.create_tensor(element::f32, shape);
    first.copy_from(host);
    first.copy_to(second);
    second.copy_to(back);
    EXPECT_TRUE(std::equal(host.data<float>(), host.data<float>() + host.element_count(), back.data<float>()));
  }

  DriverWaits& waits = DriverWaits::process();
};

TEST_F(GpuDriverWaits, EndWithTheEvent) {
  for (const cl_int status : {CL_COMPLETE, -7}) {
    const auto event = user_event();
    std::thread setter =
        tenon_test::once_this_thread_sleeps([&] { clSetUserEventStatus(event->event(), status); }, milliseconds(20));
    waits.wait(*event, Deadline::max());
    EXPECT_EQ(event->query(1), status == CL_COMPLETE ? PointState::kReached : PointState::kFailed);
    setter.join();
  }
  EXPECT_TRUE(become_idle(1));
}

/// A driver that is stuck holds threads, and no caller; when it goes on, the threads serve again.
TEST_F(GpuDriverWaits, EndAtTheDeadline) {
  const auto event = user_event();
  for (std::size_t i = 0; i < DriverWaits::kMost; ++i) {
    const auto begin = Clock::now();
    waits.wait(*event, begin + milliseconds(20));
    EXPECT_GE(Clock::now() - begin, milliseconds(20));
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30));
    EXPECT_EQ(event->query(1), PointState::kPending);
  }
  EXPECT_EQ(waits.idle(), 0u);
  waits.wait(*event, Deadline::max());  // All threads are stuck, so it is not begun.
  EXPECT_EQ(event->query(1), PointState::kPending);
  copy();
  EXPECT_EQ(clSetUserEventStatus(event->event(), CL_COMPLETE), CL_SUCCESS);
  EXPECT_TRUE(become_idle(DriverWaits::kMost));
}

/// Where the device has the host's memory, the host's cores may copy.
TEST_F(GpuDriverWaits, AreThoseOfLongCopies) {
  const std::size_t before = waits.begun();
  copy();
  EXPECT_EQ(waits.begun() - before, client::read_device(app.device).host_unified ? 3u : 0u);
}

}  // namespace driver_waits_test
}  // namespace tenon::gpu_testing
