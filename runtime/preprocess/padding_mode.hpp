// SPDX-License-Identifier: Apache-2.0
// What padding puts around a picture.
#pragma once

#include <tenon/graph/model_ops.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {

using PaddingMode = op::PadMode;

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
