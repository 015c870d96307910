// SPDX-License-Identifier: Apache-2.0
// Questions about a plan.
#include <tenon/devices/gpu/plan/launch_plan.hpp>

#include <set>
#include <string_view>

#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Whether the launch computes element i of `out` of element i of `in`, each by one work-item.
bool keeps_places(const Launch& launch, const View& in, const View& out) {
  return launch.kernel->kind == "map" && !in.source && in.place.offset == out.place.offset && in.shape == out.shape &&
         in.strides == out.strides && size_bytes(in.type) == size_bytes(out.type) && !in.repeats();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> LaunchPlan::optimized_out() const {
  std::set<std::string_view> computed;
  for (const auto& launch : launches) {
    computed.insert(launch->node_name);
    for (const auto& [name, type] : launch->fused) computed.insert(name);
  }
  std::vector<std::pair<std::string, std::string>> others;
  for (const auto& node : model->get_ordered_ops())
    if (!is_op(node, "Constant") && !is_op(node, "Parameter") && !is_op(node, "Result") &&
        !computed.count(node->get_friendly_name()))
      others.emplace_back(node->get_friendly_name(), node->get_type_name());
  return others;
}

bool LaunchPlan::may_share(std::size_t input, std::size_t output) const {
  const View* written = nullptr;
  for (const auto& each : launches) {
    const Launch& launch = *each;
    const bool was_written = written != nullptr;
    for (std::size_t i = 0; i < launch.operands.size(); ++i) {
      const planning::Buffer& buffer = buffers[launch.operands[i].place.buffer];
      if (buffer.kind == planning::BufferKind::kOutput && buffer.index == output && launch.operands[i].written)
        written = &launch.views[i];
    }
    if (!written) continue;
    for (std::size_t i = 0; i < launch.operands.size(); ++i) {
      const planning::Buffer& buffer = buffers[launch.operands[i].place.buffer];
      if (buffer.kind != planning::BufferKind::kInput || buffer.index % inputs.size() != input) continue;
      if (was_written || !inputs[input].form.is_plain() || !keeps_places(launch, launch.views[i], *written))
        return false;
    }
  }
  return true;
}

}  // namespace tenon::inline v1::gpu_device
