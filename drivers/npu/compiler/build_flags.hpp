// SPDX-License-Identifier: Apache-2.0
// Build flags: types and layouts of arguments, and options, as text: --inputs_precisions="0:FP32" ...
// --config KEY="VALUE" ...
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/drivers/npu/compiler/options.hpp>

namespace tenon::npu::compiler {

/// A value for one port, which is given by number or by name.
template <typename T>
using ByPort = std::vector<std::pair<std::string, T>>;

struct BuildFlags {
  ByPort<ElementType> input_types, output_types;
  ByPort<std::string> input_layouts, output_layouts;  ///< "NCHW"
  Options options;
};

/// @param text  May be null.
/// @errors kInvalidArgument: malformed (with the position), an unknown flag, type or layout; as set_option.
BuildFlags parse_build_flags(const char* text);

}  // namespace tenon::npu::compiler
