// SPDX-License-Identifier: Apache-2.0
// NPU_COMPILATION_MODE_PARAMS: the parameters that compilers of NPUs take in one text.
#pragma once

#include <string>
#include <string_view>

#include <tenon/drivers/npu/compiler/options.hpp>

namespace tenon::npu::compiler {

/// What set_mode_params() accepts, in words.
inline constexpr char kModeParams[] =
    "optimization-level=0|1|2|3, performance-hint-override=efficiency|latency, "
    "compute-layers-with-higher-precision=TYPE,..., convert-precision-to-fp16=true|false, num-of-dpu-groups=N, "
    "num-of-dma-ports=N, profiling=true|false, and any other name with a value: those that compilers of hardware have "
    "are kept without effect, unknown ones make a warning";

/// Takes parameters with spaces between them: name=value, or a name alone for name=true. A value with spaces stands in
/// quotes or braces. The last of one name counts. What has no effect goes to Options::idle_params, what nobody knows to
/// Options::warnings.
/// @errors kInvalidArgument: malformed, or a value that a known parameter does not have (which, and what it has).
void set_mode_params(Options& options, std::string_view text);

}  // namespace tenon::npu::compiler
