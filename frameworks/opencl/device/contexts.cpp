// SPDX-License-Identifier: Apache-2.0
// Looks for the OpenCL devices of this machine.
#include <tenon/frameworks/opencl/contexts.hpp>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/native_calls.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/image.hpp>
#include <tenon/frameworks/opencl/make.hpp>
#include <tenon/frameworks/opencl/svm.hpp>
#include <tenon/frameworks/opencl/usm.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE std::vector<Context> find_contexts() {
  std::vector<Context> found;
  std::vector<std::string> names;
  for (cl_device_id id : all_devices()) {
    try {
      const std::string name = distinct_name(names, short_name(read_device(id)));
      found.push_back(detail::make_context(id, {}, name));
      const Context main = found.back();
      if (device(main).max_width) found.push_back(images(main));
      if (device(main).usm) found.push_back(usm(main));
      if (device(main).svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) found.push_back(svm(main));
    } catch (const Error&) {
      // Skips devices whose driver cannot make a context.
    }
  }
  return found;
}

}  // namespace detail

TENON_INLINE std::string why_none() {
  return "no platform of this machine has a device that makes a context: install a driver (PoCL, say)";
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
