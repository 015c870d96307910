// SPDX-License-Identifier: Apache-2.0
// What properties say of a device, and of what it can take.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::gpu_device {

/// "NVIDIA H200 (dGPU, NVIDIA CUDA)".
std::string full_name(const Gpu& gpu);
std::vector<std::string> capabilities_of(const Gpu& gpu);

/// @name Zeros where the driver does not say (cl_khr_device_uuid, cl_khr_pci_bus_info).
device::UUID uuid_of(const Gpu& gpu);
device::LUID luid_of(const Gpu& gpu);
device::PCIInfo pci_of(const Gpu& gpu);

/// How many items one request can take at once: what its values between kernels, inputs and outputs take in the memory that nothing of
/// the device's own holds yet, and in one buffer. A power of two.
/// @param model  Null, of moving shapes, or whose inputs and outputs do not begin with one and the same batch: 1.
/// @param target  How the model would be compiled.
/// @errors as compiling: kUnimplemented, an operation without a kernel.
std::uint32_t max_batch(const Gpu& gpu, const std::shared_ptr<const Model>& model, const Target& target);

/// The batch beyond which little is gained: 1 on CPUs, whose cores one item fills; else 32, as far as it has been measured, or max_batch().
std::uint32_t optimal_batch(const Gpu& gpu, const std::shared_ptr<const Model>& model, const Target& target);

}  // namespace tenon::inline v1::gpu_device
