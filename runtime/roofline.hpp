// SPDX-License-Identifier: Apache-2.0
// The roofline of a device: the rates of its memory and its arithmetic, which the device measures itself.
#pragma once

#include <tenon/runtime/property.hpp>

namespace tenon {
inline namespace v1 {
namespace device {

/// Bytes per second that a kernel moves through the device's memory, read and written together. Together with device::gops
/// it is the roof of a kernel of so many bytes and operations (two for each multiply-add). Devices that answer it measure
/// both, once per process: the first question takes up to a second.
inline constexpr Property<double, PropertyMutability::RO> memory_bandwidth{"TENON_MEMORY_BANDWIDTH"};

}  // namespace device
}  // namespace v1
}  // namespace tenon
