// SPDX-License-Identifier: Apache-2.0
// Properties of the device AUTO alone, with OpenVINO's keys, and one that Tenon adds.
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

/// What Tenon adds.
namespace auto_device {

/// With PERFORMANCE_HINT THROUGHPUT: the model is compiled for every device of the list that has the first one's name, GPU.0 and GPU.1, and
/// requests are handed to them in turn, where else the first device has all of them. NO by default; without effect under other hints
/// (CUMULATIVE_THROUGHPUT uses all devices of the list).
inline constexpr Property<bool> spreads_throughput{"AUTO_SPREADS_THROUGHPUT"};

}  // namespace auto_device
}  // namespace v1
}  // namespace tenon
