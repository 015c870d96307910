// SPDX-License-Identifier: Apache-2.0
// Questions about a plan.
#include <tenon/devices/gpu/plan/launch_plan.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Whether the launch computes element i of `out` of element i of `in`, each by one work-item.
bool keeps_places(const Launch& launch, const View& in, const View& out) {
  return launch.kernel->kind == "map" && !in.source && in.place.offset == out.place.offset && in.shape == out.shape &&
         in.strides == out.strides && size_bytes(in.type) == size_bytes(out.type) && !in.repeats();
}

}  // namespace

bool LaunchPlan::may_share(std::size_t input, std::size_t output) const {
  const View* written = nullptr;
  for (const Launch& launch : launches) {
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
