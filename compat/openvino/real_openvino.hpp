// SPDX-License-Identifier: Apache-2.0
// A real OpenVINO in this process, and values of devices' own properties.
#pragma once

#include <string>

#include <openvino/core/any.hpp>
#include <tenon/core/any.hpp>

namespace ov {
namespace detail {

/// The file of a real OpenVINO that is loaded, or empty.
std::string real_openvino();

/// Values of devices' own types. @return false: it is none.
bool device_value_to(const Any& value, tenon::Any& result);

}  // namespace detail
}  // namespace ov
