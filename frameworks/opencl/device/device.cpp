// SPDX-License-Identifier: Apache-2.0
// Facts about devices: queries, extension strings, names.
#include <tenon/frameworks/opencl/device.hpp>

#include <compare>
#include <cstdio>
#include <iterator>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/frameworks/opencl/newer_calls.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

TENON_INLINE bool Device::has(std::string_view extension) const {
  const std::string_view all(extensions);
  for (std::size_t at = all.find(extension); at != all.npos; at = all.find(extension, at + 1)) {
    const std::size_t end = at + extension.size();
    if ((at == 0 || all[at - 1] == ' ') && (end == all.size() || all[end] == ' ')) return true;
  }
  return false;
}

namespace detail {

TENON_INLINE std::optional<std::array<std::uint8_t, 16>> uuid_of(const Device& device) {
  constexpr cl_device_info kUuid = 0x106A;  // CL_DEVICE_UUID_KHR: newer than some packaged headers.
  if (!device.has("cl_khr_device_uuid")) return std::nullopt;
  return device_info<std::array<std::uint8_t, 16>>(device.id, kUuid);
}

TENON_INLINE std::optional<PciAddress> pci_address_of(const Device& device) {
  constexpr cl_device_info kPci = 0x410F;  // CL_DEVICE_PCI_BUS_INFO_KHR.
  if (!device.has("cl_khr_pci_bus_info")) return std::nullopt;
  return device_info<PciAddress>(device.id, kPci);
}

TENON_INLINE DeviceIdentity identity_of(const Device& device) {
  DeviceIdentity identity;
  // Two drivers for one CPU give two UUIDs, and both mean the CPU.
  if (device.is_cpu()) return identity.set(kHostCpu, std::uint8_t{1});
  if (const auto uuid = uuid_of(device)) {
    constexpr cl_device_info kLuidValid = 0x106C, kLuid = 0x106D;
    identity.set(kDeviceUuid, *uuid);
    if (device_info<cl_bool>(device.id, kLuidValid) == CL_TRUE)
      identity.set(kDeviceLuid, device_info<std::array<std::uint8_t, 8>>(device.id, kLuid));
  }
  if (const auto address = pci_address_of(device)) identity.set(kPciAddress, *address);
  return identity;
}

/// "OpenCL 3.0 PoCL ..." gives 30.
TENON_INLINE int version_of(const std::string& text) {
  int major = 1, minor = 0;
  return std::sscanf(text.c_str(), "OpenCL %d.%d", &major, &minor) == 2 ? 10 * major + minor : 10;
}

/// A list of handle types, as far as the extensions that define them are there.
TENON_INLINE std::vector<cl_uint> handle_types(const Device& device, cl_device_info key) {
  struct Known {
    cl_uint type;
    const char* extension;
  };
  constexpr Known kKnown[] = {{kMemoryOpaqueFd, "cl_khr_external_memory_opaque_fd"},
                              {kMemoryDmabuf, "cl_khr_external_memory_dma_buf"},
                              {kSemaphoreOpaqueFd, "cl_khr_external_semaphore_opaque_fd"},
                              {kSemaphoreSyncFd, "cl_khr_external_semaphore_sync_fd"}};
  std::vector<cl_uint> found = info_list<cl_uint>(clGetDeviceInfo, "clGetDeviceInfo", device.id, key);
  const auto undeclared = [&](cl_uint type) {
    return std::none_of(std::begin(kKnown), std::end(kKnown),
                        [&](const Known& known) { return known.type == type && device.has(known.extension); });
  };
  found.erase(std::remove_if(found.begin(), found.end(), undeclared), found.end());
  return found;
}

TENON_INLINE void read_handle_types(Device& device) {
  if (device.version >= 30 && device.has("cl_khr_external_memory") && newer_calls().has_properties()) {
    device.memory_imports = handle_types(device, kMemoryImports);
    try {
      device.linear_image_imports = handle_types(device, kLinearImageImports);
    } catch (const Error&) {  // Drivers of the extension's first revisions do not know the question.
    }
  }
  if (device.has("cl_khr_external_semaphore")) {
    device.semaphore_imports = handle_types(device, kSemaphoreImports);
    device.semaphore_exports = handle_types(device, kSemaphoreExports);
  }
}

TENON_INLINE Device read_device(cl_device_id id) {
  Device device;
  device.id = id;
  device.platform = device_info<cl_platform_id>(id, CL_DEVICE_PLATFORM);
  device.type = device_info<cl_device_type>(id, CL_DEVICE_TYPE);
  device.name = info_text(clGetDeviceInfo, "clGetDeviceInfo", id, CL_DEVICE_NAME);
  device.platform_name = info_text(clGetPlatformInfo, "clGetPlatformInfo", device.platform, CL_PLATFORM_NAME);
  device.extensions = info_text(clGetDeviceInfo, "clGetDeviceInfo", id, CL_DEVICE_EXTENSIONS);
  device.version = version_of(info_text(clGetDeviceInfo, "clGetDeviceInfo", id, CL_DEVICE_VERSION));
  device.base_alignment = std::max<std::size_t>(device_info<cl_uint>(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8, 1);
  device.max_allocation = device_info<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  device.host_unified = device_info<cl_bool>(id, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE;
  if (device_info<cl_bool>(id, CL_DEVICE_IMAGE_SUPPORT) == CL_TRUE) {
    device.max_width = device_info<std::size_t>(id, CL_DEVICE_IMAGE2D_MAX_WIDTH);
    device.max_height = device_info<std::size_t>(id, CL_DEVICE_IMAGE2D_MAX_HEIGHT);
  }
  if (device.version >= 20 && newer_calls().has_svm())
    device.svm = device_info<cl_device_svm_capabilities>(id, CL_DEVICE_SVM_CAPABILITIES);
  device.usm = device.has("cl_intel_unified_shared_memory");
  device.out_of_order = (device_info<cl_command_queue_properties>(id, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES) &
                         CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
  if (device.has("cl_khr_image2d_from_buffer") && device.max_width) {
    device.image_from_buffer = true;
    device.image_pitch_alignment = std::max<std::size_t>(device_info<cl_uint>(id, CL_DEVICE_IMAGE_PITCH_ALIGNMENT), 1);
  }
  read_handle_types(device);
  device.identity = identity_of(device);
  return device;
}

/// What a call lists that says how many there are when it is asked for none. @param none  The code that says so.
template <typename Id, typename Ask>
std::vector<Id> listed(const Ask& ask, const char* function, cl_int none, std::vector<Error>& failures) {
  cl_uint count = 0;
  std::vector<Id> ids;
  try {
    const cl_int status = ask(cl_uint{0}, static_cast<Id*>(nullptr), &count);
    if (status == none || (status == CL_SUCCESS && count == 0)) return ids;
    check(status, function, "looking for devices");
    ids.resize(count);
    check(ask(count, ids.data(), static_cast<cl_uint*>(nullptr)), function, "looking for devices");
    return ids;
  } catch (const Error& error) {
    failures.push_back(error);
    return {};
  }
}

/// Where a device stands among all: its kind, then what its driver states, which is the same whatever the loader's order is.
struct DevicePlace {
  int kind = 0;
  bool has_no_address = true;
  std::array<std::uint32_t, 4> address{};
  std::array<std::uint8_t, 16> uuid{};
  friend auto operator<=>(const DevicePlace&, const DevicePlace&) = default;
};

TENON_INLINE DevicePlace device_place(const Device& device) {
  DevicePlace place;
  if (device.is_cpu()) return {3};  // Drivers make their UUIDs up.
  place.kind = !device.is_gpu() ? 2 : device.host_unified ? 1 : 0;
  const auto address = pci_address_of(device);
  place.has_no_address = !address;
  if (address) place.address = {address->domain, address->bus, address->device, address->function};
  place.uuid = uuid_of(device).value_or(place.uuid);
  return place;
}

TENON_INLINE std::vector<cl_device_id> find_devices(std::vector<Error>& failures) {
  constexpr cl_int kNoPlatform = -1001;  // The loader's CL_PLATFORM_NOT_FOUND_KHR.
  std::vector<std::pair<DevicePlace, cl_device_id>> placed;
  for (const cl_platform_id platform : listed<cl_platform_id>(
           [](auto... given) { return call(clGetPlatformIDs, given...); }, "clGetPlatformIDs", kNoPlatform, failures)) {
    const auto devices = listed<cl_device_id>(
        [&](auto... given) { return call(clGetDeviceIDs, platform, cl_device_type{CL_DEVICE_TYPE_ALL}, given...); },
        "clGetDeviceIDs", CL_DEVICE_NOT_FOUND, failures);
    for (const cl_device_id id : devices) {
      try {
        placed.emplace_back(device_place(read_device(id)), id);
      } catch (const Error& error) {
        failures.push_back(error);
      }
    }
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<cl_device_id> all;
  for (const auto& [place, id] : placed) all.push_back(id);
  return all;
}

TENON_INLINE std::vector<cl_device_id> all_devices() {
  std::vector<Error> failures;
  return find_devices(failures);
}

TENON_INLINE std::string typable(const std::string& name) {
  constexpr std::size_t kLongest = 32;
  std::string text;
  for (std::string_view rest(name); !rest.empty() && text.size() < kLongest; rest.remove_prefix(1)) {
    if (rest.starts_with("(R)") || rest.starts_with("(TM)")) rest.remove_prefix(rest.find(')'));
    const char c = rest.front();
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) {
      text += c;
    } else if (c >= 'A' && c <= 'Z') {
      text += static_cast<char>(c - 'A' + 'a');
    } else if (!text.empty() && text.back() != '-') {
      text += '-';
    }
  }
  while (!text.empty() && text.back() == '-') text.pop_back();
  return text;
}

TENON_INLINE std::string short_name(const Device& device) {
  if (!device.is_cpu()) return typable(device.name);
  const std::string platform =
      device.platform_name == "Portable Computing Language" ? std::string("pocl") : typable(device.platform_name);
  return platform.substr(0, platform.find('-')) + "-cpu";
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
