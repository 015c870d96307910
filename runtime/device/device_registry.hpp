// SPDX-License-Identifier: Apache-2.0
// Devices that are linked into the program instead of lying in a module beside the runtime.
#pragma once

#include <tenon/runtime/device/device.hpp>

namespace tenon {
inline namespace v1 {

/// Makes a device known to every Core made afterwards, before modules of the same name. The module lives for ever.
/// @errors kAlreadyExists  another module of that name;  kInvalidArgument  built for another version of the interface
/// @thread any
TENON_API void register_device(const DeviceModule& module);
/// Undoes register_device; Cores that already use the device keep it. @return false when it was not known.
TENON_API bool unregister_device(const std::string& name);

}  // namespace v1
}  // namespace tenon
