// SPDX-License-Identifier: Apache-2.0
// Properties of the device AUTO alone, with OpenVINO's keys, and one that Tenon adds.
#pragma once

#include <map>
#include <string>

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

/// Kept, and without effect: requests have the tensors of the device that runs them, in any case.
inline constexpr Property<bool> device_bind_buffer{"DEVICE_BIND_BUFFER"};
// The next three are kept, and without effect, since nothing here reports how busy devices are or whether the machine saves power; so it is in
// OpenVINO, where it is built without Intel's platform framework.
/// Percent by device, from which on AUTO would choose another one.
inline constexpr Property<std::map<std::string, unsigned>> devices_utilization_threshold{
    "DEVICES_UTILIZATION_THRESHOLD"};
/// By device (CPU, iGPU, dGPU, NPU), a score for each percent of use; AUTO would choose the device with the lowest.
using PerfCurveTable = std::map<std::string, std::map<unsigned, float>>;
inline constexpr Property<PerfCurveTable> perf_curve_table{"PERF_CURVE_TABLE"};
/// The device that AUTO would choose while the machine saves power.
inline constexpr Property<std::string> low_power_device{"LOW_POWER_DEVICE"};

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
