// SPDX-License-Identifier: Apache-2.0
// Plans that come again keep what they were told.
#include <memory>

#include <gtest/gtest.h>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/request_parts.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>

namespace tenon {
namespace kept_executions_test {

using gpu_device::Execution;
using gpu_device::KeptExecutions;
using gpu_device::LaunchPlan;

class KeptExecutionsTest : public gpu_testing::Gpu {};

std::shared_ptr<const LaunchPlan> plan_of(std::size_t arena_bytes) {
  auto plan = std::make_shared<LaunchPlan>();
  plan->arena_bytes = arena_bytes;
  return plan;
}

TEST_F(KeptExecutionsTest, PlansThatComeAgainHaveTheirOwn) {
  KeptExecutions kept(gpu_device::find_gpu(""), nullptr);
  const auto a = plan_of(1000), b = plan_of(500), c = plan_of(700);
  std::unique_ptr<Execution> now;
  const auto run = [&](const auto& plan) {
    now = kept.change(std::move(now), plan);
    EXPECT_EQ(&now->plan(), plan.get());
    return now.get();
  };
  const Execution* const spare = run(a);
  EXPECT_EQ(run(b), spare) << "new plans take turns in one";
  const Execution* const own_a = run(a);
  EXPECT_NE(own_a, spare);
  const Execution* const own_b = run(b);
  EXPECT_NE(own_b, own_a);
  EXPECT_EQ(run(c), spare) << "a new plan leaves those alone that come again";
  EXPECT_EQ(run(a), own_a);
  const Execution* const last = now.get();
  EXPECT_EQ(run(b), own_b);
  EXPECT_TRUE(last->shares_memory(*now));
}

TEST_F(KeptExecutionsTest, PlansOfExtentsThatGoOnTakeTurns) {
  KeptExecutions kept(gpu_device::find_gpu(""), nullptr);
  const auto a = plan_of(1000), b = plan_of(500), c = plan_of(700);
  std::unique_ptr<Execution> now;
  for (const auto& plan : {a, b, a, b}) now = kept.change(std::move(now), plan);
  EXPECT_FALSE(kept.are_none());
  now = kept.change(std::move(now), c, true);
  const Execution* const one = now.get();
  for (const auto& plan : {a, b, c, a}) {
    now = kept.change(std::move(now), plan, true);
    EXPECT_EQ(now.get(), one);
    EXPECT_EQ(&now->plan(), plan.get());
  }
  now = kept.change(std::move(now), b);
  EXPECT_NE(now.get(), one) << "it was kept";
}

TEST_F(KeptExecutionsTest, LessMemoryIsNotKeptBesideMore) {
  KeptExecutions kept(gpu_device::find_gpu(""), nullptr);
  const auto a = plan_of(1000), b = plan_of(500), large = plan_of(1 << 20);
  std::unique_ptr<Execution> now;
  for (const auto& plan : {a, b, a, b}) now = kept.change(std::move(now), plan);
  EXPECT_FALSE(kept.are_none());
  now = kept.change(std::move(now), large);
  EXPECT_TRUE(kept.are_none());
  const std::unique_ptr<Execution> before = std::move(now);
  now = kept.change(nullptr, a);
  EXPECT_EQ(&now->plan(), a.get());
}

}  // namespace kept_executions_test
}  // namespace tenon
