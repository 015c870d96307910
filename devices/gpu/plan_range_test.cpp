// SPDX-License-Identifier: Apache-2.0
// Plans for extents between those that were there: for which shapes they are made, and what becomes of them.
#include <tenon/devices/gpu/plan/plan_range.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/devices/gpu/testing/no_threads.hpp>

namespace tenon::gpu_testing {
namespace plan_range_test {

using gpu_device::LaunchPlan;
using gpu_device::PlanRange;
using Shapes = PlanRange::Shapes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Makes plans whose arena tells what they were made for.
class Maker {
 public:
  std::shared_ptr<const LaunchPlan> make(const Shapes& shapes) {
    auto plan = std::make_shared<LaunchPlan>();
    plan->arena_bytes = shapes[0].back();
    const std::lock_guard lock(mutex_);
    made_.insert(plan->arena_bytes);
    changed_.notify_all();
    return plan;
  }
  /// Once there are so many.
  std::set<std::size_t> made(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return made_.size() >= count; });
    return made_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::size_t> made_;
};

/// Texts, and their masks.
Shapes text(std::size_t length) { return {{1, length}, {1, length}, {4}}; }

TEST(PlanRange, ExtentsBetweenThoseThatWereThereGetPlans) {
  Maker maker;
  PlanRange range([&](const Shapes& shapes) { return maker.make(shapes); }, 2);
  for (const std::size_t length : {8, 40, 16}) {
    EXPECT_EQ(range.take(text(length)), nullptr);
    range.follow(text(length));
  }
  EXPECT_THAT(maker.made(2), ElementsAre(24, 32)) << "in the steps that were there";
  const auto plan = range.take(text(32));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->arena_bytes, 32u);
  EXPECT_EQ(range.take(text(32)), nullptr) << "it was given away";
  range.follow(text(32));
  range.follow(text(20));
  EXPECT_THAT(maker.made(5), ElementsAre(12, 24, 28, 32, 36)) << "the step is another one";
  EXPECT_NE(range.take(text(12)), nullptr);
}

TEST(PlanRange, SeveralExtentsAndWideRangesGetNone) {
  Maker maker;
  {
    PlanRange range([&](const Shapes& shapes) { return maker.make(shapes); }, 1);
    for (const Shapes& shapes : {Shapes{{64, 32}}, {{32, 96}}, {{96, 64}}, {{64, 64}}, {{1, 1, 5}}, {{1, 1, 1}}})
      range.follow(shapes);
    for (const std::size_t length : {7, 7, 7}) range.follow(text(length));
  }
  {
    PlanRange range([&](const Shapes& shapes) { return maker.make(shapes); }, 1);
    for (const std::size_t length : {1000, 16001, 4000, 9000}) range.follow(text(length));
  }
  EXPECT_THAT(maker.made(0), IsEmpty());
}

TEST(PlanRange, OtherAxesBeginAnew) {
  Maker maker;
  PlanRange range([&](const Shapes& shapes) { return maker.make(shapes); }, 1);
  for (const std::size_t length : {1, 3, 5, 2}) range.follow(text(length));
  maker.made(1);
  const auto picture = [](std::size_t side) { return Shapes{{1, 3, side, side}}; };
  for (const std::size_t side : {320, 64, 128}) range.follow(picture(side));
  maker.made(3);
  EXPECT_EQ(range.take(text(4)), nullptr);
  EXPECT_NE(range.take(picture(192)), nullptr);
  EXPECT_NE(range.take(picture(256)), nullptr);
}

TEST(PlanRange, WhereNoThreadStartsInferencesGoOn) {
  Maker maker;
  PlanRange range([&](const Shapes& shapes) { return maker.make(shapes); }, 2);
  {
    const NoThreads none;
    for (const std::size_t length : {8, 40, 16}) range.follow(text(length));
    EXPECT_EQ(range.take(text(32)), nullptr);
  }
  range.follow(text(32));
  EXPECT_THAT(maker.made(1), ElementsAre(24)) << "threads start again";
}

TEST(PlanRange, WhatFailsEndsIt) {
  std::atomic<int> tries{0};
  PlanRange range(
      [&](const Shapes&) -> std::shared_ptr<const LaunchPlan> {
        ++tries;
        throw std::runtime_error("no memory");
      },
      1);
  for (const std::size_t length : {8, 90, 30}) range.follow(text(length));
  for (std::size_t length = 9; length < 60; ++length) {
    EXPECT_EQ(range.take(text(length)), nullptr);
    range.follow(text(length));
  }
  EXPECT_LE(tries, 1);
}

}  // namespace plan_range_test
}  // namespace tenon::gpu_testing
