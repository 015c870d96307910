// SPDX-License-Identifier: Apache-2.0
// Lifetimes and offsets of the arena's buffers.
#include <algorithm>
#include <map>
#include <set>

#include <tenon/planning/memory_plan.hpp>

namespace tenon::inline v1::planning {
namespace {

std::size_t padded_size(const Buffer& buffer) {
  return (std::max<std::size_t>(buffer.size_bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

/// Buffers by lifetime: finds those alive during some steps, in time proportional to their number.
class Lifetimes {
 public:
  Lifetimes(const std::vector<Buffer>& buffers, std::size_t steps) : buffers_(buffers), begins_(steps) {
    while (leaves_ < steps) leaves_ *= 2;
    covers_.resize(2 * leaves_);
  }
  void add(BufferId id) {
    const Buffer& buffer = buffers_[id];
    begins_[static_cast<std::size_t>(buffer.first_step)].push_back(id);
    std::size_t low = leaves_ + static_cast<std::size_t>(buffer.first_step),
                high = leaves_ + static_cast<std::size_t>(buffer.last_step) + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low & 1) covers_[low++].push_back(id);
      if (high & 1) covers_[--high].push_back(id);
    }
  }
  /// Calls `visit` once for each buffer that is alive in any of the steps [first, last].
  template <typename Visit>
  void overlapping(int first, int last, const Visit& visit) const {
    for (std::size_t at = leaves_ + static_cast<std::size_t>(first); at > 0; at /= 2)
      for (BufferId id : covers_[at]) visit(id);
    for (int step = first + 1; step <= last; ++step)
      for (BufferId id : begins_[static_cast<std::size_t>(step)]) visit(id);
  }

 private:
  const std::vector<Buffer>& buffers_;
  std::size_t leaves_ = 1;
  std::vector<std::vector<BufferId>> covers_;  ///< A segment tree over the steps; a lifetime is some of its nodes.
  std::vector<std::vector<BufferId>> begins_;  ///< By first step.
};

/// Largest first, each into the tightest gap that is free during its lifetime: within a few per cent of the lower
/// bound in practice.
std::size_t place_by_size(std::vector<Buffer>& buffers, std::size_t steps, std::vector<BufferId> order) {
  std::stable_sort(order.begin(), order.end(),
                   [&](BufferId a, BufferId b) { return buffers[a].size_bytes > buffers[b].size_bytes; });
  Lifetimes placed(buffers, steps);
  std::size_t end_of_arena = 0;
  std::vector<std::pair<std::size_t, std::size_t>> taken;  // begin, end
  for (BufferId id : order) {
    Buffer& buffer = buffers[id];
    const std::size_t size = padded_size(buffer);
    taken.clear();
    placed.overlapping(buffer.first_step, buffer.last_step, [&](BufferId other) {
      const Buffer& there = buffers[other];
      taken.emplace_back(there.arena_offset, there.arena_offset + padded_size(there));
    });
    std::sort(taken.begin(), taken.end());
    std::size_t cursor = 0, best = 0, best_gap = ~std::size_t{0};
    for (const auto& [begin, end] : taken) {
      if (begin >= cursor + size && begin - cursor < best_gap) {
        best_gap = begin - cursor;
        best = cursor;
      }
      cursor = std::max(cursor, end);
    }
    buffer.arena_offset = best_gap == ~std::size_t{0} ? cursor : best;
    end_of_arena = std::max(end_of_arena, buffer.arena_offset + size);
    placed.add(id);
  }
  return end_of_arena;
}

/// Free regions, by offset and by size.
class FreeList {
 public:
  /// The tightest free region, or the end of the arena. @return its offset.
  std::size_t take(std::size_t size) {
    const auto found = by_size_.lower_bound({size, 0});
    if (found == by_size_.end()) {
      // Nothing fits: the free region at the end grows.
      const auto last = by_offset_.empty() ? by_offset_.end() : std::prev(by_offset_.end());
      std::size_t offset = end_;
      if (last != by_offset_.end() && last->first + last->second == end_) {
        offset = last->first;
        erase(last);
      }
      end_ = offset + size;
      return offset;
    }
    const auto [free, offset] = *found;
    erase(by_offset_.find(offset));
    if (free > size) insert(offset + size, free - size);
    return offset;
  }
  void give_back(std::size_t offset, std::size_t size) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        size += before->second;
        erase(before);
      }
    }
    if (next != by_offset_.end() && next->first == offset + size) {
      size += next->second;
      erase(next);
    }
    insert(offset, size);
  }
  std::size_t end() const { return end_; }

 private:
  using ByOffset = std::map<std::size_t, std::size_t>;
  void insert(std::size_t offset, std::size_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void erase(ByOffset::iterator region) {
    by_size_.erase({region->second, region->first});
    by_offset_.erase(region);
  }
  ByOffset by_offset_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;
  std::size_t end_ = 0;
};

/// In the order of steps, as an allocator would at run time: leaves some gaps, but the work does not grow with the
/// number of buffers alive at once.
std::size_t place_by_step(std::vector<Buffer>& buffers, std::size_t steps, const std::vector<BufferId>& order) {
  std::vector<std::vector<BufferId>> begin(steps), end(steps);
  for (BufferId id : order) {
    begin[static_cast<std::size_t>(buffers[id].first_step)].push_back(id);
    end[static_cast<std::size_t>(buffers[id].last_step)].push_back(id);
  }
  FreeList free;
  for (std::size_t step = 0; step < steps; ++step) {
    std::stable_sort(begin[step].begin(), begin[step].end(),
                     [&](BufferId a, BufferId b) { return buffers[a].size_bytes > buffers[b].size_bytes; });
    for (BufferId id : begin[step]) buffers[id].arena_offset = free.take(padded_size(buffers[id]));
    for (BufferId id : end[step]) free.give_back(buffers[id].arena_offset, padded_size(buffers[id]));
  }
  return free.end();
}

/// The number of pairs of these that live at the same time.
std::size_t count_pairs(const std::vector<Buffer>& buffers, std::size_t steps, const std::vector<BufferId>& order) {
  std::vector<std::size_t> begins(steps, 0), ends(steps, 0);
  for (BufferId id : order) {
    ++begins[static_cast<std::size_t>(buffers[id].first_step)];
    ++ends[static_cast<std::size_t>(buffers[id].last_step)];
  }
  std::size_t alive = 0, pairs = 0;
  for (std::size_t step = 0; step < begins.size(); ++step) {
    pairs += begins[step] * alive + begins[step] * (begins[step] - (begins[step] > 0)) / 2;
    alive += begins[step];
    alive -= ends[step];
  }
  return pairs;
}

}  // namespace

std::size_t plan_memory(std::vector<Buffer>& buffers, const std::vector<std::span<const Operand>>& steps,
                        std::size_t max_pairs) {
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (const Operand& operand : steps[step]) {
      if (!operand.place) continue;
      Buffer& whole = buffers[root(buffers, operand.place).buffer];
      if (whole.first_step < 0) whole.first_step = static_cast<int>(step);
      whole.last_step = static_cast<int>(step);
    }
  }
  std::vector<BufferId> order;
  for (BufferId id = 0; id < buffers.size(); ++id) {
    const Buffer& buffer = buffers[id];
    if (buffer.kind == BufferKind::kArena && buffer.parent == kNoBuffer && buffer.first_step >= 0) order.push_back(id);
  }
  return count_pairs(buffers, steps.size(), order) <= max_pairs ? place_by_size(buffers, steps.size(), std::move(order))
                                                                : place_by_step(buffers, steps.size(), order);
}

}  // namespace tenon::inline v1::planning
