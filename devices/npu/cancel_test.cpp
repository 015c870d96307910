// SPDX-License-Identifier: Apache-2.0
// Cancels endless inferences: with a driver that can end them, and with one that cannot.
#include <atomic>
#include <chrono>
#include <thread>

#include <tenon/devices/npu/testing/npu.hpp>
#include <tenon/tests/support/turns_model.hpp>

namespace tenon::npu_testing {
namespace cancel_test {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class NpuCancel : public Npu {
 protected:
  static constexpr std::int64_t kForEver = std::int64_t{1} << 60;
  void SetUp() override {
    Npu::SetUp();
    compiled = core.compile_model(turns_model(), "NPU");
  }
  InferRequest request_of(std::int64_t trips) {
    InferRequest request = compiled.create_infer_request();
    set(request, trips);
    return request;
  }
  static void set(InferRequest& request, std::int64_t trips) {
    request.get_tensor("trips").data<std::int64_t>()[0] = trips;
    std::fill_n(request.get_tensor("x").data<float>(), 4, 2.f);
  }
  static void expect_cancelled_soon(const std::function<void()>& wait) {
    const auto begin = steady_clock::now();
    EXPECT_THROW(wait(), Cancelled);
    EXPECT_LT(steady_clock::now() - begin, milliseconds(20000)) << "a busy machine's allowance; alone it is a few";
  }
  CompiledModel compiled;
};

TEST_F(NpuCancel, WaitReturnsAndTheRequestWorksAgain) {
  InferRequest request = request_of(kForEver), other = request_of(3);
  for (int round = 0; round < 3; ++round) {
    set(request, kForEver);
    request.start_async();
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_FALSE(request.wait_for(milliseconds(1)));
    request.cancel();
    expect_cancelled_soon([&] { request.wait(); });
    if (lacks("cancel")) {  // The device stays busy for ever, and so does the request.
      EXPECT_THROW(request.infer(), Busy);
      return;
    }
    set(request, 5);
    request.infer();
    EXPECT_THAT(values_of(request.get_tensor("y")), ::testing::Each(7));
    other.infer();
    EXPECT_THAT(values_of(other.get_tensor("y")), ::testing::Each(5)) << "the queue goes on";
  }
}

TEST_F(NpuCancel, WhatWaitsBehindAnotherInferenceIsCancelledToo) {
  TENON_NEEDS("cancel");
  InferRequest first = request_of(kForEver), second = request_of(kForEver), third = request_of(3);
  for (InferRequest* each : {&first, &second, &third}) each->start_async();
  std::this_thread::sleep_for(milliseconds(30));
  second.cancel();
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_FALSE(third.wait_for(milliseconds(1))) << "the first runs";
  first.cancel();
  expect_cancelled_soon([&] { first.wait(); });
  expect_cancelled_soon([&] { second.wait(); });
  third.wait();
  EXPECT_THAT(values_of(third.get_tensor("y")), ::testing::Each(5));
}

TEST_F(NpuCancel, InferIsCancelledByAnotherThread) {
  TENON_NEEDS("cancel");
  InferRequest request = request_of(kForEver);
  std::atomic<bool> is_over = false;
  std::thread canceller([&] {
    // A cancel before the inference begins has no effect, so repeat it.
    while (!is_over) {
      std::this_thread::sleep_for(milliseconds(20));
      request.cancel();
    }
  });
  expect_cancelled_soon([&] { request.infer(); });
  is_over = true;
  canceller.join();
}

TEST_F(NpuCancel, WaitsForTheDeviceAreInTheRequestsLedger) {
  TENON_NEEDS("cancel");
  LedgerEntry total;
  for (milliseconds before(30); total.wait_ns < 20'000'000u && before < milliseconds(10000); before *= 10) {
    InferRequest request = request_of(kForEver);  // On a busy machine it may not have begun when it is cancelled.
    request.start_async();
    std::this_thread::sleep_for(before);
    request.cancel();
    expect_cancelled_soon([&] { request.wait(); });
    total = request.ledger().total();
  }
  EXPECT_EQ(total.waits, 1u);
  EXPECT_GE(total.wait_ns, 20'000'000u);
  EXPECT_LT(total.wait_ns, 20'000'000'000u);
}

// Destroying a request waits for its inference, since others may keep its outputs; cancelling avoids the wait.
TEST_F(NpuCancel, ACancelledRequestMayBeDroppedAtOnce) {
  const auto begin = steady_clock::now();
  {
    InferRequest request = request_of(kForEver);
    request.start_async();
    std::this_thread::sleep_for(milliseconds(30));
    request.cancel();
  }
  compiled = {};
  EXPECT_LT(steady_clock::now() - begin, milliseconds(30000));
}

TEST_F(NpuCancel, CancellingNothingIsNothing) {
  TENON_NEEDS("cancel");
  InferRequest request = request_of(3);
  request.cancel();
  request.infer();
  request.cancel();
  EXPECT_THAT(values_of(request.get_tensor("y")), ::testing::Each(5));
  for (int i = 0; i < 200; ++i) {  // Cancels at a random moment: the inference is cancelled, or finished.
    request.start_async();
    std::thread canceller([&] { request.cancel(); });
    try {
      request.wait();
      EXPECT_THAT(values_of(request.get_tensor("y")), ::testing::Each(5));
    } catch (const Cancelled&) {
    }
    canceller.join();
  }
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ::testing::Each(5));
}

}  // namespace cancel_test
}  // namespace tenon::npu_testing
