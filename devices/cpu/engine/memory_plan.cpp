// SPDX-License-Identifier: Apache-2.0
// Lifetimes and offsets of the arena's buffers.
#include <algorithm>
#include <numeric>

#include <tenon/devices/cpu/engine/plan_internal.hpp>

namespace tenon::inline v1::engine {

std::size_t plan_memory(PlanImpl& plan) {
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    for (const Operand& operand : plan.steps[step]->operands) {
      Buffer& root = plan.buffers[plan.root(operand.place).buffer];
      if (root.first_step < 0) root.first_step = static_cast<int>(step);
      root.last_step = static_cast<int>(step);
    }
  }
  std::vector<BufferId> order;
  for (BufferId id = 0; id < plan.buffers.size(); ++id) {
    const Buffer& buffer = plan.buffers[id];
    if (buffer.kind == BufferKind::kArena && buffer.parent == kNoBuffer && buffer.first_step >= 0) order.push_back(id);
  }
  // Largest first, each into the tightest gap that its lifetime leaves: within a few per cent of the lower bound in
  // practice.
  std::stable_sort(order.begin(), order.end(),
                   [&](BufferId a, BufferId b) { return plan.buffers[a].size_bytes > plan.buffers[b].size_bytes; });
  std::size_t end_of_arena = 0;
  std::vector<BufferId> placed;  // by arena offset
  for (BufferId id : order) {
    Buffer& buffer = plan.buffers[id];
    const std::size_t size = (std::max<std::size_t>(buffer.size_bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    std::size_t cursor = 0, best = 0, best_gap = ~std::size_t{0};
    for (BufferId other_id : placed) {
      const Buffer& other = plan.buffers[other_id];
      if (other.last_step < buffer.first_step || other.first_step > buffer.last_step) continue;
      if (other.arena_offset >= cursor + size && other.arena_offset - cursor < best_gap) {
        best_gap = other.arena_offset - cursor;
        best = cursor;
      }
      const std::size_t other_size =
          (std::max<std::size_t>(other.size_bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
      cursor = std::max(cursor, other.arena_offset + other_size);
    }
    buffer.arena_offset = best_gap == ~std::size_t{0} ? cursor : best;
    end_of_arena = std::max(end_of_arena, buffer.arena_offset + size);
    const auto at =
        std::upper_bound(placed.begin(), placed.end(), buffer.arena_offset,
                         [&](std::size_t offset, BufferId b) { return offset < plan.buffers[b].arena_offset; });
    placed.insert(at, id);
  }
  return end_of_arena;
}

}  // namespace tenon::inline v1::engine
