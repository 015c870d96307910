// SPDX-License-Identifier: Apache-2.0
// Decides which buffers become parts of others.
#include <algorithm>
#include <map>
#include <tuple>

#include <tenon/engine/lower/build/parts.hpp>

namespace tenon::inline v1::engine {

void grant_parts(PlanImpl& plan, const std::vector<PartRequest>& requests) {
  // A buffer becomes a part of another only as a whole: the requests must cover all its bytes, each at the same
  // distance.
  std::map<BufferId, std::vector<std::size_t>> by_buffer;
  for (std::size_t i = 0; i < requests.size(); ++i) by_buffer[requests[i].part.buffer].push_back(i);
  std::vector<bool> dropped(plan.steps.size(), false);
  std::vector<int> open_copies(plan.steps.size(), 0);
  for (const PartRequest& request : requests) ++open_copies[request.step];
  std::vector<bool> granted(requests.size(), false);
  for (auto& [buffer, all] : by_buffer) {
    if (plan.buffers[buffer].kind != BufferKind::kArena || !plan.options.fuse) continue;
    // Requests of one step for one buffer at one distance belong together, in order of the first of them.
    std::vector<std::vector<std::size_t>> groups;
    std::map<std::tuple<std::size_t, BufferId, std::size_t>, std::size_t> group_of;
    for (std::size_t i : all) {
      const PartRequest& request = requests[i];
      if (request.whole.offset < request.part.offset) continue;
      const auto [entry, is_new] = group_of.emplace(
          std::tuple(request.step, request.whole.buffer, request.whole.offset - request.part.offset), groups.size());
      if (is_new) groups.emplace_back();
      groups[entry->second].push_back(i);
    }
    // The first reader that takes the whole buffer wins; others go on copying.
    for (const std::vector<std::size_t>& members : groups) {
      const PartRequest& first = requests[members.front()];
      std::vector<std::pair<std::size_t, std::size_t>> ranges;
      for (std::size_t i : members)
        ranges.emplace_back(requests[i].part.offset, requests[i].part.offset + requests[i].size_bytes);
      std::sort(ranges.begin(), ranges.end());
      std::size_t covered = 0;
      for (const auto& [begin, end] : ranges)
        if (begin <= covered) covered = std::max(covered, end);
      if (covered < plan.buffers[buffer].size_bytes) continue;
      // No cycles: the whole must not already lie inside the part.
      if (plan.settle_root(first.whole.buffer) == buffer) continue;
      plan.buffers[buffer].parent = first.whole.buffer;
      plan.buffers[buffer].parent_offset = first.whole.offset - first.part.offset;
      for (std::size_t i : members) {
        granted[i] = true;
        if (--open_copies[requests[i].step] == 0) dropped[requests[i].step] = true;
      }
      break;
    }
  }
  for (BufferId id = 0; id < plan.buffers.size(); ++id) plan.settle_root(id);
  std::vector<std::shared_ptr<Step>> kept;
  std::vector<std::ptrdiff_t> new_index;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    new_index.push_back(static_cast<std::ptrdiff_t>(kept.size()) - (dropped[i] ? 1 : 0));
    if (!dropped[i]) {
      kept.push_back(std::move(plan.steps[i]));
      continue;
    }
    const StepInfo& info = plan.steps[i]->info;
    plan.optimized_out.emplace_back(info.node_name, info.node_type);
    for (const auto& all : {info.originals, info.folded})
      for (const auto& original : all)
        if (original.first != info.node_name) plan.optimized_out.push_back(original);
  }
  plan.steps = std::move(kept);
  for (const PartRequest& request : requests)
    if (!granted[static_cast<std::size_t>(&request - requests.data())] &&
        plan.buffers[request.whole.buffer].kind == BufferKind::kState)
      plan.assigned_copy_bytes += request.size_bytes;
  for (Made& made : plan.made)
    if (made.step >= 0) made.step = new_index[static_cast<std::size_t>(made.step)];
}

}  // namespace tenon::inline v1::engine
