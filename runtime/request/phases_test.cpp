// SPDX-License-Identifier: Apache-2.0
// The phases of a request, without a device: when an inference may begin, when callbacks run, and how waiting ends.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include <tenon/core/timeline.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/request/phases.hpp>

namespace tenon::testing {
namespace phases_test {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) { return Clock::now() + time; }
std::exception_ptr failure() { return std::make_exception_ptr(std::runtime_error("failed")); }

TEST(RequestPhases, OneInferenceAtATime) {
  RequestPhases phases;
  EXPECT_TRUE(phases.wait_until(in(0ms))) << "nothing has begun";
  phases.begin(true);
  EXPECT_TRUE(phases.is_running());
  EXPECT_THROW(phases.begin(true), Busy);
  EXPECT_THROW(phases.check_not_busy(), Busy);
  EXPECT_THROW(phases.set_callback([](std::exception_ptr) {}), Busy);
  EXPECT_FALSE(phases.wait_until(in(1ms)));
  phases.end(nullptr);
  EXPECT_FALSE(phases.is_running());
  EXPECT_TRUE(phases.wait_until(in(0ms)));
  phases.begin(true);
  phases.end(nullptr);
}

TEST(RequestPhases, BeginsWhileTheCallbackBeforeReturns) {
  RequestPhases phases;
  constexpr int kInferences = 60000;
  std::atomic<int> begun{0}, called{0};
  phases.set_callback([&](std::exception_ptr) { ++called; });
  std::thread device([&] {
    for (int i = 0; i < kInferences; ++i) {
      while (begun.load() <= i) std::this_thread::yield();
      phases.end(nullptr);
    }
  });
  int refused = 0;
  for (int i = 0; i < kInferences; ++i) {
    // Called, perhaps not returned. Where the other thread has no processor, this one gives it its own.
    for (int looks = 1; called.load() < i; ++looks)
      if (looks % 1024 == 0) std::this_thread::yield();
    // Meets the end of the callback at each of its steps.
    for (int spin = 0; spin < i % 256; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
    try {
      phases.begin(true);
    } catch (const Busy&) {
      ++refused;
      phases.wait_until(in(1000ms));
      phases.begin(true);
    }
    ++begun;
  }
  device.join();
  EXPECT_EQ(refused, 0);
  EXPECT_TRUE(phases.wait_until(in(1000ms)));
  EXPECT_EQ(called, kInferences);
}

TEST(RequestPhases, AnErrorIsRaisedUntilTheNextOneBegins) {
  RequestPhases phases;
  phases.begin(true);
  phases.end(failure());
  EXPECT_THROW(phases.wait_until(Deadline::max()), std::runtime_error);
  EXPECT_THROW(phases.wait_until(Deadline::max()), std::runtime_error);
  phases.begin(true);
  phases.end(nullptr);
  EXPECT_TRUE(phases.wait_until(Deadline::max()));
}

TEST(RequestPhases, CallsBackOnlyWhereAskedAndNotWhenWithdrawn) {
  RequestPhases phases;
  int calls = 0;
  phases.set_callback([&](std::exception_ptr) { ++calls; });
  phases.begin(false);
  phases.end(nullptr);
  EXPECT_EQ(calls, 0);
  phases.begin(true);
  phases.withdraw();
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(phases.wait_until(in(0ms)));
  phases.begin(true);
  phases.end(nullptr);
  EXPECT_EQ(calls, 1);
}

TEST(RequestPhases, TheCallbackGetsTheErrorAndMayReplaceIt) {
  RequestPhases phases;
  bool had_error = false;
  phases.set_callback([&](std::exception_ptr error) {
    had_error = error != nullptr;
    throw std::logic_error("from the callback");
  });
  phases.begin(true);
  phases.end(failure());
  EXPECT_TRUE(had_error);
  EXPECT_THROW(phases.wait_until(Deadline::max()), std::logic_error);
}

TEST(RequestPhases, ACallbackMayBeginTheNextWhoseCallbackFollowsIt) {
  RequestPhases phases;
  int depth = 0, calls = 0;
  phases.set_callback([&](std::exception_ptr) {
    EXPECT_EQ(depth++, 0) << "callbacks of one request overlap";
    EXPECT_TRUE(phases.in_own_callback());
    if (++calls < 3) {
      phases.begin(true);
      phases.end(nullptr);  // Over, but its callback is due: not free yet.
      EXPECT_FALSE(phases.is_running());
      EXPECT_THROW(phases.check_not_busy(), Busy);
      EXPECT_TRUE(phases.wait_until(in(0ms))) << "the callback itself waits only for the inference";
    }
    --depth;
  });
  phases.begin(true);
  phases.end(nullptr);
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(phases.in_own_callback());
  EXPECT_NO_THROW(phases.check_not_busy());
}

TEST(RequestPhases, OthersWaitForTheCallbackToo) {
  RequestPhases phases;
  std::promise<void> entered, leave;
  std::atomic<bool> left{false};
  phases.set_callback([&](std::exception_ptr) {
    entered.set_value();
    leave.get_future().wait();
    left = true;
  });
  phases.begin(true);
  std::thread worker([&] { phases.end(nullptr); });
  entered.get_future().wait();
  EXPECT_FALSE(phases.in_own_callback());
  EXPECT_FALSE(phases.wait_until(in(5ms)));
  std::vector<std::thread> waiters;
  std::atomic<int> saw_the_end{0};
  for (int i = 0; i < 3; ++i)
    waiters.emplace_back([&] {
      phases.wait_until(Deadline::max());
      saw_the_end += left;
    });
  leave.set_value();
  for (std::thread& waiter : waiters) waiter.join();
  worker.join();
  EXPECT_EQ(saw_the_end, 3);
}

TEST(RequestPhases, ATakenCallbackIsNotCalledWhenTheInferenceEnds) {
  RequestPhases phases;
  int calls = 0;
  phases.set_callback([&](std::exception_ptr) { ++calls; });
  phases.begin(true);
  const auto callback = phases.take_callback();
  ASSERT_TRUE(callback);
  phases.end(nullptr);
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(phases.has_callback());
  EXPECT_TRUE(phases.wait_until(in(0ms)));
}

}  // namespace phases_test
}  // namespace tenon::testing
