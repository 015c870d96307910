// SPDX-License-Identifier: Apache-2.0
// Values of devices' own types.
#pragma once

#include <openvino/core/any.hpp>
#include <tenon/core/any.hpp>

namespace ov {
namespace detail {

/// @return false: it is none.
bool device_value_to(const Any& value, tenon::Any& result);

}  // namespace detail
}  // namespace ov
