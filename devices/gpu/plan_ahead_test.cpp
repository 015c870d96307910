// SPDX-License-Identifier: Apache-2.0
// Plans for shapes that are expected next: which steps are looked ahead, and what becomes of those that fail.
#include <tenon/devices/gpu/plan/plan_ahead.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/testing/no_threads.hpp>
#include <tenon/graph/wanted.hpp>

namespace tenon::gpu_testing {
namespace plan_ahead_test {

using gpu_device::LaunchPlan;
using gpu_device::PlanAhead;
using Shapes = PlanAhead::Shapes;
using ::testing::ElementsAre;

/// A plan's arena tells what it was made for.
std::shared_ptr<const LaunchPlan> plan_of(const Shapes& shapes) {
  auto plan = std::make_shared<LaunchPlan>();
  plan->arena_bytes = shapes[0][0];
  return plan;
}

/// The extents that plans are made for ahead while a sequence of extents is inferred; 0 where none is there in time.
std::vector<std::size_t> taken_ahead(const std::vector<std::size_t>& extents, std::size_t steps = 1) {
  PlanAhead ahead(plan_of, steps);
  std::vector<std::size_t> taken;
  for (const std::size_t extent : extents) {
    const auto plan = ahead.take({{extent}, {1, 8}});
    taken.push_back(plan ? plan->arena_bytes : 0);
    ahead.follow({{extent}, {1, 8}});
  }
  return taken;
}

TEST(PlanAhead, LooksAheadOnceAStepWasMadeTwice) {
  EXPECT_THAT(taken_ahead({4, 5, 6, 7, 8}), ElementsAre(0, 0, 0, 7, 8));
  EXPECT_THAT(taken_ahead({90, 60, 30, 0}), ElementsAre(0, 0, 0, 0)) << "no plan is made for nothing";
  EXPECT_THAT(taken_ahead({90, 70, 50, 30}), ElementsAre(0, 0, 0, 30));
}

TEST(PlanAhead, WhereNoThreadStartsNoPlanIsWaitedFor) {
  const NoThreads none;
  EXPECT_THAT(taken_ahead({4, 5, 6, 7, 8}), ElementsAre(0, 0, 0, 0, 0));
}

TEST(PlanAhead, LooksSeveralStepsAhead) {
  EXPECT_THAT(taken_ahead({4, 5, 6, 7, 8, 9, 10}, 3), ElementsAre(0, 0, 0, 7, 8, 9, 10));
  EXPECT_THAT(taken_ahead({4, 5, 6, 8, 10}, 3), ElementsAre(0, 0, 0, 8, 0)) << "another step";
  EXPECT_THAT(taken_ahead({4, 5, 6, 20, 21, 22, 23, 24}, 2), ElementsAre(0, 0, 0, 0, 0, 0, 23, 24));
}

TEST(PlanAhead, LooksAtNoOtherSteps) {
  EXPECT_THAT(taken_ahead({4, 9, 6, 30, 5}), ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(taken_ahead({4, 4, 4, 4}), ElementsAre(0, 0, 0, 0)) << "such plans are known";
}

TEST(PlanAhead, WhatIsNotMadeYetCanBeLeft) {
  std::promise<void> may_end;
  PlanAhead ahead(
      [ended = may_end.get_future().share()](const Shapes& shapes) {
        ended.wait();
        return plan_of(shapes);
      },
      1);
  for (const std::size_t extent : {4, 5, 6}) ahead.follow({{extent}});
  EXPECT_EQ(ahead.take_made({{7}}), nullptr) << "it is being made";
  may_end.set_value();
  std::shared_ptr<const LaunchPlan> made;
  for (int i = 0; i < 12000 && !made; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    EXPECT_EQ(ahead.take_made({{8}}), nullptr);
    made = ahead.take_made({{7}});
  }
  ASSERT_TRUE(made);
  EXPECT_EQ(made->arena_bytes, 7u);
  EXPECT_EQ(ahead.take_made({{7}}), nullptr) << "it is taken";
}

TEST(PlanAhead, SeesARankThatChanges) {
  PlanAhead ahead(plan_of, 2);
  for (const Shapes& shapes : {Shapes{{1}}, Shapes{{2}}, Shapes{{3, 1}}}) ahead.follow(shapes);
  EXPECT_EQ(ahead.take({{4, 1}}), nullptr);
}

TEST(PlanAhead, AThreadWhoseShapesAreDroppedByAnotherGoesOn) {
  std::promise<void> begun, may_go_on;
  PlanAhead ahead(
      [&, went_on = may_go_on.get_future().share()](const Shapes& shapes) {
        if (shapes[0][0] == 7) begun.set_value();
        went_on.wait();
        return plan_of(shapes);
      },
      1);
  // The plan for 7 is being made, that for 8 is wanted.
  for (const std::size_t extent : {4, 5, 6}) ahead.follow({{extent}});
  begun.get_future().wait();
  ahead.follow({{7}});
  auto dropped = std::async(std::launch::async, [&] { return ahead.take({{8}}) == nullptr; });
  EXPECT_EQ(dropped.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  auto other = std::async(std::launch::async, [&] { return ahead.take({{100}}) == nullptr; });
  EXPECT_EQ(other.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  may_go_on.set_value();
  EXPECT_TRUE(other.get());
  ASSERT_EQ(dropped.wait_for(std::chrono::seconds(20)), std::future_status::ready)
      << "it waits for what no thread makes";
  EXPECT_TRUE(dropped.get());
}

TEST(PlanAhead, WhatFailsIsMadeByTheInferenceThatNeedsIt) {
  std::atomic<int> tries{0};
  PlanAhead ahead(
      [&](const Shapes&) -> std::shared_ptr<const LaunchPlan> {
        ++tries;
        throw std::runtime_error("no memory");
      },
      1);
  for (const std::size_t extent : {1, 2, 3, 4, 5}) {
    EXPECT_EQ(ahead.take({{extent}}), nullptr);
    ahead.follow({{extent}});
  }
  EXPECT_GE(tries, 2);
}

TEST(PlanAhead, AWaitEndsWithWhatWaits) {
  std::atomic<bool> may_end{false};
  PlanAhead ahead(
      [&](const Shapes& shapes) {
        may_end.wait(false);
        return plan_of(shapes);
      },
      2);
  for (const std::size_t extent : {1, 2, 3}) ahead.follow({{extent}});
  {
    const CancellationScope scope([] { return false; });
    try {
      ahead.take({{4}});
      ADD_FAILURE() << "it waits for a plan that is not made";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCancelled);
    }
  }
  may_end = true;
  may_end.notify_all();
  EXPECT_NE(ahead.take({{4}}), nullptr);
}

}  // namespace plan_ahead_test
}  // namespace tenon::gpu_testing
