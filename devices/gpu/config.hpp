// SPDX-License-Identifier: Apache-2.0
// Settings of the GPU device and of its compiled models.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/target.hpp>
#include <tenon/runtime/device/property_table.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/property.hpp>

namespace tenon::inline v1::gpu_device {

/// What users can set.
struct Config {
  hint::PerformanceMode mode = hint::PerformanceMode::LATENCY;
  std::uint32_t num_requests = 0;  ///< 0: unknown.
  streams::Num num_streams = streams::AUTO;
  bool profiling = false;
  hint::ExecutionMode execution_mode = hint::ExecutionMode::PERFORMANCE;
  element::Type precision = element::dynamic;
  std::string device_id;
  std::string cache_dir;  ///< Where programs are kept; empty: nowhere.

  std::uint32_t stream_count() const {
    if (num_streams > 0) return static_cast<std::uint32_t>(static_cast<int>(num_streams));
    return mode == hint::PerformanceMode::LATENCY ? 1 : 2;
  }

  /// f16 if it is asked for; by default where matrices of f16 are much faster, unless accuracy is asked for.
  Target target_of(Target device) const {
    const bool is_default = precision == element::dynamic && execution_mode == hint::ExecutionMode::PERFORMANCE;
    device.stores_f16 = precision == element::f16 || (is_default && device.matrices != Target::Matrices::kPortable);
    return device;
  }

  /// One declaration serves reading, writing, checking and SUPPORTED_PROPERTIES.
  void declare(PropertyTable& table) {
    table.add_value(hint::performance_mode, mode);
    table.add_value(hint::num_requests, num_requests);
    table.add_value(tenon::num_streams, num_streams);
    table.add_value(enable_profiling, profiling);
    table.add_value(hint::execution_mode, execution_mode);
    table.add(
        hint::inference_precision, [this] { return Any(precision); },
        [this](const Any& value, bool apply) {
          const auto type = value.as<element::Type>();
          if (type != element::f32 && type != element::f16 && type != element::dynamic)
            throw Error(Code::kInvalidArgument, "\"" + value.to_text() + "\" is not f32, f16 or dynamic");
          if (apply) precision = type;
        });
    table.add_value(device::id, device_id);
    table.add_value(tenon::cache_dir, cache_dir);
  }
};

}  // namespace tenon::inline v1::gpu_device
