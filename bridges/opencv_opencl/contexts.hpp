// SPDX-License-Identifier: Apache-2.0
// The cv::UMat contexts of this machine: one for each OpenCL device, if OpenCV was built with OpenCL.
#pragma once

#include <string>
#include <vector>

#include <tenon/bridges/opencv_opencl/context.hpp>
#include <tenon/bridges/opencv_opencl/opencv_opencl.hpp>  // IWYU pragma: keep
#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv_opencl {

namespace detail {

inline std::vector<Context> find_contexts() {
  std::vector<Context> found;
  for (const Context& context : opencl::contexts()) {
    if (!(context->kind() == opencl::kBufferMemory)) continue;
    try {
      found.push_back(make_context(context));
    } catch (const Error&) {
      // Skips devices on which OpenCV cannot work.
    }
  }
  return found;
}

}  // namespace detail

/// The contexts of the process, one over each of opencl::contexts(); created on first use.
inline std::vector<Context> contexts() {
  static const auto* all = new std::vector<Context>(detail::find_contexts());  // Outlives static destructors.
  return *all;
}

/// Why contexts() is empty, where it is.
inline std::string why_none() { return "there is no OpenCL device, or OpenCV was built without OpenCL"; }

}  // namespace opencv_opencl
}  // namespace v1
}  // namespace tenon
