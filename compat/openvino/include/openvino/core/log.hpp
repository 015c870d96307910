// SPDX-License-Identifier: Apache-2.0
// Where messages go.
#pragma once

#include <functional>
#include <string_view>

#include "openvino/core/core_visibility.hpp"

namespace ov {
namespace util {

/// The function gets what compilation and caching report, line by line; an empty one drops it.
OPENVINO_API void set_log_callback(const std::function<void(std::string_view)>& callback);
OPENVINO_API void reset_log_callback();

}  // namespace util
}  // namespace ov
