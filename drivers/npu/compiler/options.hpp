// SPDX-License-Identifier: Apache-2.0
// Options of a compilation (--config), and the target that they give on a platform.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/element_type.hpp>  // IWYU pragma: export
#include <tenon/core/npu_platforms.hpp>

namespace tenon::npu::compiler {

/// The newest operation set that clients may use.
inline constexpr std::uint32_t kMaxOpset = 17;

using Platform = NpuPlatform;

enum class Hint : std::uint8_t { kUndefined, kLatency, kThroughput };
enum class Precision : std::uint8_t { kDefault, kF32, kF16, kBf16, kI8 };
enum class LogLevel : std::uint8_t { kNone, kError, kWarning, kInfo, kDebug, kTrace };

/// The options as given; -1 means "not given". docs/properties.md describes the effect of each.
struct Options {
  Hint hint = Hint::kUndefined;
  Precision precision = Precision::kDefault;
  bool wants_accuracy = false;  ///< EXECUTION_MODE_HINT=ACCURACY: nothing is rounded below f32.
  bool profiling = false;
  bool turbo = false;
  bool reference_kernels = false;  ///< NPU_COMPILATION_MODE=ReferenceSW.
  bool dynamic_to_static = false;  ///< NPU_DYNAMIC_SHAPE_TO_STATIC: compiled at the upper bounds.
  std::uint32_t platform = 0;      ///< 0: the device's platform.
  int tiles = -1, max_tiles = -1, dma_engines = -1;
  int compilation_threads = -1;
  int optimization_level = 1;               ///< 0 to 3; 3 equals 2.
  bool prefers_latency = false;             ///< performance-hint-override=latency.
  bool keeps_f32 = false;                   ///< convert-precision-to-fp16=false; same as wants_accuracy.
  std::vector<std::string> precise_layers;  ///< compute-layers-with-higher-precision: types, see precise_layers.hpp.
  std::vector<std::string> idle_params;     ///< NPU_COMPILATION_MODE_PARAMS: known "name=value" without effect.
  std::vector<std::string> warnings;        ///< For the build log: unknown parameters.
  std::vector<std::string> strided;         ///< Arguments that may have strides: NPU_ENABLE_STRIDES_FOR.
  LogLevel log = LogLevel::kNone;
};

/// The target that a plan is made for.
struct Target {
  Platform platform;
  int max_tiles = 1;
  int tiles = 1;
  int dma_engines = 1;  ///< Threads that copy arguments which cannot be used in place.
  bool turbo = false;
  /// Compute threads: one per tile, with turbo for all tiles; their share if this process has fewer CPUs than the
  /// platform has tiles.
  int workers() const;
};

/// @param device  Its platform is used if the options name none.
/// @errors kInvalidArgument: more tiles than the platform has (names both numbers).
Target resolve(const Options& options, const Platform& device);

/// Sets one option. @errors kUnimplemented: unknown option (lists those that exist); kInvalidArgument: invalid
/// value (lists the valid ones).
void set_option(Options& options, std::string_view key, std::string_view value);

/// Names of all options, in order.
std::vector<std::string> supported_options();
/// @param value  nullopt asks about the option itself.
bool is_option_supported(std::string_view key, std::optional<std::string_view> value);

}  // namespace tenon::npu::compiler
