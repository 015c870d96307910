// SPDX-License-Identifier: Apache-2.0
// What a client may ask of a compilation: the options of --config, and what follows from them for a platform.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/npu_platforms.hpp>

namespace tenon::npu::compiler {

using Platform = NpuPlatform;

enum class Hint : std::uint8_t { kUndefined, kLatency, kThroughput };
enum class Precision : std::uint8_t { kDefault, kF32, kF16, kBf16, kI8 };
enum class LogLevel : std::uint8_t { kNone, kError, kWarning, kInfo, kDebug, kTrace };

/// Options as they were given; -1 means "not given". docs/properties.md says what each does.
struct Options {
  Hint hint = Hint::kUndefined;
  Precision precision = Precision::kDefault;
  bool wants_accuracy = false;  ///< EXECUTION_MODE_HINT=ACCURACY: nothing is rounded below f32.
  bool profiling = false;
  bool turbo = false;
  bool reference_kernels = false;  ///< NPU_COMPILATION_MODE=ReferenceSW.
  bool dynamic_to_static = false;  ///< NPU_DYNAMIC_SHAPE_TO_STATIC: compiled at the upper bounds.
  std::uint32_t platform = 0;      ///< 0: the device's.
  int tiles = -1, max_tiles = -1, dma_engines = -1;
  int compilation_threads = -1;
  int optimization_level = 1;               ///< 0 to 3; 3 is as 2.
  bool prefers_latency = false;             ///< performance-hint-override=latency.
  bool keeps_f32 = false;                   ///< convert-precision-to-fp16=false: as wants_accuracy.
  std::vector<std::string> precise_layers;  ///< compute-layers-with-higher-precision: types, see precise_layers.hpp.
  std::vector<std::string> idle_params;     ///< Of NPU_COMPILATION_MODE_PARAMS: "name=value", known and without effect.
  std::vector<std::string> warnings;        ///< For the build log: what was asked for and is not known.
  std::vector<std::string> strided;         ///< Arguments that may come with strides: NPU_ENABLE_STRIDES_FOR.
  LogLevel log = LogLevel::kNone;
};

/// What a plan is made for.
struct Target {
  Platform platform;
  int max_tiles = 1;
  int tiles = 1;
  int dma_engines = 1;  ///< Threads that move arguments which cannot be used where they lie.
  bool turbo = false;
  /// Compute threads: one per tile, all tiles' with turbo; never more than this process may use CPUs.
  int workers() const;
};

/// @param device  Its platform, used where no other is named.
/// @errors kInvalidArgument: more tiles than there are (both numbers named).
Target resolve(const Options& options, const Platform& device);

/// Takes one option. @errors kUnimplemented: no such option (the message lists those there are); kInvalidArgument: not
/// a value of it (the message lists what is).
void set_option(Options& options, std::string_view key, std::string_view value);

/// Names of all options, in order.
std::vector<std::string> supported_options();
/// @param value  nullopt: of any value.
bool is_option_supported(std::string_view key, std::optional<std::string_view> value);

}  // namespace tenon::npu::compiler
