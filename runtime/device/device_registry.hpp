// SPDX-License-Identifier: Apache-2.0
// Devices that are linked into the program instead of lying in a module beside the runtime.
#pragma once

#include <string>

#include <tenon/core/export.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon {
inline namespace v1 {

/// Makes a device known to every Core created afterwards; it takes precedence over modules found in folders. `module`
/// must stay valid for ever.  @errors kAlreadyExists  the name is taken;  kInvalidArgument  another interface version
/// @thread any
TENON_API void register_device(const DeviceModule& module);
/// Undoes register_device; Cores that already use the device keep it. @return False: it was not registered.
TENON_API bool unregister_device(const std::string& name);

}  // namespace v1
}  // namespace tenon
