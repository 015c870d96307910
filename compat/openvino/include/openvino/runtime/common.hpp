// SPDX-License-Identifier: Apache-2.0
// Types that several headers use.
#pragma once

#include <map>
#include <string>

#include "openvino/core/any.hpp"
#include "openvino/core/core_visibility.hpp"

#define OPENVINO_RUNTIME_API_C(...) OPENVINO_EXTERN_C OPENVINO_RUNTIME_API __VA_ARGS__ OPENVINO_CDECL

namespace ov {

/// The device of each operation, by friendly name.
using SupportedOpsMap = std::map<std::string, std::string>;

}  // namespace ov
