// SPDX-License-Identifier: Apache-2.0
// The table of options: accepted values, and where each is stored.
#include <tenon/drivers/npu/compiler/options.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <system_error>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/mode_params.hpp>
#include <tenon/engine/engine.hpp>

namespace tenon::npu::compiler {
namespace {

struct Row {
  const char* key;
  const char* accepts;
  /// @return false for an invalid value.
  std::function<bool(Options&, std::string_view)> set;
};

template <typename T>
using Choices = std::vector<std::pair<std::string_view, T>>;

template <typename T>
auto choose(T Options::*member, Choices<T> choices) {
  return [member, choices](Options& options, std::string_view value) {
    for (const auto& [name, meaning] : choices) {
      if (name != value) continue;
      options.*member = meaning;
      return true;
    }
    return false;
  };
}

auto yes_or_no(bool Options::*member) {
  return choose<bool>(member, {{"YES", true}, {"NO", false}, {"true", true}, {"false", false}});
}

/// Accepted, without effect here.
auto any_of(std::vector<std::string_view> values) {
  return [values = std::move(values)](Options&, std::string_view value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
}
bool anything(Options&, std::string_view) { return true; }

std::optional<int> number(std::string_view text, int min, int max) {
  int value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || value < min || value > max)
    return std::nullopt;
  return value;
}

auto count(int Options::*member, int max) {
  return [member, max](Options& options, std::string_view text) {
    const auto value = number(text, -1, max);
    if (value) options.*member = *value == 0 ? -1 : *value;
    return value.has_value();
  };
}

bool set_platform(Options& options, std::string_view value) {
  if (value == "AUTO_DETECT" || value.empty()) return true;
  const auto id = number(value, 0, 999999);
  if (!id || !find_npu_platform(static_cast<std::uint32_t>(*id))) return false;
  options.platform = static_cast<std::uint32_t>(*id);
  return true;
}

bool set_strided(Options& options, std::string_view text) {
  options.strided.clear();
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(", "));
    if (!word.empty()) options.strided.emplace_back(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return true;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"COMPILATION_NUM_THREADS", "a number of threads, 0: as many as run the graph",
       count(&Options::compilation_threads, 1 << 16)},
      {"DEVICE_ID", "any", anything},
      {"EXECUTION_MODE_HINT", "PERFORMANCE, ACCURACY",
       choose<bool>(&Options::wants_accuracy, {{"PERFORMANCE", false}, {"ACCURACY", true}})},
      {"INFERENCE_PRECISION_HINT", "f32, f16, bf16, i8, dynamic",
       choose<Precision>(&Options::precision, {{"f32", Precision::kF32},
                                               {"f16", Precision::kF16},
                                               {"bf16", Precision::kBf16},
                                               {"i8", Precision::kI8},
                                               {"dynamic", Precision::kDefault},
                                               {"undefined", Precision::kDefault}})},
      {"LOG_LEVEL", "LOG_NONE, LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG, LOG_TRACE",
       choose<LogLevel>(&Options::log, {{"LOG_NONE", LogLevel::kNone},
                                        {"LOG_ERROR", LogLevel::kError},
                                        {"LOG_WARNING", LogLevel::kWarning},
                                        {"LOG_INFO", LogLevel::kInfo},
                                        {"LOG_DEBUG", LogLevel::kDebug},
                                        {"LOG_TRACE", LogLevel::kTrace}})},
      {"MODEL_PRIORITY", "LOW, MEDIUM, HIGH",
       any_of({"LOW", "MEDIUM", "HIGH", "MODEL_PRIORITY_LOW", "MODEL_PRIORITY_MED", "MODEL_PRIORITY_HIGH"})},
      {"NPU_BATCH_MODE", "AUTO, COMPILER, PLUGIN", any_of({"AUTO", "COMPILER", "PLUGIN"})},
      {"NPU_COMPILATION_MODE", "DefaultHW, ReferenceSW",
       choose<bool>(&Options::reference_kernels, {{"", false}, {"DefaultHW", false}, {"ReferenceSW", true}})},
      {"NPU_COMPILATION_MODE_PARAMS", kModeParams,
       [](Options& options, std::string_view text) {
         set_mode_params(options, text);
         return true;
       }},
      {"NPU_COMPILER_DYNAMIC_QUANTIZATION", "YES, NO", any_of({"YES", "NO", "true", "false"})},
      {"NPU_DMA_ENGINES", "-1, 1, 2", count(&Options::dma_engines, 2)},
      {"NPU_DPU_GROUPS", "a number of tiles, -1: by the hint", count(&Options::tiles, 64)},
      {"NPU_DYNAMIC_SHAPE_TO_STATIC", "YES, NO", yes_or_no(&Options::dynamic_to_static)},
      {"NPU_ENABLE_STRIDES_FOR", "names of arguments, with commas", set_strided},
      {"NPU_MAX_TILES", "a number of tiles, -1: the platform's", count(&Options::max_tiles, 64)},
      {"NPU_MODEL_SERIALIZER_VERSION", "AUTO, ALL_WEIGHTS_COPY, NO_WEIGHTS_COPY",
       any_of({"AUTO", "ALL_WEIGHTS_COPY", "NO_WEIGHTS_COPY"})},
      {"NPU_PLATFORM", "3720, 4000, 5010, AUTO_DETECT", set_platform},
      {"NPU_QDQ_OPTIMIZATION", "YES, NO", any_of({"YES", "NO", "true", "false"})},
      {"NPU_QDQ_OPTIMIZATION_AGGRESSIVE", "YES, NO", any_of({"YES", "NO", "true", "false"})},
      {"NPU_STEPPING", "a number", [](Options&, std::string_view v) { return number(v, -1, 99).has_value(); }},
      {"NPU_TILES", "a number of tiles, -1: by the hint", count(&Options::tiles, 64)},
      {"NPU_TURBO", "YES, NO", yes_or_no(&Options::turbo)},
      {"PERFORMANCE_HINT", "LATENCY, THROUGHPUT, CUMULATIVE_THROUGHPUT, UNDEFINED",
       choose<Hint>(&Options::hint, {{"LATENCY", Hint::kLatency},
                                     {"THROUGHPUT", Hint::kThroughput},
                                     {"CUMULATIVE_THROUGHPUT", Hint::kThroughput},
                                     {"UNDEFINED", Hint::kUndefined},
                                     {"", Hint::kUndefined}})},
      {"PERFORMANCE_HINT_NUM_REQUESTS", "a number",
       [](Options&, std::string_view v) { return number(v, 0, 1 << 20).has_value(); }},
      {"PERF_COUNT", "YES, NO", yes_or_no(&Options::profiling)},
  };
  return table;
}

/// Options of OpenVINO's plugin. Up to 2025.1 it passes its whole configuration to the compiler, so they are taken here and mean nothing.
constexpr std::string_view kClientOptions[] = {"ALLOW_AUTO_BATCHING",
                                               "AUTO_BATCH_TIMEOUT",
                                               "CACHE_DIR",
                                               "CACHE_ENCRYPTION_CALLBACKS",
                                               "CACHE_MODE",
                                               "CACHING_PROPERTIES",
                                               "ENABLE_CPU_PINNING",
                                               "ENABLE_CPU_RESERVATION",
                                               "ENABLE_MMAP",
                                               "EXCLUSIVE_ASYNC_REQUESTS",
                                               "INFERENCE_NUM_THREADS",
                                               "LOADED_FROM_CACHE",
                                               "MODEL_PTR",
                                               "NPU_BACKEND_COMPILATION_PARAMS",
                                               "NPU_BYPASS_UMD_CACHING",
                                               "NPU_COMPILER_TYPE",
                                               "NPU_CREATE_EXECUTOR",
                                               "NPU_DEFER_WEIGHTS_LOAD",
                                               "NPU_DISABLE_VERSION_CHECK",
                                               "NPU_PRINT_PROFILING",
                                               "NPU_PROFILING_OUTPUT_FILE",
                                               "NPU_PROFILING_TYPE",
                                               "NPU_RUN_INFERENCES_SEQUENTIALLY",
                                               "NPU_USE_ELF_COMPILER_BACKEND",
                                               "NUM_STREAMS",
                                               "WEIGHTS_PATH",
                                               "WORKLOAD_TYPE"};

bool is_client_option(std::string_view key) {
  return std::find(std::begin(kClientOptions), std::end(kClientOptions), key) != std::end(kClientOptions);
}

const Row* find_row(std::string_view key) {
  for (const Row& row : rows())
    if (key == row.key) return &row;
  return nullptr;
}

}  // namespace

int Target::workers() const {
  const int all = std::max(std::min(platform.max_tiles, engine::Workers::available_cpus()), 1);
  const int used = turbo ? max_tiles : tiles;
  return std::clamp((used * all + platform.max_tiles - 1) / std::max(platform.max_tiles, 1), 1, all);
}

Target resolve(const Options& options, const Platform& device) {
  Target target;
  const Platform* named = options.platform ? find_npu_platform(options.platform) : &device;
  target.platform = named ? *named : device;
  target.max_tiles = options.max_tiles > 0 ? options.max_tiles : target.platform.max_tiles;
  target.dma_engines = options.dma_engines > 0 ? options.dma_engines : target.platform.dma_engines;
  target.turbo = options.turbo;
  if (options.tiles > target.max_tiles)
    throw Error(Code::kInvalidArgument, "NPU: NPU_TILES is " + std::to_string(options.tiles) + ", and platform " +
                                            std::to_string(target.platform.number) + " has NPU_MAX_TILES " +
                                            std::to_string(target.max_tiles));
  int wanted = options.hint == Hint::kThroughput ? target.platform.throughput_tiles : target.platform.latency_tiles;
  // Extends the latency hint only.
  if (options.hint == Hint::kLatency && options.prefers_latency) wanted = target.platform.max_tiles;
  target.tiles = options.tiles > 0 ? options.tiles : std::min(wanted, target.max_tiles);
  return target;
}

void set_option(Options& options, std::string_view key, std::string_view value) {
  const Row* row = find_row(key);
  if (!row) {
    if (is_client_option(key)) return;
    std::string known;
    for (const std::string& name : supported_options()) known += (known.empty() ? "" : ", ") + name;
    throw Error(Code::kUnimplemented, "NPU: the compiler has no option \"" + std::string(key) + "\"; it has " + known);
  }
  if (!row->set(options, value))
    throw Error(Code::kInvalidArgument, "NPU: option " + std::string(key) + " does not accept \"" + std::string(value) +
                                            "\"; it accepts " + row->accepts);
}

std::vector<std::string> supported_options() {
  std::vector<std::string> names;
  for (const Row& row : rows()) names.emplace_back(row.key);
  return names;
}

bool is_option_supported(std::string_view key, std::optional<std::string_view> value) {
  const Row* row = find_row(key);
  Options ignored;
  try {
    return row && (!value || row->set(ignored, *value));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tenon::npu::compiler
