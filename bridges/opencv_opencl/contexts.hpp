// SPDX-License-Identifier: Apache-2.0
// The cv::UMat contexts of this machine: one for each OpenCL device, if OpenCV was built with OpenCL.
#pragma once

#include <string>
#include <vector>

#include <tenon/core/context.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv_opencl {

namespace detail {

/// New contexts over all of opencl::contexts() that OpenCV can work on.
std::vector<Context> find_contexts();

}  // namespace detail

/// The contexts of the process, one over each of opencl::contexts(); created on first use.
inline std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

/// Why contexts() is empty, where it is.
std::string why_none();

}  // namespace opencv_opencl
}  // namespace v1
}  // namespace tenon
