// SPDX-License-Identifier: Apache-2.0
// zeInit, zeInitDrivers and zeDriver*.
#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include <tenon/drivers/npu/calls/calls.hpp>
#include <tenon/drivers/npu/calls/extensions.hpp>
#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/dispatch.hpp>
#include <tenon/drivers/npu/objects/settings.hpp>

namespace tenon::npu {
namespace {

std::atomic<bool> initialised{false};

/// Clients compare it with the versions of the vendor's driver, which count seconds; ours
/// counts days and is larger.
constexpr std::uint32_t kDriverVersion = 2'026'112'100;

/// Null without memory. The first call reports invalid settings.
Driver* get_driver() noexcept try {
  [[maybe_unused]] static const bool reported = (report_unknown_settings(), true);
  return Driver::get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

ze_result_t give_driver(std::uint32_t* count, ze_driver_handle_t* drivers) {
  Driver* driver = get_driver();
  if (!driver) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  return enumerate(count, drivers, 1, [&](std::uint32_t, ze_driver_handle_t& entry) { entry = driver->handle(); });
}

ze_result_t make_driver() {
  Driver* driver = get_driver();
  if (!driver) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  if (driver->devices().empty()) return ZE_RESULT_ERROR_UNINITIALIZED;
  initialised.store(true);
  return ZE_RESULT_SUCCESS;
}

}  // namespace

namespace calls {

ze_result_t init(ze_init_flags_t flags) {
  constexpr ze_init_flags_t kKnown = ZE_INIT_FLAG_GPU_ONLY | ZE_INIT_FLAG_VPU_ONLY;
  if (flags & ~kKnown) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (const ze_result_t result = check_not_forked()) return result;
  if (flags == ZE_INIT_FLAG_GPU_ONLY) return ZE_RESULT_ERROR_UNINITIALIZED;
  const ze_result_t result = make_driver();
  if (result != ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY) return result;
  // Loaders keep the first answer as long as the process lives. What is missing now may be there later: zeDriverGet tries again, and says it.
  initialised.store(true);
  return ZE_RESULT_SUCCESS;
}

ze_result_t init_drivers(std::uint32_t* count, ze_driver_handle_t* drivers, abi::InitDriverTypeDescriptor* descriptor) {
  if (!count || !descriptor) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (descriptor->flags == 0) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (const ze_result_t result = check_not_forked()) return result;
  if (!(descriptor->flags & abi::kInitNpu)) {
    *count = 0;
    return ZE_RESULT_SUCCESS;
  }
  if (const ze_result_t result = make_driver()) return result;
  return give_driver(count, drivers);
}

ze_result_t driver_get(std::uint32_t* count, ze_driver_handle_t* drivers) {
  if (!initialised.load()) return ZE_RESULT_ERROR_UNINITIALIZED;
  if (const ze_result_t result = check_not_forked()) return result;
  return give_driver(count, drivers);
}

ze_result_t driver_get_api_version(ze_driver_handle_t handle, ze_api_version_t* version) {
  Ref<Driver> driver;
  if (const ze_result_t result = acquire(handle, &driver)) return result;
  if (!version) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *version = static_cast<ze_api_version_t>(api_version());
  return ZE_RESULT_SUCCESS;
}

ze_result_t driver_get_properties(ze_driver_handle_t handle, ze_driver_properties_t* properties) {
  Ref<Driver> driver;
  if (const ze_result_t result = acquire(handle, &driver)) return result;
  if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  std::memcpy(properties->uuid.id, abi::kNpuDriverUuid, sizeof properties->uuid.id);
  properties->driverVersion = driver_version(kDriverVersion);
  return visit_chain(properties->pNext, [](std::uint32_t stype, const abi::ChainLink* link) {
    if (stype == abi::DriverHandleProperties{}.stype) {
      auto* found = reinterpret_cast<abi::DriverHandleProperties*>(const_cast<abi::ChainLink*>(link));
      found->flags = is_offered("ddi") ? 1 : 0;
    }
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t driver_get_ipc_properties(ze_driver_handle_t handle, ze_driver_ipc_properties_t* properties) {
  Ref<Driver> driver;
  if (const ze_result_t result = acquire(handle, &driver)) return result;
  if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  properties->flags = ZE_IPC_PROPERTY_FLAG_MEMORY;  // Events are words of their process.
  return ZE_RESULT_SUCCESS;
}

ze_result_t driver_get_extension_function_address(ze_driver_handle_t handle, const char* name, void** address) {
  Ref<Driver> driver;
  if (const ze_result_t result = acquire(handle, &driver)) return result;
  if (!name || !address) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *address = extension_function(name);
  return *address ? ZE_RESULT_SUCCESS
                  : fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "this driver has no extension of that name");
}

ze_result_t driver_get_last_error_description(ze_driver_handle_t handle, const char** text) {
  Ref<Driver> driver;
  if (check_not_forked() == ZE_RESULT_SUCCESS) {  // A forked process gets this error instead.
    if (const ze_result_t result = acquire(handle, &driver)) return result;
  }
  if (!text) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *text = last_error().c_str();
  return ZE_RESULT_SUCCESS;
}

}  // namespace calls
}  // namespace tenon::npu
