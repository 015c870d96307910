// SPDX-License-Identifier: Apache-2.0
// Offsets of the arena's buffers: no overlap while both live, and a small arena.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include <tenon/planning/memory_plan.hpp>

namespace tenon::planning_test {
namespace memory_plan_test {

using namespace tenon::planning;

struct Life {
  std::size_t size, first, last;
};

/// Steps that touch these buffers.
struct Lives {
  Lives(const std::vector<Life>& lives, std::size_t steps) : operands(steps) {
    for (const Life& life : lives) {
      Buffer buffer;
      buffer.size_bytes = life.size;
      const auto id = static_cast<BufferId>(buffers.size());
      buffers.push_back(std::move(buffer));
      operands[life.first].push_back({BufferSlice{id, 0}, true});
      operands[life.last].push_back({BufferSlice{id, 0}, false});
    }
  }
  std::size_t plan(std::size_t max_pairs) {
    const std::vector<std::span<const Operand>> steps(operands.begin(), operands.end());
    return plan_memory(buffers, steps, max_pairs);
  }
  std::vector<Buffer> buffers;
  std::vector<std::vector<Operand>> operands;
};

/// The largest number of bytes alive at once: no arena can be smaller.
std::size_t lower_bound(const std::vector<Life>& lives, std::size_t steps) {
  std::vector<std::size_t> alive(steps, 0);
  for (const Life& life : lives)
    for (std::size_t step = life.first; step <= life.last; ++step)
      alive[step] += (std::max<std::size_t>(life.size, 1) + kAlignment - 1) / kAlignment * kAlignment;
  return *std::max_element(alive.begin(), alive.end());
}

void expect_apart(const Lives& plan, const std::vector<Life>& lives, std::size_t arena) {
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const std::size_t begin = plan.buffers[i].arena_offset, end = begin + std::max<std::size_t>(lives[i].size, 1);
    ASSERT_LE(end, arena);
    ASSERT_EQ(begin % kAlignment, 0U);
    for (std::size_t j = 0; j < i; ++j) {
      if (lives[j].last < lives[i].first || lives[j].first > lives[i].last) continue;
      const std::size_t other = plan.buffers[j].arena_offset;
      ASSERT_TRUE(other >= end || other + std::max<std::size_t>(lives[j].size, 1) <= begin)
          << "buffers " << i << " and " << j << " share bytes";
    }
  }
}

TEST(MemoryPlan, BuffersThatLiveTogetherLieApart) {
  std::mt19937 random(5);
  double worst_by_size = 0, worst_by_step = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t steps = 1 + random() % 60, count = random() % 80;
    std::vector<Life> lives;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = random() % steps;
      const std::size_t length = random() % 8 == 0 ? steps : 1 + random() % 4;
      lives.push_back(
          {random() % 7 == 0 ? random() % 100000 : random() % 1000, first, std::min(first + length, steps) - 1});
    }
    const std::size_t least = count ? lower_bound(lives, steps) : 0;
    for (const std::size_t max_pairs : {std::size_t{1} << 20, std::size_t{0}}) {
      Lives plan(lives, steps);
      const std::size_t arena = plan.plan(max_pairs);
      expect_apart(plan, lives, arena);
      ASSERT_GE(arena, least);
      double& worst = max_pairs ? worst_by_size : worst_by_step;
      if (least) worst = std::max(worst, static_cast<double>(arena) / static_cast<double>(least));
    }
  }
  EXPECT_LT(worst_by_size, 1.5);
  EXPECT_LT(worst_by_step, 2.5);
}

TEST(MemoryPlan, AChainNeedsTwoBuffersWhateverItsLength) {
  std::vector<Life> lives;
  for (std::size_t i = 0; i < 5000; ++i) lives.push_back({1000, i, i + 1});
  for (const std::size_t max_pairs : {std::size_t{1} << 20, std::size_t{0}}) {
    Lives plan(lives, 5001);
    EXPECT_EQ(plan.plan(max_pairs), 2048U);
  }
}

TEST(MemoryPlan, PartsOfPartsLieInTheirRoot) {
  std::vector<Buffer> buffers;
  for (int i = 0; i < 1000; ++i) {
    Buffer buffer;
    buffer.size_bytes = 4000;
    if (i > 0) {
      buffer.parent = static_cast<BufferId>(i - 1);
      buffer.parent_offset = 4;
    }
    buffers.push_back(std::move(buffer));
  }
  const BufferSlice deep = root(buffers, {999, 8});
  EXPECT_EQ(settle_root(buffers, 999), 0U);
  EXPECT_EQ(root(buffers, {999, 8}), deep);
  EXPECT_EQ(buffers[999].parent, 0U);
  for (BufferId id = 0; id < 1000; ++id) EXPECT_EQ(root(buffers, {id, 0}), (BufferSlice{0, 4 * std::size_t{id}}));
}

}  // namespace memory_plan_test
}  // namespace tenon::planning_test
