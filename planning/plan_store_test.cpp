// SPDX-License-Identifier: Apache-2.0
// One store of plans: which thread makes a plan, which one waits for it, what is kept.
#include <tenon/planning/plan_store.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/graph/wanted.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::planning_test {
namespace plan_store_test {

struct Plan {
  std::size_t held_bytes = 0;
  mutable bool is_evicted = false;
};
using Store = planning::PlanStore<int, Plan, std::hash<int>>;

std::shared_ptr<const Plan> some(int&) { return std::make_shared<Plan>(); }
std::shared_ptr<const Plan> twice(int&) {
  ADD_FAILURE() << "made twice";
  return std::make_shared<Plan>();
}

TEST(PlanStore, AThreadThatNeedsAnotherPlanDoesNotWaitAndOneThatNeedsTheSameDoes) {
  Store store({});
  std::promise<void> begun, go_on;
  std::shared_ptr<const Plan> slow, same;
  std::jthread maker([&] {
    slow = store.get(1, [&](int&) {
      begun.set_value();
      go_on.get_future().wait();
      return std::make_shared<const Plan>();
    });
  });
  begun.get_future().wait();
  EXPECT_TRUE(store.get(2, some)) << "made while the other is being made";
  EXPECT_EQ(store.counts().making, 1U);
  std::atomic<bool> has_waited{false};
  std::jthread waiter([&] {
    same = store.get(1, twice);
    has_waited = true;
  });
  // A request that is not wanted any more waits no longer.
  {
    const CancellationScope scope([] { return false; });
    EXPECT_EQ(error_of([&] { store.get(1, some); }).code(), Code::kCancelled);
  }
  EXPECT_EQ(store.get(1, twice, [] { return false; }), nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has_waited);
  go_on.set_value();
  maker.join();
  waiter.join();
  EXPECT_TRUE(slow);
  EXPECT_EQ(same, slow);
  EXPECT_EQ(store.counts().made, 2U);
}

TEST(PlanStore, APlanThatIsFoundIsNotUsed) {
  Store store({.plans = 2});
  EXPECT_EQ(store.find(1), nullptr);
  const auto first = store.get(1, some), second = store.get(2, some);
  EXPECT_EQ(store.find(1), first);
  EXPECT_EQ(store.find(3), nullptr);
  store.get(3, some);
  EXPECT_EQ(store.find(1), nullptr) << "it was used longest ago";
  EXPECT_EQ(store.find(2), second);
}

TEST(PlanStore, AFailureIsEveryWaitersAndTheNextOneTriesAgain) {
  Store store({});
  for (const Code code : {Code::kUnimplemented, Code::kCancelled}) {
    std::promise<void> begun, go_on;
    std::jthread maker([&] {
      EXPECT_EQ(error_of([&] {
                  store.get(1, [&](int&) -> std::shared_ptr<const Plan> {
                    begun.set_value();
                    go_on.get_future().wait();
                    throw Error(code, "no such plan");
                  });
                }).code(),
                code);
    });
    begun.get_future().wait();
    std::jthread waiter([&] {
      if (code == Code::kCancelled)
        EXPECT_EQ(store.get(1, some), nullptr) << "the maker gave up, not this one, which looks again";
      else
        EXPECT_EQ(error_of([&] { store.get(1, some); }).code(), code);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go_on.set_value();
    maker.join();
    waiter.join();
  }
  EXPECT_TRUE(store.get(1, some));
  EXPECT_EQ(store.counts().making, 0U);
}

TEST(PlanStore, AThreadThatWaitedForAPlanThatGotAnotherKeyLooksAgain) {
  Store store({});
  std::promise<void> begun, go_on;
  std::jthread maker([&] {
    EXPECT_TRUE(store.get(1, [&](int& key) {
      begun.set_value();
      go_on.get_future().wait();
      key = 7;
      return std::make_shared<const Plan>();
    }));
  });
  begun.get_future().wait();
  std::jthread waiter([&] { EXPECT_EQ(store.get(1, some), nullptr); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  go_on.set_value();
  maker.join();
  waiter.join();
  const auto kept = store.get(7, twice);
  EXPECT_TRUE(kept) << "kept under the new key";
  EXPECT_NE(store.get(2, [](int& key) { return key = 7, std::make_shared<const Plan>(); }), kept);
  EXPECT_EQ(store.get(7, twice), kept) << "the first stays";
  EXPECT_EQ(store.counts().kept, 1U);
}

TEST(PlanStore, TheOldestGoesWhenTheBoundsAreReached) {
  const auto of_bytes = [](std::size_t bytes) {
    return [bytes](int&) { return std::make_shared<const Plan>(Plan{bytes}); };
  };
  Store counted({.plans = 2}), weighed({.bytes = 100});
  const auto first = counted.get(1, some), second = counted.get(2, some);
  EXPECT_EQ(counted.get(1, twice), first);
  counted.get(3, some);
  EXPECT_TRUE(second->is_evicted);
  EXPECT_FALSE(first->is_evicted) << "used later";
  EXPECT_EQ(counted.counts().kept, 2U);
  const auto small = weighed.get(1, of_bytes(60));
  weighed.get(2, of_bytes(40));
  EXPECT_FALSE(small->is_evicted);
  const auto large = weighed.get(3, of_bytes(1000));
  EXPECT_TRUE(small->is_evicted);
  EXPECT_FALSE(large->is_evicted) << "the latest is kept";
  EXPECT_EQ(weighed.counts().bytes, 1000U);
  EXPECT_EQ(weighed.counts().kept, 1U);
}

/// Looks for words without a copy of them.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

TEST(PlanStore, WhatIsLookedForNeedNotBeAKey) {
  planning::PlanStore<std::string, Plan, TextHash> store({});
  const auto make = [](std::string& key) {
    EXPECT_EQ(key, "rows");
    return std::make_shared<const Plan>();
  };
  const auto made = store.get(std::string_view("rows"), make);
  EXPECT_EQ(store.get(std::string_view("rows"), make), made);
  EXPECT_EQ(store.counts().made, 1U);
}

}  // namespace plan_store_test
}  // namespace tenon::planning_test
