// SPDX-License-Identifier: Apache-2.0
// Requests of the NPU device at the same time: their order, their callbacks, and what happens when they go.
#include <future>
#include <mutex>
#include <vector>

#include <tenon/devices/npu/testing/npu.hpp>

namespace tenon::npu_testing {
namespace requests_test {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(Npu, SequentialModelsTakeOnlyStartAsync) {
  TENON_NEEDS("command_queue");
  // Inferences run in order here anyway; settings_test checks the options that the queue is created with.
  auto compiled = core.compile_model(relu(), "NPU", intel_npu::run_inferences_sequentially(true));
  auto first = compiled.create_infer_request(), second = compiled.create_infer_request();
  EXPECT_THAT(error_of([&] { first.infer(); }).what(),
              HasSubstr("Only start async is supported when RUN_INFERENCES_SEQUENTIALLY is enabled!"));
  // The second request reads what the first one writes.
  Tensor between = core.get_default_context("NPU").create_host_tensor(element::f32, {1, 4});
  first.set_tensor("x", floats({1, 4}, {1, -2, 3, -4}));
  first.set_tensor("y", between);
  second.set_tensor("x", between);
  for (int i = 0; i < 20; ++i) {
    std::fill_n(between.data<float>(), 4, -9.f);
    first.start_async();
    second.start_async();
    second.wait();
    first.wait();
    ASSERT_THAT(values_of(second.get_tensor("y")), ElementsAre(1, 0, 3, 0)) << i;
  }
}

TEST_F(Npu, SequentialModelsReportInTheOrderOfTheirStart) {
  TENON_NEEDS("command_queue");
  auto compiled = core.compile_model(relu(), "NPU", intel_npu::run_inferences_sequentially(true));
  std::vector<InferRequest> requests;
  std::mutex mutex;
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) {
    requests.push_back(compiled.create_infer_request());
    requests.back().set_callback([&, i](std::exception_ptr) {
      const std::lock_guard lock(mutex);
      order.push_back(i);
    });
  }
  for (int round = 0; round < 200; ++round) {
    for (InferRequest& request : requests) request.start_async();
    for (InferRequest& request : requests) request.wait();
    const std::lock_guard lock(mutex);
    ASSERT_THAT(order, ElementsAre(0, 1, 2, 3)) << round;
    order.clear();
  }
}

TEST_F(Npu, ACallbackOfASequentialModelMayWaitForALaterInference) {
  TENON_NEEDS("command_queue");
  auto compiled = core.compile_model(relu(), "NPU", intel_npu::run_inferences_sequentially(true));
  auto first = compiled.create_infer_request(), second = compiled.create_infer_request();
  std::promise<void> started, done;
  first.set_callback([&, ready = started.get_future().share()](std::exception_ptr) {
    ready.wait();
    second.wait();
    done.set_value();
  });
  first.start_async();
  second.start_async();
  started.set_value();
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  first.wait();
}

TEST_F(Npu, ACallbackMayWaitForAnotherInferenceOfTheModel) {
  auto compiled = core.compile_model(relu(), "NPU");
  auto outer = compiled.create_infer_request(), inner = compiled.create_infer_request();
  std::promise<float> result;
  outer.set_callback([&](std::exception_ptr) {
    inner.set_tensor("x", floats({1, 4}, {7, 7, 7, 7}));
    inner.start_async();
    inner.wait();
    result.set_value(inner.get_tensor("y").data<float>()[0]);
  });
  outer.start_async();
  auto future = result.get_future();
  ASSERT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(future.get(), 7);
  outer.wait();
}

TEST_F(Npu, TheLastHandleMayGoInACallback) {
  const std::size_t before = handles();
  for (int i = 0; i < 10; ++i) {
    auto request = std::make_shared<InferRequest>(core.compile_model(relu(), "NPU").create_infer_request());
    std::promise<void> done;
    InferRequest* raw = request.get();
    raw->set_callback([&done, held = request](std::exception_ptr) mutable {
      held.reset();
      done.set_value();
    });
    request->start_async();
    done.get_future().wait();
    request->wait();
    request->set_callback({});
  }
  EXPECT_TRUE(handles_fall_to(before)) << handles() << " of " << before;
}

TEST_F(Npu, RequestsMayGoWhileTheyRun) {
  const std::size_t before = handles();
  {
    auto compiled = core.compile_model(relu({64, 4096}), "NPU");
    for (int i = 0; i < 20; ++i) {
      auto request = compiled.create_infer_request();
      request.start_async();
      if (i % 2) request.cancel();
    }
  }
  EXPECT_TRUE(handles_fall_to(before)) << handles() << " of " << before;
}

/// The driver decides how many run at once; each has its own result.
TEST_F(Npu, ManyRequestsInFlightEachGetTheirOwnResult) {
  auto compiled = core.compile_model(relu({1, 256}), "NPU");
  std::vector<InferRequest> requests;
  for (int i = 0; i < 32; ++i) requests.push_back(compiled.create_infer_request());
  for (int round = 0; round < 5; ++round) {
    const auto value = [round](std::size_t i) { return static_cast<float>(100 * round) + static_cast<float>(i) + 1; };
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::fill_n(requests[i].get_tensor("x").data<float>(), 256, value(i));
      std::fill_n(requests[i].get_tensor("y").data<float>(), 256, -1.f);
    }
    for (auto& request : requests) request.start_async();
    for (std::size_t i = requests.size(); i-- > 0;) {  // Not in order of completion.
      requests[i].wait();
      ASSERT_THAT(values_of(requests[i].get_tensor("y")), Each(value(i))) << "request " << i << ", round " << round;
    }
  }
}

}  // namespace requests_test
}  // namespace tenon::npu_testing
