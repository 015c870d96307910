// SPDX-License-Identifier: Apache-2.0
// Models that are planned for their inputs: who makes a plan, who waits for it, and what a known one costs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/devices/gpu/open_model.hpp>
#include <tenon/devices/gpu/stage_store.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/graph/wanted.hpp>
#include <tenon/tests/device_conformance/allocation_count.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::gpu_testing {
namespace open_models_test {

using gpu_device::Stage;
using gpu_device::StageStore;
using ::testing::Each;

std::shared_ptr<const Stage> get(StageStore<int>& store, int key,
                                 const std::function<std::shared_ptr<const Stage>(int&)>& make) {
  return store.get([&](int known) { return known == key; }, [&] { return key; }, make);
}
std::shared_ptr<const Stage> some(int&) { return std::make_shared<Stage>(); }

TEST(StageStore, WhoNeedsAnotherStageDoesNotWaitAndWhoNeedsTheSameDoes) {
  StageStore<int> store;
  std::promise<void> begun, go_on;
  std::shared_ptr<const Stage> slow, same;
  std::jthread maker([&] {
    slow = get(store, 1, [&](int&) {
      begun.set_value();
      go_on.get_future().wait();
      return std::make_shared<Stage>();
    });
  });
  begun.get_future().wait();
  EXPECT_TRUE(get(store, 2, some)) << "made while the other is being made";
  std::atomic<bool> has_waited{false};
  std::jthread waiter([&] {
    same = get(store, 1, [](int&) -> std::shared_ptr<const Stage> {
      ADD_FAILURE() << "made twice";
      return nullptr;
    });
    has_waited = true;
  });
  // One who is not wanted any more waits no longer.
  {
    const CancellationScope scope([] { return false; });
    EXPECT_EQ(error_of([&] { get(store, 1, some); }).code(), Code::kCancelled);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has_waited);
  go_on.set_value();
  maker.join();
  waiter.join();
  EXPECT_TRUE(slow);
  EXPECT_EQ(same, slow);
}

TEST(StageStore, AFailureIsEveryWaitersAndTheNextOneTriesAgain) {
  StageStore<int> store;
  for (const Code code : {Code::kUnimplemented, Code::kCancelled}) {
    std::promise<void> begun, go_on;
    std::jthread maker([&] {
      EXPECT_EQ(error_of([&] {
                  get(store, 1, [&](int&) -> std::shared_ptr<const Stage> {
                    begun.set_value();
                    go_on.get_future().wait();
                    throw Error(code, "no such stage");
                  });
                }).code(),
                code);
    });
    begun.get_future().wait();
    std::jthread waiter([&] {
      if (code == Code::kCancelled)
        EXPECT_EQ(get(store, 1, some), nullptr) << "the maker gave up, not this one, which looks again";
      else
        EXPECT_EQ(error_of([&] { get(store, 1, some); }).code(), code);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go_on.set_value();
    maker.join();
    waiter.join();
  }
  EXPECT_TRUE(get(store, 1, some));
}

TEST(StageStore, WhoWaitedForAStageThatGotAnotherKeyLooksAgain) {
  StageStore<int> store;
  std::promise<void> begun, go_on;
  std::jthread maker([&] {
    EXPECT_TRUE(get(store, 1, [&](int& key) {
      begun.set_value();
      go_on.get_future().wait();
      key = 7;
      return std::make_shared<Stage>();
    }));
  });
  begun.get_future().wait();
  std::jthread waiter([&] { EXPECT_EQ(get(store, 1, some), nullptr); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  go_on.set_value();
  maker.join();
  waiter.join();
  EXPECT_TRUE(get(store, 7, [](int&) -> std::shared_ptr<const Stage> { return nullptr; })) << "kept under the new one";
}

TEST_F(Gpu, APlanThatIsKnownCostsNoAllocation) {
  auto model = line_model();
  model->reshape(PartialShape{Dimension::dynamic()});
  auto request = core.compile_model(model, "GPU").create_infer_request();
  Tensor x(element::f32, Shape{kCount}), y(element::f32, Shape{kCount});
  std::fill_n(x.data<float>(), kCount, 4.0f);
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  for (int i = 0; i < 10; ++i) request.infer();
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int attempt = 0; attempt < 3; ++attempt) {  // A thread of an earlier test may still end.
    const std::int64_t before = testing::own_allocations();
    for (int i = 0; i < 20; ++i) request.infer();
    least = std::min(least, testing::own_allocations() - before);
  }
  EXPECT_EQ(least, 0);
  EXPECT_THAT(std::vector<float>(y.data<float>(), y.data<float>() + kCount), Each(9.0f));
}

/// Requests of one model at once, each with shapes of its own and with shared ones.
TEST_F(Gpu, RequestsPlanSideBySide) {
  auto model = line_model();
  model->reshape(PartialShape{Dimension::dynamic()});
  auto compiled = core.compile_model(model, "GPU");
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      auto request = compiled.create_infer_request();
      for (std::size_t turn = 1; turn <= 20; ++turn) {
        const std::size_t count = turn % 2 ? turn : 100 * (thread + 1) + turn;
        Tensor x(element::f32, Shape{count});
        std::fill_n(x.data<float>(), count, 4.0f);
        request.set_tensor("x", x);
        request.infer();
        const Tensor y = request.get_tensor("y");
        ASSERT_EQ(y.element_count(), count);
        ASSERT_THAT(std::vector<float>(y.data<float>(), y.data<float>() + count), Each(9.0f));
      }
    });
}

}  // namespace open_models_test
}  // namespace tenon::gpu_testing
