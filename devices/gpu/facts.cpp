// SPDX-License-Identifier: Apache-2.0
// Asks the driver, and plans models to see what they take.
#include <tenon/devices/gpu/facts.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>

#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/graph/limits.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

template <typename T>
T ask(const Gpu& gpu, cl_device_info key) {
  return client::info<T>(clGetDeviceInfo, "clGetDeviceInfo", gpu.native().device.id, key);
}

/// What all inputs and outputs begin with.
std::optional<std::size_t> batch_of(const Model& model) {
  std::optional<std::size_t> batch;
  for (const auto& ports : {model.inputs(), model.outputs()})
    for (const auto& port : ports) {
      if (port.get_partial_shape().is_dynamic()) return std::nullopt;
      const Shape shape = port.get_shape();
      if (shape.empty() || shape[0] == 0 || (batch && *batch != shape[0])) return std::nullopt;
      batch = shape[0];
    }
  return batch;
}

std::uint64_t bytes_of(const std::vector<PlanPort>& ports) {
  std::uint64_t sum = 0;
  for (const PlanPort& port : ports) sum += port.size_bytes();
  return sum;
}

}  // namespace

std::string full_name(const Gpu& gpu) {
  const auto& device = gpu.native().device;
  return device.name + " (" +
         (device.is_cpu()       ? "CPU"
          : !device.is_gpu()    ? "accelerator"
          : device.host_unified ? "iGPU"
                                : "dGPU") +
         ", " + device.platform_name + ")";
}

std::vector<std::string> capabilities_of(const Gpu& gpu) {
  std::vector<std::string> names{device::capability::FP32, device::capability::INT8, device::capability::EXPORT_IMPORT};
  const bool multiplies_matrices = gpu.target().matrices != Target::Matrices::kPortable;
  if (multiplies_matrices || gpu.native().device.has("cl_khr_fp16")) names.emplace_back(device::capability::FP16);
  if (multiplies_matrices) names.emplace_back(intel_gpu::capability::HW_MATMUL);
  if (gpu.native().device.is_cpu()) names.emplace_back(device::capability::HOST_CPU);
  if (gpu.native().device.usm) names.emplace_back(intel_gpu::capability::USM_MEMORY);
  return names;
}

device::UUID uuid_of(const Gpu& gpu) {
  const auto found = client::uuid_of(gpu.native().device);
  return found ? device::UUID{*found} : device::UUID{};
}

device::LUID luid_of(const Gpu& gpu) {
  constexpr cl_device_info kLuidValid = 0x106C, kLuid = 0x106D;  // Newer than some packaged headers.
  if (!gpu.native().device.has("cl_khr_device_uuid") || ask<cl_bool>(gpu, kLuidValid) != CL_TRUE) return {};
  return {ask<std::array<std::uint8_t, device::LUID::MAX_LUID_SIZE>>(gpu, kLuid)};
}

device::PCIInfo pci_of(const Gpu& gpu) {
  const auto found = client::pci_address_of(gpu.native().device);
  return found ? device::PCIInfo{found->domain, found->bus, found->device, found->function} : device::PCIInfo{};
}

std::uint32_t max_batch(const Gpu& gpu, const std::shared_ptr<const Model>& model, const Target& target) {
  const auto batch = model ? batch_of(*model) : std::nullopt;
  if (!batch) return 1;
  const TimeLimit time(model_limits().compile_seconds);
  PackedWeights weights;
  const LaunchPlan plan = lower_model(*run_passes(*model, time, true, target), target, weights, true, {}, time);
  std::uint64_t constants = 0;
  for (const planning::Buffer& buffer : plan.buffers)
    if (buffer.kind == planning::BufferKind::kConstant) constants += buffer.size_bytes;
  const std::uint64_t taken = gpu.held_bytes() + constants;
  const std::uint64_t room = gpu.memory_bytes() - std::min(gpu.memory_bytes(), taken);
  const std::uint64_t item =
      std::max<std::uint64_t>((plan.arena_bytes + bytes_of(plan.inputs) + bytes_of(plan.outputs)) / *batch, 1);
  std::uint64_t largest = std::max<std::uint64_t>(plan.arena_bytes, 1);
  for (const auto* ports : {&plan.inputs, &plan.outputs})
    for (const PlanPort& port : *ports) largest = std::max<std::uint64_t>(largest, port.size_bytes());
  const std::uint64_t in_one_buffer = std::max<std::uint64_t>(largest / *batch, 1);
  const std::uint64_t items = std::min<std::uint64_t>(
      {room / item, gpu.native().device.max_allocation / in_one_buffer, std::uint64_t{1} << 31});
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(std::bit_floor(items), 1));
}

std::uint32_t optimal_batch(const Gpu& gpu, const std::shared_ptr<const Model>& model, const Target& target) {
  constexpr std::uint32_t kMeasured = 32;
  return target.is_cpu ? 1 : std::min(kMeasured, max_batch(gpu, model, target));
}

}  // namespace tenon::inline v1::gpu_device
