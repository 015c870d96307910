// SPDX-License-Identifier: Apache-2.0
// What an OpenCL device can do, judged by its extension string and documented queries. Never by trying whether a call
// succeeds, because some platforms accept and ignore what they do not know.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/device_identity.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// Facts about one device, read once.
struct Device {
  cl_device_id id = nullptr;
  cl_platform_id platform = nullptr;
  cl_device_type type = 0;
  std::string name;           ///< The driver's name for it.
  std::string platform_name;  ///< Name of the driver's platform.
  std::string extensions;
  int version = 10;                           ///< 10 * major + minor of its OpenCL version.
  std::size_t base_alignment = 128;           ///< For a buffer's first byte and a sub-buffer's origin, bytes.
  std::size_t max_allocation = 0;             ///< Largest buffer, bytes.
  std::size_t max_width = 0, max_height = 0;  ///< Largest 2-D image, px; 0 without image support.
  bool host_unified = false;                  ///< Device and host use the same physical memory.
  cl_device_svm_capabilities svm = 0;
  bool image_from_buffer = false;         ///< cl_khr_image2d_from_buffer.
  std::size_t image_pitch_alignment = 0;  ///< For an image over a buffer, px.
  bool usm = false;                       ///< cl_intel_unified_shared_memory.
  bool out_of_order = false;              ///< Its queues on the host may be out of order.
  /// @name Handles of other APIs, as the extensions number them (CL_EXTERNAL_MEMORY_HANDLE_*, CL_SEMAPHORE_HANDLE_*).
  /// Empty where the extension string does not name the handle's extension.
  std::vector<cl_uint> memory_imports, linear_image_imports, semaphore_imports, semaphore_exports;
  DeviceIdentity identity;

  bool is_cpu() const { return (type & CL_DEVICE_TYPE_CPU) != 0; }
  bool is_gpu() const { return (type & CL_DEVICE_TYPE_GPU) != 0; }
  /// Matches whole words of the extension string only.
  bool has(std::string_view extension) const;
};

namespace detail {

/// @name Numbers of extensions, newer than some packaged headers.
/// @source cl_ext.h
inline constexpr cl_uint kMemoryOpaqueFd = 0x2060, kMemoryDmabuf = 0x2067;
inline constexpr cl_uint kSemaphoreOpaqueFd = 0x2055, kSemaphoreSyncFd = 0x2058;
inline constexpr cl_device_info kMemoryImports = 0x204F, kLinearImageImports = 0x2052;
inline constexpr cl_device_info kSemaphoreImports = 0x204D, kSemaphoreExports = 0x204E;

inline bool contains(const std::vector<cl_uint>& list, cl_uint value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

template <typename T>
T device_info(cl_device_id id, cl_device_info key) {
  return info<T>(clGetDeviceInfo, "clGetDeviceInfo", id, key);
}

Device read_device(cl_device_id id);

/// @name As the driver states it (cl_khr_device_uuid, cl_khr_pci_bus_info). @errors those of the query.
std::optional<std::array<std::uint8_t, 16>> uuid_of(const Device& device);
std::optional<PciAddress> pci_address_of(const Device& device);

/// All devices of all platforms, the likely choice first: GPUs with memory of their own, GPUs that have the host's, other accelerators, CPUs.
/// Devices of one kind are in the order of their PCI addresses, and of their UUIDs; what drivers do not state leaves the loader's
/// order. Empty without a platform, or if no loader finds one.
/// @param failures  The calls that failed: platforms that neither listed devices nor said that there is none, and devices
/// that do not say what they are. Both are left out.
std::vector<cl_device_id> find_devices(std::vector<Error>& failures);
/// The same, where failures do not matter.
std::vector<cl_device_id> all_devices();

/// A name that can be typed: at most 32 lower-case letters and dashes. "NVIDIA H200" gives "nvidia-h200".
std::string typable(const std::string& name);

/// "pocl-cpu", "nvidia-h200". CPUs are named by platform, because all drivers report the same CPU name.
std::string short_name(const Device& device);

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
