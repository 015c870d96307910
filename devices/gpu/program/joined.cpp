// SPDX-License-Identifier: Apache-2.0
// Puts launches together.
#include <tenon/devices/gpu/program/joined.hpp>

#include <cstdint>

namespace tenon::inline v1::gpu_device {

bool can_be_joined(const Launch& a, const Launch& b) {
  if (a.kernel->joins.empty() || a.kernel->joins != b.kernel->joins || a.dimensions != b.dimensions ||
      a.local != b.local || a.local[0] == 0)
    return false;
  if (a.kernel->has_sets)
    return a.dimensions == 3 && a.global == b.global && !a.for_twin == !b.for_twin &&
           (!a.for_twin || can_be_joined(*a.for_twin, *b.for_twin));
  const auto has_one_axis = [](const Launch& launch) {
    return !launch.for_twin && launch.global[1] == 1 && launch.global[2] == 1;
  };
  return has_one_axis(a) && has_one_axis(b);
}

std::size_t argument_bytes(const Launch& launch) {
  std::size_t bytes = 0;
  for (const Argument& argument : launch.arguments) bytes += argument.place && !argument.is_pitch ? 16 : 4;
  return bytes;
}

Launch joined_launch(const std::vector<std::shared_ptr<const Launch>>& parts, KernelTexts& texts) {
  Launch all = *parts.front();
  std::vector<std::shared_ptr<const KernelText>> kernels{all.kernel};
  std::vector<Argument> firsts;
  std::vector<std::shared_ptr<const Launch>> for_twin{all.for_twin};
  const bool are_sets = all.kernel->has_sets;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Launch& part = *parts[i];
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    kernels.push_back(part.kernel);
    for_twin.push_back(part.for_twin);
    if (!are_sets) firsts.push_back({{}, 1, static_cast<std::int32_t>(all.global[0] / all.local[0]), false});
    append(all.arguments, part.arguments);
    append(all.operands, part.operands);
    append(all.views, part.views);
    all.fused.emplace_back(part.node_name, part.node_type);
    append(all.fused, part.fused);
    const std::size_t axis = are_sets ? 2 : 0;
    all.global[axis] += part.global[axis];
    if (part.multiply_adds) all.multiply_adds = all.multiply_adds.value_or(0) + *part.multiply_adds;
  }
  all.arguments.insert(all.arguments.end(), firsts.begin(), firsts.end());
  all.kernel = texts.joined(kernels);
  if (all.for_twin) all.for_twin = std::make_shared<const Launch>(joined_launch(for_twin, texts));
  return all;
}

}  // namespace tenon::inline v1::gpu_device
