// SPDX-License-Identifier: Apache-2.0
// zeDevice*: properties of a device. Values are the machine's, or 0 if unknown.
#include <cstring>
#include <string>

#include <tenon/drivers/npu/calls/calls.hpp>
#include <tenon/drivers/npu/calls/extensions.hpp>
#include <tenon/drivers/npu/calls/queue_calls.hpp>
#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/drivers/npu/run/throughput.hpp>

namespace tenon::npu {
namespace {

/// Resolves the device handle and checks that `out` is not null, for calls that fill in one struct.
template <class T>
ze_result_t start(ze_device_handle_t handle, const T* out, Ref<Device>* device) {
  if (const ze_result_t result = acquire(handle, device)) return result;
  return out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

/// Zeroes all after stype and pNext, for structs of features that do not exist here.
template <class T>
void clear(T* properties) {
  const auto stype = properties->stype;
  void* const next = properties->pNext;
  std::memset(properties, 0, sizeof *properties);
  properties->stype = stype;
  properties->pNext = next;
}

template <std::size_t kSize>
void copy_name(char (&to)[kSize], const char* from) {
  std::memset(to, 0, kSize);
  std::strncpy(to, from, kSize - 1);
}

}  // namespace

std::string device_name(const Device& device) {
  if (is_as_hardware()) return "Intel(R) AI Boost";
  return "Tenon(TM) software NPU " + std::to_string(device.platform().number);
}

namespace calls {

ze_result_t device_get(ze_driver_handle_t handle, std::uint32_t* count, ze_device_handle_t* devices) {
  Ref<Driver> driver;
  if (const ze_result_t result = acquire(handle, &driver)) return result;
  const auto all = driver->devices();
  return enumerate(count, devices, all.size(),
                   [&](std::uint32_t i, ze_device_handle_t& entry) { entry = all[i]->handle(); });
}

ze_result_t device_get_sub_devices(ze_device_handle_t handle, std::uint32_t* count, ze_device_handle_t* devices) {
  Ref<Device> device;
  if (const ze_result_t result = acquire(handle, &device)) return result;
  return enumerate(count, devices, 0, [](std::uint32_t, ze_device_handle_t&) {});
}

ze_result_t device_get_properties(ze_device_handle_t handle, ze_device_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = start(handle, properties, &device)) return result;
  const Platform& platform = device->platform();
  const auto tiles = static_cast<std::uint32_t>(platform.max_tiles);
  const Throughput speed = throughput(tiles, device->workers().threads());
  properties->type = ZE_DEVICE_TYPE_VPU;
  properties->vendorId = 0x8086;
  properties->deviceId = platform.device_ids[0];
  properties->flags = ZE_DEVICE_PROPERTY_FLAG_INTEGRATED;
  properties->subdeviceId = 0;
  properties->coreClockRate = speed.clock_hz;
  properties->maxMemAllocSize = machine_memory_bytes();
  properties->maxHardwareContexts = kMaxQueues;
  properties->maxCommandQueuePriority = 1;
  properties->numThreadsPerEU = 1;
  properties->physicalEUSimdWidth = speed.operations_per_clock;
  properties->numEUsPerSubslice = 1;
  properties->numSubslicesPerSlice = 1;
  properties->numSlices = tiles;
  // The first version of the struct uses nanoseconds per tick, the second ticks per second.
  properties->timerResolution = properties->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1'000'000'000 : 1;
  properties->timestampValidBits = 64;
  properties->kernelTimestampValidBits = 64;
  const auto uuid = device->uuid();
  std::memcpy(properties->uuid.id, uuid.data(), uuid.size());
  const std::string name = device_name(*device);
  copy_name(properties->name, name.c_str());
  return visit_chain(properties->pNext, [&](std::uint32_t stype, const abi::ChainLink* link) {
    if (stype == abi::kMutableListPropertiesType && is_offered("mutable")) {
      auto* mutable_lists = reinterpret_cast<abi::MutableListProperties*>(const_cast<abi::ChainLink*>(link));
      mutable_lists->list_flags = 0;
      mutable_lists->command_flags = kAnnouncedChanges;
    } else if (stype == abi::DeviceIpVersion{}.stype) {
      reinterpret_cast<abi::DeviceIpVersion*>(const_cast<abi::ChainLink*>(link))->version = platform.number;
    }
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t device_get_compute_properties(ze_device_handle_t handle, ze_device_compute_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = start(handle, properties, &device)) return result;
  clear(properties);  // It runs graphs, not kernels: there are no groups.
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_module_properties(ze_device_handle_t handle, ze_device_module_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = start(handle, properties, &device)) return result;
  clear(properties);
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_command_queue_group_properties(ze_device_handle_t handle, std::uint32_t* count,
                                                      ze_command_queue_group_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = acquire(handle, &device)) return result;
  return enumerate(count, properties, 1, [](std::uint32_t, ze_command_queue_group_properties_t& group) {
    group.flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    group.maxMemoryFillPatternSize = kMaxFillPattern;
    group.numQueues = kMaxQueues;
  });
}

ze_result_t device_get_memory_properties(ze_device_handle_t handle, std::uint32_t* count,
                                         ze_device_memory_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = acquire(handle, &device)) return result;
  return enumerate(count, properties, 1, [](std::uint32_t, ze_device_memory_properties_t& memory) {
    memory.flags = 0;
    memory.maxClockRate = 0;
    memory.maxBusWidth = 0;
    memory.totalSize = machine_memory_bytes();
    copy_name(memory.name, "System memory");
  });
}

ze_result_t device_get_memory_access_properties(ze_device_handle_t handle,
                                                ze_device_memory_access_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = start(handle, properties, &device)) return result;
  constexpr ze_memory_access_cap_flags_t kAll = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT;
  properties->hostAllocCapabilities = kAll;
  properties->deviceAllocCapabilities = kAll;
  properties->sharedSingleDeviceAllocCapabilities = kAll;
  properties->sharedCrossDeviceAllocCapabilities = kAll;
  properties->sharedSystemAllocCapabilities =
      sees_system_memory() ? kAll : 0;  // 0: what was not allocated or imported here is refused.
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_cache_properties(ze_device_handle_t handle, std::uint32_t* count,
                                        ze_device_cache_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = acquire(handle, &device)) return result;
  return enumerate(count, properties, 0, [](std::uint32_t, ze_device_cache_properties_t&) {});
}

ze_result_t device_get_image_properties(ze_device_handle_t handle, ze_device_image_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = start(handle, properties, &device)) return result;
  clear(properties);
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_external_memory_properties(ze_device_handle_t handle,
                                                  ze_device_external_memory_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = start(handle, properties, &device)) return result;
  properties->memoryAllocationImportTypes =
      ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD | ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
  if (is_offered("sysmem")) properties->memoryAllocationImportTypes |= abi::kStandardAllocation;
  properties->memoryAllocationExportTypes = exportable_types();
  properties->imageImportTypes = 0;
  properties->imageExportTypes = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_p2p_properties(ze_device_handle_t handle, ze_device_handle_t peer_handle,
                                      ze_device_p2p_properties_t* properties) {
  Ref<Device> device, peer;
  if (const ze_result_t result = start(handle, properties, &device)) return result;
  if (const ze_result_t result = acquire(peer_handle, &peer)) return result;
  properties->flags = ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_can_access_peer(ze_device_handle_t handle, ze_device_handle_t peer_handle, ze_bool_t* can) {
  Ref<Device> device, peer;
  if (const ze_result_t result = start(handle, can, &device)) return result;
  if (const ze_result_t result = acquire(peer_handle, &peer)) return result;
  *can = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_status(ze_device_handle_t handle) {
  Ref<Device> device;
  return acquire(handle, &device);
}

ze_result_t device_get_global_timestamps(ze_device_handle_t handle, std::uint64_t* host, std::uint64_t* timestamp) {
  Ref<Device> device;
  if (const ze_result_t result = start(handle, host, &device)) return result;
  if (!timestamp) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *host = *timestamp = now_ns();  // Both use one clock.
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_pci_get_properties(ze_device_handle_t handle, ze_pci_ext_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = start(handle, properties, &device)) return result;
  constexpr std::uint32_t kSoftwareDomain = 0x10000;  // Above every PCI segment number: no hardware has it.
  properties->address.domain = kSoftwareDomain;
  properties->address.bus = device->index() & 0xff;
  properties->address.device = 0x0b;
  properties->address.function = 0;
  properties->maxSpeed.genVersion = -1;
  properties->maxSpeed.width = -1;
  properties->maxSpeed.maxBandwidth = -1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_root_device(ze_device_handle_t handle, ze_device_handle_t* root) {
  Ref<Device> device;
  if (const ze_result_t result = start(handle, root, &device)) return result;
  *root = nullptr;  // It is a root device itself.
  return ZE_RESULT_SUCCESS;
}

}  // namespace calls
}  // namespace tenon::npu
