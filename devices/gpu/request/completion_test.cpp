// SPDX-License-Identifier: Apache-2.0
// Which thread ends an inference: one that waits for it, or the device's.
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/core/timeline.hpp>
#include <tenon/devices/gpu/request/completion.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon::gpu_testing {
namespace completion_test {

using gpu_device::Completion;

struct Ended final : Completion::Pending {
  std::atomic<bool> is_over{false};
  std::thread::id by;
  std::exception_ptr error;
  void ended(std::exception_ptr given) noexcept override {
    by = std::this_thread::get_id();
    error = given;
    is_over = true;
  }
  void wait() const {
    while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

TEST(GpuCompletion, IsInTheThreadThatWaitsOrInItsOwn) {
  Completion& completion = Completion::process();
  for (const bool waits : {true, false}) {
    const auto event = make_ref<HostTimeline>("an inference of the test");
    const TimelinePoint end = event->next();
    Ended pending;
    completion.when_over(event, pending);
    std::thread device =
        tenon_test::once_this_thread_sleeps([&] { event->advance(end.value()); }, std::chrono::milliseconds(20));
    if (waits) {
      EXPECT_TRUE(completion.end_here(pending));
      EXPECT_TRUE(pending.is_over);
      EXPECT_EQ(pending.by, std::this_thread::get_id());
    } else {
      pending.wait();
      EXPECT_NE(pending.by, std::this_thread::get_id());
    }
    EXPECT_FALSE(completion.end_here(pending)) << "it is over";
    EXPECT_FALSE(pending.error);
    device.join();
  }
}

TEST(GpuCompletion, HandsTheFailureOn) {
  const auto event = make_ref<HostTimeline>("an inference of the test");
  const TimelinePoint end = event->next();
  Ended pending;
  Completion::process().when_over(event, pending);
  std::thread device = tenon_test::once_this_thread_sleeps(
      [&] { event->fail(end.value(), std::make_exception_ptr(Error(Code::kAborted, "lost"))); },
      std::chrono::milliseconds(20));
  EXPECT_TRUE(Completion::process().end_here(pending));
  EXPECT_THROW(std::rethrow_exception(pending.error), Error);
  device.join();
}

/// Many requests in flight, waited for in any order, by several threads.
TEST_F(Gpu, WaitersEndTheirOwnInferences) {
  auto compiled = core.compile_model(line_model(), "GPU");
  std::vector<InferRequest> requests;
  for (int i = 0; i < 6; ++i) requests.push_back(compiled.create_infer_request());
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].get_tensor("x").data<float>()[0] = static_cast<float>(100 * round) + static_cast<float>(i);
      requests[i].start_async();
    }
    std::thread other([&] {
      for (std::size_t i = requests.size(); i-- > 0;) requests[i].wait();
    });
    for (InferRequest& request : requests) request.wait();
    other.join();
    for (std::size_t i = 0; i < requests.size(); ++i)
      ASSERT_EQ(requests[i].get_tensor("y").data<float>()[0],
                2 * (static_cast<float>(100 * round) + static_cast<float>(i)) + 1);
  }
}

}  // namespace completion_test
}  // namespace tenon::gpu_testing
