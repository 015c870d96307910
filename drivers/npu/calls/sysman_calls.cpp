// SPDX-License-Identifier: Apache-2.0
// zes*: a device's name, activity, clock, memory and power. Its parts are one engine, one clock, one memory and one power
// domain. Activity is this process's, from zesInit on: a software device is not shared.
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <string>

#include <tenon/drivers/npu/calls/tools_calls.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>
#include <tenon/drivers/npu/run/throughput.hpp>

namespace tenon::npu {
namespace {

/// There is no meter: energy is the active time at this nominal power, so that clients see a counter that grows with work.
constexpr std::uint64_t kNominalMilliwatts = 10'000;

/// A part of a device. @tparam ZesHandle  The type of its handles.
template <Kind kPart, class ZesHandle>
class DevicePart final : public Object {
 public:
  using Handle = ZesHandle;
  static constexpr Kind kKind = kPart;
  explicit DevicePart(Device& owner) : device(owner) {}
  ZesHandle handle() const noexcept { return static_cast<ZesHandle>(Object::handle()); }
  Device& device;
};
using Engine = DevicePart<Kind::kEngine, zes_engine_handle_t>;
using Frequency = DevicePart<Kind::kFrequency, zes_freq_handle_t>;
using MemoryModule = DevicePart<Kind::kMemoryModule, zes_mem_handle_t>;
using Power = DevicePart<Kind::kPower, zes_pwr_handle_t>;

ze_result_t acquire_device_of(zes_device_handle_t handle, Ref<Device>* device) {
  return acquire(static_cast<ze_device_handle_t>(static_cast<void*>(handle)), device);
}

template <class Part>
ze_result_t enumerate_part(zes_device_handle_t handle, std::uint32_t* count, typename Part::Handle* parts) {
  Ref<Device> device;
  if (const ze_result_t result = acquire_device_of(handle, &device)) return result;
  const Part* part = only_object_of<Part>(*device);
  if (!part) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  return enumerate(count, parts, 1, [part](std::uint32_t, typename Part::Handle& entry) { entry = part->handle(); });
}

/// Resolves a part's handle and checks that `out` is not null.
template <class Part, class T>
ze_result_t start_part(typename Part::Handle handle, const T* out, Ref<Part>* part) {
  if (const ze_result_t result = acquire(handle, part)) return result;
  return out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

template <std::size_t kSize>
void copy_text(char (&to)[kSize], const std::string& from) {
  std::memset(to, 0, kSize);
  std::memcpy(to, from.data(), std::min(from.size(), kSize - 1));
}

double clock_mhz(Device& device) {
  const auto tiles = static_cast<std::uint32_t>(device.platform().max_tiles);
  return throughput(tiles, device.workers().threads()).clock_hz / 1e6;
}

}  // namespace

namespace calls {

ze_result_t sysman_init(std::uint32_t flags) {
  constexpr std::uint32_t kKnown = 1;  // A placeholder.
  if (flags & ~kKnown) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (const ze_result_t result = init(0)) return result;
  for (Device* device : Driver::get()->devices()) device->activity().watch();
  return ZE_RESULT_SUCCESS;
}

ze_result_t sysman_driver_get(std::uint32_t* count, zes_driver_handle_t* drivers) {
  return driver_get(count, reinterpret_cast<ze_driver_handle_t*>(drivers));
}

ze_result_t sysman_device_get(zes_driver_handle_t driver, std::uint32_t* count, zes_device_handle_t* devices) {
  return device_get(static_cast<ze_driver_handle_t>(static_cast<void*>(driver)), count,
                    reinterpret_cast<ze_device_handle_t*>(devices));
}

ze_result_t sysman_device_get_properties(zes_device_handle_t handle, zes_device_properties_t* properties) try {
  Ref<Device> device;
  if (const ze_result_t result = acquire_device_of(handle, &device)) return result;
  if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  properties->core.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  properties->core.pNext = nullptr;
  if (const ze_result_t result = device_get_properties(device->handle(), &properties->core)) return result;
  properties->numSubdevices = 0;
  copy_text(properties->serialNumber, "unknown");
  copy_text(properties->boardNumber, "unknown");
  copy_text(properties->brandName, "NPU");
  copy_text(properties->modelName, device_name(*device));
  copy_text(properties->vendorName, is_as_hardware() ? "INTEL" : "Tenon");
  copy_text(properties->driverVersion, is_as_hardware() ? "npu-linux-driver-tenon" : "tenon");
  return ZE_RESULT_SUCCESS;
} catch (...) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t sysman_device_get_state(zes_device_handle_t handle, zes_device_state_t* state) {
  Ref<Device> device;
  if (const ze_result_t result = acquire_device_of(handle, &device)) return result;
  if (!state) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  state->reset = 0;
  state->repaired = ZES_REPAIR_STATUS_UNSUPPORTED;
  return ZE_RESULT_SUCCESS;
}

ze_result_t sysman_device_processes_get_state(zes_device_handle_t handle, std::uint32_t* count,
                                              zes_process_state_t* processes) {
  Ref<Device> device;
  if (const ze_result_t result = acquire_device_of(handle, &device)) return result;
  return enumerate(count, processes, 1, [&](std::uint32_t, zes_process_state_t& process) {
    process.processId = static_cast<std::uint32_t>(::getpid());
    process.memSize = device->memory()->used();
    process.sharedSize = 0;
    process.engines = ZES_ENGINE_TYPE_FLAG_COMPUTE;
  });
}

ze_result_t sysman_device_pci_get_properties(zes_device_handle_t handle, zes_pci_properties_t* properties) {
  Ref<Device> device;
  if (const ze_result_t result = acquire_device_of(handle, &device)) return result;
  if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  ze_pci_ext_properties_t core = {};
  core.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES;
  if (const ze_result_t result = device_pci_get_properties(device->handle(), &core)) return result;
  properties->address = {core.address.domain, core.address.bus, core.address.device, core.address.function};
  properties->maxSpeed.gen = properties->maxSpeed.width = -1;
  properties->maxSpeed.maxBandwidth = -1;
  properties->haveBandwidthCounters = properties->havePacketCounters = properties->haveReplayCounters = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t sysman_enum_engines(zes_device_handle_t device, std::uint32_t* count, zes_engine_handle_t* engines) {
  return enumerate_part<Engine>(device, count, engines);
}
ze_result_t sysman_enum_frequencies(zes_device_handle_t device, std::uint32_t* count, zes_freq_handle_t* domains) {
  return enumerate_part<Frequency>(device, count, domains);
}
ze_result_t sysman_enum_memories(zes_device_handle_t device, std::uint32_t* count, zes_mem_handle_t* modules) {
  return enumerate_part<MemoryModule>(device, count, modules);
}
ze_result_t sysman_enum_powers(zes_device_handle_t device, std::uint32_t* count, zes_pwr_handle_t* domains) {
  return enumerate_part<Power>(device, count, domains);
}
ze_result_t sysman_enum_nothing(zes_device_handle_t handle, std::uint32_t* count, void*) {
  Ref<Device> device;
  if (const ze_result_t result = acquire_device_of(handle, &device)) return result;
  if (!count) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t engine_get_properties(zes_engine_handle_t handle, zes_engine_properties_t* properties) {
  Ref<Engine> engine;
  if (const ze_result_t result = start_part(handle, properties, &engine)) return result;
  properties->type = ZES_ENGINE_GROUP_COMPUTE_ALL;
  properties->onSubdevice = 0;
  properties->subdeviceId = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t engine_get_activity(zes_engine_handle_t handle, zes_engine_stats_t* stats) {
  Ref<Engine> engine;
  if (const ze_result_t result = start_part(handle, stats, &engine)) return result;
  engine->device.activity().watch();  // For clients of the old way in, without zesInit.
  stats->activeTime = engine->device.activity().active_ns() / 1000;
  stats->timestamp = now_ns() / 1000;
  return ZE_RESULT_SUCCESS;
}

ze_result_t frequency_get_properties(zes_freq_handle_t handle, zes_freq_properties_t* properties) {
  Ref<Frequency> domain;
  if (const ze_result_t result = start_part(handle, properties, &domain)) return result;
  properties->type = ZES_FREQ_DOMAIN_GPU;  // The clock of computing; there is no type for NPUs.
  properties->onSubdevice = 0;
  properties->subdeviceId = 0;
  properties->canControl = 0;
  properties->isThrottleEventSupported = 0;
  properties->min = properties->max = clock_mhz(domain->device);
  return ZE_RESULT_SUCCESS;
}

ze_result_t frequency_get_available_clocks(zes_freq_handle_t handle, std::uint32_t* count, double* clocks) {
  Ref<Frequency> domain;
  if (const ze_result_t result = acquire(handle, &domain)) return result;
  return enumerate(count, clocks, 1, [&](std::uint32_t, double& clock) { clock = clock_mhz(domain->device); });
}

ze_result_t frequency_get_range(zes_freq_handle_t handle, zes_freq_range_t* range) {
  Ref<Frequency> domain;
  if (const ze_result_t result = start_part(handle, range, &domain)) return result;
  range->min = range->max = clock_mhz(domain->device);
  return ZE_RESULT_SUCCESS;
}

ze_result_t frequency_get_state(zes_freq_handle_t handle, zes_freq_state_t* state) {
  Ref<Frequency> domain;
  if (const ze_result_t result = start_part(handle, state, &domain)) return result;
  const double clock = clock_mhz(domain->device);
  state->currentVoltage = -1;
  state->request = state->tdp = state->efficient = clock;
  state->actual = domain->device.activity().is_active() ? clock : 0;
  state->throttleReasons = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t memory_get_properties(zes_mem_handle_t handle, zes_mem_properties_t* properties) {
  Ref<MemoryModule> module;
  if (const ze_result_t result = start_part(handle, properties, &module)) return result;
  properties->type = ZES_MEM_TYPE_DDR;
  properties->onSubdevice = 0;
  properties->subdeviceId = 0;
  properties->location = ZES_MEM_LOC_SYSTEM;
  properties->physicalSize = machine_memory_bytes();
  properties->busWidth = properties->numChannels = -1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t memory_get_state(zes_mem_handle_t handle, zes_mem_state_t* state) {
  Ref<MemoryModule> module;
  if (const ze_result_t result = start_part(handle, state, &module)) return result;
  state->health = ZES_MEM_HEALTH_OK;
  state->size = machine_memory_bytes();
  state->free = state->size - std::min<std::uint64_t>(process_memory().used(), state->size);
  return ZE_RESULT_SUCCESS;
}

ze_result_t power_get_properties(zes_pwr_handle_t handle, zes_power_properties_t* properties) {
  Ref<Power> domain;
  if (const ze_result_t result = start_part(handle, properties, &domain)) return result;
  properties->onSubdevice = 0;
  properties->subdeviceId = 0;
  properties->canControl = 0;
  properties->isEnergyThresholdSupported = 0;
  properties->defaultLimit = properties->minLimit = properties->maxLimit = -1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t power_get_energy_counter(zes_pwr_handle_t handle, zes_power_energy_counter_t* energy) {
  Ref<Power> domain;
  if (const ze_result_t result = start_part(handle, energy, &domain)) return result;
  energy->energy = domain->device.activity().active_ns() / 1'000'000 * kNominalMilliwatts;  // Microjoules.
  energy->timestamp = now_ns() / 1000;
  return ZE_RESULT_SUCCESS;
}

}  // namespace calls
}  // namespace tenon::npu
