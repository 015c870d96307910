// SPDX-License-Identifier: Apache-2.0
// Follows values through the memory of a plan.
#include <tenon/planning/executed_plan.hpp>

#include <utility>

namespace tenon::inline v1::planning {

void subtract(std::vector<ByteRange>& all, const ByteRange& taken) {
  std::vector<ByteRange> left;
  for (const ByteRange& range : all) {
    if (!range.overlaps(taken)) {
      left.push_back(range);
      continue;
    }
    if (range.begin < taken.begin) left.push_back({range.begin, taken.begin});
    if (taken.end < range.end) left.push_back({taken.end, range.end});
  }
  all = std::move(left);
}

exec_model_info::StepOutput packed_output(ElementType type, const PartialShape& shape) {
  return {type, shape, shape.rank().is_static() ? exec_model_info::packed_layout(shape.size()) : "undef"};
}

void ExecutedPlan::write(BufferId buffer, const ByteRange& range, const Output<Node>& value, bool is_dense) {
  writes_[buffer].push_back({range, value, is_dense});
}

bool ExecutedPlan::add_sources(OutputVector& sources, BufferId buffer, const ByteRange& wanted) const {
  std::vector<ByteRange> open{wanted};
  OutputVector found;
  const auto& writes = writes_[buffer];
  for (auto write = writes.rbegin(); write != writes.rend() && !open.empty(); ++write) {
    if (std::none_of(open.begin(), open.end(), [&](const ByteRange& one) { return one.overlaps(write->range); }))
      continue;
    found.push_back(write->value);
    if (write->is_dense) subtract(open, write->range);
  }
  for (auto value = found.rbegin(); value != found.rend(); ++value)
    if (std::find(sources.begin(), sources.end(), *value) == sources.end()) sources.push_back(*value);
  return open.empty() && wanted.begin < wanted.end;
}

Output<Node> ExecutedPlan::state(std::size_t index, const std::string& id, ElementType type, const Shape& shape) {
  auto& state = states_[index];
  if (!state) state = model_.add_memory("ReadValue", id, packed_output(type, PartialShape(shape)));
  return state;
}

Output<Node> ExecutedPlan::result(const OutputVector& sources, const std::string& type, const std::string& name,
                                  const std::string& port, const exec_model_info::StepOutput& as) {
  if (sources.empty()) return model_.add_memory("Const", port, as);
  if (sources.size() == 1) return sources.front();
  return model_.add_step({type, name, "in place"}, sources, {as})->output(0);
}

}  // namespace tenon::inline v1::planning
