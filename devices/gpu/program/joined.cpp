// SPDX-License-Identifier: Apache-2.0
// Puts launches together.
#include <tenon/devices/gpu/program/joined.hpp>

#include <cstdint>

namespace tenon::inline v1::gpu_device {

bool can_be_joined(const Launch& a, const Launch& b) {
  const auto has_one_axis = [](const Launch& launch) {
    return !launch.for_twin && launch.local[0] != 0 && launch.global[1] == 1 && launch.global[2] == 1;
  };
  return !a.kernel->joins.empty() && a.kernel->joins == b.kernel->joins && a.dimensions == b.dimensions &&
         a.local == b.local && has_one_axis(a) && has_one_axis(b);
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
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Launch& part = *parts[i];
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    kernels.push_back(part.kernel);
    firsts.push_back({{}, 1, static_cast<std::int32_t>(all.global[0] / all.local[0]), false});
    append(all.arguments, part.arguments);
    append(all.operands, part.operands);
    append(all.views, part.views);
    all.fused.emplace_back(part.node_name, part.node_type);
    append(all.fused, part.fused);
    all.global[0] += part.global[0];
    if (part.multiply_adds) all.multiply_adds = all.multiply_adds.value_or(0) + *part.multiply_adds;
  }
  all.arguments.insert(all.arguments.end(), firsts.begin(), firsts.end());
  all.kernel = texts.joined(kernels);
  return all;
}

}  // namespace tenon::inline v1::gpu_device
