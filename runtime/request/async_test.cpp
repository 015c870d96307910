// SPDX-License-Identifier: Apache-2.0
// Requests over time: asynchronous runs, callbacks, Busy, cancel, errors, threads, end of life; on the executor
// of the runtime and on a device with a queue of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

namespace tenon::testing {
namespace async_test {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// True: the device's own queue; false: the runtime's executor.
class Async : public ::testing::TestWithParam<bool> {
 protected:
  template <typename... Properties>
  CompiledModel compile(Properties&&... properties) {
    return core.compile_model(relu_model(), "REFERENCE", own_queue(GetParam()),
                              std::forward<Properties>(properties)...);
  }
  static MapOptions at_once(Access access) {
    MapOptions options;
    options.access = access;
    options.deadline = Clock::now();
    return options;
  }
  Core core;
};
INSTANTIATE_TEST_SUITE_P(Queue, Async, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "OfTheDevice" : "OfTheRuntime"; });

TEST_P(Async, WaitBeforeAnyStartReturns) {
  auto request = compile().create_infer_request();
  EXPECT_NO_THROW(request.wait());
  EXPECT_TRUE(request.wait_for(0ms));
  EXPECT_NO_THROW(request.cancel());
}

TEST_P(Async, StartThenWaitGivesTheResult) {
  auto request = compile().create_infer_request();
  for (int i = 0; i < 50; ++i) {
    request.get_input_tensor().data<float>()[0] = static_cast<float>(i);
    request.start_async();
    request.wait();
    ASSERT_EQ(request.get_output_tensor().data<float>()[0], static_cast<float>(i));
  }
}

TEST_P(Async, AMapOfTheOutputWaitsForTheInference) {
  Router router;
  auto endless = compile(delay_us(60'000'000)).create_infer_request();
  const Tensor given = endless.get_input_tensor();
  endless.start_async();
  EXPECT_THROW(router.map(given, host_context(), at_once(Access::kWrite)), Error) << "it is still read";
  EXPECT_NO_THROW(router.map(given, host_context(), at_once(Access::kRead)));
  endless.cancel();
  EXPECT_THROW(endless.wait(), Cancelled);
  auto request = compile(delay_us(20000)).create_infer_request();
  const Tensor input = request.get_input_tensor(), output = request.get_output_tensor();
  for (int i = 1; i < 4; ++i) {
    input.data<float>()[0] = static_cast<float>(i);
    request.start_async();
    EXPECT_EQ(router.map(output, host_context()).data<float>()[0], static_cast<float>(i));
    Tensor copy;
    output.copy_to(copy);
    EXPECT_EQ(copy.data<float>()[0], static_cast<float>(i));
    request.wait();
  }
}

TEST_P(Async, InferencesOverSharedTensorsNeedNoWait) {
  // The tensors are used in place, or are strided and packed by the runtime: these copies must not wait for later inferences.
  for (const std::size_t row : {16, 32}) {
    auto first = compile(delay_us(200)).create_infer_request(), second = compile(delay_us(300)).create_infer_request();
    const ByteStrides strides{static_cast<std::ptrdiff_t>(row), 4};
    std::vector<float> bytes(3 * 8);
    const Tensor in(element::f32, {1, 4}, &bytes[0], strides), between(element::f32, {1, 4}, &bytes[8], strides),
        out(element::f32, {1, 4}, &bytes[16], strides);
    first.set_input_tensor(in);
    first.set_output_tensor(between);
    second.set_input_tensor(between);
    second.set_output_tensor(out);
    Router router;
    for (int i = 1; i < 50; ++i) {
      first.wait();
      router.map(in, host_context(), Access::kWrite).data<float>()[3] = static_cast<float>(i);
      first.start_async();  // It must not overwrite the tensor that `second` still reads.
      second.wait();
      if (i > 1) {
        ASSERT_EQ(out.data<float>()[3], static_cast<float>(i - 1));
      }
      second.start_async();
      if (i % 7 == 0) {
        ASSERT_EQ(router.map(out, host_context()).data<float>()[3], static_cast<float>(i));
      }
    }
  }
}

TEST_P(Async, AnInferenceMayReadAndWriteOneTensor) {
  auto request = compile(delay_us(1000)).create_infer_request();
  const Tensor both(element::f32, {1, 4});
  std::fill_n(both.data<float>(), 4, -1.0f);
  request.set_input_tensor(both);
  request.set_output_tensor(both);
  for (int i = 0; i < 5; ++i) {
    request.start_async();
    request.wait();
    EXPECT_EQ(both.data<float>()[2], 0.0f);
  }
}

TEST_P(Async, WhoeverMapsTheOutputOfAFailedInferenceHearsWhy) {
  auto failing = compile(fail_with("the device is on fire")).create_infer_request();
  auto healthy = compile().create_infer_request();
  const Tensor output = failing.get_output_tensor();
  Router router;
  for (int i = 0; i < 3; ++i) {
    failing.start_async();
    EXPECT_THROW(failing.wait(), std::exception);
    try {
      router.map(output, host_context());
      ADD_FAILURE() << "it maps what was never computed";
    } catch (const std::exception& error) {
      EXPECT_THAT(error.what(), HasSubstr("the device is on fire"));
    }
  }
  healthy.set_output_tensor(output);
  healthy.infer();
  EXPECT_NO_THROW(router.map(output, host_context())) << "written again";
  failing.start_async();
  EXPECT_THROW(failing.wait(), std::exception);
  healthy.start_async();
  EXPECT_NO_THROW(router.map(output, host_context())) << "will be written again";
  healthy.wait();
}

TEST_P(Async, EverythingIsBusyWhileRunning) {
  auto request = compile(delay_us(60'000'000)).create_infer_request();
  Tensor x = request.get_input_tensor();
  request.start_async();
  EXPECT_THROW(request.set_input_tensor(x), Busy);
  EXPECT_THROW(request.get_output_tensor(), Busy);
  EXPECT_THROW(request.start_async(), Busy);
  EXPECT_THROW(request.infer(), Busy);
  EXPECT_THROW(request.query_state(), Busy);
  EXPECT_THROW(request.set_callback({}), Busy);
  EXPECT_FALSE(request.wait_for(1ms));
  request.cancel();
  EXPECT_THROW(request.wait(), Cancelled);
  EXPECT_NO_THROW(request.set_input_tensor(x));
}

TEST_P(Async, CallbackIsCalledForStartAsyncOnly) {
  auto request = compile().create_infer_request();
  std::atomic<int> calls{0};
  request.set_callback([&](std::exception_ptr error) {
    EXPECT_EQ(error, nullptr);
    ++calls;
  });
  request.infer();
  EXPECT_EQ(calls, 0);
  request.start_async();
  request.wait();
  EXPECT_EQ(calls, 1) << "wait() covers the callback";
}

TEST_P(Async, ThrowingCallbackSurfacesInWait) {
  auto request = compile().create_infer_request();
  request.set_callback([](std::exception_ptr) { throw std::runtime_error("from the callback"); });
  request.start_async();
  try {
    request.wait();
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "from the callback");
  }
  request.set_callback({});
  request.start_async();
  EXPECT_NO_THROW(request.wait());
}

TEST_P(Async, CallbackMayStartTheRequestAgain) {
  auto request = compile().create_infer_request();
  std::promise<void> done;
  std::atomic<int> runs{0};
  std::atomic<int> inside{0};
  request.set_callback([&](std::exception_ptr error) {
    EXPECT_EQ(error, nullptr);
    EXPECT_EQ(++inside, 1) << "callbacks of one request must not overlap";
    request.get_output_tensor();
    const bool last = ++runs == 200;
    if (!last) request.start_async();
    --inside;
    if (last) done.set_value();
  });
  request.start_async();
  ASSERT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
  request.wait();
  EXPECT_EQ(runs, 200);
}

TEST_P(Async, WaitInsideTheCallbackDoesNotHang) {
  auto request = compile().create_infer_request();
  std::atomic<int> runs{0};
  request.set_callback([&](std::exception_ptr) {
    request.wait();
    // On a device with one queue the callback blocks the queue: only the runtime's workers can help out.
    if (++runs == 1 && !GetParam()) {
      request.start_async();
      request.wait();
    }
  });
  request.start_async();
  ASSERT_TRUE(request.wait_for(60s));
  EXPECT_EQ(runs, GetParam() ? 1 : 2);
}

TEST_P(Async, ErrorOfTheDeviceReachesCallbackAndWait) {
  auto request = compile(fail_with("the kernel broke")).create_infer_request();
  std::atomic<bool> seen{false};
  request.set_callback([&](std::exception_ptr error) { seen = error != nullptr; });
  request.start_async();
  EXPECT_THAT([&] { request.wait(); }, ::testing::ThrowsMessage<Error>(HasSubstr("the kernel broke")));
  EXPECT_TRUE(seen);
  EXPECT_THROW(request.wait(), Error) << "until the next start the outcome stays";
  EXPECT_THROW(request.infer(), Error);
}

TEST_P(Async, CancelEndsALongRun) {
  auto request = compile(delay_us(30'000'000)).create_infer_request();
  request.start_async();
  std::this_thread::sleep_for(5ms);
  const auto begin = std::chrono::steady_clock::now();
  request.cancel();
  EXPECT_THROW(request.wait(), Cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST_P(Async, RequestIsUsableAfterCancel) {
  auto request = compile(delay_us(20000)).create_infer_request();
  request.start_async();
  request.cancel();
  try {
    request.wait();
  } catch (const Cancelled&) {
  }
  request.get_input_tensor().data<float>()[0] = 3;
  request.infer();
  EXPECT_EQ(request.get_output_tensor().data<float>()[0], 3);
}

TEST_P(Async, DestroyingARunningRequestFillsItsOutputsAndLetsGoOfTheirMemory) {
  std::vector<float> memory(4, -1);
  auto model = compile(delay_us(30'000));
  const int before = live_requests;
  Tensor kept;
  std::atomic<int> calls{0};
  for (const bool own_memory : {false, true}) {
    auto request = model.create_infer_request();
    if (own_memory) request.set_output_tensor(Tensor(element::f32, {1, 4}, memory.data()));
    kept = request.get_output_tensor();
    std::fill_n(request.get_input_tensor().data<float>(), 4, 7.f);
    request.set_callback([&](std::exception_ptr) { ++calls; });
    request.start_async();
    request = {};
    EXPECT_EQ(live_requests, before) << "the device must be done with the memory when the handle is gone";
    EXPECT_EQ(kept.data<float>()[3], 7);
  }
  EXPECT_EQ(memory[3], 7);
  EXPECT_EQ(calls, 0) << "what it refers to may be gone already";
}

TEST_P(Async, DestroyingACancelledRequestEndsItsRun) {
  auto request = compile(delay_us(30'000'000)).create_infer_request();
  request.start_async();
  std::this_thread::sleep_for(2ms);
  const auto begin = std::chrono::steady_clock::now();
  request.cancel();
  request = {};
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST_P(Async, LastHandleMayGoInTheCallback) {
  auto holder = std::make_unique<InferRequest>(compile().create_infer_request());
  std::promise<void> gone;
  holder->set_callback([&](std::exception_ptr) {
    holder.reset();
    gone.set_value();
  });
  InferRequest* raw = holder.get();
  raw->start_async();
  ASSERT_EQ(gone.get_future().wait_for(60s), std::future_status::ready);
  // The compiled model was destroyed with it, on its own worker: nothing to join, nothing to leak.
  std::this_thread::sleep_for(10ms);
}

TEST_P(Async, ManyRequestsOnManyThreads) {
  auto model = compile(num_streams(3));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      auto request = model.create_infer_request();
      for (int i = 0; i < 40; ++i) {
        const float value = static_cast<float>(t * 1000 + i);
        request.get_input_tensor().data<float>()[1] = value;
        if (i % 2) {
          request.infer();
        } else {
          request.start_async();
          request.wait();
        }
        if (request.get_output_tensor().data<float>()[1] != value) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(Async, ManyWaitersSeeTheEnd) {
  auto request = compile(delay_us(20000)).create_infer_request();
  request.start_async();
  std::vector<std::thread> waiters;
  std::atomic<int> done{0};
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] {
      request.wait();
      ++done;
    });
  }
  for (auto& waiter : waiters) waiter.join();
  EXPECT_EQ(done, 4);
}

TEST(AsyncInfer, RunsInTheCallersThreadWhereTheDeviceCan) {
  Core core;
  for (const bool can : {false, true}) {
    auto request =
        core.compile_model(relu_model(), "REFERENCE", own_queue(true), runs_in_caller(can)).create_infer_request();
    request.infer();
    EXPECT_EQ(ran_on.load() == std::this_thread::get_id(), can) << "no hand-off to another thread";
    request.start_async();
    request.wait();
    EXPECT_NE(ran_on.load(), std::this_thread::get_id());
  }
}

TEST(AsyncStreams, RunInParallel) {
  Core core;
  auto model = core.compile_model(relu_model(), "REFERENCE", num_streams(4), delay_us(200'000));
  std::vector<InferRequest> requests;
  for (int i = 0; i < 4; ++i) requests.push_back(model.create_infer_request());
  auto least = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 20 && least >= 800ms; ++i) {  // A busy machine adds to some tries.
    const auto begin = std::chrono::steady_clock::now();
    for (auto& request : requests) request.start_async();
    for (auto& request : requests) request.wait();
    least = std::min(least, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(least, 800ms) << "four runs of 200 ms one after another take that";
}

TEST(AsyncStreams, ACallbackMayWaitForOrDropAnotherRequestOfTheOnlyStream) {
  Core core;
  auto model = core.compile_model(relu_model(), "REFERENCE", num_streams(1), delay_us(5000));
  for (const bool drops : {false, true}) {
    auto first = model.create_infer_request(), second = model.create_infer_request();
    std::promise<void> started, done;
    first.set_callback([&](std::exception_ptr) {
      started.get_future().wait();
      if (drops)
        second = {};
      else
        second.wait();
      done.set_value();
    });
    first.start_async();
    second.start_async();
    started.set_value();
    ASSERT_EQ(done.get_future().wait_for(60s), std::future_status::ready)
        << "the worker that would run it is the one that waits for it";
    first.wait();
  }
}

TEST(AsyncStreams, ZeroRunsInTheCallersThread) {
  Core core;
  auto model = core.compile_model(relu_model(), "REFERENCE", num_streams(0));
  auto request = model.create_infer_request();
  std::thread::id where;
  request.set_callback([&](std::exception_ptr) { where = std::this_thread::get_id(); });
  request.start_async();
  request.wait();
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(AsyncStreams, QueuedRequestThatIsCancelledNeverRuns) {
  Core core;
  auto model = core.compile_model(relu_model(), "REFERENCE", num_streams(1), delay_us(1000));
  auto first = model.create_infer_request();
  auto second = model.create_infer_request();
  std::promise<void> is_cancelled;
  first.set_callback(
      [&](std::exception_ptr) { is_cancelled.get_future().wait(); });  // It holds the only stream's worker.
  second.get_input_tensor().data<float>()[0] = 5;
  second.get_output_tensor().data<float>()[0] = -1;
  first.start_async();
  second.start_async();
  second.cancel();
  is_cancelled.set_value();
  first.wait();
  EXPECT_THROW(second.wait(), Cancelled);
  EXPECT_EQ(second.get_output_tensor().data<float>()[0], -1);
}

}  // namespace async_test
}  // namespace tenon::testing
