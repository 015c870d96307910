// SPDX-License-Identifier: Apache-2.0
// The table of parameters: those with an effect here, and names and types of the hardware compilers' others.
#include <tenon/drivers/npu/compiler/mode_params.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <tenon/core/error.hpp>

namespace tenon::npu::compiler {
namespace {

[[noreturn]] void refuse_params(const std::string& why) {
  throw Error(Code::kInvalidArgument, "NPU: NPU_COMPILATION_MODE_PARAMS: " + why + "; it accepts " + kModeParams);
}

struct Param {
  std::string_view name, value;
};

/// Removes the next parameter from the front. @return false at the end of the text.
bool take_param(std::string_view& text, Param& param) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == text.npos) return false;
  text.remove_prefix(begin);
  const std::size_t name_size = std::min(text.find_first_of(" \t\r\n="), text.size());
  param = {text.substr(0, name_size), "true"};
  if (param.name.empty()) refuse_params("no name at \"" + std::string(text.substr(0, 40)) + "\"");
  text.remove_prefix(name_size);
  if (text.empty() || text.front() != '=') return true;
  text.remove_prefix(1);
  const char open = text.empty() ? ' ' : text.front();
  if (open == '\'' || open == '{') {
    std::size_t size = 1;
    for (int depth = 1; depth > 0; ++size) {
      if (size == text.size()) refuse_params("the value of " + std::string(param.name) + " has no end");
      if (open == '\'')
        depth -= text[size] == '\'';
      else
        depth += text[size] == '{' ? 1 : text[size] == '}' ? -1 : 0;
    }
    param.value = text.substr(1, size - 2);
    text.remove_prefix(size);
    if (!text.empty() && kSpaces.find(text.front()) == kSpaces.npos)
      refuse_params("no space behind the value of " + std::string(param.name));
    return true;
  }
  param.value = text.substr(0, text.find_first_of(kSpaces));
  text.remove_prefix(param.value.size());
  return true;
}

[[noreturn]] void refuse_value(const Param& param, const char* accepts) {
  throw Error(Code::kInvalidArgument, "NPU: NPU_COMPILATION_MODE_PARAMS does not accept \"" + std::string(param.name) +
                                          "=" + std::string(param.value) + "\"; it accepts " + std::string(param.name) +
                                          "=" + accepts);
}

int number(const Param& param, int min, int max, const char* accepts) {
  int value = 0;
  const char* end = param.value.data() + param.value.size();
  const auto result = std::from_chars(param.value.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end || value < min || value > max) refuse_value(param, accepts);
  return value;
}

bool is_on(const Param& param) {
  for (const char* yes : {"true", "TRUE", "True", "1", "YES"})
    if (param.value == yes) return true;
  for (const char* no : {"false", "FALSE", "False", "0", "NO"})
    if (param.value == no) return false;
  refuse_value(param, "true|false");
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(", "));
    if (!word.empty()) all.emplace_back(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return all;
}

// -- Further parameters of the published NPU compiler (openvinotoolkit/npu_compiler, its pipelines' options), by type.
// They tune hardware features that do not exist here.

constexpr std::string_view kSwitches[] = {
    "accumulate-matmul-with-dpu",
    "adjust-convolution-shape",
    "adjust-non-zero-fake-quant",
    "allow-custom-values",
    "barrier-sched-with-function-outlining",
    "compress-activation-spill",
    "compress-weights-btc",
    "constant-folding-in-background",
    "constant-folding-in-background-collect-statistics",
    "constant-fusion",
    "convert-avg-pool-to-dw-conv",
    "convert-expand-to-conv",
    "convert-fc-to-conv",
    "convert-fft-to-conv",
    "debatching",
    "dma-ooo",
    "dpu-profiling",
    "dummy-op-replacement",
    "dump-task-stats",
    "enable-SM-Pipeline",
    "enable-activation-swizzling",
    "enable-activity-factor",
    "enable-adaptive-stripping",
    "enable-align-scales",
    "enable-auto-padding-idu",
    "enable-auto-padding-odu",
    "enable-color-bin-physical-barrier-assignment",
    "enable-control-graph-split",
    "enable-convolution-mixed-precision-decomposition",
    "enable-dynamic-quant",
    "enable-experimental-se-ptrs-operations",
    "enable-explicit-distributed-attr",
    "enable-float-in-quant-weights-mixed-mode",
    "enable-fp16-compressed-convolution",
    "enable-fp16-to-u8-mixed-mode",
    "enable-fuse-clamp-op",
    "enable-grouped-matmul",
    "enable-handle-u16-fake-quantize",
    "enable-in-place-eltwise",
    "enable-intermediate-buffer-output",
    "enable-m2i",
    "enable-mc-side-loading-dump",
    "enable-memory-side-cache",
    "enable-memory-usage-collector",
    "enable-ops-as-dma",
    "enable-output-ensurance",
    "enable-partial-workload-management",
    "enable-populate-weight-table-with-shave",
    "enable-prefetch",
    "enable-schedule-trace",
    "enable-se-ptrs-operations",
    "enable-sw-kernel-prefetching-reserve-mem",
    "enable-verifiers",
    "enable-wd-blockarg-input",
    "enable-weights-dynamic-dequantization",
    "enable-weights-sparsity",
    "enable-weights-swizzling",
    "expand-activation-channels",
    "force-z-major-concat",
    "fuse-mvn6-scale-bias",
    "fuse-outstanding-dequant",
    "fuse-outstanding-quant",
    "fuse-permute-quantize",
    "fuse-permute-quantize-expand",
    "fuse-scales-to-accumulate",
    "group-async-execute-ops",
    "handle-asymmetric-strides",
    "handle-large-kernel",
    "handle-large-pads",
    "handle-large-strides",
    "linearize-schedule",
    "log-op-optimizations",
    "low-precision",
    "m2i-profiling",
    "map-interpolate-on-dpu",
    "merge-fake-quant",
    "move-multiply-post-fc-for-dynamic-quant",
    "optimize-const-copies",
    "optimize-copies",
    "optimize-dynamic-spilling",
    "optimize-fragmentation",
    "optimize-reorders",
    "optimize-scale-shift-to-depthwise",
    "optimize-slice-expand",
    "optimize-slice-with-stride",
    "output-pipelining",
    "pipelining",
    "prefetching",
    "propagate-quant-dequant",
    "quant-dequant-removal",
    "read-strategy-from-json",
    "reduce-parallel-control-flows",
    "share-wait-and-update-barriers",
    "shave-dry-run",
    "simple-schedule",
    "skip-unroll-batch",
    "split-bilinear-into-H-and-W",
    "split-conv-with-multiple-fq",
    "support-nce-op-insertion",
    "sw-profiling",
    "swap-transpose-with-fq",
    "upstream-slice",
    "vertical-fusion",
    "vertical-fusion-pipelining",
    "vpunn-cost",
    "wlm-rollback",
    "write-strategy-to-json",
};
constexpr std::string_view kNumbers[] = {
    "available-cmx-memory",
    "constant-folding-in-background-memory-usage-limit",
    "constant-folding-in-background-num-threads",
    "control-graph-split-block-size",
    "revision-id",
    "wlm-barriers-threshold",
};
constexpr std::string_view kTexts[] = {
    "act-sparsity-profile",
    "compilation-mode",
    "constant-folding-in-background-cache-clean-threshold",
    "debatching-extra-args",
    "dma-profiling",
    "dpu-dry-run",
    "enable-activation-sparsity",
    "enable-shave-ddr-access-optimization",
    "function-outlining",
    "model-hash",
    "ppe-version",
    "schedule-trace-file-name",
    "verify-locations",
    "vpu-arch",
    "weights-sparsity-heuristic",
    "weights-sparsity-threshold",
};

template <std::size_t N>
bool has(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// @return false if it has no effect here.
bool take_effect(Options& options, const Param& param) {
  if (param.name == "optimization-level") {
    options.optimization_level = number(param, 0, 3, "0|1|2|3");
  } else if (param.name == "performance-hint-override") {
    if (param.value != "latency" && param.value != "efficiency") refuse_value(param, "efficiency|latency");
    options.prefers_latency = param.value == "latency";
  } else if (param.name == "compute-layers-with-higher-precision") {
    options.precise_layers = words(param.value);
  } else if (param.name == "convert-precision-to-fp16") {
    options.keeps_f32 = !is_on(param);
  } else if (param.name == "num-of-dpu-groups") {
    options.tiles = number(param, 1, 64, "a number of tiles");
  } else if (param.name == "num-of-dma-ports") {
    options.dma_engines = number(param, 1, 2, "1|2");
  } else if (param.name == "profiling") {
    options.profiling |= is_on(param);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void set_mode_params(Options& options, std::string_view text) {
  Param param;
  while (take_param(text, param)) {
    if (take_effect(options, param)) continue;
    if (has(kSwitches, param.name))
      is_on(param);
    else if (has(kNumbers, param.name))
      number(param, INT32_MIN, INT32_MAX, "a number");
    else if (!has(kTexts, param.name)) {
      options.warnings.push_back("NPU_COMPILATION_MODE_PARAMS: unknown parameter \"" + std::string(param.name) +
                                 "\"; it is ignored");
      continue;
    }
    options.idle_params.push_back(std::string(param.name) + "=" + std::string(param.value));
  }
}

}  // namespace tenon::npu::compiler
