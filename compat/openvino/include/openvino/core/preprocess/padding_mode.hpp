// SPDX-License-Identifier: Apache-2.0
// How the padding around a picture is filled.
#pragma once

#include "openvino/core/core_visibility.hpp"

namespace ov {
namespace op {
enum class PadMode { CONSTANT = 0, EDGE, REFLECT, SYMMETRIC };
}  // namespace op
namespace preprocess {

using PaddingMode = op::PadMode;

}  // namespace preprocess
}  // namespace ov
