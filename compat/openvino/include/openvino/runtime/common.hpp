// SPDX-License-Identifier: Apache-2.0
// Types that several headers use.
#pragma once

#include <map>
#include <string>

#include "openvino/core/any.hpp"
#include "openvino/core/core_visibility.hpp"

namespace ov {

/// The device of each operation, by friendly name.
using SupportedOpsMap = std::map<std::string, std::string>;

}  // namespace ov
