// SPDX-License-Identifier: Apache-2.0
// The text in which clients give types and layouts of arguments, and options: --inputs_precisions="0:FP32" ... --config
// KEY="VALUE" ...
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/drivers/npu/compiler/options.hpp>

namespace tenon::npu::compiler {

/// What one port is to have; the port is named by its number or by its name.
template <typename T>
using ByPort = std::vector<std::pair<std::string, T>>;

struct BuildFlags {
  ByPort<ElementType> input_types, output_types;
  ByPort<std::string> input_layouts, output_layouts;  ///< "NCHW"
  Options options;
};

/// @param text  Null: none given.
/// @errors kInvalidArgument: malformed (where), an unknown flag, type or layout; and as set_option.
BuildFlags parse_build_flags(const char* text);

}  // namespace tenon::npu::compiler
