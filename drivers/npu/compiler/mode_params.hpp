// SPDX-License-Identifier: Apache-2.0
// NPU_COMPILATION_MODE_PARAMS: the parameters that NPU compilers take in one string.
#pragma once

#include <string_view>

#include <tenon/drivers/npu/compiler/options.hpp>

namespace tenon::npu::compiler {

/// The parameters that set_mode_params() accepts, for error messages.
inline constexpr char kModeParams[] =
    "optimization-level=0|1|2|3, performance-hint-override=efficiency|latency, "
    "compute-layers-with-higher-precision=TYPE,..., convert-precision-to-fp16=true|false, num-of-dpu-groups=N, "
    "num-of-dma-ports=N, profiling=true|false, and any other name with a value: those that compilers of hardware have "
    "are kept without effect, unknown ones make a warning";

/// Takes parameters separated by spaces: name=value, or a name alone for name=true. A value with spaces needs quotes
/// or braces. The last of several with one name counts. Known ones without effect go to Options::idle_params, unknown
/// ones to Options::warnings.
/// @errors kInvalidArgument: malformed, or an invalid value of a known parameter (lists the valid ones).
void set_mode_params(Options& options, std::string_view text);

}  // namespace tenon::npu::compiler
