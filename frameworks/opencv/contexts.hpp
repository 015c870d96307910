// SPDX-License-Identifier: Apache-2.0
// The contexts of this framework on this machine: always the one of cv::Mat.
#pragma once

#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/opencv/context.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {

inline std::vector<Context> contexts() { return {context()}; }

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
