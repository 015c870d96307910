// SPDX-License-Identifier: Apache-2.0
// Properties of the device AUTO alone, with OpenVINO's keys.
#pragma once

#include <tenon/runtime/property.hpp>

namespace tenon {
inline namespace v1 {
namespace intel_auto {

/// Infer on the CPU while a device of higher priority still compiles.
inline constexpr Property<bool> enable_startup_fallback{"ENABLE_STARTUP_FALLBACK"};
/// Go on with the next device when an inference fails.
inline constexpr Property<bool> enable_runtime_fallback{"ENABLE_RUNTIME_FALLBACK"};

/// Choice of the device for the next request in cumulative throughput mode.
enum class SchedulePolicy { ROUND_ROBIN = 0, DEVICE_PRIORITY = 1, DEFAULT = DEVICE_PRIORITY };
TENON_ENUM_TEXT(SchedulePolicy, "schedule policy",
                {{SchedulePolicy::ROUND_ROBIN, "ROUND_ROBIN"},
                 {SchedulePolicy::DEVICE_PRIORITY, "DEVICE_PRIORITY"},
                 {SchedulePolicy::DEFAULT, "DEFAULT"}})
inline constexpr Property<SchedulePolicy> schedule_policy{"SCHEDULE_POLICY"};

}  // namespace intel_auto
}  // namespace v1
}  // namespace tenon
